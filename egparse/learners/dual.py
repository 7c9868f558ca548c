"""What learners in the dual have in common: their state has feasible dual variables, of which v is
made, and certifies how far from the optimum it is:

    primal  P(w) = sum_i L_i(w) + C/2 |w|^2                          w = v / C
    dual    D    = sum_i d_i - |v|^2 / (2C)  <=  min P               v = sum_i F_i' (z_i - mu_i)

with the part marginals mu_i of a distribution over the structures of example i, the correct
structure z_i, and its value d_i, H(alpha_i) / beta + gamma E[cost] or less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from egparse.errors import ConfigError
from egparse.learners.learner import (
    Certificate,
    Learner,
    LearnerConfig,
    require_finite_objective,
    sum_of_losses,
)
from egparse.learners.losses import HINGE, Loss


def require_hinge(learner: str, config: LearnerConfig) -> None:
    """Raise ConfigError unless the loss is the structured hinge (beta = inf, gamma = 1), C > 0."""
    if config.loss != HINGE:
        raise ConfigError(
            f"{learner} expects the loss max-margin (beta = inf, gamma = 1), "
            f"got beta = {config.beta:g}, gamma = {config.gamma:g}"
        )
    require_positive_c(learner, config)


def require_positive_c(learner: str, config: LearnerConfig) -> None:
    """Raise ConfigError unless C is positive and finite."""
    if not 0 < config.c < np.inf:
        raise ConfigError(f"{learner}: expected c > 0, got {config.c}")


@dataclass(kw_only=True)
class DualState:
    """``value`` are the d_i, (n,), or their sum; ``squared_norm`` is |v|^2. ``evaluations`` counts
    inference calls.
    """

    value: Any
    squared_norm: float
    c: float
    evaluations: int = 0

    @property
    def scale(self) -> float:
        """w = v / C."""
        return 1.0 / self.c

    @property
    def dual(self) -> float:
        """D."""
        return float(np.sum(self.value)) - self.squared_norm / (2 * self.c)


class DualLearner(Learner):
    """A learner with a ``DualState``; the problem holds v."""

    name: str
    config: Any
    loss: Loss

    def dual(self, state: DualState) -> float:
        """The dual value, a lower bound of the optimum."""
        return state.dual

    def certificate(self, state: DualState) -> Certificate:
        """Primal at w = v / C, dual and effort in passes, with the ``details`` of the learner.

        Raises:
            EgparseError: the primal is not finite.
        """
        primal = self.sum_losses(state.c) + state.squared_norm / (2 * state.c)
        require_finite_objective(self.name, primal)
        effort = state.evaluations / max(1, self.n)
        return Certificate(primal, state.dual, effort, state.c, self.details(state))

    def sum_losses(self, c: float) -> float:
        """The sum of the losses at w = v / c."""
        return sum_of_losses(self.problem, self.loss, 1.0 / c)

    def details(self, state: Any) -> dict[str, float]:
        """Further figures of a certificate."""
        return {}
