"""What Huang et al. 2009 say besides Fig. 2, measured: the cost of Newton directions (Table 1), and
how much one Newton step on A_CD reduces L beside the minima of looser bounds (section 3.2).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.experiments.learners.maxent import steps
from egparse.experiments.learners.maxent.features import Features, feature_totals
from egparse.experiments.learners.maxent.scaling import CDConfig, CoordinateDescent
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs

METHODS = ("cd", "gis", "scgis", "iis")
BINS = ("16", "64", "256", "1024", "4096")
"""The least numbers of non-zeros of groups of features."""

_CD, _GIS, _SCGIS, _IIS = range(4)
_FURTHER = (8, 500, 500, 8)  # directions after the first: many where they take O(1)
_SAMPLE = 10_000  # features


class _Point(NamedTuple):
    """The sub-problems at w, where f#(x, y) is ``totals`` (L, m) and f# is ``most``; the attribute
    of each feature.
    """

    features: Features
    table: steps.Table
    totals: Floats
    most: float
    w: Floats
    c: float
    attributes: Longs


def newton_costs(problem: Problem, sigma2: float, passes: int = 3) -> dict[str, dict[str, float]]:
    """Nanoseconds of the first Newton direction and of each further one (``"cd first"``, ``"cd
    further"``) in each of the ``BINS`` of features, and the mean number of non-zeros (``"length"``)
    there, after some passes of cd.
    """
    point = next(_points(problem, sigma2, [passes]))
    lengths = np.diff(point.features.column_starts)[point.attributes]
    found: dict[str, dict[str, float]] = {"length": {}}
    for low, high in itertools.pairwise((*BINS, "inf")):
        inside = np.flatnonzero((lengths >= float(low)) & (lengths < float(high)))
        if not len(inside):
            continue
        chosen = np.sort(np.random.default_rng(1).permutation(inside)[:_SAMPLE])
        found["length"][low] = float(lengths[chosen].mean())
        for method, name in enumerate(METHODS):
            further = _FURTHER[method]
            one, many = (_nanoseconds(point, method, n, chosen) for n in (1, 1 + further))
            found.setdefault(f"{name} first", {})[low] = one
            found.setdefault(f"{name} further", {})[low] = max(0.0, many - one) / further
    return found


def step_reductions(
    problem: Problem, sigma2: float, passes: Sequence[int] = (5, 20)
) -> dict[str, dict[str, float]]:
    """By how much the step of each method alone reduces L, in nats, summed over features drawn at
    random, after each number of passes of cd, ascending: ``["gis"]["5"]``.
    """
    found: dict[str, dict[str, float]] = {name: {} for name in METHODS}
    for number, point in zip(passes, _points(problem, sigma2, passes), strict=True):
        drawn = np.random.default_rng(1).permutation(len(point.w))[:_SAMPLE]
        for name, fall in zip(METHODS, reductions(point, drawn), strict=True):
            found[name][str(number)] = float(fall)
    return found


def _points(problem: Problem, sigma2: float, passes: Sequence[int]) -> Iterator[_Point]:
    learner = CoordinateDescent(problem.with_own_weights(), CDConfig(c=1 / sigma2))
    features, state = learner.features, learner.initialise()
    totals = steps.empty_table(features).exponentials
    most = float(feature_totals(features, totals))
    sizes = np.diff(features.feature_starts)
    attributes = np.repeat(np.arange(len(sizes)), sizes)
    for number in passes:
        while state.passes < number:
            learner.iterate(state)
        yield _Point(features, state.table, totals, most, state.w, learner.c, attributes)


def _nanoseconds(point: _Point, method: int, count: int, chosen: Longs) -> float:
    """The shorter of two runs, of which the first may compile, for each feature."""
    times = []
    for _ in range(2):
        begun = time.process_time()
        directions(point, method, count, chosen)
        times.append(time.process_time() - begun)
    return 1e9 * min(times) / len(chosen)


@njit
def directions(point: _Point, method: int, count: int, chosen: Longs) -> float:
    """So many Newton iterations (eq. 11) on A_t of a method for each of the features; returns the
    sum of z. For CD the table moves along, as in cd-exact.
    """
    features, table, total = point.features, point.table, 0.0
    for t in chosen:
        a = point.attributes[t]
        rate = steps.greatest_value(features, a) if method == _SCGIS else point.most
        expected, z, change = 0.0, 0.0, 0.0
        if method in (_GIS, _SCGIS):
            expected = steps.expectation(features, table, a, t)
        for step in range(count):
            if method == _CD:
                if step:
                    steps.shift_weight(features, table, a, t, change)
                slope, curvature = steps.cd_derivatives(features, table, a, t)
            elif method == _IIS:
                slope, curvature = steps.iis_derivatives(features, table, point.totals, a, t, z)
            else:  # O(1): eq. 12 with the stored expectation
                slope = expected * np.exp(z * rate)
                curvature = slope * rate
            slope += point.c * (point.w[t] + z) - features.observed[t]
            change = -slope / (curvature + point.c)
            z += change
        total += z
    return total


@njit
def reductions(point: _Point, chosen: Longs) -> Floats:
    """-A_CD(z), by which L falls, at the z of each method, summed over the features, (4,)."""
    features, table, c = point.features, point.table, point.c
    found, z = np.zeros(4), np.empty(4)
    for t in chosen:
        a, weight, observed = point.attributes[t], point.w[t], features.observed[t]
        expected = steps.expectation(features, table, a, t)
        most = steps.greatest_value(features, a)
        z[_CD] = steps.newton_step(features, table, a, t, weight, c, (0.001, 0.5), 0.0)[0]
        z[_GIS] = steps.scaled_step(expected, point.most, observed, weight, c)
        z[_SCGIS] = steps.scaled_step(expected, most, observed, weight, c)
        z[_IIS] = steps.iis_step(features, table, point.totals, a, t, weight, c)
        for method in range(4):
            own = z[method]
            prior = c / 2 * (2 * weight * own + own * own) - own * observed  # Q_t, eq. 5
            found[method] -= steps.growth(features, table, a, t, own) + prior
    return found
