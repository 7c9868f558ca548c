"""Which examples are annotated in part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.types import Longs, Mask

NONE = np.zeros(0, dtype=np.int64)
"""The ``partial`` of a problem whose examples are all annotated in full."""


def not_all(known: Sequence[Mask]) -> Longs:
    """The numbers of the examples of which not all is ``known``."""
    return np.array([i for i, of_example in enumerate(known) if not of_example.all()], np.int64)


def some_of(partial: Longs, first: int, end: int) -> Longs:
    """Those of ``partial`` from ``first`` up to ``end``, counted from ``first``."""
    return partial[(partial >= first) & (partial < end)] - first
