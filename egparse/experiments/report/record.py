"""The record of one training run: what was run, and where it stood after each pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple


class Point(NamedTuple):
    """Where a learner stood. ``primal`` and ``dual`` as in ``Certificate`` (``dual`` is -inf where
    the learner has none).

    ``cpu_seconds`` is the time spent in learning, without certificates and scores; ``score`` is
    that of the validation part.
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
    """The points of one run, in order. ``label`` names it in figures; ``options`` are the learner's
    own settings.

    ``stopped`` says why the run ended, ``test`` is the score of the last model on a test part,
    where there is one.
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
    """A lower bound of the optimum that several learners of one problem look for: the greatest dual
    value that one has seen.

    Where none has a dual, the lowest primal stands for it, which is no bound.
    """
    duals = [point.dual for curve in curves for point in curve.points if math.isfinite(point.dual)]
    if duals:
        return max(duals)
    return min((point.primal for curve in curves for point in curve.points), default=math.nan)
