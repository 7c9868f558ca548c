"""A training problem of the experiments, with its scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from egparse.evaluation.scores import total
from egparse.experiments.problems.samples import Sample
from egparse.learners.problem import Problem, size
from egparse.types import Floats, Longs, Mask

Score = Callable[[float], float]
"""A function of the scale: the score of the model w = scale v, where the problem holds v."""

Counts = Callable[[float], Longs]
"""A function of the scale: (correct, gold, system) of each sentence."""


class Setup(NamedTuple):
    """A problem. ``score`` rates its model on the validation part and ``test`` on the test part;
    ``sign`` is 1 where a greater score is better, else -1.

    ``gold_theta`` is the initial theta of correct parts, for learners in the dual; ``facts``
    describe the data. ``outcomes`` are the counts (correct, gold, system) of the test part, or else
    of the validation part, by sentence, (sentences, 3), for paired tests; ``figures`` are further
    figures of the last model, by name. ``optimum``, if it is known beforehand, gives a lower bound
    of the optimum for a value of C.
    """

    problem: Problem
    score: Score
    score_name: str
    sign: int
    gold_theta: float | Floats
    facts: Mapping[str, Any]
    test: Score | None = None
    outcomes: Counts | None = None
    figures: Callable[[float], Mapping[str, float]] | None = None
    optimum: Callable[[float], float] | None = None

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1


class Scaled(NamedTuple):
    """The only field of a learner's state that a snapshot reads."""

    scale: float


def sentence_counts(right: Mask, lengths: Sequence[int]) -> Longs:
    """(correct, gold, system) of each sentence: what is right of its words, and the number of its
    words twice.
    """
    words = np.asarray(lengths)
    correct = np.add.reduceat(right.astype(np.int64), np.cumsum(words) - words)
    return np.stack([correct, words, words], axis=1)


def scored(
    problem: Problem,
    sample: Sample,
    held_out: Counts,
    compared: Counts,
    score_name: str,
    gold_theta: float | Floats,
    facts: Mapping[str, Any],
) -> Setup:
    """A problem of the training sentences, scored in per cent by the counts of the validation part,
    ``held_out``, and of the part that is ``compared``: the test part, or else the validation part.
    """
    parts = {"training": sample.train, "validation": sample.dev, "test": sample.test}
    sizes = {f"{name} sentences": len(part) for name, part in parts.items() if part}
    words = {f"{name} words": sum(map(len, part)) for name, part in parts.items() if part}
    return Setup(
        problem,
        lambda scale: total(held_out(scale)).f1,
        score_name,
        1,
        gold_theta,
        {"data": sample.name, **sizes, **words, "weights": size(problem), **facts},
        (lambda scale: total(compared(scale)).f1) if sample.test else None,
        compared,
    )
