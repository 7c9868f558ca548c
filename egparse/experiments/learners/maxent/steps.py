"""The one-variable sub-problems min_z A_t(z) of iterative scaling and coordinate descent, where A_t
bounds L(w + z e_t) - L(w) (Huang et al. 2009, eq. 4-16), and the table from which they are solved.

With Q_t(z) = C/2 (2 w_t z + z^2) - z p~(f_t) (eq. 5), E = sum_{x,y} P f_t, f# = max f#(x, y) for
f#(x, y) = sum_t f_t(x, y), and f#_t = max_{x,y} f_t(x, y), the bounds are, from loose to tight,

    A_GIS(z)   = E (exp(z f#) - 1) / f# + Q_t(z)
    A_SCGIS(z) = E (exp(z f#_t) - 1) / f#_t + Q_t(z)
    A_IIS(z)   = sum_{x,y} P f_t(x, y) (exp(z f#(x, y)) - 1) / f#(x, y) + Q_t(z)
    A_CD(z)    = sum_x log(T_{w + z e_t}(x) / T_w(x)) + Q_t(z) = L(w + z e_t) - L(w)

With the exponentials S_w(x, y) and their sums T_w(x) in a table, a sub-problem costs only the
non-zeros of its feature (section 2.3). We differ for the sake of precision: S and T are relative to
exp(``shifts``), the highest score of the context when the table was filled, so that they do not
overflow; T is summed again where its update would cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.experiments.learners.maxent.features import Features, exponentiate, score_context
from egparse.types import Floats

_MOST_STEPS = 100
_MOST_TRIALS = 200
_TOLERANCE = 1e-10  # of a Newton step, in units of the weight
_CERTAIN = 1e-8  # a smaller 1 - P is not computed by subtraction
_SMALL = 0.05  # a smaller relative change of T has its logarithm by a series
_CANCELLED = 1e-8  # relative to T: a smaller difference has lost half its digits
_GAMMA, _BETA = 0.001, 0.5  # of the line search, eq. 16, with the values of section 4


class Table(NamedTuple):
    """``exponentials`` (L, m) is S(x, y), with a row for each label because an update changes one
    label; ``sums`` (m) is T(x); both are relative to exp(``shifts``) (m).
    """

    exponentials: Floats
    sums: Floats
    shifts: Floats


@njit
def tabulate(features: Features, w: Floats, table: Table) -> float:
    """Fill the table at w; returns sum_x log T(x), nats."""
    scores = np.empty(features.label_count)
    for k in range(features.context_count):
        score_context(features, w, k, scores, -np.inf)
        table.shifts[k], table.sums[k] = exponentiate(scores)
        table.exponentials[:, k] = scores
    return log_sums(table)


@njit
def log_sums(table: Table) -> float:
    """sum_x log T(x) of the table, nats."""
    total = 0.0
    for k in range(table.sums.shape[0]):
        total += table.shifts[k] + np.log(table.sums[k])
    return total


@njit
def expectation(features: Features, table: Table, a: int, t: int) -> float:
    """sum_{x,y} P(y | x) f_t(x, y) of feature t, which belongs to attribute a."""
    exponentials = table.exponentials[features.labels[t]]
    total = 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k = features.column_contexts[j]
        total += features.column_values[j] * exponentials[k] / table.sums[k]
    return total


@njit
def others(table: Table, label: int, k: int) -> float:
    """T(x) - S(x, label) of context k, by subtraction, or by a sum over the other labels where
    subtraction would cancel.
    """
    rest = float(table.sums[k] - table.exponentials[label, k])
    if rest > _CANCELLED * table.sums[k]:
        return rest
    rest = 0.0
    for y in range(table.exponentials.shape[0]):
        if y != label:
            rest += table.exponentials[y, k]
    return rest


@njit
def shift_weight(features: Features, table: Table, a: int, t: int, z: float) -> None:
    """Bring the table from w to w + z e_t (ibid., section 2.3: S <- S exp(z f), T <- T + S (exp(z
    f) - 1)).
    """
    label = features.labels[t]
    exponentials = table.exponentials[label]
    last, growth = 0.0, 1.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k, value = features.column_contexts[j], features.column_values[j]
        if value != last:  # values are often equal: reuse the exponential
            last, growth = value, np.exp(z * value)
        rest = others(table, label, k)
        exponentials[k] *= growth
        table.sums[k] = rest + exponentials[k]


@njit
def scaled_step(expected: float, rate: float, observed: float, weight: float, c: float) -> float:
    """The z with E exp(z rate) + C (w_t + z) - p~(f_t) = 0, which minimises A_GIS for the rate f#
    and A_SCGIS for f#_t.

    We differ from section 2.3 in the variable of Newton's method: with v = rate E exp(z rate) / C
    the equation becomes v + log v = h, on which Newton's method neither overflows nor slows down.
    """
    pull = (observed - c * weight) / c
    if expected == 0.0:
        return pull
    offset = np.log(rate * expected / c)
    h = offset + rate * pull
    if h < -700.0:  # v underflows
        return pull
    v = h if h > 1.0 else np.exp(h)
    for _ in range(_MOST_STEPS):  # from the right of the root at most once, then from the left
        before = v
        v = v * (1.0 + h - np.log(v)) / (1.0 + v)
        if abs(v - before) <= 1e-14 * v:
            break
    return float((np.log(v) - offset) / rate)


@njit
def iis_step(
    features: Features, table: Table, a: int, t: int, totals: Floats, weight: float, c: float
) -> float:
    """The minimum of A_IIS by Newton's method, eq. 11-12.

    It starts at the solution for the mean of f#(x, y), which by Jensen's inequality is not left of
    the root: from there it reaches the root without overshooting.
    """
    expected, slope = iis_derivatives(features, table, a, t, totals, 0.0)
    observed = features.observed[t]
    rate = slope / expected if expected > 0.0 else 1.0
    z = scaled_step(expected, rate, observed, weight, c)
    for _ in range(_MOST_STEPS):
        slope, curvature = iis_derivatives(features, table, a, t, totals, z)
        step = (slope + c * (weight + z) - observed) / (curvature + c)
        z -= step
        if not abs(step) > _TOLERANCE:
            break
    return z


@njit
def iis_derivatives(
    features: Features, table: Table, a: int, t: int, totals: Floats, z: float
) -> tuple[float, float]:
    """The first and second derivative of A_IIS - Q_t at z (eq. 12), for f#(x, y) = ``totals``."""
    label = features.labels[t]
    exponentials, of_label = table.exponentials[label], totals[label]
    slope, curvature = 0.0, 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k = features.column_contexts[j]
        term = features.column_values[j] * exponentials[k] / table.sums[k]
        term *= np.exp(z * of_label[k])
        slope += term
        curvature += term * of_label[k]
    return slope, curvature


@njit
def newton_step(
    features: Features, table: Table, a: int, t: int, weight: float, c: float, solved: float
) -> tuple[float, bool]:
    """z = lambda d for the Newton direction d = -A'(0) / A''(0) of A_CD (eq. 15), with the first
    lambda = 1, beta, beta^2, ... for which A(z) <= gamma z A'(0) (eq. 16); and whether lambda is 1.
    There is no step where the slope, relative to its terms, is at most ``solved``.
    """
    expected, curvature = cd_derivatives(features, table, a, t)
    observed, pull = features.observed[t], c * weight
    slope = expected - observed + pull
    if abs(slope) <= solved * (expected + observed + abs(pull)):
        return 0.0, True
    full = -slope / (curvature + c)
    z = full
    for _ in range(_MOST_TRIALS):
        linear = z * (pull - observed) + c / 2 * z * z  # Q_t, eq. 5
        if growth(features, table, a, t, z) + linear <= _GAMMA * z * slope:
            return z, z == full
        z *= _BETA
    return 0.0, False


@njit
def cd_derivatives(features: Features, table: Table, a: int, t: int) -> tuple[float, float]:
    """The first and second derivative of A_CD - Q_t at 0: sum P f and sum P (1 - P) f^2."""
    label = features.labels[t]
    exponentials = table.exponentials[label]
    slope, curvature = 0.0, 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k, value = features.column_contexts[j], features.column_values[j]
        probability = exponentials[k] / table.sums[k]
        term = value * probability
        slope += term
        doubt = 1.0 - probability
        if doubt < _CERTAIN:
            doubt = others(table, label, k) / table.sums[k]
        curvature += term * value * doubt
    return slope, curvature


@njit
def growth(features: Features, table: Table, a: int, t: int, z: float) -> float:
    """sum_x log(T_{w + z e_t}(x) / T_w(x)) = A_CD - Q_t; the ratio is 1 + u, u = P (exp(z f) - 1).

    For small u, log(1 + u) is replaced by its upper bound u - u^2 / 2 + u^3 / 3, which is faster
    and still implies eq. 16.
    """
    label = features.labels[t]
    exponentials = table.exponentials[label]
    total, last, factor = 0.0, 0.0, 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k, value = features.column_contexts[j], features.column_values[j]
        if value != last:
            last, factor = value, np.expm1(z * value)
        change = factor * exponentials[k] / table.sums[k]
        if abs(change) < _SMALL:
            total += change * (1.0 + change * (-0.5 + change / 3.0))
        elif change > -0.5:
            total += np.log1p(change)
        else:  # 1 + P (exp(z f) - 1) would cancel
            left = others(table, label, k) + exponentials[k] * np.exp(z * value)
            total += np.log(left / table.sums[k])
    return total
