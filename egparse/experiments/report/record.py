"""The record of one training run: its settings, and its objective and score after each pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    without a test part.
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

    def plain(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        points = [{**point._asdict(), "gap": point.gap} for point in self.points]
        return {**self._asdict(), "options": dict(self.options), "points": points}


def best_bound(curves: tuple[Curve, ...]) -> float:
    """A lower bound of the optimum of a problem that several learners solved: the greatest dual
    value that any of them reached.

    If none has a dual, it is the lowest primal instead, which is no bound.
    """
    duals = [point.dual for curve in curves for point in curve.points if math.isfinite(point.dual)]
    if duals:
        return max(duals)
    return min((point.primal for curve in curves for point in curve.points), default=math.nan)
