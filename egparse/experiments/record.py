"""The record of training runs, as plain data: the settings of each run, its objective and score
after each pass, and what the runs on one problem say together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from egparse.evaluation.significance import PairedDifference, paired_differences
from egparse.learners.learner import LearnerConfig
from egparse.types import Longs


class Point(NamedTuple):
    """The state of a run after a pass. ``passes`` are effective iterations: evaluations / n
    (Collins et al. 2008, section 7). ``primal`` and ``dual`` are summed over examples (``dual`` is
    -inf for learners without one).

    ``seconds`` are CPU seconds of learning, without certificates and scores; ``score`` is that of
    the validation part.
    """

    passes: float
    seconds: float
    primal: float
    dual: float
    score: float

    @property
    def gap(self) -> float:
        """Primal minus dual."""
        return self.primal - self.dual


class Curve(NamedTuple):
    """One run: its settings and its points, in order. ``label`` names the contender.

    ``stopped`` says why the run ended; ``test`` is the test score of the last model, or None
    without a test part; ``details`` are further figures of the last model, by name. ``outcomes``
    are the counts (correct, gold, system) of each sentence or example of the test part, or else of
    the validation part, (m, 3), under the last model; None where the problem has none.
    """

    label: str
    learner: str
    options: Mapping[str, Any]
    beta: float
    gamma: float
    c: float
    seed: int
    points: tuple[Point, ...] = ()
    stopped: str = ""
    test: float | None = None
    details: Mapping[str, float] = MappingProxyType({})
    outcomes: Longs | None = None


class Comparison(NamedTuple):
    """Several contenders on one problem. ``n`` is the number of training examples; ``sign`` is 1
    where a greater score is better, else -1; ``facts`` describe the data. ``split_by_seed`` says
    that each seed has its own training and validation part. ``machine`` is the processor that all
    runs were made on, empty while some are still to be made.
    """

    n: int
    score_name: str
    sign: int
    facts: Mapping[str, Any]
    curves: tuple[Curve, ...] = ()
    split_by_seed: bool = False
    machine: str = ""

    def runs(self, label: str, c: float) -> tuple[Curve, ...]:
        """The runs of one contender at one C that have points, one for each seed."""
        return tuple(
            curve
            for curve in self.curves
            if curve.label == label and math.isclose(curve.c, c, rel_tol=1e-3) and curve.points
        )

    def rivals(self, of: Curve | LearnerConfig) -> list[Curve]:
        """The runs on the same problem with the same objective."""
        return [
            one
            for one in self.curves
            if (one.beta, one.gamma) == (of.beta, of.gamma)
            and math.isclose(one.c, of.c, rel_tol=1e-3)
            and (one.seed == of.seed or not self.split_by_seed)
        ]

    def greatest_dual(self, of: Curve | LearnerConfig) -> float:
        """A lower bound of the optimum: the greatest dual value that any learner reached, or one
        that was computed before the runs (``details["optimum"]``); -inf without any.
        """
        rivals = self.rivals(of)
        duals = [point.dual for one in rivals for point in one.points]
        known = [one.details["optimum"] for one in rivals if "optimum" in one.details]
        return max((*duals, *known), default=-math.inf)

    def bound(self, curve: Curve) -> float:
        """The best lower bound of the optimum of the problem that this curve is about. If no
        learner has a dual, it is the lowest primal instead, which is no bound.
        """
        bound = self.greatest_dual(curve)
        if bound > -math.inf:
            return bound
        return min(point.primal for one in self.rivals(curve) for point in one.points)

    def excesses(self, curve: Curve) -> list[float]:
        """How far the primal is above the best lower bound at each point, in per cent of it."""
        bound = self.bound(curve)
        if not bound:
            return [math.nan] * len(curve.points)
        return [100.0 * (point.primal - bound) / abs(bound) for point in curve.points]

    def best_c(self, label: str) -> float:
        """The C at which a contender ends with the best validation score, by the seeds that were
        run at every C; nan without runs.
        """
        constants = dict.fromkeys(curve.c for curve in self.curves)
        every = {c: runs for c in constants if (runs := self.runs(label, c))}
        seeds = [{run.seed for run in runs} for runs in every.values()]
        common = set.intersection(*seeds) if seeds else set()

        def last_score(c: float) -> float:
            return self.sign * fmean(r.points[-1].score for r in every[c] if r.seed in common)

        return max(every, key=last_score) if common else math.nan


def paired(one: Sequence[Curve], other: Sequence[Curve]) -> PairedDifference | None:
    """The runs of two contenders on the same examples, one for each seed, of one comparison or of
    two: scores of the last models, their difference in per cent, its 95 % interval (paired
    bootstrap) and the p value of approximate randomisation (``egparse.evaluation.significance``).
    Counts of all seeds are added, which gives both the same weight. None without outcomes of both.
    """
    counts = [run.outcomes for run in (*one, *other) if run.outcomes is not None]
    if len(counts) < len(one) + len(other) or len({own.shape for own in counts}) > 1:
        return None
    first, second = np.sum(counts[: len(one)], axis=0), np.sum(counts[len(one) :], axis=0)
    compared = paired_differences({"": first * len(other)}, {"": second * len(one)})
    return compared[""]
