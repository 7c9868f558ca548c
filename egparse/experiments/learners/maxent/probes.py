"""What Huang et al. 2009 say besides Fig. 2, measured: the cost of Newton directions (Table 1), and
how much one Newton step on A_CD reduces the objective beside the minima of looser bounds (section
3.2).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.experiments.learners.maxent.features import Features, feature_totals
from egparse.experiments.learners.maxent.scaling import CDConfig, CoordinateDescent
from egparse.experiments.learners.maxent.steps import (
    cd_derivatives,
    growth,
    iis_derivatives,
    iis_step,
    newton_step,
    scaled_step,
)
from egparse.experiments.learners.maxent.tables import (
    Table,
    empty_table,
    expectation,
    greatest_value,
    shift_weight,
)
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs

METHODS = ("gis", "scgis", "iis", "cd")
_GIS, _SCGIS, _IIS, _CD = range(4)
_FURTHER = 8  # directions after the first
_BINS = (1, 4, 16, 64, 256, 1024, 4096, 10**9)
_SAMPLE = 10_000  # features


class _Point(NamedTuple):
    """The sub-problems at w, where f#(x, y) is ``totals`` (L, m) and f# is ``most``."""

    features: Features
    table: Table
    totals: Floats
    most: float
    w: Floats
    c: float


def newton_costs(problem: Problem, sigma2: float, passes: int = 3) -> dict[str, list[float]]:
    """Nanoseconds of the first Newton direction and of each further one (``"cd first"``, ``"cd
    further"``) for features with more and more non-zeros (``"length"``, their mean), after some
    passes of cd.
    """
    point = _points(problem, sigma2, [passes])[0]
    attributes, lengths = _attributes(point.features)
    found: dict[str, list[float]] = {"length": []}
    for low, high in itertools.pairwise(_BINS):
        inside = np.flatnonzero((lengths >= low) & (lengths < high))
        if not len(inside):
            continue
        chosen = np.sort(np.random.default_rng(1).permutation(inside)[:_SAMPLE])
        found["length"].append(float(lengths[chosen].mean()))
        for method, name in enumerate(METHODS):
            seconds = [0.0, 0.0]
            for place, steps in [(0, 1), (0, 1), (1, 1 + _FURTHER)]:  # the first run may compile
                begun = time.process_time()
                directions(point, method, steps, attributes[chosen], chosen)
                seconds[place] = time.process_time() - begun
            first, scale = seconds[0], 1e9 / len(chosen)
            found.setdefault(f"{name} first", []).append(scale * first)
            further = max(0.0, seconds[1] - first) / _FURTHER
            found.setdefault(f"{name} further", []).append(scale * further)
    return found


def step_reductions(
    problem: Problem, sigma2: float, passes: Sequence[int] = (0, 1, 5, 20)
) -> dict[str, list[float]]:
    """After each number of ``passes`` of cd (ascending), over features drawn at random: by how much
    the step of each method alone reduces L, in nats, summed (``"gis"``), and the share of features
    for which one Newton step with line search reduces it at least as much (``"cd over gis"``).
    """
    found: dict[str, list[float]] = {"passes": [float(number) for number in passes]}
    for point in _points(problem, sigma2, passes):
        attributes, _ = _attributes(point.features)
        drawn = np.random.default_rng(1).permutation(len(attributes))[:_SAMPLE]
        falls = reductions(point, attributes[drawn], drawn)
        for method, name in enumerate(METHODS):
            found.setdefault(name, []).append(float(falls[:, method].sum()))
            if method != _CD:
                enough = falls[:, _CD] >= falls[:, method] * (1 - 1e-9) - 1e-12
                found.setdefault(f"cd over {name}", []).append(float(enough.mean()))
    return found


def _points(problem: Problem, sigma2: float, passes: Sequence[int]) -> list[_Point]:
    learner = CoordinateDescent(problem.with_own_weights(), CDConfig(c=1 / sigma2))
    features, state = learner.features, learner.initialise()
    totals, found = empty_table(features).exponentials, []
    most = float(feature_totals(features, totals))
    for number in passes:
        while state.passes < number:
            learner.iterate(state)
        table = Table(*(array.copy() for array in state.table))
        found.append(_Point(features, table, totals, most, state.w.copy(), learner.c))
    return found


def _attributes(features: Features) -> tuple[Longs, Longs]:
    """The attribute of each feature, and its number of non-zeros."""
    sizes = np.diff(features.feature_starts)
    attributes = np.repeat(np.arange(len(sizes)), sizes)
    return attributes, np.diff(features.column_starts)[attributes]


@njit
def directions(point: _Point, method: int, steps: int, attributes: Longs, chosen: Longs) -> float:
    """So many Newton iterations (eq. 11) on A_t of a method for each of the features; returns the
    sum of z. For CD the table moves along, as in cd-exact.
    """
    features, table, total = point.features, point.table, 0.0
    for i in range(len(chosen)):
        a, t = attributes[i], chosen[i]
        rate = greatest_value(features, a) if method == _SCGIS else point.most
        expected, z, change = 0.0, 0.0, 0.0
        if method in (_GIS, _SCGIS):
            expected = expectation(features, table, a, t)
        for step in range(steps):
            if method == _CD:
                if step:
                    shift_weight(features, table, a, t, change)
                slope, curvature = cd_derivatives(features, table, a, t)
            elif method == _IIS:
                slope, curvature = iis_derivatives(features, table, point.totals, a, t, z)
            else:  # O(1): eq. 12 with the stored expectation
                slope = expected * np.exp(z * rate)
                curvature = slope * rate
            slope += point.c * (point.w[t] + z) - features.observed[t]
            change = -slope / (curvature + point.c)
            z += change
        total += z
    return total


@njit
def reductions(point: _Point, attributes: Longs, chosen: Longs) -> Floats:
    """-A_CD(z), by which L falls, at the z of each method, (features, 4)."""
    features, table, c = point.features, point.table, point.c
    found, z = np.empty((len(chosen), 4)), np.empty(4)
    for i in range(len(chosen)):
        a, t = attributes[i], chosen[i]
        weight, observed = point.w[t], features.observed[t]
        expected = expectation(features, table, a, t)
        z[_GIS] = scaled_step(expected, point.most, observed, weight, c)
        z[_SCGIS] = scaled_step(expected, greatest_value(features, a), observed, weight, c)
        z[_IIS] = iis_step(features, table, point.totals, a, t, weight, c)
        z[_CD] = newton_step(features, table, a, t, weight, c, (0.001, 0.5), 0.0)[0]
        for method in range(4):
            own = z[method]
            prior = c / 2 * (2 * weight * own + own * own) - own * observed  # Q_t, eq. 5
            found[i, method] = -growth(features, table, a, t, own) - prior
    return found
