"""UPOS, XPOS and FEATS by one tagger: what is predicted is the best of all sequences of known
combinations that constraints and given tags leave, and probabilities are sums over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from pipeline.test_constraints import unary_scores
from sample_treebank import (
    quick,
    quick_joint,
    quick_joint_model,
    sample,
    taggers,
)
from scipy.special import logsumexp

from egparse.config.sections import TrainConfig
from egparse.features.request import ABSENT, Request
from egparse.features.tag_dictionary import AllowedLabels, fixed_labels
from egparse.features.word_table import Words
from egparse.pipeline.annotate import predict
from egparse.pipeline.constraints import Constraints
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.tagger import Tagger, candidates_of
from egparse.training.run import train
from egparse.types import Floats, Mask

TAGS = ("upos", "xpos", "feats")
FORMS = [sentence.forms[:3] for sentence in sample("dev")[:25] if len(sentence) >= 3]


def tagger() -> Tagger:
    found = quick_joint_model().components["morphology"]
    assert found is not None
    return found


def words() -> Words:
    return quick_joint_model().columns.words(FORMS)


def candidate_mask() -> Mask:
    """The combinations (words, combinations) that the tag dictionary lists for each word."""
    own, size = words(), len(tagger().combinations.numbers)
    candidates = candidates_of(own, tagger().dictionary, size)
    mask = np.zeros((own.n_words, size), dtype=bool)
    mask[np.repeat(np.arange(own.n_words), np.diff(candidates.starts)), candidates.labels] = True
    return mask


def left_by(allowed: Mapping[str, AllowedLabels]) -> Mask:
    """The combinations that each word may have under constraints, written from the rule: those that
    satisfy the constraints, layer after layer, unless these leave none; of them the ones that the
    dictionary lists, unless it lists none.
    """
    numbers, listed = tagger().combinations.numbers, candidate_mask()
    for word in range(len(listed)):
        satisfying = np.ones(len(numbers), dtype=bool)
        for k, layer in enumerate(TAGS):
            if layer in allowed and word in allowed[layer].words:
                row = allowed[layer].allowed[allowed[layer].words.tolist().index(word)]
                fits = satisfying & row[numbers[:, k]]
                satisfying = fits if fits.any() else satisfying
        both = listed[word] & satisfying
        listed[word] = both if both.any() else satisfying
    return listed


def paths(mask: Mask, first: int) -> Floats:
    """The score of every sequence of three combinations from a word on, -inf where one of them is
    not left.
    """
    model = tagger().model
    assert model.classes is not None
    unary = np.where(mask, unary_scores(model, words()), -np.inf)[first : first + 3]
    bigrams = model.transitions[np.ix_(model.classes, model.classes)].astype(float)
    total = unary[0][:, None, None] + unary[1][None, :, None] + unary[2][None, None, :]
    return np.asarray(total + bigrams[:, :, None] + bigrams[None, :, :])


def check(allowed: Mapping[str, AllowedLabels]) -> None:
    """The tagger's labels and probabilities are those of enumeration."""
    found = tagger().predict(words(), allowed)
    told = tagger().annotate(Request(words(), quick_joint_model().columns, {}, allowed, TAGS))
    numbers, mask = tagger().combinations.numbers, left_by(allowed)
    for first in range(0, len(FORMS) * 3, 3):
        scores = paths(mask, first)
        best = np.unravel_index(scores.argmax(), scores.shape)
        divided = scores / tagger().temperature
        probabilities = np.exp(divided - logsumexp(divided))
        for place in range(3):
            others = tuple(axis for axis in range(3) if axis != place)
            each = probabilities.sum(axis=others)
            for k, layer in enumerate(TAGS):
                label = int(numbers[best[place], k])
                got = int(found[layer][first + place])
                assert told[layer].values[first + place] == got
                if got == label:
                    expected = each[numbers[:, k] == label].sum()
                    assert told[layer].probabilities[first + place] == pytest.approx(
                        expected, abs=1e-5
                    )
                if layer in allowed and first + place in allowed[layer].words:
                    row = allowed[layer].allowed[allowed[layer].words.tolist().index(first + place)]
                    assert row[got]
                    assert got == label or not row[label]
                else:
                    assert got == label


def drawn(seed: int, layers: tuple[str, ...], share: float) -> dict[str, AllowedLabels]:
    """Some labels, at least one, of some words in some layers."""
    random = np.random.default_rng(seed)
    allowed = {}
    for layer in layers:
        size = len(quick_joint_model().columns.labels[layer])
        limited = np.flatnonzero(random.random(3 * len(FORMS)) < 0.6)
        mask = random.random((len(limited), size)) < share
        mask[np.arange(len(limited)), random.integers(size, size=len(limited))] = True
        allowed[layer] = AllowedLabels(limited, mask)
    return allowed


def test_the_best_sequence_and_its_probabilities_are_those_of_enumeration() -> None:
    check({})


@pytest.mark.parametrize("layer", TAGS)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_constraints_on_one_layer_leave_the_best_sequence_that_they_allow(
    layer: str, share: float
) -> None:
    check(drawn(1, (layer,), share))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_constraints_on_all_layers_are_obeyed_even_if_no_known_combination_does(
    share: float,
) -> None:
    """With few labels left at random, most words have no known combination that fits."""
    check(drawn(2, TAGS, share))


def test_a_fixed_value_has_probability_one() -> None:
    model, sentence = quick_joint_model(), Sentence(forms=["Cats", "sleep", "."])
    fixed = {layer: {1: model.columns.labels[layer].strings[-1]} for layer in TAGS}
    (found,) = model.annotate([sentence], constraints=[Constraints(fixed)], probabilities=True)
    for layer, value in fixed.items():
        assert getattr(found, layer)[0] == value[1]
        assert found.probabilities is not None
        assert found.probabilities[layer][0] == pytest.approx(1.0, abs=1e-6)


def test_values_that_the_model_does_not_know_are_kept() -> None:
    sentence = Sentence(forms=["Cats", "sleep", "."])
    fixed = {"upos": {2: "NEW"}, "feats": {1: "Colour=Red"}}
    (found,) = quick_joint_model().annotate([sentence], constraints=[Constraints(fixed)])
    assert (found.upos[1], found.feats[0]) == ("NEW", "Colour=Red")
    assert "NEW" not in (found.upos[0], found.upos[2])


def test_given_tags_are_kept_and_the_others_agree_with_them() -> None:
    """A word whose XPOS is given gets the best UPOS and FEATS beside it."""
    model = quick_joint_model()
    own, random = words(), np.random.default_rng(3)
    xpos = random.integers(len(model.columns.labels["xpos"]), size=own.n_words).astype(np.int32)
    given = np.where(random.random(own.n_words) < 0.5, xpos, ABSENT).astype(np.int32)
    found = predict(model.components, own, model.layers, {"xpos": given}, TAGS)
    size = len(model.columns.labels["xpos"])
    expected = tagger().predict(own, {"xpos": fixed_labels(given, size)})
    for layer in TAGS:
        np.testing.assert_array_equal(found[layer].values, expected[layer])
    np.testing.assert_array_equal(found["xpos"].values[given >= 0], given[given >= 0])
    np.testing.assert_array_equal(np.isnan(found["xpos"].probabilities), given != ABSENT)
    assert not np.isnan(found["upos"].probabilities).any()
    known = {tuple(row) for row in tagger().combinations.numbers.tolist()}
    table = np.stack([found[layer].values for layer in TAGS], axis=1).tolist()
    assert all(tuple(row) in known for row in table)


def test_the_tagger_does_not_run_where_all_tags_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    model = quick_joint_model()
    gold = list(sample("dev")[:5])
    own = model.columns.words([one.forms for one in gold])
    given = {layer: model.columns.label_numbers(gold, layer) for layer in TAGS}

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Tagger, "predict", refuse)
    found = predict(model.components, own, TAGS, given)
    for layer in TAGS:
        np.testing.assert_array_equal(found[layer].values, given[layer])


def test_some_of_its_layers_alone_are_as_all_of_them() -> None:
    model = quick_joint_model()
    whole = predict(model.components, words(), TAGS, {}, TAGS)
    assert tuple(whole) == TAGS
    some = predict(model.components, words(), ("xpos",), {}, ("xpos",))
    assert tuple(some) == ("xpos",)
    np.testing.assert_array_equal(some["xpos"].values, whole["xpos"].values)
    np.testing.assert_allclose(some["xpos"].probabilities, whole["xpos"].probabilities)


def test_gold_tags_are_kept_by_a_joint_model() -> None:
    gold = list(sample("dev")[:10])
    found = list(quick_joint_model().annotate(gold, gold_tags=True))
    for layer in TAGS:
        assert [getattr(one, layer) for one in found] == [getattr(one, layer) for one in gold]
    without = [one.with_layers(xpos=()) for one in gold]
    found = list(quick_joint_model().annotate(without, gold_tags=True))
    pairs = [
        (right, got)
        for one, other in zip(gold, found, strict=True)
        for right, got in zip(one.xpos, other.xpos, strict=True)
    ]
    plain = [tag for one in quick_joint_model().annotate(gold) for tag in one.xpos]
    agree = sum(right == got for right, got in pairs)
    assert agree > sum(right == got for (right, _), got in zip(pairs, plain, strict=True))


def test_a_joint_model_is_saved_and_loaded(tmp_path: Path) -> None:
    model = quick_joint_model()
    model.save(tmp_path / "joint.msgpack")
    loaded = Model.load(tmp_path / "joint.msgpack")
    assert loaded.layers == model.layers
    assert loaded.probabilistic == model.probabilistic
    assert list(loaded.sizes()) == [
        "tokeniser",
        "splitter",
        "expander",
        "morphology",
        "lemmas",
        "spans",
        "supertags",
        "heads",
        "deprels",
    ]
    gold = list(sample("dev")[:10])
    first, second = ([*own.annotate(gold, probabilities=True)] for own in (model, loaded))
    assert first == second
    assert loaded.strongest("upos", 3)
    for layer in TAGS:
        labels = set(loaded.columns.labels[layer].strings)
        singles = {feature for bundle in labels for feature in bundle.split("|")}
        named = {label for _, label, _ in loaded.strongest(layer, 20)}
        assert named <= labels | singles


def test_the_record_has_the_scores_of_each_layer() -> None:
    done = train(sample("train")[:40], sample("dev")[:20], quick_joint("layers=['upos','feats']"))
    model = done.model
    task = model.record["tasks"]["morphology"]
    assert set(model.record["tasks"]) == {"tokeniser", "splitter", "morphology"}
    assert model.components["morphology"].layers == ("upos", "feats")
    report = model.evaluate(sample("dev")[:20], bootstrap=0)
    assert task["score"] <= min(task["scores"].values())
    assert task["scores"]["upos"] == pytest.approx(report["UPOS"])
    assert task["combinations"] == len(model.components["morphology"].combinations.numbers)


@pytest.mark.parametrize("config", [quick, quick_joint])
def test_sentences_without_a_layer_are_learned_from_by_taggers_of_their_own(
    config: Callable[..., TrainConfig],
) -> None:
    """A corpus in which some sentences lack a layer of tags."""
    sentences = list(sample("train")[:40])
    sentences[::4] = [one.with_layers(feats=()) for one in sentences[::4]]
    settings = ("hold_out=0", "layers=['upos','feats']")
    model = train(sentences, None, config(*settings)).model
    assert "morphology" not in model.components
    assert set(taggers(model)) == {"upos", "feats"}


@pytest.mark.parametrize("joint", [True, False])
def test_one_tagger_and_three_are_both_there_to_choose(joint: bool) -> None:
    settings = ("hold_out=0", "layers=['upos','xpos','feats']")
    config = quick_joint(*settings) if joint else quick("morphology.joint=never", *settings)
    model = train(sample("train")[:15], None, config).model
    tasks = {"morphology"} if joint else set(TAGS)
    assert set(model.record["tasks"]) - {"splitter"} == tasks | {"tokeniser"}
    assert model.layers == TAGS
