"""Sequence models choose what their training problem holds best, valid spans whatever their
weights, and the same without their small weights.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sample_treebank import quick, quick_model, sample

from egparse.features.index import KeyIndex
from egparse.features.sequence import WHOLE_LABELS, WeightRows
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.pipeline.model import Model
from egparse.sequences.scoring import Weights
from egparse.sequences.tagger import Tagger, candidates_of
from egparse.sequences.task import SequenceExamples, prepare_sequence
from egparse.training.run import train


@cache
def tagged_spans() -> Model:
    """A model of spans, trained on 60 sentences."""
    config = quick('layers=["spans"]', "hold_out=0")
    return train(sample("train")[:60], None, config).model


def test_predicted_spans_are_valid_whatever_the_weights() -> None:
    model = tagged_spans()
    own, names = model.components["spans"].model, model.columns.labels["spans"].strings
    random = np.random.default_rng(1)
    weights = random.normal(scale=5.0, size=own.rows.weights.shape).astype(np.float32)
    wild = replace(own, rows=own.rows._replace(weights=weights))
    words = model.columns.words([sentence.forms for sentence in sample("test")])
    found = [names[label] for label in Tagger(wild, None, ("spans",)).choose(words)]
    assert len(set(found)) > 3
    for first, end in zip(words.starts, words.starts[1:], strict=False):
        before = "O"
        for tag in found[first:end]:
            inside = before[0] in "BI"
            assert (tag[0] in "IE") == inside, (before, tag)
            assert not inside or tag[2:] == before[2:]
            before = tag


def test_the_model_chooses_what_the_problem_holds_best() -> None:
    random = np.random.default_rng(1)
    starts, n_labels = np.array([0, 5, 6, 10, 17]), 3
    words = int(starts[-1])
    values = random.integers(1, 5, size=(words, 1)).astype(np.int32)
    gold = random.integers(0, n_labels, size=words).astype(np.int32)
    examples = SequenceExamples(values, starts, gold, all_labels(words, n_labels), n_labels)
    learner, state, snapshot = prepare_sequence(
        examples,
        compile_templates(["bias", "a[0]", "a[-1]"], ["a"], True),
        lambda problem, _: OnlineEG(problem, EGConfig(c=0.1)),
        min_count=1,
        full_row_min_count=0,
        bigrams=True,
    )
    for _ in range(20):
        learner.iterate(state)
    problem = learner.problem  # type: ignore[attr-defined]
    model = snapshot(state)
    candidates = examples.candidates
    chosen = model.choose(model.scores(values, starts, candidates), starts, candidates)
    for i, first in enumerate(starts[:-1]):
        scores = problem.scores(i) * state.scale
        best = np.empty_like(scores)
        score = problem.argmax(i, scores, best)
        own = chosen[first : starts[i + 1]]
        path = np.zeros_like(best)
        begin = len(own) * n_labels
        path[np.arange(len(own)) * n_labels + own] = 1
        np.add.at(path, begin + own[:-1] * n_labels + own[1:], 1)
        assert path @ scores == pytest.approx(
            score, abs=0.01
        )  # weights are stored in half precision


def test_only_small_weights_are_left_out() -> None:
    model = quick_model().components["upos"].model
    small = model.without_small_weights(0.5)
    assert np.abs(small.rows.weights).min() >= 0.5
    assert len(small.rows.weights) == np.count_nonzero(np.abs(model.rows.weights) >= 0.5)
    assert len(small.rows.starts) == len(small.index) + 1
    before = dict(
        zip(
            model.index.keys.tolist(),
            np.split(model.rows.weights, model.rows.starts[1:-1]),
            strict=True,
        )
    )
    after = np.split(small.rows.weights, small.rows.starts[1:-1])
    for key, weights in zip(small.index.keys.tolist(), after, strict=True):
        np.testing.assert_array_equal(weights, before[key][np.abs(before[key]) >= 0.5])


def test_a_threshold_of_zero_changes_no_prediction() -> None:
    tagger = quick_model().components["upos"]
    words = quick_model().columns.words([sentence.forms for sentence in sample("test")])
    every = tagger.model.without_small_weights(0.0)
    candidates = candidates_of(words, tagger.dictionary, every.n_labels)
    scores = every.scores(words.values, words.starts, candidates)
    np.testing.assert_array_equal(
        tagger.choose(words), every.choose(scores, words.starts, candidates)
    )


@pytest.mark.parametrize("pads", [True, False])
@pytest.mark.parametrize("layer", ["upos", "spans"])
def test_sums_by_form_change_no_score(layer: str, pads: bool) -> None:
    """Templates of one form are summed once for each form of a batch, the others at each word."""
    tagger, columns = quick_model().components.of_layer(layer), quick_model().columns
    words = columns.words([sentence.forms for sentence in sample("test")])
    templates = tagger.model.templates._replace(pads=pads)
    model = replace(tagger.model, templates=templates)
    assert set(model._grouped.offsets.tolist()) >= {-1, 0, 1}
    for candidates in (
        candidates_of(words, tagger.dictionary, model.n_labels),
        all_labels(words.n_words, model.n_labels),
    ):
        np.testing.assert_array_equal(
            model.scores_of(words, candidates, by_form=False),
            model.scores(words.values, words.starts, candidates),
        )


@pytest.mark.parametrize("step", [2.0**-40, 0.0625, 2.0**40])
@pytest.mark.parametrize("n_rows", [100, 70_000])
def test_weights_in_steps_are_held_exactly(step: float, n_rows: int) -> None:
    weights = (np.random.default_rng(0).integers(-128, 129, n_rows) * step).astype(np.float32)
    starts, labels = np.arange(n_rows + 1, dtype=np.int32), np.full(n_rows, 6, dtype=np.uint16)
    index = KeyIndex(np.arange(1, n_rows + 1, dtype=np.uint64))
    held = Weights.of(index, WeightRows(starts, labels, weights), WHOLE_LABELS, 7)
    assert (held.levels[held.cells & 0xFFFF] == weights).all()
    assert (held.cells >> 16 == labels).all()
