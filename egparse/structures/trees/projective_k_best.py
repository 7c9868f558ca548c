"""The k best projective trees, by Eisner's algorithm with the k best derivations of every item.

The items and charts are those of ``projective``. Each cell holds a list of scores, best first, with
their origins (Huang and Chiang 2005, "Better k-best parsing", algorithm 1, with its pruning: if
entries a and b of two lists, counted from one, make one of the k best sums then a * b <= k).
O(n^3 k log k). Each tree has one derivation, so the trees are distinct.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.trees.dependency_trees import NO_HEAD
from egparse.types import Floats, Ints, Longs


class KBestWorkspace(NamedTuple):
    """Buffers for sentences of up to ``n_max`` words and lists of up to ``k`` entries, with m =
    n_max + 1.

    ``complete[head, end, rank]`` and ``joint[i, j, rank]`` (i < j) hold scores, (m, m, k). An entry
    of ``*_from``, (m, m, k, 3), is a split point and the ranks of the two items: for ``joint`` the
    r of ``projective``; for ``complete`` the outermost dependent, the rank of the joint item under
    its arc and the rank of its complete span. ``*_counts`` (m, m) are the lengths of the lists.
    ``goal*`` are the same for whole trees, split at the root word.
    """

    complete: Floats
    complete_from: Ints
    complete_counts: Ints
    joint: Floats
    joint_from: Ints
    joint_counts: Ints
    goal: Floats
    goal_from: Ints
    stack: Longs


def k_best_workspace(n_max: int, k: int) -> KBestWorkspace:
    """Buffers for ``k_best_eisner``."""
    m = n_max + 1
    return KBestWorkspace(
        complete=np.empty((m, m, k)),
        complete_from=np.empty((m, m, k, 3), dtype=np.int32),
        complete_counts=np.empty((m, m), dtype=np.int32),
        joint=np.empty((m, m, k)),
        joint_from=np.empty((m, m, k, 3), dtype=np.int32),
        joint_counts=np.empty((m, m), dtype=np.int32),
        goal=np.empty(k),
        goal_from=np.empty((k, 3), dtype=np.int32),
        stack=np.empty((2 * m, 3), dtype=np.int64),
    )


@njit
def k_best_eisner(
    scores: Floats, single_root: bool, heads: Ints, values: Floats, work: KBestWorkspace
) -> int:
    """Write the best trees to rows of ``heads`` (k, n+1) and their scores to ``values`` (k,), best
    first; returns the number of trees.

    ``k`` is the length of ``values``, at most that of the workspace.
    """
    size = scores.shape[0]
    k = values.size
    _fill_charts(scores, single_root, k, work)
    count = 0
    if single_root:
        for r in range(1, size):
            count = merge(
                work.complete[r, 1, : work.complete_counts[r, 1]],
                work.complete[r, size - 1, : work.complete_counts[r, size - 1]],
                scores[0, r],
                r,
                k,
                work.goal,
                work.goal_from,
                count,
            )
    else:
        count = min(k, work.complete_counts[0, size - 1])
    for rank in range(count):
        values[rank] = _backtrack(scores, single_root, rank, heads[rank], work)
    return count


@njit
def merge(
    left: Floats,
    right: Floats,
    score: float,
    split: int,
    k: int,
    values: Floats,
    origins: Ints,
    count: int,
) -> int:
    """Insert the sums of entries of two lists, plus ``score``, into the ``count`` best ``values``
    so far (k,); returns the new count.
    """
    if score == -np.inf:
        return count
    for a in range(left.size):
        for b in range(min(right.size, k // (a + 1))):
            value = left[a] + right[b] + score
            if count == k and value <= values[k - 1]:
                if b == 0:  # no later entry of ``left`` is better
                    return count
                break
            place = min(count, k - 1)
            while place > 0 and values[place - 1] < value:
                values[place] = values[place - 1]
                origins[place] = origins[place - 1]
                place -= 1
            values[place] = value
            origins[place, 0], origins[place, 1], origins[place, 2] = split, a, b
            count = min(count + 1, k)
    return count


@njit
def _fill_charts(scores: Floats, single_root: bool, k: int, work: KBestWorkspace) -> None:
    """Fill the lists of every item, by the equations of ``projective._inside``."""
    size = scores.shape[0]
    complete, counts = work.complete, work.complete_counts
    joint, joint_counts = work.joint, work.joint_counts
    for i in range(size - 1, 0 if single_root else -1, -1):
        complete[i, i, 0] = 0.0
        counts[i, i] = 1
        for j in range(i + 1, size):
            count = 0
            for r in range(i, j):
                left, right = complete[i, r, : counts[i, r]], complete[j, r + 1, : counts[j, r + 1]]
                count = merge(left, right, 0.0, r, k, joint[i, j], work.joint_from[i, j], count)
            joint_counts[i, j] = count
            count = 0
            for r in range(i + 1, j + 1):
                left, right = joint[i, r, : joint_counts[i, r]], complete[r, j, : counts[r, j]]
                count = merge(
                    left, right, scores[i, r], r, k, complete[i, j], work.complete_from[i, j], count
                )
            counts[i, j] = count
            count = 0
            if i > 0:  # the root is not in any leftward span
                for r in range(i, j):
                    left, right = joint[r, j, : joint_counts[r, j]], complete[r, i, : counts[r, i]]
                    count = merge(
                        left,
                        right,
                        scores[j, r],
                        r,
                        k,
                        complete[j, i],
                        work.complete_from[j, i],
                        count,
                    )
            counts[j, i] = count


@njit
def _backtrack(
    scores: Floats, single_root: bool, rank: int, heads: Ints, work: KBestWorkspace
) -> float:
    """Expand entry ``rank`` of the whole trees, writing ``heads`` (n+1,); returns the sum of the
    scores of the arcs.
    """
    size = scores.shape[0]
    stack = work.stack
    heads[:] = NO_HEAD
    total = 0.0
    if single_root:
        root = work.goal_from[rank, 0]
        heads[root] = 0
        total = scores[0, root]
        stack[0, 0], stack[0, 1], stack[0, 2] = root, 1, work.goal_from[rank, 1]
        stack[1, 0], stack[1, 1], stack[1, 2] = root, size - 1, work.goal_from[rank, 2]
        top = 2
    else:
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, size - 1, rank
        top = 1
    while top > 0:
        top -= 1
        head, end = stack[top, 0], stack[top, 1]
        if head == end:
            continue
        outermost = work.complete_from[head, end, stack[top, 2]]
        dependent = outermost[0]
        heads[dependent] = head
        total += scores[head, dependent]
        i, j = min(head, dependent), max(head, dependent)
        inner = work.joint_from[i, j, outermost[1]]
        split = inner[0]
        stack[top, 0], stack[top, 1], stack[top, 2] = dependent, end, outermost[2]
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = i, split, inner[1]
        stack[top + 2, 0], stack[top + 2, 1], stack[top + 2, 2] = j, split + 1, inner[2]
        top += 3
    return total
