"""What Huang et al. 2009 say besides Fig. 2, measured: the cost of Newton directions (Table 1), and
how much one Newton step on A_CD reduces L beside the minima of looser bounds (section 3.2).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import numpy as np

from egparse.compilation import njit
from egparse.experiments.learners.maxent import steps
from egparse.experiments.learners.maxent.features import Features, feature_totals
from egparse.experiments.learners.maxent.scaling import CoordinateDescent, MaxentConfig, TableState
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs

BINS = ("16", "64", "256", "1024", "4096")
"""The least numbers of non-zeros of groups of features."""

_FURTHER = {"cd": 8, "gis": 5000, "scgis": 5000, "iis": 8}
"""Directions that are measured after the first: many where they take O(1)."""

METHODS = tuple(_FURTHER)
_CD, _GIS, _SCGIS, _IIS = range(4)
_SAMPLE = 5_000  # features

Measured = dict[str, dict[str, float]]


def newton_costs(problem: Problem, sigma2: float) -> Measured:
    """Nanoseconds of the first Newton direction and of each further one (``"cd first"``, ``"cd
    further"``) in each of the ``BINS`` of features, and the mean number of non-zeros (``"length"``)
    there, after three passes of cd.
    """
    learner, state, totals, attributes = _after(problem, sigma2, 3)
    point = learner.features, state.table, totals, state.w, learner.c, float(totals.max())
    lengths = np.diff(learner.features.column_starts)[attributes]
    found: Measured = {}
    for low, high in itertools.pairwise((*BINS, "inf")):
        inside = np.flatnonzero((lengths >= float(low)) & (lengths < float(high)))
        if not len(inside):
            continue
        chosen = np.sort(np.random.default_rng(1).permutation(inside)[:_SAMPLE])
        found.setdefault("length", {})[low] = float(lengths[chosen].mean())
        for method, (name, further) in enumerate(_FURTHER.items()):
            times = []
            for count in (1, 1 + further) * 2:  # the first runs may compile
                begun = time.process_time()
                directions(*point, method, count, chosen, attributes[chosen])
                times.append(1e9 * (time.process_time() - begun) / len(chosen))
            first, all_ = min(times[::2]), min(times[1::2])
            found.setdefault(f"{name} first", {})[low] = first
            found.setdefault(f"{name} further", {})[low] = max(0.0, all_ - first) / further
    return found


def step_reductions(problem: Problem, sigma2: float, passes: Sequence[int] = (5, 20)) -> Measured:
    """By how much the step of each method alone reduces L, in nats, summed over features drawn at
    random, after each number of passes of cd: ``["gis"]["5"]``.
    """
    found: Measured = {name: {} for name in METHODS}
    for number in passes:
        learner, state, totals, attributes = _after(problem, sigma2, number)
        features, c, most = learner.features, learner.c, float(totals.max())
        falls = np.zeros(len(METHODS))
        for t in np.random.default_rng(1).permutation(len(attributes))[:_SAMPLE]:
            a, weight, observed = attributes[t], state.w[t], features.observed[t]
            at, rates = (features, state.table, a, t), (most, features.greatest[a])
            expected = steps.expectation(*at)
            z = np.array(
                [
                    steps.newton_step(*at, weight, c, learner.solved)[0],
                    *(steps.scaled_step(expected, rate, observed, weight, c) for rate in rates),
                    steps.iis_step(*at, totals, weight, c),
                ]
            )
            falls += z * observed - c / 2 * (2 * weight * z + z * z)  # -Q_t, eq. 5
            falls -= [steps.growth(*at, own) for own in z]
        for name, fall in zip(METHODS, falls, strict=True):
            found[name][str(number)] = float(fall)
    return found


def _after(
    problem: Problem, sigma2: float, passes: int
) -> tuple[CoordinateDescent, TableState, Floats, Longs]:
    """CD and its state after so many passes, f#(x, y), and the attribute of each feature."""
    own = problem.with_own_weights()
    learner = CoordinateDescent(own, MaxentConfig(c=1 / sigma2))
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    return learner, state, feature_totals(learner.features), own.design().pair_attributes()


@njit
def directions(
    features: Features,
    table: steps.Table,
    totals: Floats,
    w: Floats,
    c: float,
    most: float,
    method: int,
    count: int,
    chosen: Longs,
    attributes: Longs,
) -> float:
    """So many Newton iterations (eq. 11) on A_t of a method for each of the features; returns the
    sum of z. For CD the table moves along, as in cd-exact.
    """
    total = 0.0
    for a, t in zip(attributes, chosen):  # noqa: B905 (compiled)
        expected, z, change = 0.0, 0.0, 0.0
        if method in (_GIS, _SCGIS):
            expected = steps.expectation(features, table, a, t)
        rate = features.greatest[a] if method == _SCGIS else most
        for step in range(count):
            if method == _CD:
                if step:
                    steps.shift_weight(features, table, a, t, change)
                slope, curvature = steps.cd_derivatives(features, table, a, t)
            elif method == _IIS:
                slope, curvature = steps.iis_derivatives(features, table, a, t, totals, z)
            else:  # O(1): eq. 12 with the stored expectation
                slope = expected * np.exp(z * rate)
                curvature = slope * rate
            change = (features.observed[t] - c * (w[t] + z) - slope) / (curvature + c)
            z += change
        total += z
    return total
