"""Numbers of runs and probes, named as data: which runs of which experiment, and what of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
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


What = Literal[
    "passes", "seconds", "dual passes", "passes to score", "seconds to score", "settled",
    "last passes", "gap", "excess", "primal", "score", "best score", "test", "c", "fall",
]  # fmt: skip


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
    what: What | str
    to: float = 1.0
    per_cent: bool = False
    over: Literal["mean", "least", "greatest"] = "mean"

    def value(self, found: Found) -> float:
        """The number; nan where nothing was run."""
        comparison = self.runs.comparison_in(found)
        each = [self._of(comparison, run) for run in self.runs.of(found) if comparison is not None]
        if not each:
            return math.nan
        return fmean(each) if self.over == "mean" else (min if self.over == "least" else max)(each)

    def _of(self, comparison: Comparison, run: Curve) -> float:
        """The number of one run."""
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
                if (
                    reached
                    and sign * (getattr(point, self.what) - getattr(reached[-1], self.what)) >= 0
                ):
                    return point.passes
            return math.inf

        return fmean(overtakes(run, other) for run, other in pairs)


class Combined(NamedTuple):
    """The sum, the least or the greatest of several numbers, or the first less the others. A sum
    or a difference needs all of them.
    """

    how: Literal["sum", "difference", "least", "greatest"]
    of: Sequence[Quantity | Number | float]

    def value(self, found: Found) -> float:
        """The number; nan where nothing was run."""
        values = [value_of(value, found) for value in self.of]
        if self.how == "sum":
            return math.fsum(values)
        if self.how == "difference":
            return values[0] if math.isinf(values[0]) else values[0] - sum(values[1:])
        known = [value for value in values if not math.isnan(value)]
        return (min if self.how == "least" else max)(known, default=math.nan)


Value = Quantity | Number | Overtaking | Combined | float
"""A number that is measured, or one that the paper gives."""


def parts_of(value: Value | Runs) -> Iterator[Quantity | Number | Runs | float]:
    """The runs and numbers that a number is made of."""
    match value:
        case Combined():
            for part in value.of:
                yield from parts_of(part)
        case Overtaking():
            yield from (value.first, value.second)
        case _:
            yield value


def value_of(value: Value, found: Found) -> float:
    """The number; nan where it was not measured."""
    return float(value) if isinstance(value, int | float) else value.value(found)
