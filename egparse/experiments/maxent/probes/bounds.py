"""The sub-problems A_t(z) of CD, SCGIS, IIS and GIS at one w, written out (Huang et al. 2009,
section 2.2), to see which bounds which (eq. 14).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.experiments.maxent.problem import MaxentProblem
from egparse.experiments.maxent.tabulation import empty_table, feature_totals, tabulate
from egparse.types import Floats, Longs

ORDER = (("cd", "scgis"), ("scgis", "gis"), ("cd", "iis"), ("iis", "gis"))
"""Eq. 14: the first of each pair is nowhere above the second."""

ROUNDING = 1e-9
"""Relative to the terms of A_t(z): a smaller excess is rounding."""


class Violations(NamedTuple):
    """``found`` violations of eq. 14 in ``tried`` comparisons of two bounds."""

    tried: int
    found: int


class SubProblems:
    """The sub-problems at w, for the variance ``sigma2``."""

    def __init__(self, problem: MaxentProblem, w: Floats, *, sigma2: float) -> None:
        self.problem, self.w, self.precision = problem, w, 1.0 / sigma2
        self._table, totals = empty_table(problem), empty_table(problem).exponentials
        tabulate(problem.features, w, self._table)
        feature_totals(problem.features, totals)
        self._totals = totals
        starts = problem.features.feature_starts
        self._attributes = np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def values(self, t: int, z: float) -> dict[str, float]:
        """A_t(z) of every learner, by name."""
        features = self.problem.features
        a, label = self._attributes[t], features.labels[t]
        column = slice(features.column_starts[a], features.column_starts[a + 1])
        contexts, f = features.column_contexts[column], features.column_values[column]
        counts = features.counts[contexts]
        p = self._table.exponentials[label, contexts] / self._table.sums[contexts]
        totals = self._totals[label, contexts]
        expected = counts * p * f
        # Q_t(z), eq. 5
        prior = self.precision / 2 * (2 * self.w[t] * z + z * z) - z * features.observed[t]
        most, greatest = float(self._totals.max()), float(f.max())
        return {
            "cd": float(counts @ np.log1p(p * np.expm1(z * f))) + prior,
            "scgis": float(np.expm1(z * greatest) / greatest * expected.sum()) + prior,
            "iis": float(expected @ (np.expm1(z * totals) / totals)) + prior,
            "gis": float(np.expm1(z * most) / most * expected.sum()) + prior,
        }

    def violations(self, features: Longs, steps: Floats) -> Violations:
        """How often eq. 14 does not hold, over these features and values of z."""
        found = tried = 0
        for t in features.tolist():
            for z in steps.tolist():
                values = self.values(t, z)
                size = ROUNDING * max(1.0, *map(abs, values.values()))
                tried += len(ORDER)
                found += sum(bool(values[low] > values[high] + size) for low, high in ORDER)
        return Violations(tried, found)
