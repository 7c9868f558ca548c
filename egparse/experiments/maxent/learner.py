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
from egparse.experiments.maxent.tabulation import Table, empty_table, expectations, tabulate
from egparse.types import Floats

_ROUNDING = 1e-11  # relative to the terms of the objective: a smaller rise is rounding


@dataclass
class MaxentState:
    """``w`` (n), its table, L(w) in nats, ``magnitude``, the sum of the absolute terms of L(w), and
    the passes made.
    """

    w: Floats
    table: Table
    objective: float
    magnitude: float
    passes: int = 0


class MaxentLearner(ABC):
    """An algorithm that solves a one-variable sub-problem for every feature in each pass (Huang et
    al. 2009, Algorithms 1 and 2).

    ``sigma2`` is the variance of the Gaussian prior; infinity stands for no prior.

    Raises:
        ConfigError: a variance that is not positive.
    """

    name: ClassVar[str]

    def __init__(self, problem: MaxentProblem, *, sigma2: float = 10.0) -> None:
        if not sigma2 > 0:
            raise ConfigError(f"{self.name}: expected a variance sigma2 > 0, got {sigma2}")
        self.problem = problem
        self.precision = 1.0 / sigma2

    def initialise(self) -> MaxentState:
        """w = 0."""
        state = MaxentState(
            np.zeros(self.problem.feature_count), empty_table(self.problem), 0.0, 0.0
        )
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
        self._evaluate(state)
        if not np.isfinite(state.objective):
            raise EgparseError(
                f"{self.name}: pass {state.passes}: expected a finite objective, got "
                f"{state.objective}"
            )
        if state.objective > before + _ROUNDING * state.magnitude:
            raise EgparseError(
                f"{self.name}: pass {state.passes}: expected an objective of at most "
                f"{before:.12g}, got {state.objective:.12g}"
            )

    def objective(self, w: Floats) -> float:
        """L(w), eq. 3."""
        return evaluate(self.problem, w, self.precision, empty_table(self.problem))[0]

    def gradient(self, state: MaxentState) -> Floats:
        """The gradient of L at the state: expectations minus observations plus w / sigma^2."""
        return gradient(self.problem, state.w, self.precision, state.table)

    @abstractmethod
    def _move(self, state: MaxentState) -> int:
        """Change w and return -1, or a feature without a finite step; the caller computes the table
        of the new w.
        """

    def _evaluate(self, state: MaxentState) -> None:
        state.objective, state.magnitude = evaluate(
            self.problem, state.w, self.precision, state.table
        )


def evaluate(
    problem: MaxentProblem, w: Floats, precision: float, table: Table
) -> tuple[float, float]:
    """Fill the table at w; returns L(w) and the sum of its absolute terms, on which its rounding
    error depends.
    """
    log_sums = tabulate(problem.features, w, table)
    agreement = float(w @ problem.features.observed)
    prior = precision / 2 * float(w @ w)
    return log_sums - agreement + prior, abs(log_sums) + abs(agreement) + prior


def gradient(problem: MaxentProblem, w: Floats, precision: float, table: Table) -> Floats:
    """The gradient of L at w, from the table of w."""
    out = np.empty_like(w)
    expectations(problem.features, table, out)
    out -= problem.features.observed
    out += precision * w
    return out
