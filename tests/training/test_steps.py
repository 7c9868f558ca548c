"""Learning from batches, one step each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sample_treebank import (
    SECOND_ORDER,
    quick,
    quick_model,
    sample,
    taggers,
)
from training.continued import accuracy

from egparse.errors import EgparseError
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.warm_start import _union
from egparse.training.run import train
from egparse.training.steps import StepLearner, untrained_model

LAYERS = ("upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels")


def in_batches(learner: StepLearner, sentences: Sequence[Sentence], size: int = 10) -> float:
    """One pass over the sentences in steps; the summed loss of all layers."""
    return sum(
        sum(learner.update(sentences[first : first + size], LAYERS).values())
        for first in range(0, len(sentences), size)
    )


@pytest.mark.parametrize(
    "settings",
    [pytest.param((), marks=pytest.mark.nightly), SECOND_ORDER],
    ids=["order 1", "order 2"],
)
def test_steps_from_nothing_learn_what_training_learns(settings: tuple[str, ...]) -> None:
    sentences, config = sample("train")[:60], quick("hold_out=0", *settings)
    learner = StepLearner(untrained_model(sentences, LAYERS, config))
    assert learner.layers == LAYERS
    losses = [in_batches(learner, sentences) for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    whole = train(sentences, None, config).model
    for layer in ("upos", "feats", "heads", "deprels"):
        assert accuracy(learner.model, sentences, layer) > 0.8
        learned = accuracy(learner.model, sample("test"), layer)
        assert learned > accuracy(whole, sample("test"), layer) - 0.1, layer
    if settings:
        assert isinstance(learner.model.components["parser"], SecondOrderParser)


def test_an_untrained_model_has_no_weights_and_can_be_saved(tmp_path: Path) -> None:
    model = untrained_model(sample("train")[:30], LAYERS, quick())
    assert all(not tagger.model.rows.weights.any() for tagger in taggers(model).values())
    assert not model.components["parser"].weights.any()
    model.save(tmp_path / "empty.msgpack")
    assert Model.load(tmp_path / "empty.msgpack").layers == LAYERS


def test_the_same_steps_give_the_same_model(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        learner = StepLearner(quick_model())
        in_batches(learner, sample("train")[60:80])
        learner.model.save(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]


def test_a_saved_model_predicts_as_the_learner_does(tmp_path: Path) -> None:
    learner = StepLearner(quick_model())
    in_batches(learner, sample("train")[60:90])
    learner.model.save(tmp_path / "stepped.msgpack")
    loaded = Model.load(tmp_path / "stepped.msgpack")
    assert loaded.record["steps"] == {"batches": 3, "sentences": 30}
    plain = [Sentence(forms=one.forms) for one in sample("test")]
    assert list(loaded.annotate(plain)) == list(learner.model.annotate(plain))


def test_a_step_changes_the_layers_that_it_is_asked_for_and_no_other() -> None:
    learner = StepLearner(quick_model())
    losses = learner.update(sample("train")[60:80], ("spans",))
    assert set(losses) == {"spans"}
    plain = [Sentence(forms=one.forms) for one in sample("test")]
    before, after = quick_model().annotate(plain), learner.model.annotate(plain)
    for old, new in zip(before, after, strict=True):
        assert [getattr(old, layer) for layer in LAYERS if layer != "spans"] == [
            getattr(new, layer) for layer in LAYERS if layer != "spans"
        ]
    weights = [one.components["spans"].model.rows.weights for one in (quick_model(), learner.model)]
    assert weights[0].shape != weights[1].shape or (weights[0] != weights[1]).any()


def test_a_sentence_is_used_for_the_layers_that_it_has() -> None:
    learner = StepLearner(quick_model())
    whole, *others = sample("train")[60:64]
    headless = [replace(one, heads=(), deprels=()) for one in others]
    tags_only = replace(whole, feats=(), spans=(), heads=(-1, *whole.heads[1:]))
    losses = learner.update([*headless, tags_only], LAYERS)
    assert "heads" not in losses
    assert {"upos", "xpos", "feats", "spans"} <= set(losses)
    assert learner.update([], LAYERS) == {}


def test_a_hyphen_is_a_value() -> None:
    hyphen = Sentence(
        forms=("well", "-", "known"), lemmas=("well", "-", "known"), xpos=("RB", "-", "VBN")
    )
    assert set(StepLearner(quick_model()).update([hyphen], LAYERS)) == {"xpos", "lemmas"}


def test_labels_of_arcs_are_learned_only_from_sentences_with_heads() -> None:
    learner = StepLearner(quick_model())
    whole, headless = sample("train")[60], replace(sample("train")[61], heads=())
    assert learner.update([headless], ("deprels",)) == {}
    assert set(learner.update([whole, headless], ("deprels",))) == {"deprels"}


def test_new_words_and_labels_are_learned() -> None:
    learner = StepLearner(quick_model())
    strange = Sentence(
        forms=("Blorp", "flims", "."),
        upos=("GLORB", "VERB", "PUNCT"),
        heads=(2, 0, 2),
        deprels=("glorb", "root", "punct"),
    )
    for _ in range(12):
        learner.update([strange], LAYERS)
    (found,) = learner.model.annotate([Sentence(forms=strange.forms)])
    assert found.upos == strange.upos
    assert found.heads == strange.heads
    assert found.deprels == strange.deprels


def test_a_great_c_keeps_the_model_where_it_is() -> None:
    """The step is at most 1/C times the gradient of a sentence."""
    before = quick_model()
    table = {**before.config_table}
    for section in ("upos", "xpos", "feats", "spans", "parser", "labeller"):
        table[section] = {**table[section], "c": 1e9}
    learner = StepLearner(replace(before, config_table=table))
    in_batches(learner, sample("train")[60:90])
    after = learner.model
    for layer, tagger in taggers(before).items():
        assert np.array_equal(after.components[layer].model.index.keys, tagger.model.index.keys)
        assert np.array_equal(after.components[layer].model.rows.weights, tagger.model.rows.weights)
    assert np.array_equal(after.components["parser"].weights, before.components["parser"].weights)


def test_labels_can_be_added_before_they_are_learned() -> None:
    learner = StepLearner(quick_model())
    assert learner.add_labels("upos", ["NEW", "NOUN"]) == 1
    assert learner.add_labels("upos", ["NEW"]) == 0
    assert learner.add_labels("spans", ["SHIP"]) == 1
    assert "NEW" in learner.model.columns.labels["upos"].values
    plain = [Sentence(forms=one.forms) for one in sample("test")]
    assert list(learner.model.annotate(plain)) == list(quick_model().annotate(plain))
    with pytest.raises(EgparseError, match=r"expected a layer with labels of the model .*'heads'"):
        learner.add_labels("heads", ["x"])


@pytest.mark.parametrize("seed", range(5))
def test_unions_are_those_of_sets(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = (
        np.unique(generator.integers(0, 40, generator.integers(0, 30))) for _ in range(2)
    )
    assert _union(first, second).tolist() == sorted({*first.tolist(), *second.tolist()})
