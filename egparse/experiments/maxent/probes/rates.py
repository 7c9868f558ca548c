"""The rate of linear convergence (Huang et al. 2009, Theorem 1) of a series of differences to the
optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Rate(NamedTuple):
    """``factor`` is 1 - mu, by which the difference shrinks in a pass; ``early`` and ``late`` are
    those of the first and second half of the passes looked at; ``r2`` is the share of the variance
    of the logarithm that a straight line explains.
    """

    factor: float
    early: float
    late: float
    r2: float

    @property
    def is_linear(self) -> bool:
        """A straight line, whose slope does not flatten by more than half between the halves: the
        mark of a rate that holds to the end.
        """
        return self.factor < 1 and self.r2 > 0.98 and np.log(self.late) <= 0.5 * np.log(self.early)


def rate_of(passes: Sequence[float], differences: Sequence[float]) -> Rate | None:
    """A least-squares line through log difference against passes, over the second half of the
    passes above rounding: the theorem's rate is that of the end. None with fewer than six points.
    """
    kept = [pair for pair in zip(passes, differences, strict=True) if pair[1] > _ROUNDING]
    tail = kept[len(kept) // 2 :]
    if len(tail) < _LEAST:
        return None
    x, y = np.array([pair[0] for pair in tail]), np.log([pair[1] for pair in tail])
    slope, start = np.polyfit(x, y, 1)
    left = float(((y - slope * x - start) ** 2).sum())
    total = float(((y - y.mean()) ** 2).sum())
    middle = len(x) // 2
    early, late = (
        float(np.polyfit(x[part], y[part], 1)[0])
        for part in (slice(None, middle), slice(middle, None))
    )
    return Rate(
        float(np.exp(slope)),
        float(np.exp(early)),
        float(np.exp(late)),
        1 - left / total if total else 0.0,
    )


_ROUNDING = 1e-10  # relative to the optimum: smaller differences are rounding
_LEAST = 6
