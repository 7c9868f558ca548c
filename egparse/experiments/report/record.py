"""The record of training runs, as plain data: the settings of each run, its objective and score
after each pass, and what several runs on one problem say together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any, NamedTuple


class Point(NamedTuple):
    """The state of a run after a pass. ``primal`` and ``dual`` as in ``Certificate`` (``dual`` is
    -inf for learners without one).

    ``cpu_seconds`` is the time spent in learning, without certificates and scores; ``score`` is the
    validation score.
    """

    iteration: int
    effective_iterations: float
    cpu_seconds: float
    primal: float
    dual: float
    score: float

    @property
    def gap(self) -> float:
        """Primal minus dual."""
        return self.primal - self.dual


class Curve(NamedTuple):
    """The points of one run, in order. ``label`` names it in figures; ``options`` are settings that
    only this learner has.

    ``stopped`` says why the run ended; ``test`` is the test score of the last model, or None
    without a test part. ``details`` are further figures of the end of the run, by name.
    """

    experiment: str
    task: str
    label: str
    learner: str
    options: Mapping[str, Any]
    beta: float
    gamma: float
    c: float
    seed: int
    points: tuple[Point, ...]
    stopped: str
    test: float | None = None
    details: Mapping[str, float] = MappingProxyType({})


class Task(NamedTuple):
    """What was learned. ``n`` is the number of examples; ``sign`` is 1 where a greater score is
    better, else -1; ``facts`` describe the data.
    """

    name: str
    n: int
    score_name: str
    sign: int
    facts: Mapping[str, Any]
    has_test: bool


class Paired(NamedTuple):
    """Two contenders, each at one C, on the same sentences: the difference of their last scores in
    per cent, first minus second, where greater is better, and the p value of approximate
    randomisation (``egparse.evaluation.significance``). Counts of all seeds are added.
    """

    first: str
    first_c: float
    second: str
    second_c: float
    difference: float
    p: float


class Comparison(NamedTuple):
    """Several learners on one problem, in order of C, contender and seed.

    ``split_by_seed`` says that each seed has its own training and validation part.
    """

    task: Task
    curves: tuple[Curve, ...]
    notes: tuple[str, ...] = ()
    tests: tuple[Paired, ...] = ()
    split_by_seed: bool = False

    @property
    def constants(self) -> tuple[float, ...]:
        """The values of C, in order."""
        return tuple(dict.fromkeys(curve.c for curve in self.curves))

    @property
    def labels(self) -> tuple[str, ...]:
        """The contenders, in order."""
        return tuple(dict.fromkeys(curve.label for curve in self.curves))

    @property
    def first_seed(self) -> Comparison:
        """The curves of the first seed alone, as figures show them."""
        seed = min((curve.seed for curve in self.curves), default=0)
        return self._replace(curves=tuple(curve for curve in self.curves if curve.seed == seed))

    def at(self, c: float) -> tuple[Curve, ...]:
        """The curves of one C."""
        return tuple(curve for curve in self.curves if curve.c == c)

    def of(self, label: str) -> tuple[Curve, ...]:
        """The curves of one contender."""
        return tuple(curve for curve in self.curves if curve.label == label)

    def runs(self, label: str, c: float) -> tuple[Curve, ...]:
        """The curves of one contender at one C, one for each seed."""
        return tuple(curve for curve in self.of(label) if curve.c == c)

    def bound(self, curve: Curve) -> float:
        """The best lower bound of the optimum of the problem that this curve is about."""
        rivals = self.at(curve.c)
        if self.split_by_seed:
            rivals = tuple(rival for rival in rivals if rival.seed == curve.seed)
        return best_bound(rivals)

    def excess(self, curve: Curve, point: Point) -> float:
        """How far the primal is above the best lower bound, in per cent of that bound."""
        bound = self.bound(curve)
        return 100.0 * (point.primal - bound) / abs(bound) if bound else math.nan

    def effort(self, label: str, c: float, per_cent: float, *, seconds: bool = False) -> float:
        """The effective iterations (or CPU seconds) until the primal is first within so many per
        cent of the best bound, the mean over seeds; inf if a run never is.
        """
        found = [self._effort(curve, per_cent, seconds) for curve in self.runs(label, c)]
        return fmean(found) if found else math.inf

    def last_excess(self, label: str, c: float) -> float:
        """The excess of the last primal, in per cent, the mean over seeds; nan without points."""
        return _mean(
            [self.excess(run, run.points[-1]) for run in self.runs(label, c) if run.points]
        )

    def last_gap(self, label: str, c: float) -> float:
        """The duality gap at the end, in per cent of the best bound, the mean over seeds."""
        return _mean(
            [
                100.0 * run.points[-1].gap / abs(self.bound(run))
                for run in self.runs(label, c)
                if run.points
            ]
        )

    def score(self, label: str, c: float) -> float:
        """The last validation score, the mean over seeds; nan without points."""
        return _mean([run.points[-1].score for run in self.runs(label, c) if run.points])

    def test(self, label: str, c: float) -> float:
        """The test score, the mean over seeds; nan where there is none."""
        return _mean([run.test for run in self.runs(label, c) if run.test is not None])

    def spread(self, label: str, c: float) -> float:
        """The standard deviation of the last validation score over seeds; nan for one seed."""
        return _deviation([run.points[-1].score for run in self.runs(label, c) if run.points])

    def best_score(self, label: str, c: float) -> float:
        """The best validation score of any pass, the mean over seeds."""
        return _mean(
            [
                self.task.sign * max(self.task.sign * point.score for point in run.points)
                for run in self.runs(label, c)
                if run.points
            ]
        )

    def best_c(self, label: str) -> float:
        """The C at which a contender ends with the best score; nan where it has no curve."""
        ended = [(self.task.sign * self.score(label, c), c) for c in self.constants]
        return max((pair for pair in ended if math.isfinite(pair[0])), default=(0.0, math.nan))[1]

    def paired(self, first: str, first_c: float, second: str, second_c: float) -> Paired | None:
        """The paired test of two contenders, either way round; None if it was not made."""
        for found in self.tests:
            if found[:4] == (first, first_c, second, second_c):
                return found
            if found[:4] == (second, second_c, first, first_c):
                return Paired(first, first_c, second, second_c, -found.difference, found.p)
        return None

    def _effort(self, curve: Curve, per_cent: float, seconds: bool) -> float:
        for point in curve.points:
            if self.excess(curve, point) <= per_cent:
                return point.cpu_seconds if seconds else point.effective_iterations
        return math.inf


def best_bound(curves: Sequence[Curve]) -> float:
    """A lower bound of the optimum of a problem that several learners solved: the greatest dual
    value that any of them reached.

    If none has a dual, it is the lowest primal instead, which is no bound.
    """
    duals = [point.dual for curve in curves for point in curve.points if math.isfinite(point.dual)]
    if duals:
        return max(duals)
    return min((point.primal for curve in curves for point in curve.points), default=math.nan)


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else math.nan
