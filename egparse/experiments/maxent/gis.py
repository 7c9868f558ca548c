"""Generalised iterative scaling: all weights at once, by the loosest bound (Darroch & Ratcliff
1972; Huang et al. 2009, section 2.2).

A_t(z) = (exp(z f#) - 1) / f# sum_{x,y} p~(x) P_w(y | x) f_t(x, y) + Q_t(z),   f# = max_{x,y} f#(x,
y). The correction feature, which fills every sum up to f#, keeps the weight 0 and so only appears
in f#. A pass costs O(#nz).
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.maxent.one_variable import stationary_point
from egparse.experiments.maxent.problem import Features, MaxentProblem
from egparse.experiments.maxent.tabulation import Table, empty_table, expectation, feature_totals
from egparse.types import Floats


class GIS(MaxentLearner):
    """Algorithm 2 with A_GIS."""

    name = "gis"

    def __init__(self, problem: MaxentProblem, *, sigma2: float = 10.0) -> None:
        super().__init__(problem, sigma2=sigma2)
        totals = empty_table(problem).exponentials
        feature_totals(problem.features, totals)
        self.most = float(totals.max(initial=0.0))
        """f#."""

    def _move(self, state: MaxentState) -> int:
        return gis_pass(self.problem.features, state.table, state.w, self.precision, self.most)


@njit
def gis_pass(features: Features, table: Table, w: Floats, precision: float, most: float) -> int:
    """Move every weight; the table does not change, so that all steps start from the same w.
    Returns a feature without a finite step, or -1.
    """
    for a in range(features.feature_starts.shape[0] - 1):
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            expected = expectation(features, table, a, t)
            z = stationary_point(expected, most, features.observed[t], w[t], precision)
            if not np.isfinite(z):
                return t
            w[t] += z
    return -1
