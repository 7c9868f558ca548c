"""Coordinate descent: Newton steps with a line search on the objective itself, for one weight after
another (Huang et al. 2009, section 3.2).

A_t(z) = L(w + z e_t) - L(w), the tightest of the sub-problems (eq. 14). Direction d = -A'(0) /
A''(0) (eq. 15); the step is the first z = lambda d, lambda = 1, beta, beta^2, ..., with A_t(z) <=
gamma z A'(0) (eq. 16). Near the optimum lambda is 1. O(#nz) a pass and trial.

``cd`` makes one such step a weight; ``cd-exact``, the traditional method that the paper improves
on, makes steps until the sub-problem is solved.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.experiments.maxent.learner import MaxentState, TabulatedLearner
from egparse.experiments.maxent.problem import Features, MaxentProblem
from egparse.experiments.maxent.tabulation import Table, others, shift_weight
from egparse.types import Floats, Longs

_MOST_TRIALS = 200
_MOST_STEPS = 50  # of an exact sub-problem
_SOLVED = 1e-9  # relative to the terms of A'(z): at a smaller slope a sub-problem is solved
_CERTAIN = 1e-8  # a smaller 1 - P is not computed by subtraction
_SMALL = 0.05  # a smaller relative change of T has its logarithm by a series
_ROUNDING = 1e-13  # relative to the terms of A'(0): a smaller slope is rounding


class CoordinateDescent(TabulatedLearner):
    """Algorithm 1 with A_CD. ``gamma`` in (0, 1/2) and ``beta`` in (0, 1) are those of the line
    search. ``tally`` counts sub-problems, Newton steps, and steps taken with lambda = 1.

    Raises:
        ConfigError: constants out of range.
    """

    name = "cd"
    exact = False

    def __init__(
        self,
        problem: MaxentProblem,
        *,
        sigma2: float = 10.0,
        gamma: float = 0.001,
        beta: float = 0.5,
    ) -> None:
        super().__init__(problem, sigma2=sigma2)
        if not 0 < gamma < 0.5 or not 0 < beta < 1:
            raise ConfigError(
                f"{self.name}: expected gamma in (0, 1/2) and beta in (0, 1), got gamma = {gamma}, "
                f"beta = {beta}"
            )
        self.gamma, self.beta = gamma, beta
        self.tally = np.zeros(3, dtype=np.int64)

    def _move(self, state: MaxentState) -> int:
        features, steps = self.problem.features, _MOST_STEPS if self.exact else 1
        search = self.gamma, self.beta
        return cd_pass(features, state.table, state.w, self.precision, search, steps, self.tally)


class ExactCoordinateDescent(CoordinateDescent):
    """Coordinate descent whose sub-problems are solved to the end."""

    name = "cd-exact"
    exact = True


@njit
def cd_pass(
    features: Features,
    table: Table,
    w: Floats,
    precision: float,
    search: tuple[float, float],
    most_steps: int,
    tally: Longs,
) -> int:
    """Move every weight in turn, by up to ``most_steps`` Newton steps with the constants gamma and
    beta of ``search``. Returns a feature whose line search failed, or -1.
    """
    gamma, beta = search
    solved = _ROUNDING if most_steps == 1 else _SOLVED
    for a in range(features.feature_starts.shape[0] - 1):
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            tally[0] += 1
            for _ in range(most_steps):
                expected, curvature = _derivatives(features, table, a, t)
                observed, pull = features.observed[t], precision * w[t]
                slope = expected - observed + pull
                if abs(slope) <= solved * (expected + observed + abs(pull)):
                    break
                full = -slope / (curvature + precision)
                z = full
                for _ in range(_MOST_TRIALS):
                    linear = z * (pull - observed) + precision / 2 * z * z  # Q_t, eq. 5
                    if _growth(features, table, a, t, z) + linear <= gamma * z * slope:
                        break
                    z *= beta
                else:
                    return t
                tally[1] += 1
                tally[2] += z == full
                shift_weight(features, table, a, t, z)
                w[t] += z
    return -1


@njit
def _derivatives(features: Features, table: Table, a: int, t: int) -> tuple[float, float]:
    """The first and second derivative of A_t - Q_t at 0: sum p~ P f and sum p~ P (1 - P) f^2."""
    label = features.labels[t]
    exponentials = table.exponentials[label]
    slope, curvature = 0.0, 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k, value = features.column_contexts[j], features.column_values[j]
        probability = exponentials[k] / table.sums[k]
        term = features.counts[k] * value * probability
        slope += term
        doubt = 1.0 - probability
        if doubt < _CERTAIN:
            doubt = others(table, label, k) / table.sums[k]
        curvature += term * value * doubt
    return slope, curvature


@njit
def _growth(features: Features, table: Table, a: int, t: int, z: float) -> float:
    """sum_x p~(x) log(T_{w + z e_t}(x) / T_w(x)); the ratio is 1 + c with c = P (exp(z f) - 1).

    For small c, log(1 + c) is replaced by its upper bound c - c^2 / 2 + c^3 / 3, which is faster
    and still implies eq. 16.
    """
    label = features.labels[t]
    exponentials = table.exponentials[label]
    total, last, growth = 0.0, 0.0, 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k, value = features.column_contexts[j], features.column_values[j]
        if value != last:
            last, growth = value, np.expm1(z * value)
        change = growth * exponentials[k] / table.sums[k]
        if abs(change) < _SMALL:
            ratio = change * (1.0 + change * (-0.5 + change / 3.0))
        elif change > -0.5:
            ratio = np.log1p(change)
        else:  # 1 + P (exp(z f) - 1) would cancel
            left = others(table, label, k) + exponentials[k] * np.exp(z * value)
            ratio = np.log(left / table.sums[k])
        total += features.counts[k] * ratio
    return total
