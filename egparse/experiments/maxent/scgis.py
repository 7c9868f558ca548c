"""Sequential conditional generalised iterative scaling: one weight after another (Goodman 2002;
Huang et al. 2009, section 2.2).

A_t(z) = (exp(z f#_t) - 1) / f#_t sum_{x,y} p~(x) P_w(y | x) f_t(x, y) + Q_t(z),   f#_t = max_{x,y}
f_t(x, y), with P_w at the current weights, from the table, which every step updates. A pass costs
O(#nz).
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.experiments.maxent.learner import MaxentState, TabulatedLearner
from egparse.experiments.maxent.one_variable import stationary_point
from egparse.experiments.maxent.problem import Features
from egparse.experiments.maxent.tabulation import Table, expectation, shift_weight
from egparse.types import Floats


class SCGIS(TabulatedLearner):
    """Algorithm 1 with A_SCGIS."""

    name = "scgis"

    def _move(self, state: MaxentState) -> int:
        return scgis_pass(self.problem.features, state.table, state.w, self.precision)


@njit
def scgis_pass(features: Features, table: Table, w: Floats, precision: float) -> int:
    """Move every weight in turn. Returns a feature without a finite step, or -1."""
    for a in range(features.feature_starts.shape[0] - 1):
        begin, end = features.column_starts[a], features.column_starts[a + 1]
        if begin == end:
            continue
        most = features.column_values[begin:end].max()
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            expected = expectation(features, table, a, t)
            z = stationary_point(expected, most, features.observed[t], w[t], precision)
            if not np.isfinite(z):
                return t
            shift_weight(features, table, a, t, z)
            w[t] += z
    return -1
