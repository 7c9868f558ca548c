"""The rate of linear convergence (Huang et al. 2009, Theorem 1) of a series of differences to the
optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.types import Floats


class Rate(NamedTuple):
    """``factor`` is 1 - mu, by which the difference shrinks in a pass; ``early`` and ``late`` are
    those of the first and second half of the passes looked at. ``r2`` is the share of the variance
    of the logarithm that a straight line against passes explains (linear convergence), ``power_r2``
    that of a line against the logarithm of passes (a power of the passes, slower than linear).
    """

    factor: float
    early: float
    late: float
    r2: float
    power_r2: float

    @property
    def is_linear(self) -> bool:
        """Whether the series looks like a power of the factor rather than one of the passes."""
        return self.factor < 1 and self.r2 > max(_STRAIGHT, self.power_r2)


def rate_of(passes: Sequence[float], differences: Sequence[float]) -> Rate | None:
    """A least-squares line through log difference against passes, over the second half of the
    passes above rounding: the theorem's rate is that of the end. None with fewer than six points.
    """
    kept = [
        pair for pair in zip(passes, differences, strict=True) if pair[1] > _ROUNDING and pair[0]
    ]
    tail = kept[len(kept) // 2 :]
    if len(tail) < _LEAST:
        return None
    x, y = np.array([pair[0] for pair in tail]), np.log([pair[1] for pair in tail])
    middle = len(x) // 2
    slope, r2 = _line(x, y)
    early, late = (_line(x[part], y[part])[0] for part in (slice(middle), slice(middle, None)))
    power_r2 = _line(np.log(x), y)[1]
    return Rate(float(np.exp(slope)), float(np.exp(early)), float(np.exp(late)), r2, power_r2)


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """The slope of a least-squares line, and the share of the variance that it explains."""
    slope, start = np.polyfit(x, y, 1)
    left, total = float(((y - slope * x - start) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return float(slope), 1 - left / total if total else 0.0


_ROUNDING = 1e-10  # relative to the optimum: smaller differences are rounding
_STRAIGHT = 0.98
_LEAST = 6
