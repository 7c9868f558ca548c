"""Iterative scaling and coordinate descent: one weight after another, or all at once, to the
minimum of a bound A_t(z) of the change of the objective (Huang et al. 2009, Algorithms 1 and 2).

Sequential (Algorithm 1): ``scgis`` (Goodman 2002), ``cd`` and ``cd-exact``; parallel (Algorithm 2):
``gis`` (Darroch & Ratcliff 1972) and ``iis`` (Della Pietra et al. 1997). They differ in the bound
(``steps``). A pass costs O(#nz), for IIS in each Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Interval

from egparse.compilation import njit
from egparse.experiments.learners.maxent.features import Features, feature_totals
from egparse.experiments.learners.maxent.learner import MaxentConfig, MaxentLearner, MaxentState
from egparse.experiments.learners.maxent.steps import (
    NO_TABLE,
    Search,
    Table,
    empty_table,
    expectation,
    iis_step,
    log_sums,
    newton_step,
    scaled_step,
    shift_weight,
    tabulate,
)
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs

REFRESH = 8
"""Sequential passes that update a table before it is filled anew, so that rounding does not add up.
"""
_MOST_STEPS = 50  # of an exact sub-problem
_SOLVED = 1e-9  # relative to the terms of A'(z): at a smaller slope a sub-problem is solved
_ROUNDING = 1e-13  # relative to the terms of A'(0): a smaller slope is rounding


@dataclass(kw_only=True)
class ScalingState(MaxentState):
    """The table at w, or without one the ``expected`` features (n); a ``tally`` of the Newton
    steps on A_CD of the last pass, and of those taken with lambda = 1.
    """

    table: Table
    expected: Floats
    tally: Longs


class Scaling(MaxentLearner):
    """Either algorithm."""

    def start(self, w: Floats) -> ScalingState:
        """The state at w, evaluated."""
        table = empty_table(self.features) if self.tabulates else NO_TABLE
        tally = np.zeros(2, dtype=np.int64)
        state = ScalingState(w=w, table=table, expected=np.empty_like(w), tally=tally)
        self._evaluate(state)
        return state

    def _evaluate(self, state: ScalingState) -> None:
        self._rate(state, tabulate(self.features, state.w, state.table))

    def _move(self, state: ScalingState) -> None:
        state.tally[:] = 0
        self._pass(state)
        self._evaluate(state)

    def _pass(self, state: ScalingState) -> None:
        """Change w, and in a sequential learner the table."""
        raise NotImplementedError


class GIS(Scaling):
    """Generalised iterative scaling, by the loosest bound. The correction feature, which fills
    every sum up to f#, keeps the weight 0 and so appears in f# alone. We differ from section 2.3 in
    memory: all steps start at the same w, so that expectations suffice, without a table.
    """

    name = "gis"
    tabulates = False

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem, config)
        self.most = float(feature_totals(self.features, self._room.T.copy()))

    def _evaluate(self, state: ScalingState) -> None:
        self._rate(state, self.loss(state.w, state.expected))

    def _pass(self, state: ScalingState) -> None:
        gis_pass(self.features.observed, state.expected, self.most, state.w, self.c)


class IIS(Scaling):
    """Improved iterative scaling, whose bound depends on f#(x, y) of each context and label."""

    name = "iis"

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem, config)
        self.totals = empty_table(self.features).exponentials
        self.most = float(feature_totals(self.features, self.totals))

    def _pass(self, state: ScalingState) -> None:
        iis_pass(self.features, state.table, self.totals, state.w, self.c)


class SCGIS(Scaling):
    """Sequential conditional generalised iterative scaling."""

    name = "scgis"
    newton_steps: ClassVar[int] = 0
    """The most Newton steps on A_CD; with 0 the minimum of A_SCGIS is taken instead."""

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem, config)
        solved = _ROUNDING if self.newton_steps == 1 else _SOLVED
        self.search = config.gamma, config.beta, solved

    def _evaluate(self, state: ScalingState) -> None:
        loss = log_sums(state.table) if (state.passes + 1) % REFRESH and state.passes else np.nan
        if np.isfinite(loss):
            self._rate(state, loss)
        else:
            super()._evaluate(state)

    def _pass(self, state: ScalingState) -> None:
        table, w, steps, search = state.table, state.w, self.newton_steps, self.search
        sequential_pass(self.features, table, w, self.c, steps, search, state.tally)


@dataclass(frozen=True, kw_only=True)
class CDConfig(MaxentConfig):
    """``gamma`` and ``beta`` are those of eq. 16, with the values of section 4, not of the loss."""

    gamma: float = 0.001
    beta: float = 0.5

    @classmethod
    def options(cls) -> dict[str, Any]:
        """The constants of the line search."""
        return {
            "gamma": Annotated[float, Interval(ge=1e-9, lt=0.5), "the decrease that is enough"],
            "beta": Annotated[float, Interval(ge=1e-9, lt=1), "factor of a step that is too long"],
        }


class CoordinateDescent(SCGIS):
    """One Newton step with a line search on the objective itself, the tightest of the sub-problems
    (section 3.2).
    """

    config_type = CDConfig
    name = "cd"
    newton_steps = 1

    def details(self, state: ScalingState) -> dict[str, float]:
        """The share of Newton steps of the last pass that were taken with lambda = 1."""
        return {"full_steps": float(state.tally[1] / max(1, state.tally[0]))}


class ExactCoordinateDescent(CoordinateDescent):
    """Newton steps until the sub-problem is solved: the traditional method, which section 3.2
    improves on.
    """

    name = "cd-exact"
    newton_steps = _MOST_STEPS


@njit
def gis_pass(observed: Floats, expected: Floats, most: float, w: Floats, c: float) -> None:
    """Algorithm 2 with A_GIS for f# = ``most``."""
    for t in range(w.shape[0]):
        w[t] += scaled_step(expected[t], most, observed[t], w[t], c)


@njit
def iis_pass(features: Features, table: Table, totals: Floats, w: Floats, c: float) -> None:
    """Algorithm 2 with A_IIS."""
    for a in range(features.feature_starts.shape[0] - 1):
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            w[t] += iis_step(features, table, a, t, totals, w[t], c)


@njit
def sequential_pass(
    features: Features, table: Table, w: Floats, c: float, most: int, search: Search, tally: Longs
) -> None:
    """Algorithm 1 with at ``most`` so many Newton steps on A_CD, or with 0 of them on A_SCGIS."""
    for a in range(features.feature_starts.shape[0] - 1):
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            if most == 0:
                expected = expectation(features, table, a, t)
                z = scaled_step(expected, features.greatest[a], features.observed[t], w[t], c)
                shift_weight(features, table, a, t, z)
                w[t] += z
            for _ in range(most):
                z, full = newton_step(features, table, a, t, w[t], c, search)
                if z == 0.0:
                    break
                tally[0] += 1
                tally[1] += full
                shift_weight(features, table, a, t, z)
                w[t] += z
