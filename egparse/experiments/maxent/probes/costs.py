"""What sub-problems and updates cost, measured: the time of a first and of each further Newton
direction (Huang et al. 2009, Table 1), and of an update of the table (ibid., section 2.3).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.experiments.maxent import iis
from egparse.experiments.maxent.problem import Features, MaxentProblem
from egparse.experiments.maxent.tabulation import (
    Table,
    empty_table,
    expectation,
    feature_totals,
    shift_weight,
    tabulate,
)
from egparse.types import Floats, Longs

METHODS = ("cd", "gis", "scgis", "iis")
_CD, _GIS, _SCGIS, _IIS = range(4)
_FURTHER = 4  # directions after the first
_SHIFT = 1e-3  # of a weight in a timed update
_BINS = (1, 4, 16, 64, 256, 1024, 4096, 10**9)
_SAMPLE = 20_000  # features of a bin


class Costs(NamedTuple):
    """Nanoseconds for each non-zero of the features: of the first Newton direction of all
    sub-problems, and of each further one.
    """

    first: float
    further: float


class Updates(NamedTuple):
    """Of features with ``length`` non-zeros on average, nanoseconds for one update of the table."""

    length: float
    nanoseconds: float


def newton_costs(problem: MaxentProblem, w: Floats, *, sigma2: float) -> dict[str, Costs]:
    """The costs of each method at w, by name."""
    table, totals = _tables(problem, w)
    greatest = float(totals.max())
    found = {}
    for method, name in enumerate(METHODS):

        def run(steps: int, method: int = method) -> None:
            directions(problem.features, table, totals, w, 1.0 / sigma2, greatest, method, steps)

        run(1)  # compiled
        one, more = _seconds(lambda: run(1)), _seconds(lambda: run(1 + _FURTHER))
        scale = 1e9 / problem.nonzeros
        found[name] = Costs(scale * one, scale * (more - one) / _FURTHER)
    return found


def update_costs(problem: MaxentProblem, w: Floats) -> tuple[list[Updates], float]:
    """The cost of updates by the length of the feature, and the nanoseconds of computing the whole
    table anew.
    """
    features = problem.features
    table, _ = _tables(problem, w)
    anew = 1e9 * _seconds(lambda: tabulate(features, w, table))
    attributes = np.repeat(
        np.arange(len(features.feature_starts) - 1), np.diff(features.feature_starts)
    )
    lengths = np.diff(features.column_starts)[attributes]
    random = np.random.default_rng(1)
    found = []
    for low, high in itertools.pairwise(_BINS):
        inside = np.flatnonzero((lengths >= low) & (lengths < high))
        if not len(inside):
            continue
        chosen = np.sort(random.permutation(inside)[:_SAMPLE])

        def run(chosen: Longs = chosen) -> None:
            for z in (_SHIFT, -_SHIFT):
                shift_all(features, table, attributes[chosen], chosen, z)

        run()
        seconds = _seconds(run)
        found.append(Updates(float(lengths[chosen].mean()), 1e9 * seconds / (2 * len(chosen))))
    return found, anew


def _tables(problem: MaxentProblem, w: Floats) -> tuple[Table, Floats]:
    table, totals = empty_table(problem), empty_table(problem).exponentials
    tabulate(problem.features, w, table)
    feature_totals(problem.features, totals)
    return table, totals


def _seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


@njit
def directions(
    features: Features,
    table: Table,
    totals: Floats,
    w: Floats,
    precision: float,
    greatest: float,
    method: int,
    steps: int,
) -> float:
    """The sum over all features of z after so many Newton iterations (eq. 11) on A_t of a method;
    the table stays as it is.
    """
    total = 0.0
    for a in range(features.feature_starts.shape[0] - 1):
        rate = greatest
        if method == _SCGIS:
            rate = 0.0
            for j in range(features.column_starts[a], features.column_starts[a + 1]):
                rate = max(rate, features.column_values[j])
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            expected = 0.0
            if method in (_GIS, _SCGIS):
                expected = expectation(features, table, a, t)
            z = 0.0
            for _ in range(steps):
                if method == _CD:
                    slope, curvature = _exact(features, table, a, t, z)
                elif method == _IIS:
                    slope, curvature = iis.derivatives(features, table, totals, a, t, z)
                else:  # O(1): eq. 12 with the stored expectation
                    slope = expected * np.exp(z * rate)
                    curvature = slope * rate
                slope += precision * (w[t] + z) - features.observed[t]
                z -= slope / (curvature + precision)
            total += z
    return total


@njit
def _exact(features: Features, table: Table, a: int, t: int, z: float) -> tuple[float, float]:
    """The derivatives of A_CD - Q at z, eq. 13."""
    label = features.labels[t]
    exponentials = table.exponentials[label]
    slope, curvature = 0.0, 0.0
    last, growth = 0.0, 1.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k, value = features.column_contexts[j], features.column_values[j]
        if value != last:
            last, growth = value, np.exp(z * value)
        own = exponentials[k] * growth
        probability = own / (table.sums[k] + own - exponentials[k])
        term = features.counts[k] * value * probability
        slope += term
        curvature += term * value * (1.0 - probability)
    return slope, curvature


@njit
def shift_all(features: Features, table: Table, attributes: Longs, chosen: Longs, z: float) -> None:
    """Move each of the ``chosen`` features, of these ``attributes``, by z in the table."""
    for place in range(chosen.shape[0]):
        shift_weight(features, table, attributes[place], chosen[place], z)
