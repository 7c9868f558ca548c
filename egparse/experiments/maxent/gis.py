"""Generalised iterative scaling: all weights at once, by the loosest bound (Darroch & Ratcliff
1972; Huang et al. 2009, section 2.2).

A_t(z) = (exp(z f#) - 1) / f# sum_{x,y} p~(x) P_w(y | x) f_t(x, y) + Q_t(z),   f# = max_{x,y} f#(x,
y). The correction feature, which fills every sum up to f#, keeps the weight 0 and so only appears
in f#. A pass costs O(#nz). We differ from section 2.3 in memory: all steps start from the same w,
so that no table is needed.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.maxent.one_variable import stationary_point
from egparse.experiments.maxent.problem import Features, MaxentProblem
from egparse.experiments.maxent.rowwise import forbid, score_context
from egparse.types import Floats


class GIS(MaxentLearner):
    """Algorithm 2 with A_GIS."""

    name = "gis"
    tabulates = False

    def __init__(self, problem: MaxentProblem, *, sigma2: float = 10.0) -> None:
        super().__init__(problem, sigma2=sigma2)
        ones = np.ones(problem.feature_count)
        self.most = float(greatest_total(problem.features, ones, self._scores[0]))
        """f#."""

    def _move(self, state: MaxentState) -> int:
        observed = self.problem.features.observed
        return int(gis_pass(state.expected, observed, state.w, self.precision, self.most))


@njit
def gis_pass(expected: Floats, observed: Floats, w: Floats, precision: float, most: float) -> int:
    """Move every weight. Returns a feature without a finite step, or -1."""
    for t in range(w.shape[0]):
        z = stationary_point(expected[t], most, observed[t], w[t], precision)
        if not np.isfinite(z):
            return t
        w[t] += z
    return -1


@njit
def greatest_total(features: Features, ones: Floats, scores: Floats) -> float:
    """f# = max_{x,y} sum_t f_t(x, y) over the labels that contexts may have; ``ones`` (n)."""
    most = 0.0
    for k in range(features.counts.shape[0]):
        score_context(features, ones, k, scores)
        forbid(features, k, scores, 0.0)
        most = max(most, scores.max())
    return most
