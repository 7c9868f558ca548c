"""What projective and non-projective trees share: the shape of scores, the results, and their
checks.

A tree over ``n`` words gives every word 1..n one head among 0..n, without cycles; position 0 is the
root. ``scores[head, dependent]`` has shape (n+1, n+1), in nats; column 0 and the diagonal are never
read. A forbidden arc scores ``-inf``. A single-root tree has exactly one word attached to position
0, a multi-root tree at least one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.types import Floats, Ints

NO_HEAD = -1
"""What ``heads`` holds for position 0, and for every word where no tree exists."""


class TreeMarginals(NamedTuple):
    """The log-partition and, for each arc, the probability that a tree holds it.

    ``log_partition`` is in nats, ``-inf`` where no tree exists. ``marginals[head, dependent]`` has
    shape (n+1, n+1) and is zero on forbidden arcs, in column 0, on the diagonal, and everywhere if
    no tree exists.
    """

    log_partition: float
    marginals: Floats


class BestTree(NamedTuple):
    """A tree of highest score: ``heads[dependent]``, shape (n+1,), with ``heads[0] == -1``.

    Where no tree exists, ``score`` is ``-inf`` and every head is -1.
    """

    heads: Ints
    score: float


def checked_scores(scores: npt.ArrayLike) -> Floats:
    """``scores`` as a contiguous float64 array; ValueError unless (n+1, n+1), n >= 1, without nan
    and +inf.

    Cells that are never read (column 0, the diagonal) may hold anything.
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
    """``k`` itself; ValueError if fewer than one tree is asked for."""
    if k < 1:
        raise ValueError(f"k best trees: expected k >= 1, got {k}")
    return k


def entropy(result: TreeMarginals, scores: Floats) -> float:
    """Entropy in nats of the tree distribution: log Z minus the expected score (0 if no tree
    exists).

    Both are taken relative to the likeliest head of each word, so that large scores do not cancel.
    """
    if result.log_partition == -math.inf:
        return 0.0
    words = np.arange(1, len(scores))
    likeliest = scores[result.marginals.argmax(axis=0)[1:], words]
    held = result.marginals[:, 1:] > 0.0
    relative = np.where(held, scores[:, 1:] - likeliest, 0.0)
    return float(
        result.log_partition - likeliest.sum() - (result.marginals[:, 1:] * relative).sum()
    )
