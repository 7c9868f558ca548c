"""Trust region Newton: all weights at once, by steps that conjugate gradient finds from products
with the Hessian (Lin, Weng & Keerthi 2008, "Trust region Newton method for large-scale logistic
regression", Algorithms 1 and 2).

A step s approximately minimises q(s) = g.s + s.H s / 2 within |s| <= Delta; it is taken if L falls
by at least eta_0 of what q promises, and Delta follows the ratio of both. H = sum_x (sum_y P f f' -
(sum_y P f)(sum_y P f)') + C I. O(#nz + L m) for each product and for the evaluation; the
probabilities at w are kept, 8 bytes for each label and context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.learners.maxent.features import hessian_product, loss_and_expectations
from egparse.experiments.learners.maxent.scaling import (
    CoordinateDescent,
    MaxentConfig,
    MaxentLearner,
    MaxentState,
)
from egparse.learners.problem import Problem
from egparse.types import Floats

_ETA = (1e-4, 0.25, 0.75)  # eta_0, eta_1, eta_2, ibid., section 2.3
_SIGMA = (0.5, 4.0)  # sigma_2, sigma_3
_XI = 0.1  # conjugate gradient ends at a residual of this times the norm of the gradient
_FIRST_PASSES = 60  # of cd, after which a few steps lead to the optimum
_MOST_STEPS = 100
_ROUNDING = 1e-12  # relative to L: a smaller promised fall cannot be seen


@dataclass(kw_only=True)
class TronState(MaxentState):
    """P(y | x) (m, L) and the gradient (n) at w, and the radius Delta."""

    probabilities: Floats
    slope: Floats
    radius: float = 0.0


class TrustRegionNewton(MaxentLearner):
    """An ``iterate`` is one step that is taken."""

    name = "tron"

    def _state_of(self, w: Floats) -> TronState:
        size = self.features.context_count, self.features.label_count
        return TronState(w=w, probabilities=np.empty(size), slope=np.empty_like(w))

    def _evaluate(self, state: TronState) -> None:
        found = loss_and_expectations(self.features, state.w, state.probabilities, state.slope)
        self._rate(state, found)
        state.slope += self.c * state.w - self.features.observed

    def _move(self, state: TronState) -> None:
        """Try steps until one is taken, or none can be told from rounding."""
        start, before, slope = state.w.copy(), state.objective, state.slope.copy()
        if state.passes == 0:
            state.radius = float(np.linalg.norm(slope))
        while True:
            step, residual = self._direction(state)
            promised = -0.5 * float(slope @ step - step @ residual)  # -q(s), for r = -g - H s
            if promised <= _ROUNDING * before:
                return
            state.w[:] = start + step
            self._evaluate(state)
            ratio, length = (before - state.objective) / promised, float(np.linalg.norm(step))
            if state.passes == 0:
                state.radius = min(state.radius, length)
            if ratio <= _ETA[1]:  # the intervals of eq. 5
                state.radius = _SIGMA[0] * min(length, state.radius)
            elif ratio >= _ETA[2]:
                state.radius = max(state.radius, _SIGMA[1] * length)
            if ratio > _ETA[0]:
                return
            state.w[:] = start
            self._evaluate(state)  # the Hessian is that of the start again

    def _direction(self, state: TronState) -> tuple[Floats, Floats]:
        """The step of conjugate gradient within the radius, and its residual -g - H s (ibid.,
        Algorithm 2).
        """
        step, residual, product = np.zeros_like(state.w), -state.slope, np.empty_like(state.w)
        direction = residual.copy()
        enough = _XI * float(np.linalg.norm(residual))
        squared = float(residual @ residual)
        while squared**0.5 > enough:
            hessian_product(self.features, state.probabilities, direction, self._room[0], product)
            product += self.c * direction
            alpha = squared / float(direction @ product)
            ahead = step + alpha * direction
            if float(np.linalg.norm(ahead)) > state.radius:
                alpha = _to_boundary(step, direction, state.radius)
                return step + alpha * direction, residual - alpha * product
            step = ahead
            residual -= alpha * product
            last, squared = squared, float(residual @ residual)
            direction = residual + squared / last * direction
        return step, residual


def _to_boundary(step: Floats, direction: Floats, radius: float) -> float:
    """The tau >= 0 with |step + tau direction| = radius."""
    inner, squared = float(step @ direction), float(direction @ direction)
    rest = max(0.0, radius * radius - float(step @ step))
    root = float(np.sqrt(inner * inner + squared * rest))
    return rest / (inner + root) if inner >= 0 else (root - inner) / squared


def certified_optimum(problem: Problem, sigma2: float, gap: float) -> tuple[float, float]:
    """An upper and a lower bound of min L (Huang et al. 2009, eq. 3), nats, that differ by a
    fraction of at most ``gap``, by coordinate descent and then trust region Newton; the weights of
    the problem stay as they are.

    Raises:
        EgparseError: the gap is not reached, because of rounding.
    """
    own, config = problem.with_own_weights(), MaxentConfig(c=1 / sigma2)
    first, learner = CoordinateDescent(own, config), TrustRegionNewton(own, config)
    begun = first.initialise()
    for _ in range(_FIRST_PASSES):
        first.iterate(begun)
    state, primal, dual = learner.start(begun.w), np.inf, -np.inf
    for _ in range(_MOST_STEPS):
        learner.iterate(state)
        found = learner.certificate(state)
        primal, dual = min(primal, found.primal), max(dual, found.dual)
        if primal - dual <= gap * abs(dual):
            return primal, dual
    raise EgparseError(
        f"expected a relative gap of {gap:g} after {_MOST_STEPS} steps of tron, got "
        f"{(primal - dual) / abs(dual):.3g}"
    )
