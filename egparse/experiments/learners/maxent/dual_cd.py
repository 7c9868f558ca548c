"""Dual coordinate descent: the distribution of one context after another, exactly (Yu, Huang & Lin
2011, "Dual coordinate descent methods for logistic regression and maximum entropy models").

The dual of L is to maximise over alpha_x >= 0, sum_y alpha_xy = 1

    D(alpha) = -sum_{x,y} alpha_xy log alpha_xy - C/2 |w(alpha)|^2,
    w(alpha)_t = (p~(f_t) - sum_{x,y} alpha_xy f_t(x, y)) / C,

and D <= L(w) for every alpha and w. The sub-problem of context x is to maximise D over alpha_x. We
differ from the paper, which solves it by coordinate descent over pairs of labels: labels share no
features here, so that its quadratic term is diagonal, k_y / C with k_y = sum_t f_t(x, y)^2, and the
optimum has one unknown, the multiplier mu of the constraint:

    log a_y + k_y a_y / C = mu + s_y + k_y alpha_xy / C,   s_y = w . f(x, y),   sum_y a_y = 1.

It starts at alpha = 1 on the correct labels, where w = 0. O(#nz + L m) a pass; alpha takes 8 bytes
for each label and context.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from egparse.compilation import njit
from egparse.experiments.learners.maxent.features import (
    Features,
    add_context,
    forbid,
    score_context,
)
from egparse.experiments.learners.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.learners.maxent.steps import wright_omega
from egparse.types import Floats, Longs

_MOST_STEPS = 60
_SOLVED = 1e-12  # error of sum_y a_y


@dataclass(kw_only=True)
class DualState(MaxentState):
    """``alpha`` (m, L), and the generator of the orders of visits."""

    alpha: Floats
    generator: np.random.Generator


class DualCoordinateDescent(MaxentLearner):
    """Contexts in a random order, new for each pass. D rises, but L need not fall; it is computed
    for certificates alone.
    """

    name = "dual-cd"

    def lower_bound(self, state: DualState, norm: float) -> float:
        """D(alpha)."""
        return float(entropy_of(state.alpha)) - self.c / 2 * float(state.w @ state.w)

    def start(self, w: Floats) -> DualState:
        """The state at w = 0, which alone belongs to the first distributions."""
        correct = self.features.correct
        alpha = np.zeros((len(correct), self.features.label_count))
        alpha[np.arange(len(correct)), correct] = 1.0
        state = DualState(w=w, alpha=alpha, generator=np.random.default_rng(self.seed))
        self._rate(state, self.loss(w, np.empty_like(w)))
        return state

    def _move(self, state: DualState) -> None:
        order = state.generator.permutation(len(self.features.correct))
        room = np.empty((3, self.features.label_count))
        dual_pass(self.features, state.alpha, state.w, self.c, order, room)


@njit
def dual_pass(
    features: Features, alpha: Floats, w: Floats, c: float, order: Longs, room: Floats
) -> None:
    """Solve the sub-problem of every context, in this order; ``room`` is (3, L)."""
    for k in order:
        scores, curvatures, found = room[0], room[1], room[2]
        score_context(features, w, k, scores)
        forbid(features, k, scores, -np.inf)
        _curvatures(features, k, c, curvatures)
        for y in range(scores.shape[0]):
            scores[y] += curvatures[y] * alpha[k, y]
        solve(scores, curvatures, found)
        for y in range(scores.shape[0]):
            scores[y] = (alpha[k, y] - found[y]) / c
            alpha[k, y] = found[y]
        add_context(features, k, scores, w)


@njit
def _curvatures(features: Features, k: int, c: float, out: Floats) -> None:
    """Write k_y / C of context k into ``out`` (L)."""
    out[:] = 0.0
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a = features.row_attributes[j]
        part = features.row_values[j] * features.row_values[j] / c
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            out[features.labels[t]] += part


@njit
def solve(pulls: Floats, curvatures: Floats, out: Floats) -> None:
    """Write a with log a_y + curvatures_y a_y = mu + pulls_y and sum_y a_y = 1.

    sum_y a_y(mu) rises and is convex, so that Newton's method on mu comes down to the root from the
    right, where it starts: at the least mu with a_y(mu) = 1 for some y.
    """
    mu = np.inf
    for y in range(pulls.shape[0]):
        mu = min(mu, curvatures[y] - pulls[y])
    mass = 1.0
    for _ in range(_MOST_STEPS):
        mass, rate = 0.0, 0.0
        for y in range(pulls.shape[0]):
            out[y] = mass_at(mu + pulls[y], curvatures[y])
            mass += out[y]
            rate += out[y] / (1.0 + curvatures[y] * out[y])  # d a_y / d mu
        if abs(mass - 1.0) <= _SOLVED:
            break
        mu += (1.0 - mass) / rate
    for y in range(pulls.shape[0]):
        out[y] /= mass


@njit
def mass_at(height: float, curvature: float) -> float:
    """The a with log a + curvature a = height; 0 for -inf."""
    if height < -700.0 or curvature == 0.0:
        return float(np.exp(height))
    h = height + np.log(curvature)  # v + log v = h for v = curvature a
    if h < -36.0:  # log v = h - v is h in floating point
        return float(np.exp(height))
    return float(wright_omega(h) / curvature)


@njit
def entropy_of(alpha: Floats) -> float:
    """-sum_{x,y} alpha_xy log alpha_xy."""
    total = 0.0
    for k in range(alpha.shape[0]):
        for y in range(alpha.shape[1]):
            if alpha[k, y] > 0.0:
                total -= alpha[k, y] * np.log(alpha[k, y])
    return total
