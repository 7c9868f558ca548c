"""What all maximum-entropy learners share: the objective with its gradient, and the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from egparse.errors import ConfigError
from egparse.experiments.learners.maxent.features import features_of, loss_and_expectations
from egparse.learners.learner import (
    Certificate,
    Learner,
    LearnerConfig,
    UnscaledState,
    require_finite_objective,
)
from egparse.learners.problem import Problem
from egparse.types import Floats

_TABLE_BYTES = 8 * 10**9


@dataclass(frozen=True, kw_only=True)
class MaxentConfig(LearnerConfig):
    """Of the log-linear loss, with C = 1 / sigma^2.

    Raises:
        ConfigError: another loss, or a C that is not positive.
    """

    @classmethod
    def _of_common(cls, common: LearnerConfig) -> dict[str, Any]:
        if (common.beta, common.gamma) != (1.0, 0.0):
            raise ConfigError(
                "maximum-entropy learners expect the log-linear loss (beta = 1, gamma = 0), got "
                f"beta = {common.beta:g}, gamma = {common.gamma:g}"
            )
        if not common.c > 0:
            raise ConfigError(f"maximum-entropy learners expect c > 0, got {common.c}")
        return {"c": common.c, "seed": common.seed}


@dataclass(kw_only=True)
class MaxentState(UnscaledState):
    """``w`` (n), L(w) in nats, and the passes made."""

    w: Floats
    objective: float = 0.0
    passes: int = 0


class MaxentLearner(Learner):
    """A learner of a problem that has a design matrix; ``iterate`` is one pass over the weights.

    Raises:
        ConfigError: a problem that is not multiclass, or too large for the table of the learner.
        EgparseError: attributes with negative values.
    """

    config_type: type[MaxentConfig] = MaxentConfig
    name: ClassVar[str]
    tabulates: ClassVar[bool] = True
    """Whether it keeps a number for each label and context."""

    def __init__(self, problem: Problem, config: MaxentConfig) -> None:
        super().__init__(problem)
        self.features = features_of(self.name, problem)
        self.c, self.seed = config.c, config.seed
        contexts, labels = len(self.features.correct), self.features.label_count
        if self.tabulates and 8 * labels * contexts > _TABLE_BYTES:
            raise ConfigError(
                f"{self.name} keeps a table of labels by contexts: expected at most "
                f"{_TABLE_BYTES:,} bytes, got {8 * labels * contexts:,} ({labels} labels, "
                f"{contexts:,} contexts)"
            )
        self._room = np.empty((1, labels))

    def initialise(self, gold_theta: float | Floats = 3.0) -> Any:
        """w = 0, whatever ``gold_theta``."""
        self.problem.reset()
        return self.start(np.zeros(len(self.features.labels)))

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
        """The primal, a lower bound of the optimum, and the passes made; the details hold |g|."""
        gradient = np.empty_like(state.w)
        self._rate(state, self.loss(state.w, gradient))
        gradient += self.c * state.w - self.features.observed
        norm = float(np.linalg.norm(gradient))
        details = {"gradient_norm": norm, **self.details(state)}
        # as L is C-strongly convex, L(w*) >= L(w) - |g|^2 / (2C)
        dual = float(state.objective - norm**2 / (2 * self.c))
        return Certificate(state.objective, dual, float(state.passes), self.c, details)

    def details(self, state: Any) -> dict[str, float]:
        """Further figures of the learner."""
        return {}

    def loss(self, w: Floats, expected: Floats) -> float:
        """sum_x log T(x) at w, nats; writes the expectations of all features into ``expected``."""
        return float(loss_and_expectations(self.features, w, self._room, expected))

    def _rate(self, state: Any, loss: float) -> None:
        """Set L(w), eq. 3, for sum_x log T(x) = ``loss``."""
        w = state.w
        state.objective = float(loss - w @ self.features.observed + self.c / 2 * w @ w)

    def start(self, w: Floats) -> Any:
        """The state at the weights ``w``, which it keeps."""
        raise NotImplementedError

    def _move(self, state: Any) -> None:
        """Change w, and set the objective."""
        raise NotImplementedError
