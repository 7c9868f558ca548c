"""The one path of annotation: words are values, given tags are kept, and chunks change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sample_treebank import quick_model, sample

from egparse.features.word_table import Words
from egparse.pipeline.annotate import (
    ABSENT,
    Prediction,
    predict,
    predict_forms,
    predict_tags,
)
from egparse.sequences.tagger import Tagger

ALL = ("upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels")
LABELLED = tuple(layer for layer in ALL if layer != "lemmas")
FORMS = [sentence.forms for sentence in sample("test")[:30]]


def words() -> Words:
    return quick_model().columns.words(FORMS)


def gold(layer: str) -> np.ndarray:
    return quick_model().columns.label_numbers(sample("test")[:30], layer)


def same(first: Prediction, second: Prediction) -> None:
    assert list(first.values) == list(second.values)
    assert first.lemmas == second.lemmas
    assert list(first.probabilities) == list(second.probabilities)
    for layer, values in first.values.items():
        np.testing.assert_array_equal(values, second.values[layer])
    for layer, probabilities in first.probabilities.items():
        np.testing.assert_allclose(probabilities, second.probabilities[layer], atol=1e-9)


def test_annotating_does_not_change_the_words_or_the_tags_passed_in() -> None:
    own, given = words(), {"upos": gold("upos"), "xpos": gold("xpos")}
    given["xpos"][::3] = ABSENT
    kept = {layer: tags.copy() for layer, tags in given.items()}
    values, starts, ids = own.values.copy(), own.starts.copy(), own.form_ids.copy()
    first = predict(quick_model(), own, ALL, given, ALL)
    tagged = predict_tags(quick_model(), own, ALL, given, ALL)
    np.testing.assert_array_equal(own.values, values)
    np.testing.assert_array_equal(own.starts, starts)
    np.testing.assert_array_equal(own.form_ids, ids)
    for layer, tags in kept.items():
        np.testing.assert_array_equal(given[layer], tags)
    assert tagged.words is not own
    assert (tagged.words.values != values).any()
    same(predict(quick_model(), own, ALL, given, ALL), first)


def test_tags_are_the_first_layers_of_the_whole_prediction() -> None:
    whole = predict(quick_model(), words(), ALL, {}, ALL)
    assert tuple(whole.values) == LABELLED
    assert tuple(whole.probabilities) == ALL
    tags = predict_tags(quick_model(), words(), ALL, {}, ALL).prediction
    assert tuple(tags.values) == LABELLED[:4]
    for layer, values in tags.values.items():
        np.testing.assert_array_equal(values, whole.values[layer])
    some = predict(quick_model(), words(), ("upos", "spans"), {}, ("spans",))
    assert tuple(some.values) == ("upos", "spans")
    assert tuple(some.probabilities) == ("spans",)
    np.testing.assert_array_equal(some.values["upos"], whole.values["upos"])


def test_labels_of_arcs_alone_are_those_of_the_whole_prediction() -> None:
    model = quick_model()
    some = {"upos", "xpos", "feats", "spans", "deprels"}
    alone = predict(model, words(), some, {}, {"deprels"})
    whole = predict(model, words(), model.layers, {}, {"deprels"})
    assert set(alone.values) == some
    assert np.array_equal(alone.values["deprels"], whole.values["deprels"])
    assert np.array_equal(alone.probabilities["deprels"], whole.probabilities["deprels"])


def test_given_tags_are_kept_and_those_after_them_see_them() -> None:
    upos = gold("upos")
    partly = np.where(np.arange(len(upos)) % 2 == 0, upos, ABSENT).astype(np.int32)
    plain = predict(quick_model(), words(), ALL, {})
    found = predict(quick_model(), words(), ALL, {"upos": partly}, ("upos",))
    expected = np.where(partly == ABSENT, plain.values["upos"], upos)
    np.testing.assert_array_equal(found.values["upos"], expected)
    np.testing.assert_array_equal(np.isnan(found.probabilities["upos"]), partly != ABSENT)
    assert (found.values["heads"] != plain.values["heads"]).any()


def test_a_tagger_runs_only_where_a_tag_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Tagger] = []
    predict_of = Tagger.predict

    def watched(tagger: Tagger, *rest: Any) -> np.ndarray:
        run.append(tagger)
        return predict_of(tagger, *rest)

    monkeypatch.setattr(Tagger, "predict", watched)
    model = quick_model()
    partly = gold("xpos")
    partly[3] = ABSENT
    predict(model, words(), ALL, {"upos": gold("upos"), "xpos": partly})
    tags = [model.taggers[layer] for layer in ("xpos", "feats", "spans")]
    assert run == [*tags, model.supertagger]


@pytest.mark.parametrize("n_words", [1, 20, 100, 100_000])
def test_chunks_change_nothing(n_words: int) -> None:
    given = {"xpos": gold("xpos")}
    given["xpos"][::4] = ABSENT
    whole = predict(quick_model(), words(), ALL, given, ALL)
    same(predict_forms(quick_model(), FORMS, ALL, given, ALL, n_words), whole)


def test_nothing_to_annotate() -> None:
    for forms in ([], [()], [(), ()]):
        found = predict_forms(quick_model(), forms, ALL, {}, ALL)
        assert tuple(found.values) == LABELLED
        assert tuple(found.probabilities) == ALL
        assert found.lemmas == []
        assert all(len(values) == 0 for values in found.values.values())
