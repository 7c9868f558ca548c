"""What projective and non-projective trees share: the shape of scores, the best tree, and checks.

A tree over ``n`` words gives every word 1..n one head among 0..n, without cycles; position 0 is the
root. ``scores[head, dependent]`` has shape (n+1, n+1), in nats; column 0 and the diagonal are never
read. A forbidden arc scores ``-inf``. A single-root tree has exactly one word attached to position
0, a multi-root tree at least one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.types import Floats, Ints

NO_HEAD = -1
"""The head of position 0, and of every word where no tree exists."""


class BestTree(NamedTuple):
    """A tree of highest score: ``heads[dependent]``, shape (n+1,), with ``heads[0] == -1``.

    Where no tree exists, ``score`` is ``-inf`` and every head is -1.
    """

    heads: Ints
    score: float


def checked_scores(scores: npt.ArrayLike) -> Floats:
    """``scores`` as a contiguous float64 array of shape (n+1, n+1).

    Cells that are never read (column 0, the diagonal) may hold anything.

    Raises:
        ValueError: another shape, n < 1, or nan or +inf in a cell that is read.
    """
    array = np.ascontiguousarray(scores, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] < 2:
        raise ValueError(f"tree scores: expected shape (n+1, n+1) with n >= 1, got {array.shape}")
    unreadable = ~(array < np.inf)
    unreadable[:, 0] = False
    np.fill_diagonal(unreadable, False)
    if unreadable.any():
        head, dependent = np.argwhere(unreadable)[0]
        raise ValueError(
            f"tree scores: expected finite numbers or -inf, got {array[head, dependent]} at"
            f" head {head}, dependent {dependent}"
        )
    return array


def checked_count(k: int) -> int:
    """``k`` itself.

    Raises:
        ValueError: k < 1.
    """
    if k < 1:
        raise ValueError(f"k best trees: expected k >= 1, got {k}")
    return k
