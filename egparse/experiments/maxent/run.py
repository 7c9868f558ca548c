"""Running a maximum-entropy algorithm to a tolerance, with a record of every pass."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.types import Floats

# relative to the first gradient norm: where the objective no longer falls, the reason is rounding
# below this norm, and a fault above it
_STALLED = 1e-4


class Record(NamedTuple):
    """The state after ``passes`` passes and ``seconds`` of CPU time in training (without
    measurements): L(w) in nats, its relative difference to the optimum (Huang et al. 2009, eq. 17;
    nan if that is not known), the Euclidean norm of its gradient (nan if the stopping rule has no
    tolerance, because it costs some learners half a pass) and the dual value of learners that have
    one (-inf for others).
    """

    passes: int
    seconds: float
    objective: float
    relative_difference: float
    gradient_norm: float
    dual: float = -math.inf


class MaxentRun(NamedTuple):
    """The weights, the records from w = 0 on, and whether the tolerance was met."""

    weights: Floats
    records: list[Record]
    converged: bool

    @property
    def objective(self) -> float:
        """L at the weights, nats."""
        return self.records[-1].objective


@dataclass(frozen=True, kw_only=True)
class MaxentStop:
    """A stopping rule: ``passes`` passes, ``seconds`` of CPU time, or the tolerance.

    ``tolerance`` is the relative difference (eq. 17) if the ``optimum`` L(w*) is given, and else
    the gradient norm relative to that at w = 0. ``observe`` is called with record and weights after
    each record, and its time is not counted; it must copy weights that it keeps. With a ``spacing``
    above 0 a record is made after a pass only if the seconds since w = 0 have grown by that
    fraction since the last one.

    Raises:
        ConfigError: a value out of range.
    """

    passes: int = 100
    tolerance: float = 1e-4
    optimum: float | None = None
    seconds: float = math.inf
    observe: Callable[[Record, Floats], None] | None = None
    spacing: float = 0.0

    def __post_init__(self) -> None:
        least = self.tolerance, self.spacing
        if self.passes < 1 or not min(least) >= 0 or not self.seconds > 0:
            raise ConfigError(
                f"expected passes >= 1, tolerance and spacing >= 0 and seconds > 0, got "
                f"{self.passes}, {self.tolerance}, {self.spacing}, {self.seconds}"
            )

    def record(self, passes: int, seconds: float, objective: float, gradient_norm: float) -> Record:
        """A record with the relative difference filled in."""
        optimum = self.optimum
        difference = math.nan if optimum is None else (objective - optimum) / optimum
        return Record(passes, seconds, objective, difference, gradient_norm)

    def is_due(self, records: list[Record], passes: int, seconds: float) -> bool:
        """Whether a record is to be made: the first, the last, and those with enough between."""
        if not records or passes >= self.passes or seconds >= self.seconds:
            return True
        return seconds >= (1 + self.spacing) * records[-1].seconds

    def met(self, records: list[Record]) -> bool:
        """Whether the last record is within the tolerance."""
        last = records[-1]
        if self.optimum is not None:
            return last.relative_difference <= self.tolerance
        return last.gradient_norm <= self.tolerance * records[0].gradient_norm


def run_learner(learner: MaxentLearner, stop: MaxentStop) -> MaxentRun:
    """Iterate from w = 0.

    Raises:
        EgparseError: see ``MaxentLearner.iterate``; or an objective that no longer falls though the
            gradient is not small.
    """
    state = learner.initialise()
    records: list[Record] = []
    seconds = 0.0
    while True:
        if stop.is_due(records, state.passes, seconds):
            norm = float(np.linalg.norm(learner.gradient(state))) if stop.tolerance else math.nan
            record = stop.record(state.passes, seconds, state.objective, norm)
            dual = learner.dual(state) if learner.has_dual else -math.inf
            records.append(record._replace(dual=dual))
            if stop.observe:
                stop.observe(records[-1], state.w)
            if stop.met(records):
                return MaxentRun(state.w, records, True)
            spent = state.passes >= stop.passes or seconds >= stop.seconds
            if spent or (learner.descends and _has_stalled(learner, state, records)):
                return MaxentRun(state.w, records, False)
        begin = time.process_time()
        learner.iterate(state)
        seconds += time.process_time() - begin


def _has_stalled(learner: MaxentLearner, state: MaxentState, records: list[Record]) -> bool:
    """Whether the last pass did not lower the objective, because of rounding."""
    if len(records) < 2 or records[-1].objective < records[-2].objective:
        return False
    first = float(np.linalg.norm(learner.gradient(learner.initialise())))
    last = float(np.linalg.norm(learner.gradient(state)))
    if last > _STALLED * first:
        raise EgparseError(
            f"{learner.name}: pass {records[-1].passes}: expected the objective to fall from "
            f"{records[-2].objective:.12g}, "
            f"got {records[-1].objective:.12g} with a gradient norm of {last:.3g} ({first:.3g} at "
            "first)"
        )
    return True
