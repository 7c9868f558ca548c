"""The base of the iterative maximum-entropy algorithms: the state, the objective and its gradient,
and the checks of each pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.maxent.problem import MaxentProblem
from egparse.experiments.maxent.rowwise import loss_and_expectations
from egparse.experiments.maxent.tabulation import (
    REFRESH,
    Table,
    empty_table,
    expectations,
    log_sums,
    tabulate,
)
from egparse.types import Floats

_ROUNDING = 1e-11  # relative to the terms of the objective: a smaller rise is rounding


@dataclass
class MaxentState:
    """``w`` (n), L(w) in nats, ``magnitude``, the sum of the absolute terms of L(w), and the passes
    made. A learner keeps the ``table`` of w, or the ``expected`` features at w (n); what it does
    not keep is empty.
    """

    w: Floats
    table: Table
    expected: Floats
    objective: float = 0.0
    magnitude: float = 0.0
    passes: int = 0


class MaxentLearner(ABC):
    """An algorithm that moves w pass by pass.

    ``sigma2`` is the variance of the Gaussian prior; infinity stands for no prior.

    Raises:
        ConfigError: a variance that is not positive.
    """

    name: ClassVar[str]
    descends: ClassVar[bool] = True
    """Whether no pass raises L(w)."""
    evaluates: ClassVar[bool] = False
    """Whether ``_move`` leaves the state evaluated at the new w."""
    tabulates: ClassVar[bool] = True
    """Whether it keeps a number for each label and context."""
    has_dual: ClassVar[bool] = False
    """Whether ``dual`` is the value of a dual point of its own."""

    def __init__(self, problem: MaxentProblem, *, sigma2: float = 10.0) -> None:
        if not sigma2 > 0:
            raise ConfigError(f"{self.name}: expected a variance sigma2 > 0, got {sigma2}")
        self.problem = problem
        self.precision = 1.0 / sigma2
        self._scores = np.empty((1, problem.label_count))

    def initialise(self) -> MaxentState:
        """w = 0."""
        state = self._empty_state()
        self._evaluate(state)
        return state

    def iterate(self, state: MaxentState) -> None:
        """One pass over the features.

        Raises:
            EgparseError: a sub-problem without a finite solution, or an objective that is not
                finite or rose.
        """
        before = state.objective
        failed = self._move(state)
        state.passes += 1
        if failed >= 0:
            raise EgparseError(
                f"{self.name}: pass {state.passes}: expected a finite step, got none for feature "
                f"{failed} of {len(state.w)} "
                f"(a finite sigma2 bounds the weights)"
            )
        if not self.evaluates:
            self._evaluate(state)
        if not np.isfinite(state.objective):
            raise EgparseError(
                f"{self.name}: pass {state.passes}: expected a finite objective, got "
                f"{state.objective}"
            )
        if self.descends and state.objective > before + _ROUNDING * state.magnitude:
            raise EgparseError(
                f"{self.name}: pass {state.passes}: expected an objective of at most "
                f"{before:.12g}, got {state.objective:.12g}"
            )

    def objective(self, w: Floats) -> float:
        """L(w), eq. 3."""
        return self._sum(w, MaxentLearner._loss(self, w, np.empty_like(w)))[0]

    def gradient(self, state: MaxentState) -> Floats:
        """The gradient of L at the state: expectations minus observations plus w / sigma^2."""
        return gradient(self.problem, state.w, self.precision, state.expected)

    def dual(self, state: MaxentState) -> float:
        """A lower bound of min L: L is 1 / sigma^2-strongly convex, so L(w*) >= L(w) - |g|^2
        sigma^2 / 2.
        """
        slope = self.gradient(state)
        return state.objective - float(slope @ slope) / (2 * self.precision)

    @abstractmethod
    def _move(self, state: MaxentState) -> int:
        """Change w and return -1, or a feature without a finite step."""

    def _empty_state(self) -> MaxentState:
        n = self.problem.feature_count
        return MaxentState(np.zeros(n), NO_TABLE, np.empty(n))

    def _evaluate(self, state: MaxentState) -> None:
        loss = self._loss(state.w, state.expected)
        state.objective, state.magnitude = self._sum(state.w, loss)

    def _loss(self, w: Floats, expected: Floats) -> float:
        return float(loss_and_expectations(self.problem.features, w, self._scores, expected))

    def _sum(self, w: Floats, loss: float) -> tuple[float, float]:
        return objective_of(self.problem, w, self.precision, loss)


class TabulatedLearner(MaxentLearner):
    """A learner that keeps the table of S and T, in order to solve one-variable sub-problems (Huang
    et al. 2009, Algorithms 1 and 2).
    """

    sequential: ClassVar[bool] = True
    """Whether ``_move`` updates the table along with w."""

    def gradient(self, state: MaxentState) -> Floats:
        """The gradient of L at the state, from the table."""
        expected = np.empty_like(state.w)
        expectations(self.problem.features, state.table, expected)
        return gradient(self.problem, state.w, self.precision, expected)

    def _empty_state(self) -> MaxentState:
        empty = np.empty(0)
        return MaxentState(np.zeros(self.problem.feature_count), empty_table(self.problem), empty)

    def _evaluate(self, state: MaxentState) -> None:
        features, loss = self.problem.features, np.nan
        if self.sequential and state.passes % REFRESH:
            loss = float(log_sums(features, state.table))
        if not np.isfinite(loss):
            loss = float(tabulate(features, state.w, state.table))
        state.objective, state.magnitude = self._sum(state.w, loss)


NO_TABLE = Table(np.empty((0, 0)), np.empty(0), np.empty(0))
"""Of learners that go through all contexts for every step."""


def objective_of(
    problem: MaxentProblem, w: Floats, precision: float, loss: float
) -> tuple[float, float]:
    """L(w) for sum_x p~(x) log T(x) = ``loss``, and the sum of the absolute terms of L(w), on which
    its rounding error depends.
    """
    agreement = float(w @ problem.features.observed)
    prior = precision / 2 * float(w @ w)
    return loss - agreement + prior, abs(loss) + abs(agreement) + prior


def gradient(problem: MaxentProblem, w: Floats, precision: float, expected: Floats) -> Floats:
    """The gradient of L at w, from the expectations at w."""
    return np.asarray(expected - problem.features.observed + precision * w)
