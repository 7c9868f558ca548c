"""Projective dependency trees: log Z, arc marginals, best tree and k best trees in O(n^3).

The items are Eisner's (2000, "Bilexical grammars and their cubic-time parsing algorithms", sec. 4).
With ``i < j``::

    complete[i, j]    i governs all of i..j          complete[j, i]    j governs all of i..j
    incomplete[i, j]  the same, with the arc i -> j  incomplete[j, i]  the same, with the arc j -> i
    joint(i, j)       i governs i..r and j governs r+1..j, for some r: either arc between i and j
                      makes it an incomplete item

so a chart is one square array, indexed [head, other end]: right spans above the diagonal, left
spans below it. Every sum over the split point then runs over two contiguous rows, of a chart or of
its transposed copy. Each tree has exactly one derivation. A single-root tree is a word r with
``complete[r, 1]`` and ``complete[r, n]`` under the arc 0 -> r, and no span contains the root; for
multi-root trees the root is one more node at the left end.

Sums and products run over scaled probabilities: an arc into word d weighs ``exp(score -
shift[d])``. Three shifts are tried in turn, until the result is known to be accurate:

1. shift[d] is the best score into d plus log(27/4). There are C(3n, n) / (2n+1) < (27/4)^n trees,
   so every inside value and the scaled partition are at most one: nothing overflows. Underflow
   costs each of fewer than n^3 operations an absolute error of at most 2.3e-308, times outside
   values of order one; hence a scaled partition of at least ``SMALLEST`` is accurate up to the
   usual rounding. This nearly always suffices.
2. Where the best heads of the words are far from forming a tree, shifts are lowered evenly until
   the best tree weighs one. The values are then unbounded, so they are checked: the partition is
   linear in every item, so underflow is harmless as long as no item and no derivative of log Z
   exceeds ``LARGEST``.
3. The log domain (``projective_log``), ten to thirty times slower, is always accurate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.structures.logsumexp import dot
from egparse.structures.trees.dependency_trees import (
    NO_HEAD,
    BestTree,
    checked_count,
    checked_scores,
)
from egparse.structures.trees.projective_k_best import k_best_eisner, k_best_workspace
from egparse.structures.trees.projective_log import log_inside_outside
from egparse.types import Floats, Ints, Longs

GROWTH = math.log(27 / 4)
"""The logarithm of the number of projective trees grows by less than this for each word."""

SMALLEST = 1e-280
"""Scaled partitions below this may have lost mass to underflow."""

LARGEST = 1e270
"""Scaled items and derivatives above this may have multiplied an underflow, or overflow."""


class Workspace(NamedTuple):
    """Buffers for sentences of up to ``n_max`` words, which the kernels overwrite.

    Each is flat, of (n_max+1)^2 numbers, and used as a square chart of stride n+1. ``*_t`` are
    transposed copies, ``outer_*`` the derivatives of log Z. ``stack`` holds the items that
    ``_backtrack`` has not expanded yet.
    """

    weights: Floats
    complete: Floats
    complete_t: Floats
    incomplete: Floats
    incomplete_t: Floats
    outer_complete: Floats
    outer_complete_t: Floats
    outer_joint: Floats
    shifts: Floats
    stack: Longs


def workspace(n_max: int) -> Workspace:
    """Buffers for the kernels, for sentences of up to ``n_max`` words."""
    a, b, c, d, e, f, g, h = np.empty((8, (n_max + 1) ** 2))
    return Workspace(
        a, b, c, d, e, f, g, h, np.empty(n_max + 1), np.empty(4 * (n_max + 1), dtype=np.int64)
    )


def argmax(scores: npt.ArrayLike, single_root: bool = True) -> BestTree:
    """A projective tree of highest score; score ``-inf`` and heads -1 where none exists.

    Raises:
        ValueError: scores that ``checked_scores`` refuses.
    """
    checked = checked_scores(scores)
    heads = np.empty(len(checked), dtype=np.int32)
    score = eisner(checked, single_root, heads, workspace(len(checked) - 1))
    return BestTree(heads, float(score))


def k_best(scores: npt.ArrayLike, k: int, single_root: bool = True) -> list[BestTree]:
    """The ``k`` best projective trees, best first; fewer where fewer exist.

    Raises:
        ValueError: k < 1, or scores that ``checked_scores`` refuses.
    """
    checked = checked_scores(scores)
    size = len(checked)
    heads = np.empty((checked_count(k), size), dtype=np.int32)
    values = np.empty(k)
    found = k_best_eisner(checked, single_root, heads, values, k_best_workspace(size - 1, k))
    return [BestTree(heads[rank].copy(), float(values[rank])) for rank in range(found)]


@njit(separate=True)
def inside_outside(scores: Floats, single_root: bool, marginals: Floats, work: Workspace) -> float:
    """Write the probability of each arc to ``marginals`` (n+1, n+1) and return log Z, for
    C-contiguous ``scores`` without nan or +inf.

    Where no tree exists log Z is ``-inf``. Marginals are 0 on forbidden arcs, in column 0, on the
    diagonal, and everywhere if no tree exists. Tries the three shifts of the module in turn.
    Allocates nothing.
    """
    size: int = scores.shape[0]
    marginals[:, :] = 0.0
    highest: float = _highest_scores(scores, work.shifts)
    if highest == -np.inf:
        return -np.inf
    z = _scaled_inside(scores, GROWTH, single_root, work)
    if z >= SMALLEST:
        _outside(size, single_root, z, marginals, work)
        return math.log(z) + highest + (size - 1) * GROWTH
    best, _ = _best_inside(scores, size, single_root, work)
    if best == -np.inf:
        return -np.inf
    growth = (best - highest) / (size - 1)
    z = _scaled_inside(scores, growth, single_root, work)
    if SMALLEST <= z <= LARGEST:
        _outside(size, single_root, z, marginals, work)
        if _is_moderate(size, single_root, work):
            return math.log(z) + highest + (size - 1) * growth
    marginals[:, :] = 0.0
    return log_inside_outside(scores, single_root, marginals, work)


@njit
def _highest_scores(scores: Floats, highest: Floats) -> float:
    """Write the best score into each word d to ``highest[d]``; returns their sum, ``-inf`` if a
    word has no candidate head.
    """
    size: int = scores.shape[0]
    highest[:size] = -np.inf
    for head in range(size):
        for dependent in range(1, size):
            if scores[head, dependent] > highest[dependent] and head != dependent:
                highest[dependent] = scores[head, dependent]
    total = 0.0
    for dependent in range(1, size):
        total += highest[dependent]
    return total


@njit
def _scaled_inside(scores: Floats, growth: float, single_root: bool, work: Workspace) -> float:
    """Fill the inside charts and return the scaled partition, for shift[d] = work.shifts[d] +
    growth.
    """
    size: int = scores.shape[0]
    weight = work.weights[: size * size].reshape((size, size))
    for head in range(size):
        weight[head, 0] = 0.0
        for dependent in range(1, size):
            weight[head, dependent] = np.exp(
                scores[head, dependent] - work.shifts[dependent] - growth
            )
        weight[head, head] = 0.0
    return _inside(size, single_root, work)


@njit
def _is_moderate(size: int, single_root: bool, work: Workspace) -> bool:
    """Whether no inside value and no derivative of log Z is above ``LARGEST`` or nan."""
    first = 1 if single_root else 0
    for i in range(first, size):
        for j in range(first, size):
            cell = i * size + j
            if i != j and not (
                work.complete[cell] <= LARGEST
                and work.incomplete[cell] <= LARGEST
                and work.outer_complete[cell] <= LARGEST
                and work.outer_joint[cell] <= LARGEST
            ):
                return False
    return True


@njit(fast=True)
def _inside(size: int, single_root: bool, work: Workspace) -> float:
    """Fill the inside charts from ``work.weights`` and return the scaled partition."""
    cells = size * size
    weight = work.weights[:cells].reshape((size, size))
    complete = work.complete[:cells].reshape((size, size))
    complete_t = work.complete_t[:cells].reshape((size, size))
    incomplete = work.incomplete[:cells].reshape((size, size))
    incomplete_t = work.incomplete_t[:cells].reshape((size, size))
    first = 1 if single_root else 0
    for i in range(size - 1, first - 1, -1):
        complete[i, i] = 1.0
        complete_t[i, i] = 1.0
        for j in range(i + 1, size):
            # joint(i, j) = sum over r in i..j-1 of complete[i, r] complete[j, r+1]
            joint = dot(complete[i, i:j], complete[j, i + 1 : j + 1])
            # incomplete[i, j] = weight(i -> j) joint(i, j)
            right = weight[i, j] * joint
            incomplete[i, j] = right
            incomplete_t[j, i] = right
            left = weight[j, i] * joint
            incomplete[j, i] = left
            incomplete_t[i, j] = left
            # complete[i, j] = sum over r in i+1..j of incomplete[i, r] complete[r, j]
            right = dot(incomplete[i, i + 1 : j + 1], complete_t[j, i + 1 : j + 1])
            complete[i, j] = right
            complete_t[j, i] = right
            # complete[j, i] = sum over r in i..j-1 of incomplete[j, r] complete[r, i]
            left = dot(incomplete[j, i:j], complete_t[i, i:j])
            complete[j, i] = left
            complete_t[i, j] = left
    if not single_root:
        return float(complete[0, size - 1])
    # z = sum over r of weight(0 -> r) complete[r, 1] complete[r, n]
    z = 0.0
    for r in range(1, size):
        z += weight[0, r] * complete[r, 1] * complete[r, size - 1]
    return z


@njit(fast=True)
def _outside(size: int, single_root: bool, z: float, marginals: Floats, work: Workspace) -> None:
    """Write the arc marginals; outer x is d log Z / d x, for each inside item x."""
    cells = size * size
    weight = work.weights[:cells].reshape((size, size))
    complete = work.complete[:cells].reshape((size, size))
    complete_t = work.complete_t[:cells].reshape((size, size))
    incomplete = work.incomplete[:cells].reshape((size, size))
    incomplete_t = work.incomplete_t[:cells].reshape((size, size))
    outer = work.outer_complete[:cells].reshape((size, size))
    outer_t = work.outer_complete_t[:cells].reshape((size, size))
    outer_joint = work.outer_joint[:cells].reshape((size, size))
    first = 1 if single_root else 0
    last = size - 1
    for i in range(first, size):
        for j in range(last, i, -1):
            # outer complete[i, j] = sum over g < i of outer complete[g, j] incomplete[g, i]
            #                      + sum over k > j of outer joint(i, k) complete[k, j+1]
            right = dot(outer_t[j, first:i], incomplete_t[i, first:i])
            # outer complete[j, i] = sum over k > j of outer complete[k, i] incomplete[k, j]
            #                      + sum over g < i of outer joint(g, j) complete[g, i-1]
            left = dot(outer_t[i, j + 1 :], incomplete_t[j, j + 1 :])
            if j < last:
                right += dot(outer_joint[i, j + 1 :], complete_t[j + 1, j + 1 :])
            elif single_root:
                right += weight[0, i] * complete[i, 1] / z
            elif i == 0:
                right += 1.0 / z
            if i > first:
                left += dot(outer_joint[j, first:i], complete_t[i - 1, first:i])
            elif single_root:
                left += weight[0, j] * complete[j, last] / z
            outer[i, j] = right
            outer_t[j, i] = right
            outer[j, i] = left
            outer_t[i, j] = left
            # outer incomplete[i, j] = sum over k >= j of outer complete[i, k] complete[j, k]
            right = dot(outer[i, j:], complete[j, j:])
            # outer incomplete[j, i] = sum over k <= i of outer complete[j, k] complete[i, k]
            left = dot(outer[j, first : i + 1], complete[i, first : i + 1])
            # outer joint(i, j) = weight(i -> j) outer incomplete[i, j]
            #                   + weight(j -> i) outer incomplete[j, i]
            joint = weight[i, j] * right + weight[j, i] * left
            outer_joint[i, j] = joint
            outer_joint[j, i] = joint
            # marginal(i -> j) = incomplete[i, j] outer incomplete[i, j]
            marginals[i, j] = incomplete[i, j] * right
            marginals[j, i] = incomplete[j, i] * left
    if single_root:
        for r in range(1, size):
            marginals[0, r] = weight[0, r] * complete[r, 1] * complete[r, last] / z


@njit(separate=True)
def eisner(scores: Floats, single_root: bool, heads: Ints, work: Workspace) -> float:
    """Write the heads (n+1,) of a best projective tree and return its score; where no tree exists
    ``-inf`` and -1 for all heads.

    Where the best heads of the words form a projective tree, this is it. Elsewhere the equations of
    ``_inside`` with max for sum and plus for times; split points are not stored but searched again
    for the items of the best tree. Allocates nothing.
    """
    size: int = scores.shape[0]
    total = _best_heads(scores, heads, work.shifts)
    if total > -np.inf and _is_tree(heads, size, single_root, work.stack):
        return total
    heads[:size] = NO_HEAD
    best, root = _best_inside(scores, size, single_root, work)
    if best == -np.inf:
        return -np.inf
    return _backtrack(scores, size, root, heads, work)


@njit
def _best_heads(scores: Floats, heads: Ints, highest: Floats) -> float:
    """Write the best head of each word and return their score; ``-inf`` if one is not the only."""
    total = _highest_scores(scores, highest)
    heads[: scores.shape[0]] = NO_HEAD
    for head in range(scores.shape[0]):
        for dependent in range(1, scores.shape[0]):
            if scores[head, dependent] == highest[dependent] and head != dependent:
                if heads[dependent] != NO_HEAD:
                    return -np.inf
                heads[dependent] = head
    return total


@njit
def _is_tree(heads: Ints, size: int, single_root: bool, climbed: Longs) -> bool:
    """Whether the heads of the words form a projective tree."""
    climbed[:size] = 0
    for word in range(1, size):
        # no cycle: climbing from each word ends at the root or where an earlier word came by
        place = word
        while place > 0 and climbed[place] == 0:
            climbed[place] = word
            place = heads[place]
        if place > 0 and climbed[place] == word:
            return False
        # no crossing: below an arc no word has its head outside
        first, last = min(heads[word], word), max(heads[word], word)
        for inner in range(first + 1, last):
            if heads[inner] < first or heads[inner] > last:
                return False
    return not single_root or np.sum(heads[1:size] == 0) == 1


@njit
def _best_sum(left: Floats, right: Floats) -> float:
    """The maximum of left[r] + right[r]. Twice as fast with ``>`` as with ``max``."""
    best = -math.inf
    for r in range(left.size):
        value = left[r] + right[r]
        if value > best:
            best = value
    return best


@njit
def _best_place(left: Floats, right: Floats) -> int:
    """The first r at which left[r] + right[r] is maximal."""
    place = 0
    for r in range(1, left.size):
        if left[r] + right[r] > left[place] + right[place]:
            place = r
    return place


@njit
def _best_inside(
    scores: Floats, size: int, single_root: bool, work: Workspace
) -> tuple[float, int]:
    """Fill the inside charts with best scores; returns the best of all, and its root word (0 for
    multi-root trees).
    """
    cells = size * size
    complete = work.complete[:cells].reshape((size, size))
    complete_t = work.complete_t[:cells].reshape((size, size))
    incomplete = work.incomplete[:cells].reshape((size, size))
    first = 1 if single_root else 0
    for i in range(size - 1, first - 1, -1):
        complete[i, i] = 0.0
        complete_t[i, i] = 0.0
        for j in range(i + 1, size):
            joint = _best_sum(complete[i, i:j], complete[j, i + 1 : j + 1])
            incomplete[i, j] = scores[i, j] + joint
            incomplete[j, i] = scores[j, i] + joint if i > 0 else -np.inf
            right = _best_sum(incomplete[i, i + 1 : j + 1], complete_t[j, i + 1 : j + 1])
            complete[i, j] = right
            complete_t[j, i] = right
            left = _best_sum(incomplete[j, i:j], complete_t[i, i:j])
            complete[j, i] = left
            complete_t[i, j] = left
    if not single_root:
        return complete[0, size - 1], 0
    best, root = -np.inf, 0
    for r in range(1, size):
        score = scores[0, r] + complete[r, 1] + complete[r, size - 1]
        if score > best:
            best, root = score, r
    return best, root


@njit
def _backtrack(scores: Floats, size: int, root: int, heads: Ints, work: Workspace) -> float:
    """Expand the best items from the root down, writing ``heads``; returns the sum of the scores of
    the arcs.
    """
    cells = size * size
    complete = work.complete[:cells].reshape((size, size))
    complete_t = work.complete_t[:cells].reshape((size, size))
    incomplete = work.incomplete[:cells].reshape((size, size))
    stack = work.stack
    # Two numbers for each item, a complete span: its head and its other end.
    stack[0], stack[1], stack[2], stack[3] = root, size - 1, root, 1
    top = 2
    total = 0.0
    if root > 0:
        heads[root] = 0
        total = scores[0, root]
    else:
        top = 1
    while top > 0:
        top -= 1
        head, end = stack[2 * top], stack[2 * top + 1]
        if head == end:
            continue
        if head < end:
            dependent = (
                head
                + 1
                + _best_place(
                    incomplete[head, head + 1 : end + 1], complete_t[end, head + 1 : end + 1]
                )
            )
        else:
            dependent = end + _best_place(incomplete[head, end:head], complete_t[end, end:head])
        heads[dependent] = head
        total += scores[head, dependent]
        i, j = min(head, dependent), max(head, dependent)
        split = i + _best_place(complete[i, i:j], complete[j, i + 1 : j + 1])
        stack[2 * top], stack[2 * top + 1] = dependent, end
        stack[2 * top + 2], stack[2 * top + 3] = i, split
        stack[2 * top + 4], stack[2 * top + 5] = j, split + 1
        top += 3
    return total
