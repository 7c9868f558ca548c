"""The order of elimination by which every word in turn is the last one left: keep each half of the
words, and recurse.
"""

from __future__ import annotations

from egparse.compilation import njit
from egparse.types import Ints


@njit
def plan_halving(size: int, steps: Ints) -> int:
    """Write the steps (rows, 4) for words 1..size-1, and return their number: 2 size - 3.

    A step (first, last, parent, depth) keeps words first..last-1 of those that step ``parent``
    keeps. The first step keeps all words; its parent is -1. Steps are in depth-first order, each
    parent before its halves, so that one buffer for each depth is enough.
    """
    steps[0, 0], steps[0, 1], steps[0, 2], steps[0, 3] = 1, size, -1, 0
    n_steps = 1
    step = 0
    while step < n_steps:
        first, last, depth = steps[step, 0], steps[step, 1], steps[step, 3]
        if last - first > 1:
            for later in range(n_steps - 1, step, -1):  # at most one for each depth
                steps[later + 2] = steps[later]
            middle = (first + last) // 2
            left, right = steps[step + 1], steps[step + 2]
            left[0], left[1], left[2], left[3] = first, middle, step, depth + 1
            right[0], right[1], right[2], right[3] = middle, last, step, depth + 1
            n_steps += 2
        step += 1
    return n_steps


@njit
def finished_parent(step: int, steps: Ints) -> int:
    """The parent of ``step`` if ``step`` is its second half, so that both are finished; else 0."""
    parent = steps[step, 2]
    return parent if steps[step, 1] == steps[parent, 1] else 0
