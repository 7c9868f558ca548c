"""The one-variable sub-problem that GIS and SCGIS solve for each feature (Huang et al. 2009,
section 2.3).

Find z with A'(z) = E exp(c z) + (w + z) / sigma^2 - F = 0, eq. 12 with the same exponent c for
every (x, y).
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit

_MOST_STEPS = 60


@njit
def stationary_point(
    expected: float, rate: float, observed: float, weight: float, precision: float
) -> float:
    """z for E = ``expected``, c = ``rate``, F = ``observed``, w = ``weight`` and 1 / sigma^2 =
    ``precision`` (0: no prior).

    Without a prior z = log(F / E) / c, which is infinite if E = 0. With a prior we differ from the
    paper in the variable of Newton's method: with v = c sigma^2 E exp(c z) the equation becomes v +
    log v = h, on which Newton's method neither overflows nor slows down.
    """
    if precision == 0.0:
        return float(np.log(observed / expected) / rate)
    pull = (observed - precision * weight) / precision
    if expected == 0.0:
        return pull
    offset = np.log(rate * expected / precision)
    h = offset + rate * pull
    v = h if h > 1.0 else np.exp(h)
    if v == 0.0:
        return pull
    for _ in range(_MOST_STEPS):
        before = v
        v = (
            v * (1.0 + h - np.log(v)) / (1.0 + v)
        )  # from the right of the root at most once, then from the left
        if abs(v - before) <= 1e-15 * v:
            break
    return float((np.log(v) - offset) / rate)
