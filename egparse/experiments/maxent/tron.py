"""Trust region Newton: all weights at once, by steps that conjugate gradient finds from products
with the Hessian (Lin, Weng & Keerthi 2008, "Trust region Newton method for large-scale logistic
regression", Algorithms 1 and 2).

A step s approximately minimises q(s) = g.s + s.H s / 2 within |s| <= Delta; it is taken if L falls
by at least eta_0 of what q promises, and Delta follows the ratio of both. H = sum_x p~(x) (sum_y P
f f' - (sum_y P f)(sum_y P f)') + I / sigma^2. An iteration costs O(#nz + L m) for each product and
for the evaluation; the probabilities at w are kept, 8 bytes for each label and context.
"""

from __future__ import annotations

import numpy as np

from egparse.errors import ConfigError
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.maxent.problem import MaxentProblem
from egparse.experiments.maxent.rowwise import hessian_product, loss_and_expectations
from egparse.types import Floats

_ETA = (1e-4, 0.25, 0.75)  # eta_0, eta_1, eta_2, ibid., section 2.3
_SIGMA = (0.25, 0.5, 4.0)  # sigma_1, sigma_2, sigma_3
_ROUNDING = 1e-12  # relative to the terms of L: a smaller promised fall cannot be seen


class TrustRegionNewton(MaxentLearner):
    """An ``iterate`` is one step that is taken. Conjugate gradient ends at a residual of
    ``forcing`` (xi, in (0, 1)) times the norm of the gradient. ``products`` counts products
    with the Hessian, ``rejected`` the steps that were tried in vain.

    Raises:
        ConfigError: ``forcing`` out of range.
    """

    name = "tron"
    evaluates = True

    def __init__(
        self, problem: MaxentProblem, *, sigma2: float = 10.0, forcing: float = 0.1
    ) -> None:
        super().__init__(problem, sigma2=sigma2)
        if not 0 < forcing < 1:
            raise ConfigError(f"tron: expected forcing in (0, 1), got {forcing}")
        self.forcing = forcing
        self.products = self.rejected = 0
        self._probabilities = np.empty((problem.context_count, problem.label_count))
        self._radius = 0.0

    def initialise(self) -> MaxentState:
        """w = 0, and Delta = |g|."""
        state = super().initialise()
        self._radius = float(np.linalg.norm(self.gradient(state)))
        return state

    def _loss(self, w: Floats, expected: Floats) -> float:
        features = self.problem.features
        return float(loss_and_expectations(features, w, self._probabilities, expected))

    def _move(self, state: MaxentState) -> int:
        """Try steps until one is taken, or none can be told from rounding."""
        start, before, slope = state.w.copy(), state.objective, self.gradient(state)
        while True:
            step, residual = self._direction(slope)
            linear = float(slope @ step)
            promised = -0.5 * (linear - float(step @ residual))  # -q(s), for r = -g - H s
            if promised <= _ROUNDING * state.magnitude:
                return -1
            state.w[:] = start + step
            self._evaluate(state)
            fall = before - state.objective
            length = float(np.linalg.norm(step))
            if state.passes == 0:
                self._radius = min(self._radius, length)
            self._adapt(fall, promised, linear, length)
            if fall > _ETA[0] * promised:
                return -1
            self.rejected += 1
            state.w[:] = start
            self._evaluate(state)  # the Hessian is that of the start again

    def _adapt(self, fall: float, promised: float, linear: float, length: float) -> None:
        """The next radius, from the step that a parabola through L and its slope would take."""
        excess = -fall - linear
        alpha = _SIGMA[2] if excess <= 0 else max(_SIGMA[0], -0.5 * linear / excess)
        radius = self._radius
        if fall < _ETA[0] * promised:
            self._radius = min(max(alpha, _SIGMA[0]) * length, _SIGMA[1] * radius)
        elif fall < _ETA[1] * promised:
            self._radius = max(_SIGMA[0] * radius, min(alpha * length, _SIGMA[1] * radius))
        elif fall < _ETA[2] * promised:
            self._radius = max(_SIGMA[0] * radius, min(alpha * length, _SIGMA[2] * radius))
        else:
            self._radius = max(radius, min(alpha * length, _SIGMA[2] * radius))

    def _direction(self, slope: Floats) -> tuple[Floats, Floats]:
        """The step of conjugate gradient within the radius, and its residual -g - H s (ibid.,
        Algorithm 2).
        """
        step, residual = np.zeros_like(slope), -slope
        direction = residual.copy()
        enough = self.forcing * float(np.linalg.norm(slope))
        squared = float(residual @ residual)
        while squared**0.5 > enough:
            product = self._product(direction)
            alpha = squared / float(direction @ product)
            ahead = step + alpha * direction
            if float(np.linalg.norm(ahead)) > self._radius:
                alpha = _to_boundary(step, direction, self._radius)
                return step + alpha * direction, residual - alpha * product
            step = ahead
            residual -= alpha * product
            last, squared = squared, float(residual @ residual)
            direction = residual + squared / last * direction
        return step, residual

    def _product(self, v: Floats) -> Floats:
        out = np.empty_like(v)
        hessian_product(self.problem.features, self._probabilities, v, self._scores[0], out)
        self.products += 1
        return np.asarray(out + self.precision * v)


def _to_boundary(step: Floats, direction: Floats, radius: float) -> float:
    """The tau >= 0 with |step + tau direction| = radius."""
    inner, squared = float(step @ direction), float(direction @ direction)
    rest = max(0.0, radius * radius - float(step @ step))
    root = float(np.sqrt(inner * inner + squared * rest))
    return rest / (inner + root) if inner >= 0 else (root - inner) / squared
