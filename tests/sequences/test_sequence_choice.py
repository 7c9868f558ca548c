"""Sequence models choose what their training problem holds best, and valid spans whatever their
weights.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sample_treebank import quick, sample

from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import compile_templates
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.pipeline.model import Model
from egparse.sequences.fit import SequenceExamples, SequenceSettings, prepare_sequence
from egparse.sequences.tagger import Tagger
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
    settings = SequenceSettings(
        compile_templates(["bias", "a[0]", "a[-1]"], ["a"], True),
        1,
        0,
        True,
        lambda problem, _: OnlineEG(problem, EGConfig(c=0.1)),
    )
    learner, state, snapshot = prepare_sequence(examples, settings)
    for _ in range(20):
        learner.iterate(state)
    problem = learner.problem  # type: ignore[attr-defined]
    chosen = snapshot(state).choose(values, starts, examples.candidates)
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
