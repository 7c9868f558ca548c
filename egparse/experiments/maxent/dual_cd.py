"""Dual coordinate descent: the distribution of one context after another, exactly (Yu, Huang & Lin
2011, "Dual coordinate descent methods for logistic regression and maximum entropy models").

The dual of L (eq. 3, with C = 1 / sigma^2) is to maximise over alpha_x >= 0, sum_y alpha_xy = p~(x)

    D(alpha) = -sum_{x,y} alpha_xy log(alpha_xy / p~(x)) - C/2 |w(alpha)|^2,
    w(alpha)_t = (p~(f_t) - sum_{x,y} alpha_xy f_t(x, y)) / C,

and D <= L(w(alpha)) for every alpha. The sub-problem of context x is to maximise D over alpha_x. We
differ from the paper, which solves it by coordinate descent over pairs of labels: labels share no
features here, so that its quadratic term is diagonal, k_y / C with k_y = sum_t f_t(x, y)^2, and the
optimum has one unknown, the multiplier mu of the constraint:

    log a_y + k_y a_y / C = mu + s_y + k_y alpha_xy / C,   s_y = w . f(x, y),   sum_y a_y = p~(x).

It starts at alpha_xy = p~(x, y), where w = 0. O(#nz + L m) a pass; alpha takes 8 bytes for each
label and context.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.maxent.problem import Features, MaxentProblem
from egparse.experiments.maxent.rowwise import forbid, score_context
from egparse.types import Floats, Longs

_MOST_STEPS = 60
_SOLVED = 1e-12  # relative error of sum_y a_y
_PRECISE = 1e-14  # relative error of one a_y


class DualCoordinateDescent(MaxentLearner):
    """Contexts in a random order of ``seed``, new for each pass.

    Raises:
        ConfigError: no prior, without which there is no such dual.
    """

    name = "dual-cd"
    descends = False  # D rises, L need not fall
    has_dual = True

    def __init__(self, problem: MaxentProblem, *, sigma2: float = 10.0, seed: int = 1) -> None:
        super().__init__(problem, sigma2=sigma2)
        if not np.isfinite(sigma2):
            raise ConfigError(f"dual-cd: expected a finite sigma2 > 0, got {sigma2}")
        self._random = np.random.default_rng(seed)
        self.alpha = np.zeros((problem.context_count, problem.label_count))
        """(m, L)."""

    def initialise(self) -> MaxentState:
        """alpha_xy = p~(x, y) and w = 0."""
        self.alpha[:] = 0.0
        counts = self.problem.label_counts
        rows = np.repeat(np.arange(len(self.alpha)), np.diff(counts.indptr))
        self.alpha[rows, counts.indices] = counts.data
        return super().initialise()

    def dual(self, state: MaxentState) -> float:
        """D(alpha)."""
        entropy = float(entropy_of(self.problem.features, self.alpha))
        return entropy - self.precision / 2 * float(state.w @ state.w)

    def _move(self, state: MaxentState) -> int:
        order = self._random.permutation(self.problem.context_count)
        label_count = self.problem.label_count
        room = np.empty((3, label_count))
        dual_pass(self.problem.features, self.alpha, state.w, self.precision, order, room)
        return -1


@njit
def dual_pass(
    features: Features, alpha: Floats, w: Floats, precision: float, order: Longs, room: Floats
) -> None:
    """Solve the sub-problem of every context, in this order; ``room`` is (3, L)."""
    for k in order:
        scores, curvatures, found = room[0], room[1], room[2]
        score_context(features, w, k, scores)
        forbid(features, k, scores, -np.inf)
        _curvatures(features, k, precision, curvatures)
        for y in range(scores.shape[0]):
            scores[y] += curvatures[y] * alpha[k, y]
        _solve(scores, curvatures, features.counts[k], found)
        for y in range(scores.shape[0]):
            scores[y] = (alpha[k, y] - found[y]) / precision
            alpha[k, y] = found[y]
        _move_weights(features, k, scores, w)


@njit
def _curvatures(features: Features, k: int, precision: float, out: Floats) -> None:
    """Write k_y / C of context k into ``out`` (L)."""
    out[:] = 0.0
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a = features.row_attributes[j]
        part = features.row_values[j] * features.row_values[j] / precision
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            out[features.labels[t]] += part


@njit
def _move_weights(features: Features, k: int, by_label: Floats, w: Floats) -> None:
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a, value = features.row_attributes[j], features.row_values[j]
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            w[t] += value * by_label[features.labels[t]]


@njit
def _solve(pulls: Floats, curvatures: Floats, total: float, out: Floats) -> None:
    """Write a with log a_y + curvatures_y a_y = mu + pulls_y and sum_y a_y = total.

    sum_y a_y(mu) rises and is convex, so that Newton's method on mu comes down to the root from the
    right, where it starts: at the least mu with a_y(mu) = total for some y.
    """
    mu = np.inf
    for y in range(pulls.shape[0]):
        mu = min(mu, np.log(total) + curvatures[y] * total - pulls[y])
    mass = total
    for _ in range(_MOST_STEPS):
        mass, rate = 0.0, 0.0
        for y in range(pulls.shape[0]):
            out[y] = _mass_at(mu + pulls[y], curvatures[y])
            mass += out[y]
            rate += out[y] / (1.0 + curvatures[y] * out[y])  # d a_y / d mu
        if abs(mass - total) <= _SOLVED * total:
            break
        mu += (total - mass) / rate
    for y in range(pulls.shape[0]):
        out[y] *= total / mass


@njit
def _mass_at(height: float, curvature: float) -> float:
    """The a with log a + curvature a = height; 0 for -inf."""
    if height < -700.0 or curvature == 0.0:
        return float(np.exp(height))
    h = height + np.log(curvature)  # v + log v = h for v = curvature a
    if h < -36.0:  # log v = h - v is h in floating point
        return float(np.exp(height))
    v = h if h > 1.0 else np.exp(h)
    for _ in range(_MOST_STEPS):
        before = v
        v = v * (1.0 + h - np.log(v)) / (1.0 + v)
        if abs(v - before) <= _PRECISE * v:
            break
    return float(v / curvature)


@njit
def entropy_of(features: Features, alpha: Floats) -> float:
    """-sum_{x,y} alpha_xy log(alpha_xy / p~(x))."""
    total = 0.0
    for k in range(alpha.shape[0]):
        for y in range(alpha.shape[1]):
            if alpha[k, y] > 0.0:
                total -= alpha[k, y] * np.log(alpha[k, y] / features.counts[k])
    return total
