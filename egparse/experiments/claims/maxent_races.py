"""The curves of the maximum-entropy experiment, a task and a variance at a time, and how far they
are from the optimum.
"""

from __future__ import annotations

from typing import NamedTuple

from egparse.experiments.report.record import Comparison, Curve, Point
from egparse.experiments.report.results import Results

TAGS, EIGHTH, CHUNKS, VARIANCES = "Tags", "Tags, an eighth", "Chunks", "Chunks, other variances"
"""The names of the comparisons."""

FLOOR = 1e-4
"""Smaller relative differences are drawn at this height."""


class Found(NamedTuple):
    """The curves of one task at one C, and the optimum L(w*) in nats."""

    task: str
    c: float
    score_name: str
    optimum: float
    curves: tuple[Curve, ...]
    comparison: Comparison

    @property
    def title(self) -> str:
        """The task and the variance of the prior."""
        return title_of(self.task, self.c)

    @property
    def labels(self) -> tuple[str, ...]:
        """The learners, in order."""
        return tuple(curve.label for curve in self.curves)

    @property
    def seconds(self) -> float:
        """What every learner has, in CPU seconds."""
        return min(curve.points[-1].cpu_seconds for curve in self.curves)

    def of(self, label: str) -> Curve:
        """The curve of a learner."""
        return next(curve for curve in self.curves if curve.label == label)

    def difference(self, point: Point) -> float:
        """(L(w) - L(w*)) / L(w*) (eq. 17), or the floor where it is lower."""
        return max(FLOOR, (point.primal - self.optimum) / self.optimum)

    def first(self, curve: Curve, within: float) -> Point | None:
        """The first point that is so near to the optimum."""
        return next((own for own in curve.points if self.difference(own) <= within), None)

    def at(self, label: str, seconds: float) -> Point:
        """Where a learner is after so many seconds."""
        return [point for point in self.of(label).points if point.cpu_seconds <= seconds][-1]

    def after(self, label: str, seconds: float) -> float:
        """Its difference then."""
        return self.difference(self.at(label, seconds))


def title_of(task: str, c: float) -> str:
    """The name of a task at one C."""
    return f"{task}, sigma^2 = {1 / c:g}"


def runs(results: Results) -> list[Found]:
    """The curves of each task and C whose optimum is known."""
    found = []
    for comparison in results.comparisons.values():
        first = comparison.first_seed
        for c in comparison.constants:
            optimum = results.numbers["optimum"].get(title_of(comparison.task.name, c))
            if optimum is not None:
                name, scored = comparison.task.name, comparison.task.score_name
                found.append(Found(name, c, scored, optimum, first.at(c), comparison))
    return found
