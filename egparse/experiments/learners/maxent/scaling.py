"""Iterative scaling and coordinate descent: one weight after another, or all at once, to the
minimum of a bound A_t(z) of the change of the objective (Huang et al. 2009, Algorithms 1 and 2).

Sequential (Algorithm 1): ``scgis`` (Goodman 2002), ``cd`` and ``cd-exact``; parallel (Algorithm 2):
``gis`` (Darroch & Ratcliff 1972) and ``iis`` (Della Pietra et al. 1997). They differ in the bound
(``steps``). A pass costs O(#nz), for IIS in each Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.experiments.learners.maxent.features import (
    Features,
    feature_totals,
    features_of,
    loss_and_expectations,
)
from egparse.experiments.learners.maxent.steps import (
    Table,
    expectation,
    iis_step,
    log_sums,
    newton_step,
    scaled_step,
    shift_weight,
    tabulate,
)
from egparse.learners.dual import require_positive_c
from egparse.learners.learner import (
    Certificate,
    Learner,
    LearnerConfig,
    UnscaledState,
    require_finite_objective,
)
from egparse.learners.losses import LOG_LINEAR
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs


@dataclass(frozen=True, kw_only=True)
class MaxentConfig(LearnerConfig):
    """Of the log-linear loss, with C = 1 / sigma^2 > 0."""

    def __post_init__(self) -> None:
        if self.loss != LOG_LINEAR:
            raise ConfigError(
                "maximum-entropy learners expect the log-linear loss (beta = 1, gamma = 0), got "
                f"beta = {self.beta:g}, gamma = {self.gamma:g}"
            )
        require_positive_c("maximum-entropy learners", self)


@dataclass(kw_only=True)
class MaxentState(UnscaledState):
    """``w`` (n), L(w) in nats, and the passes made."""

    w: Floats
    objective: float = 0.0
    passes: int = 0


class MaxentLearner(Learner):
    """What all maximum-entropy learners share, of a problem that has a design matrix."""

    config_type = MaxentConfig
    name: ClassVar[str]

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem)
        self.features, self.c = features_of(self.name, problem), config.c
        self._room = np.empty((1, self.features.label_count))

    def initialise(self, gold_theta: float | Floats = 3.0) -> Any:
        """w = 0, whatever ``gold_theta``."""
        self.problem.reset()
        return self.start(np.zeros(len(self.features.labels)))

    def start(self, w: Floats) -> Any:
        """The state at the weights ``w``, which it keeps."""
        state = self._state_of(w)
        self._evaluate(state)
        return state

    def iterate(self, state: Any) -> None:
        """One pass over the weights.

        Raises:
            EgparseError: an objective that is not finite.
        """
        self._move(state)
        require_finite_objective(self.name, state.objective)
        state.passes += 1
        self.problem.set_weights(state.w)

    def certificate(self, state: Any) -> Certificate:
        """The primal, a lower bound of the optimum, and the passes made."""
        gradient = np.empty_like(state.w)
        self._rate(state, loss_and_expectations(self.features, state.w, self._room, gradient))
        gradient += self.c * state.w - self.features.observed
        # as L is C-strongly convex, L(w*) >= L(w) - |g|^2 / (2C)
        dual = state.objective - float(np.linalg.norm(gradient)) ** 2 / (2 * self.c)
        return Certificate(state.objective, dual, float(state.passes), self.c)

    def _rate(self, state: Any, loss: float) -> None:
        """Set L(w), eq. 3, for sum_x log T(x) = ``loss``."""
        w = state.w
        state.objective = float(loss - w @ self.features.observed + self.c / 2 * w @ w)

    def _state_of(self, w: Floats) -> Any:
        """A state whose other fields are not computed."""
        raise NotImplementedError

    def _evaluate(self, state: Any) -> None:
        """Compute the objective, and what steps need, at w."""
        raise NotImplementedError

    def _move(self, state: Any) -> None:
        """Change w, and evaluate it."""
        raise NotImplementedError


@dataclass(kw_only=True)
class GISState(MaxentState):
    """The ``expected`` features (n) at w."""

    expected: Floats


class GIS(MaxentLearner):
    """Generalised iterative scaling, by the loosest bound. The correction feature, which fills
    every sum up to f#, keeps the weight 0 and so appears in f# alone. We differ from section 2.3 in
    memory: all steps start at the same w, so that expectations suffice, without a table.
    """

    name = "gis"

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem, config)
        self._most = float(feature_totals(self.features).max())

    def _state_of(self, w: Floats) -> GISState:
        return GISState(w=w, expected=np.empty_like(w))

    def _evaluate(self, state: GISState) -> None:
        found = loss_and_expectations(self.features, state.w, self._room, state.expected)
        self._rate(state, found)

    def _move(self, state: GISState) -> None:
        gis_pass(self.features.observed, state.expected, self._most, state.w, self.c)
        self._evaluate(state)


@dataclass(kw_only=True)
class TableState(MaxentState):
    """The table at w; a ``tally`` of the Newton steps on A_CD of the last pass, and of those taken
    with lambda = 1.
    """

    table: Table
    tally: Longs


class _Tabulating(MaxentLearner):
    """IIS and the sequential learners."""

    refresh: ClassVar[int] = 1
    """Passes after which the table is filled anew, as the rounding of updates adds up."""

    def _state_of(self, w: Floats) -> TableState:
        m = self.features.context_count
        table = Table(np.empty((self.features.label_count, m)), *np.empty((2, m)))
        return TableState(w=w, table=table, tally=np.zeros(2, np.int64))

    def _evaluate(self, state: TableState) -> None:
        updated = state.passes and (state.passes + 1) % self.refresh
        loss = log_sums(state.table) if updated else np.nan
        if not np.isfinite(loss):
            loss = tabulate(self.features, state.w, state.table)
        self._rate(state, loss)


class IIS(_Tabulating):
    """Improved iterative scaling, whose bound depends on f#(x, y) of each context and label."""

    name = "iis"

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem, config)
        self._totals = feature_totals(self.features)

    def _move(self, state: TableState) -> None:
        iis_pass(self.features, state.table, self._totals, state.w, self.c)
        self._evaluate(state)


class SCGIS(_Tabulating):
    """Sequential conditional generalised iterative scaling."""

    name = "scgis"
    refresh = 8
    newton_steps: ClassVar[int] = 0
    """The most Newton steps on A_CD; with 0 the minimum of A_SCGIS is taken instead."""
    solved: ClassVar[float] = 0.0
    """There is no Newton step where A'(0), relative to its terms, is at most this."""

    def _move(self, state: TableState) -> None:
        table, w, tally = state.table, state.w, state.tally
        tally[:] = 0
        sequential_pass(self.features, table, w, self.c, self.newton_steps, self.solved, tally)
        self._evaluate(state)


class CoordinateDescent(SCGIS):
    """One Newton step with a line search on the objective itself, the tightest of the sub-problems
    (section 3.2).
    """

    name = "cd"
    newton_steps = 1
    solved = 1e-13  # rounding

    def certificate(self, state: TableState) -> Certificate:
        """With the share of Newton steps of the last pass that were taken with lambda = 1."""
        share = float(state.tally[1] / max(1, state.tally[0]))
        return super().certificate(state)._replace(details={"full_steps": share})


class ExactCoordinateDescent(CoordinateDescent):
    """Newton steps until the sub-problem is solved: the traditional method, which section 3.2
    improves on.
    """

    name = "cd-exact"
    newton_steps = 50
    solved = 1e-9


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
    features: Features, table: Table, w: Floats, c: float, most: int, solved: float, tally: Longs
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
                z, full = newton_step(features, table, a, t, w[t], c, solved)
                if z == 0.0:
                    break
                tally[0] += 1
                tally[1] += full
                shift_weight(features, table, a, t, z)
                w[t] += z
