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
from typing import Annotated

import numpy as np
from annotated_types import Interval

from egparse.errors import EgparseError
from egparse.experiments.learners.maxent.features import hessian_product, loss_and_expectations
from egparse.experiments.learners.maxent.learner import MaxentConfig, MaxentLearner, MaxentState
from egparse.experiments.learners.maxent.scaling import CDConfig, CoordinateDescent
from egparse.learners.problem import Problem
from egparse.types import Floats

_ETA = (1e-4, 0.25, 0.75)  # eta_0, eta_1, eta_2, ibid., section 2.3
_SIGMA = (0.5, 4.0)  # sigma_2, sigma_3
_FIRST_PASSES = 60  # of cd, after which a few steps lead to the optimum
_MOST_STEPS = 100
_ROUNDING = 1e-12  # relative to L: a smaller promised fall cannot be seen


@dataclass(frozen=True, kw_only=True)
class TronConfig(MaxentConfig):
    """Conjugate gradient ends at a residual of ``forcing`` (xi) times the norm of the gradient."""

    forcing: Annotated[float, Interval(ge=1e-6, lt=1), "of inner steps"] = 0.1


@dataclass(kw_only=True)
class TronState(MaxentState):
    """P(y | x) (m, L) and the gradient (n) at w, the radius Delta, and how many products with the
    Hessian were computed.
    """

    probabilities: Floats
    slope: Floats
    radius: float = 0.0
    products: int = 0


class TrustRegionNewton(MaxentLearner):
    """An ``iterate`` is one step that is taken."""

    config_type = TronConfig
    name = "tron"

    def __init__(self, problem: Problem, config: TronConfig) -> None:
        super().__init__(problem, config)
        self.forcing = config.forcing

    def details(self, state: TronState) -> dict[str, float]:
        """Products with the Hessian so far."""
        return {"products": float(state.products)}

    def start(self, w: Floats) -> TronState:
        """The state at w, evaluated."""
        size = len(self.features.correct), self.features.label_count
        state = TronState(w=w, probabilities=np.empty(size), slope=np.empty_like(w))
        self._evaluate(state)
        state.radius = float(np.linalg.norm(state.slope))
        return state

    def _evaluate(self, state: TronState) -> None:
        loss = loss_and_expectations(self.features, state.w, state.probabilities, state.slope)
        self._rate(state, float(loss))
        state.slope += self.c * state.w - self.features.observed

    def _move(self, state: TronState) -> None:
        """Try steps until one is taken, or none can be told from rounding."""
        start, before, slope = state.w.copy(), state.objective, state.slope.copy()
        while True:
            step, residual = self._direction(state)
            promised = -0.5 * float(slope @ step - step @ residual)  # -q(s), for r = -g - H s
            if promised <= _ROUNDING * before:
                return
            state.w[:] = start + step
            self._evaluate(state)
            fall = before - state.objective
            length = float(np.linalg.norm(step))
            if state.passes == 0:
                state.radius = min(state.radius, length)
            state.radius = _adapted(state.radius, length, fall / promised)
            if fall > _ETA[0] * promised:
                return
            state.w[:] = start
            self._evaluate(state)  # the Hessian is that of the start again

    def _direction(self, state: TronState) -> tuple[Floats, Floats]:
        """The step of conjugate gradient within the radius, and its residual -g - H s (ibid.,
        Algorithm 2).
        """
        step, residual = np.zeros_like(state.slope), -state.slope
        direction = residual.copy()
        enough = self.forcing * float(np.linalg.norm(residual))
        squared = float(residual @ residual)
        while squared**0.5 > enough:
            product = self._product(state, direction)
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

    def _product(self, state: TronState, v: Floats) -> Floats:
        out = np.empty_like(v)
        hessian_product(self.features, state.probabilities, v, self._room[0], out)
        state.products += 1
        return np.asarray(out + self.c * v)


def _adapted(radius: float, length: float, ratio: float) -> float:
    """The next radius, in the intervals of eq. 5, for a step whose fall is so much of the promised
    one.
    """
    if ratio <= _ETA[1]:
        return _SIGMA[0] * min(length, radius)
    return radius if ratio < _ETA[2] else max(radius, _SIGMA[1] * length)


def _to_boundary(step: Floats, direction: Floats, radius: float) -> float:
    """The tau >= 0 with |step + tau direction| = radius."""
    inner, squared = float(step @ direction), float(direction @ direction)
    rest = max(0.0, radius * radius - float(step @ step))
    root = float(np.sqrt(inner * inner + squared * rest))
    return rest / (inner + root) if inner >= 0 else (root - inner) / squared


def certified_optimum(problem: Problem, sigma2: float, gap: float = 1e-6) -> tuple[float, float]:
    """An upper and a lower bound of min L (Huang et al. 2009, eq. 3), nats, that differ by a
    fraction of at most ``gap``, by coordinate descent and then trust region Newton; the weights of
    the problem stay as they are.

    Raises:
        EgparseError: the gap is not reached, because of rounding.
    """
    own = problem.with_own_weights()
    first = CoordinateDescent(own, CDConfig(c=1 / sigma2))
    begun = first.initialise()
    for _ in range(_FIRST_PASSES):
        first.iterate(begun)
    learner = TrustRegionNewton(own, TronConfig(c=1 / sigma2))
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
