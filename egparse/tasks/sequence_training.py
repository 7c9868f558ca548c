"""Fit a sequence model: index the attributes, choose the support, and minimise the regularised loss by EG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.features.sequence import WeightRows
from egparse.features.support import NEVER, supported_rows
from egparse.features.tag_dictionary import Candidates
from egparse.features.templates import Templates
from egparse.learners.learner import Learner, State
from egparse.tasks.config import StopConfig
from egparse.tasks.optimise import Best, optimise
from egparse.tasks.progress import Listener
from egparse.tasks.sequence_model import SequenceModel, as_stored, build_index, keys_of
from egparse.tasks.sequence_problem import SequenceProblem

Ints = npt.NDArray[np.int32]

GOLD_THETA = 7.0
"""Initial theta of correct labels, above the logarithm of the number of candidates: correct with probability 0.999.

Where labels are rare, a lower start puts more mass on them than the data has, and takes long to undo (docs/decisions/tag-models.md).
"""


class SequenceExamples(NamedTuple):
    """Words with columns ``values``, sentences ``starts``, correct labels ``gold`` and their ``candidates`` (gold among them)."""

    values: Ints
    starts: npt.NDArray[np.int64]
    gold: Ints
    candidates: Candidates
    n_labels: int


class SequenceSettings(NamedTuple):
    """What is fitted and how: the fields of TaggerConfig and LabellerConfig that both share, compiled."""

    templates: Templates
    min_count: int
    all_labels_from: int
    bigrams: bool
    learner: Callable[[SequenceProblem], Learner]
    stop: StopConfig


class Prepared(NamedTuple):
    """A learner at its first point, and how to copy the model out of it."""

    learner: Learner
    state: Any
    snapshot: Callable[[State], SequenceModel]


def fit(
    examples: SequenceExamples,
    settings: SequenceSettings,
    score: Callable[[SequenceModel], float] | None,
    task: str,
    listener: Listener,
) -> Best[SequenceModel]:
    """The best model by development ``score``, or the last one."""
    learner, state, snapshot = prepare(examples, settings)
    return optimise(learner, state, settings.stop, snapshot, score, task, listener)


def fit_unwatched(examples: SequenceExamples, settings: SequenceSettings, passes: int) -> SequenceModel:
    """The model after some passes, without certificates: for models that serve one moment, as in jackknifing."""
    learner, state, snapshot = prepare(examples, settings)
    for _ in range(passes):
        learner.iterate(state)
    with learner.exposed(state):
        return snapshot(state)


def prepare(examples: SequenceExamples, settings: SequenceSettings) -> Prepared:
    """Index attributes, lay out weights and duals."""
    keys = keys_of(settings.templates, examples.values, examples.starts)
    index = build_index(keys, settings.min_count)
    attributes = index.numbers(keys)
    del keys
    rows = supported_rows(attributes, examples.gold, len(index), examples.n_labels, settings.all_labels_from)
    problem = SequenceProblem(
        attributes=attributes,
        word_starts=examples.starts,
        gold=examples.gold,
        candidates=examples.candidates.labels,
        candidate_starts=examples.candidates.starts,
        rows=rows,
        n_labels=examples.n_labels,
        support=observed_bigrams(examples, settings.all_labels_from) if settings.bigrams else None,
    )
    learner = settings.learner(problem)
    per_word = len(examples.candidates.labels) / max(1, len(examples.gold))

    def snapshot(state: State) -> SequenceModel:
        scale = np.float32(state.scale)
        transitions = problem.transitions * scale
        if not settings.bigrams:
            transitions = np.zeros((examples.n_labels, examples.n_labels), dtype=np.float32)
        weights = WeightRows(rows.starts, rows.labels, as_stored(problem.rows.weights * scale))
        opening = np.zeros(examples.n_labels, dtype=np.float32)
        return SequenceModel(settings.templates, index, weights, transitions, opening)

    return Prepared(learner, learner.initialise(GOLD_THETA + float(np.log(per_word))), snapshot)


def observed_bigrams(examples: SequenceExamples, all_labels_from: int) -> npt.NDArray[np.bool_]:
    """Which label bigrams have a weight: those seen inside sentences, or all where any attribute has all labels."""
    if all_labels_from != NEVER:
        return np.ones((examples.n_labels, examples.n_labels), dtype=bool)
    seen = np.zeros((examples.n_labels, examples.n_labels), dtype=bool)
    inside = np.ones(len(examples.gold), dtype=bool)
    inside[examples.starts[1:][np.diff(examples.starts) > 0] - 1] = False  # the last word of each sentence
    previous = np.flatnonzero(inside)
    seen[examples.gold[previous], examples.gold[previous + 1]] = True
    return seen
