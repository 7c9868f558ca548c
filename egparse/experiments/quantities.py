"""Numbers of runs and probes, named as data: which runs of which experiment, and what of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

from egparse.experiments.record import Comparison, Curve
from egparse.experiments.store import Results

Found = Mapping[str, Results]
"""The results of experiments by name."""

BEST = 0.0
"""In place of a C: that of the best validation score at the end of the runs of a contender."""


class Runs(NamedTuple):
    """The runs of a contender at one C (or at its ``BEST``), in a comparison of an experiment."""

    experiment: str
    comparison: str
    label: str
    c: float

    def comparison_in(self, found: Found) -> Comparison | None:
        """The comparison; None if it has not been run."""
        results = found.get(self.experiment)
        return None if results is None else results.comparisons.get(self.comparison)

    def of(self, found: Found) -> tuple[Curve, ...]:
        """The curves, one for each seed."""
        comparison = self.comparison_in(found)
        return () if comparison is None else comparison.runs(self.label, self.c_in(found))

    def c_in(self, found: Found) -> float:
        """The value of C; nan where the best is asked for and nothing was run."""
        comparison = self.comparison_in(found)
        if self.c != BEST or comparison is None:
            return self.c
        return comparison.best_c(self.label)


class Curves(NamedTuple):
    """The contenders of a comparison: ``Curves("multiclass", "digits")("EG", 10)`` are runs.
    ``ours`` are our values of C for those of a paper, where they differ.
    """

    experiment: str
    comparison: str
    ours: Mapping[float, float] = {}

    def __call__(self, label: str, c: float) -> Runs:
        return Runs(self.experiment, self.comparison, label, self.ours.get(c, c))


class Quantity(NamedTuple):
    """A number of runs, the mean over seeds.

    ``passes``, ``seconds``: effort until the primal is within ``to`` per cent of the best bound;
    ``dual passes``: until the dual is; ``passes to score``, ``seconds to score``: until the
    validation score is as good as ``to``; ``settled``: from which on it stays within ``to`` points
    of the last one; ``last passes``: of the whole run; ``gap``, ``excess``, ``primal``: at its end,
    in per cent of the best bound, the primal for each example; ``score``, ``best score``: of the
    validation part; ``test``: the score of the test part; ``c``: the value of C; ``fall``: the most
    that the validation score gets worse from one point to the next. Other names are details of the
    last model, in per cent of the examples if ``per_cent``. ``over`` takes the least or the
    greatest number of any seed in place of the mean.
    """

    runs: Runs
    what: str
    to: float = 1.0
    per_cent: bool = False
    over: Literal["mean", "least", "greatest"] = "mean"

    def value(self, found: Found) -> float:
        """The number; nan where nothing was run."""
        comparison = self.runs.comparison_in(found)
        runs = self.runs.of(found)
        if comparison is None or not runs:
            return math.nan
        each = [self._of(comparison, run) for run in runs]
        return fmean(each) if self.over == "mean" else (min if self.over == "least" else max)(each)

    def _of(self, comparison: Comparison, run: Curve) -> float:
        sign, last, to = comparison.sign, run.points[-1], self.to
        by = "seconds" if self.what.startswith("seconds") else "passes"
        scores = [sign * point.score for point in run.points]
        match self.what:
            case "passes" | "seconds":
                return _first(run, by, [excess <= to for excess in comparison.excesses(run)])
            case "dual passes":
                bound = comparison.bound(run)
                goal = bound - to / 100 * abs(bound)
                return _first(run, by, [point.dual >= goal for point in run.points])
            case "passes to score" | "seconds to score":
                return _first(run, by, [score >= sign * to for score in scores])
            case "settled":
                far = [k for k, score in enumerate(scores) if abs(score - scores[-1]) > to]
                return run.points[far[-1] + 1 if far else 0].passes
            case "fall":
                falls = (one - other for one, other in itertools.pairwise(scores))
                return max(falls, default=math.nan)
            case "last passes":
                return last.passes
            case "c":
                return run.c
            case "excess":
                return comparison.excesses(run)[-1]
            case "gap":
                return 100 * last.gap / abs(comparison.bound(run))
            case "primal":
                return last.primal / comparison.n
            case "score":
                return last.score
            case "best score":
                return sign * max(scores)
            case "test":
                return math.nan if run.test is None else run.test
        detail = run.details.get(self.what, math.nan)
        return 100.0 * detail / comparison.n if self.per_cent else detail


def _first(run: Curve, by: str, reached: Sequence[bool]) -> float:
    """The effort up to the first point that has reached a goal; infinite if none has."""
    points = (point for point, there in zip(run.points, reached, strict=True) if there)
    return next((float(getattr(point, by)) for point in points), math.inf)


class Number(NamedTuple):
    """A number that a probe of an experiment found, by the keys that lead to it."""

    experiment: str
    keys: tuple[str, ...]

    def value(self, found: Found) -> float:
        """The number; nan where it is not there."""
        place: Any = found[self.experiment].numbers if self.experiment in found else {}
        for key in self.keys:
            place = place.get(key, {}) if isinstance(place, Mapping) else {}
        return float(place) if isinstance(place, int | float) else math.nan


class Overtaking(NamedTuple):
    """The passes after which ``first`` is for the first time at least as good as ``second`` was up
    to then, by the primal or the validation score; the mean over seeds.
    """

    first: Runs
    second: Runs
    what: Literal["primal", "score"] = "primal"

    def value(self, found: Found) -> float:
        """The passes; infinite where it never is, nan where nothing was run."""
        comparison = self.first.comparison_in(found)
        others = {run.seed: run for run in self.second.of(found)}
        pairs = [(run, others[run.seed]) for run in self.first.of(found) if run.seed in others]
        if comparison is None or not pairs:
            return math.nan
        sign = -1 if self.what == "primal" else comparison.sign

        def overtakes(run: Curve, other: Curve) -> float:
            for point in run.points:
                reached = [own for own in other.points if own.passes <= point.passes]
                ahead = [getattr(point, self.what) - getattr(own, self.what) for own in reached]
                if ahead and sign * ahead[-1] >= 0:
                    return point.passes
            return math.inf

        return fmean(overtakes(run, other) for run, other in pairs)


class Combined(NamedTuple):
    """The sum of several numbers, the first less the second, or the least that was measured."""

    how: Literal["sum", "difference", "least"]
    of: Sequence[Quantity | Number | float]

    def value(self, found: Found) -> float:
        """The number; nan where nothing was run. What never ends is no shorter by what it took."""
        values = [value_of(value, found) for value in self.of]
        match self.how:
            case "sum":
                return math.fsum(values)
            case "difference":
                return values[0] if math.isinf(values[0]) else values[0] - values[1]
            case "least":
                return min((one for one in values if not math.isnan(one)), default=math.nan)


Value = Quantity | Number | Overtaking | Combined | float
"""A number that is measured, or one that the paper gives."""


def value_of(value: Value, found: Found) -> float:
    """The number; nan where it was not measured."""
    return float(value) if isinstance(value, int | float) else value.value(found)
