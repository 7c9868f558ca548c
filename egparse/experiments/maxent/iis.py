"""Improved iterative scaling: all weights at once, by a bound that depends on f#(x, y).

Source: Della Pietra et al. 1997; Huang et al. 2009, section 2.2.

A_t(z) = sum_{x,y} p~(x) P_w(y | x) f_t(x, y) (exp(z f#(x, y)) - 1) / f#(x, y) + Q_t(z),   f#(x, y)
= sum_t f_t(x, y). Every Newton step (eq. 11-12) costs the non-zeros of the feature. Newton's method
starts at the solution for the mean of f#(x, y), which by Jensen's inequality is not left of the
root: from there it reaches the root without overshooting.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.experiments.maxent.learner import MaxentState, TabulatedLearner
from egparse.experiments.maxent.one_variable import stationary_point
from egparse.experiments.maxent.problem import Features, MaxentProblem
from egparse.experiments.maxent.tabulation import Table, empty_table, feature_totals
from egparse.types import Floats

_MOST_STEPS = 100
_TOLERANCE = 1e-10  # of a Newton step, in units of the weight


class IIS(TabulatedLearner):
    """Algorithm 2 with A_IIS."""

    name = "iis"
    sequential = False

    def __init__(self, problem: MaxentProblem, *, sigma2: float = 10.0) -> None:
        super().__init__(problem, sigma2=sigma2)
        self.totals = empty_table(problem).exponentials
        """f#(x, y), (L, m)."""
        feature_totals(problem.features, self.totals)

    def _move(self, state: MaxentState) -> int:
        return iis_pass(self.problem.features, state.table, self.totals, state.w, self.precision)


@njit
def iis_pass(features: Features, table: Table, totals: Floats, w: Floats, precision: float) -> int:
    """Move every weight; the table does not change. Returns a feature without a finite step, or
    -1.
    """
    for a in range(features.feature_starts.shape[0] - 1):
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            z = _start(features, table, totals, a, t, w[t], precision)
            for _ in range(_MOST_STEPS):
                slope, curvature = derivatives(features, table, totals, a, t, z)
                slope += precision * (w[t] + z) - features.observed[t]
                step = slope / (curvature + precision)
                z -= step
                if not abs(step) > _TOLERANCE:
                    break
            if not np.isfinite(z):
                return t
            w[t] += z
    return -1


@njit
def _start(
    features: Features,
    table: Table,
    totals: Floats,
    a: int,
    t: int,
    weight: float,
    precision: float,
) -> float:
    expected, rate = derivatives(features, table, totals, a, t, 0.0)
    if expected == 0.0:
        return stationary_point(0.0, 1.0, features.observed[t], weight, precision)
    return stationary_point(expected, rate / expected, features.observed[t], weight, precision)


@njit
def derivatives(
    features: Features, table: Table, totals: Floats, a: int, t: int, z: float
) -> tuple[float, float]:
    """The first and second derivative of A_t - Q_t at z, without those of the regulariser and the
    observed value (Huang et al. 2009, eq. 12).
    """
    label = features.labels[t]
    slope, curvature = 0.0, 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k = features.column_contexts[j]
        total = totals[label, k]
        term = (
            features.counts[k]
            * features.column_values[j]
            * table.exponentials[label, k]
            / table.sums[k]
        )
        term *= np.exp(z * total)
        slope += term
        curvature += term * total
    return slope, curvature
