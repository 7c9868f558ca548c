"""The one path of annotation: words are values, given tags are kept, and chunks change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sample_treebank import quick_model, sample

from egparse.features.request import ABSENT
from egparse.features.tag_dictionary import fixed_labels
from egparse.features.word_table import Words
from egparse.layers import TAG_LAYERS
from egparse.pipeline.annotate import Prediction, predict, predict_forms, predict_words
from egparse.sequences.tagger import Tagger

ALL = ("upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels")
FORMS = [sentence.forms for sentence in sample("test")[:30]]


def words() -> Words:
    return quick_model().columns.words(FORMS)


def gold(layer: str) -> np.ndarray:
    return quick_model().columns.label_numbers(sample("test")[:30], layer)


def same(first: Prediction, second: Prediction) -> None:
    assert list(first) == list(second)
    for layer, (values, probabilities) in first.items():
        np.testing.assert_array_equal(values, second[layer].values)
        assert (probabilities is None) == (second[layer].probabilities is None)
        if probabilities is not None:
            np.testing.assert_allclose(probabilities, second[layer].probabilities, atol=1e-9)


def test_annotating_does_not_change_the_words_or_the_tags_passed_in() -> None:
    own, given = words(), {"upos": gold("upos"), "xpos": gold("xpos")}
    given["xpos"][::3] = ABSENT
    kept = {layer: tags.copy() for layer, tags in given.items()}
    values, starts, ids = own.values.copy(), own.starts.copy(), own.form_ids.copy()
    first = predict(quick_model().components, own, ALL, given, ALL)
    tagged = predict_words(quick_model().components, own, ALL, given, ALL)
    np.testing.assert_array_equal(own.values, values)
    np.testing.assert_array_equal(own.starts, starts)
    np.testing.assert_array_equal(own.form_ids, ids)
    for layer, tags in kept.items():
        np.testing.assert_array_equal(given[layer], tags)
    assert tagged.words is not own
    assert (tagged.words.values != values).any()
    same(predict(quick_model().components, own, ALL, given, ALL), first)


def test_tags_are_the_first_layers_of_the_whole_prediction() -> None:
    whole = predict(quick_model().components, words(), ALL, {}, ALL)
    assert tuple(whole) == ALL
    assert all(probabilities is not None for _, probabilities in whole.values())
    tags = predict_words(quick_model().components, words(), TAG_LAYERS, {}, ALL).prediction
    assert tuple(tags) == TAG_LAYERS
    for layer, (values, _) in tags.items():
        np.testing.assert_array_equal(values, whole[layer].values)
    some = predict(quick_model().components, words(), ("upos", "spans"), {}, ("spans",))
    assert tuple(some) == ("upos", "spans")
    assert some["upos"].probabilities is None
    assert some["spans"].probabilities is not None
    np.testing.assert_array_equal(some["upos"].values, whole["upos"].values)


def test_labels_of_arcs_alone_are_those_of_the_whole_prediction() -> None:
    model = quick_model()
    some = {"upos", "xpos", "feats", "spans", "deprels"}
    alone = predict(model.components, words(), some, {}, {"deprels"})
    whole = predict(model.components, words(), model.layers, {}, {"deprels"})
    assert set(alone) == some
    assert np.array_equal(alone["deprels"].values, whole["deprels"].values)
    assert np.array_equal(alone["deprels"].probabilities, whole["deprels"].probabilities)


def test_given_tags_are_kept_and_those_after_them_see_them() -> None:
    upos = gold("upos")
    partly = np.where(np.arange(len(upos)) % 2 == 0, upos, ABSENT).astype(np.int32)
    plain = predict(quick_model().components, words(), ALL, {})
    found = predict(quick_model().components, words(), ALL, {"upos": partly}, ("upos",))
    fixed = fixed_labels(partly, len(quick_model().columns.labels["upos"]))
    expected = quick_model().components["upos"].choose(words(), fixed)
    np.testing.assert_array_equal(found["upos"].values, np.where(upos < 0, upos, expected))
    np.testing.assert_array_equal(np.isnan(found["upos"].probabilities), partly != ABSENT)
    assert (found["heads"].values != plain["heads"].values).any()


def test_a_tagger_runs_only_where_a_tag_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Tagger] = []
    annotate = Tagger.annotate

    def watched(tagger: Tagger, *rest: Any) -> Any:
        run.append(tagger)
        return annotate(tagger, *rest)

    monkeypatch.setattr(Tagger, "annotate", watched)
    model = quick_model()
    partly = gold("xpos")
    partly[3] = ABSENT
    predict(model.components, words(), ALL, {"upos": gold("upos"), "xpos": partly})
    tags = [model.components[layer] for layer in ("xpos", "feats", "spans")]
    assert run == [*tags, model.components["supertags"]]


@pytest.mark.parametrize("n_words", [1, 20, 100, 100_000])
def test_chunks_change_nothing(n_words: int) -> None:
    given = {"xpos": gold("xpos")}
    given["xpos"][::4] = ABSENT
    whole = predict(quick_model().components, words(), ALL, given, ALL)
    same(predict_forms(quick_model().components, FORMS, ALL, given, ALL, n_words), whole)


def test_nothing_to_annotate() -> None:
    for forms in ([], [()], [(), ()]):
        found = predict_forms(quick_model().components, forms, ALL, {}, ALL)
        assert tuple(found) == ALL
        assert found["lemmas"].values == []
        assert all(len(values) == 0 for values, _ in found.values())
        assert all(len(probable) == 0 for _, probable in found.values())
