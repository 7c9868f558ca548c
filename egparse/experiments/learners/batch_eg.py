"""Batch exponentiated gradient in the dual (Collins et al. 2008, Fig. 1; Globerson et al. 2007,
Fig. 1), for the same losses as ``egparse.learners.eg.online``.

All examples take the step at the same v, with s = F_i v:

    theta <- theta + eta (gamma cost + s / C - theta / beta)

Every step raises the dual with a learning rate of (ibid., Theorem 1, by Lemmas 2-4)

    eta <= 1 / (1 / beta + n |A|),     |A| = max_iy |psi_iy|^2 / C,     psi_iy = F_i' (z_i - y).

In place of n |A| we use sum_i max_y |psi_iy|^2 / C, which is never greater: in eq. 20-21, |sum_i
Psi_i' r_i|^2 <= (sum_i R_i |r_i|_1)^2 <= (sum_i R_i^2) (sum_i |r_i|_1^2) with R_i = max_y |psi_iy|,
and Pinsker's inequality for each i turns the last sum into divergences.

All computations are in float64, and v is computed from the marginals at every step, so that
rounding errors do not add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Interval

from egparse.errors import EgparseError
from egparse.experiments.learners.published_eg import Start, proven_rate, squared_radii
from egparse.learners.dual import DualLearner, DualState
from egparse.learners.eg.online import require_dual_loss
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import Problem, squared_norm
from egparse.types import Floats

_ROUNDING = 8.0  # times the relative precision of v: a smaller fall of the dual counts as none
_MOST_RATES = 60


@dataclass(frozen=True, kw_only=True)
class EGBatchConfig(LearnerConfig):
    """``rate``: *proven* is that of the theorem, *fixed* is ``eta``, as the paper has them;
    *halving* starts at ``eta``, halves while the dual falls, and multiplies by ``growth`` after
    each step, as ibid., section 7, does for one example. ``start`` is that of ``PublishedConfig``.
    """

    rate: Annotated[Literal["proven", "fixed", "halving"], "how the rate is found"] = "halving"
    eta: Annotated[float, Interval(ge=1e-9, le=1e9), "the first rate"] = 0.5
    growth: Annotated[float, Interval(ge=1, le=1000), "halving: factor after a step"] = 1.05
    start: Start = "gold"

    def __post_init__(self) -> None:
        require_dual_loss(self.loss)


@dataclass(kw_only=True)
class EGBatchState(DualState):
    """``theta`` over all parts, and the rate; ``evaluations`` counts n for each rate tried."""

    theta: Floats
    eta: float


class BatchEG(DualLearner):
    """Batch EG on a problem; the problem holds v."""

    name = "batch exponentiated gradient"
    config_type = EGBatchConfig

    def __init__(self, problem: Problem, config: EGBatchConfig) -> None:
        super().__init__(problem)
        self.config, self.loss = config, config.loss
        self._marginals = np.empty(self.longest)
        precision = max(float(np.finfo(array.dtype).eps) for array in problem.vectors())
        self._rounding = _ROUNDING * precision

    def initialise(self, gold_theta: float | Floats = 3.0) -> EGBatchState:
        """Distributions near the correct structures, as ``OnlineEG.initialise``, or uniform."""
        config, eta = self.config, self.config.eta
        if config.rate == "proven":
            eta = proven_rate(float(squared_radii(self.problem).sum()), config)
        height = np.full(self.n, 0.0 if config.start == "uniform" else gold_theta, np.float64)
        theta = np.empty(int(self.problem.part_starts[-1]))
        for i in range(self.n):
            theta[self._parts_of(i)] = np.where(self.problem.gold(i) > 0, height[i], 0.0)
        value, norm = self._rebuild(theta)
        return EGBatchState(theta=theta, value=value, squared_norm=norm, c=config.c, eta=eta)

    def iterate(self, state: EGBatchState) -> None:
        """One step on all examples; with halving, as many attempts as are needed.

        Raises:
            EgparseError: the dual is not finite, or it fell because the fixed rate is too large or
                no rate raises it.
        """
        before, old, halving = state.dual, state.theta, self.config.rate == "halving"
        gradient = np.empty_like(old)
        for i in range(self.n):  # s / C + gamma cost - theta / beta
            parts = self._parts_of(i)
            gradient[parts] = self.problem.scores(i) * (1.0 / state.c)
            if self.loss.gamma:
                gradient[parts] += self.loss.gamma * self.problem.cost(i)
            if self.loss.differentiable:
                gradient[parts] -= old[parts] / self.loss.beta
        rounding = self._rounding * (1 + abs(state.value) + state.squared_norm / (2 * state.c))
        for _ in range(_MOST_RATES if halving else 1):
            theta = old + state.eta * gradient
            value, norm = self._rebuild(theta)
            state.evaluations += self.n
            dual = value - norm / (2 * state.c)
            if dual >= before - rounding:  # false for nan
                state.theta, state.value, state.squared_norm = theta, value, norm
                if halving:  # beyond beta a step would overshoot its fixed point
                    state.eta = min(self.loss.beta, state.eta * self.config.growth)
                return
            if halving:
                state.eta /= 2
        self._rebuild(old)
        raise EgparseError(
            f"{self.name}: expected a step at the {self.config.rate} learning rate to raise the "
            f"dual, got {dual:.8g} after {before:.8g} with eta = {state.eta:.3g}"
        )

    def retarget(self, state: EGBatchState, targets: Mapping[int, Floats]) -> None:
        """Change targets, and with them v; alpha stays."""
        super().retarget(state, targets)
        state.value, state.squared_norm = self._rebuild(state.theta)

    def _rebuild(self, theta: Floats) -> tuple[float, float]:
        """Set v = sum_i F_i' (z_i - mu_i) at the marginals of theta; return (sum of H / beta +
        gamma E[cost], |v|^2).
        """
        problem, loss, value = self.problem, self.loss, 0.0
        problem.reset()
        for i in range(self.n):
            potentials = theta[self._parts_of(i)]
            marginals = self._marginals[: len(potentials)]
            log_z = problem.marginals(i, potentials, marginals)
            if loss.differentiable:
                value += (log_z - float(potentials @ marginals)) / loss.beta
            if loss.gamma:
                value += loss.gamma * problem.expected_cost(i, marginals)
            np.subtract(problem.gold(i), marginals, out=marginals)
            problem.add(i, marginals)
        return value, squared_norm(problem)
