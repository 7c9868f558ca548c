"""Supertags: what they say, and that training, annotating, storing and continuing have them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sample_treebank import sample
from sample_treebank import without as drop

from egparse.config.sections import ParserConfig, StopConfig, SupertagsConfig, TrainConfig
from egparse.layers import SUPERTAGS
from egparse.pipeline.model import Model
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.run import train
from egparse.training.steps import StepLearner

SMALL = StopConfig(iterations=2, patience=0)
CONFIG = TrainConfig(
    parser=ParserConfig(bits=14, stop=SMALL),
    pruner={"bits": 14},  # type: ignore[arg-type]
    jackknife={"folds": 2, "passes": 2},  # type: ignore[arg-type]
    morphology={"stop": {"iterations": 3}},  # type: ignore[arg-type]
    layers=("upos", "xpos", "feats", "heads", "deprels"),
)


def some(part: str, count: int) -> list[Sentence]:
    return list(sample(part)[:count])


@pytest.fixture(scope="module")
def model() -> Model:
    return train(some("train", 80), some("dev", 20), CONFIG).model


def test_a_supertag_is_label_side_of_the_head_and_sides_of_dependents() -> None:
    sentence = Sentence(
        forms=("She", "saw", "the", "man", "."),
        heads=(2, 0, 4, 2, 2),
        deprels=("nsubj", "root", "det", "obj", "punct"),
    )
    assert sentence.supertags == ["nsubj R", "root 0<>", "det R", "obj L<", "punct L"]


def test_a_word_without_head_or_label_has_none_and_without_head_is_no_dependent() -> None:
    sentence = Sentence(
        forms=("a", "b", "c"), heads=(2, 0, MISSING_HEAD), deprels=("_", "root", "x")
    )
    assert sentence.supertags == ["_", "root 0<", "_"]
    assert Sentence(forms=("a",)).supertags == ()


def test_training_predicts_them_before_trees_and_writes_them_nowhere(model: Model) -> None:
    assert SUPERTAGS in model.record["tasks"]
    assert SUPERTAGS not in model.layers
    assert SUPERTAGS in model.sizes()
    assert any("supertag" in text for text in model.components["parser"].pruner.texts)  # type: ignore[union-attr]
    words = model.columns.words([("She", "left", ".")])
    tags = model.components["supertags"].choose(words)
    assert tags.shape == (3,)
    assert (tags < len(model.columns.labels[SUPERTAGS])).all()


def test_a_stored_model_predicts_the_same(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.msgpack")
    loaded = Model.load(tmp_path / "m.msgpack")
    sentences = some("test", 10)
    assert list(loaded.annotate(sentences)) == list(model.annotate(sentences))


def test_parses_depend_on_them(model: Model) -> None:
    sentences = some("test", 20)
    without = drop(model, "supertags")
    found = [sentence.heads for sentence in model.annotate(sentences)]
    assert found != [sentence.heads for sentence in without.annotate(sentences)]


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, supertags=SupertagsConfig(train=False)),
        replace(CONFIG, layers=("upos", "heads")),
    ],
)
def test_without_labels_or_if_not_wanted_there_are_none(config: TrainConfig) -> None:
    found = train(some("train", 30), some("dev", 5), config).model
    assert "supertags" not in found.components
    assert SUPERTAGS not in found.columns.names


def test_they_are_learned_from_half_annotated_trees() -> None:
    sentences = [
        one.with_layers(heads=(MISSING_HEAD, *one.heads[1:]), deprels=("_", *one.deprels[1:]))
        for one in some("train", 30)
    ]
    model = train(sentences, some("dev", 5), CONFIG).model
    assert MISSING not in model.columns.labels[SUPERTAGS].strings
    assert "supertags" in model.components


def test_a_base_keeps_its_supertagger(model: Model) -> None:
    base = Base(model, "base", "")
    more = continue_training(base, some("dev", 60), None, configure(model, {})).model
    sentences = some("test", 10)
    forms = [sentence.forms for sentence in sentences]
    before, after = model.columns.words(forms), more.columns.words(forms)
    np.testing.assert_array_equal(
        model.components["supertags"].choose(before) if model.components["supertags"] else [],
        more.components["supertags"].choose(after),
    )
    list(more.annotate(sentences))


def test_a_model_with_supertags_learns_in_steps(model: Model) -> None:
    learner = StepLearner(model)
    losses = learner.update(some("dev", 10), ("heads", "deprels"))
    assert set(losses) == {"heads", "deprels"}
    assert "supertags" in learner.model.components
    list(learner.model.annotate(some("test", 3)))
