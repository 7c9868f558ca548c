"""Parts of a dependency tree larger than an arc: consecutive siblings and grandparents, their scores and checks.

Words are 1..n, the root is at 0. Beside its arcs (``dependency_trees``) a tree scores one sibling part for each word d,

    siblings[h, s, d]       h is the head of d, s the modifier of h next to d among those between h and d;
    siblings[h, h, d]       d is the innermost modifier of h on its side: there is no such s,

and, by what it is asked for, one grandparent part for each word d whose head h is no root,

    grandparents[g, h, d]   h is the head of d, g the head of h.

Both arrays have shape (n+1, n+1, n+1), in nats; 0 where a pair says nothing, ``-inf`` where it is forbidden. Read are only
the cells that a projective tree can hold: in both h != d and d >= 1, s strictly between h and d or equal to h, h >= 1 and g
outside of the stretch from h to d. With a single root, siblings[0, s, d] is read for s = 0 only.

Sibling parts of *all* pairs of modifiers of a head have no polynomial dynamic program; those of consecutive ones do
(McDonald and Pereira 2006, "Online learning of approximate dependency parsing algorithms").
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.structures.dependency_trees import Floats, Ints
from egparse.structures.exponentials import exponentials
from egparse.structures.semirings import PROBABILITY, nothing, unity

Mask = npt.NDArray[np.bool_]

GROWTH = math.log(27 / 4)
"""Nats a word by which the number of projective trees grows (see ``projective``)."""

SMALLEST = 1e-280
"""Scaled partitions below this may have lost mass to underflow: use logarithms instead."""


def sibling_cells(size: int) -> Mask:
    """Which cells of siblings[h, s, d] are read, for ``size`` - 1 words and several roots."""
    h, s, d = np.ogrid[:size, :size, :size]
    between = ((h < s) & (s < d)) | ((d < s) & (s < h))
    return np.asarray((between | (s == h)) & (h != d) & (d > 0))


def grandparent_cells(size: int) -> Mask:
    """Which cells of grandparents[g, h, d] are read, for ``size`` - 1 words."""
    g, h, d = np.ogrid[:size, :size, :size]
    outside = (g < np.minimum(h, d)) | (g > np.maximum(h, d))
    return np.asarray(outside & (h != d) & (h > 0) & (d > 0))


def checked_siblings(siblings: npt.ArrayLike, size: int) -> Floats:
    """``siblings`` as a contiguous float64 array; ValueError unless (n+1, n+1, n+1) without nan and +inf."""
    return _checked("sibling scores", siblings, sibling_cells(size))


def checked_grandparents(grandparents: npt.ArrayLike, size: int) -> Floats:
    """``grandparents`` as a contiguous float64 array; ValueError unless (n+1, n+1, n+1) without nan and +inf."""
    return _checked("grandparent scores", grandparents, grandparent_cells(size))


def _checked(what: str, scores: npt.ArrayLike, read: Mask) -> Floats:
    array = np.ascontiguousarray(scores, dtype=np.float64)
    if array.shape != read.shape:
        raise ValueError(f"{what}: expected shape {read.shape}, as the arcs have it, got {array.shape}")
    unreadable = read & ~(array < np.inf)
    if unreadable.any():
        a, b, c = np.argwhere(unreadable)[0]
        raise ValueError(f"{what}: expected finite numbers or -inf, got {array[a, b, c]} at [{a}, {b}, {c}]")
    return array


@njit
def siblings_of(heads: Ints, siblings: Ints) -> None:
    """Write siblings[d], the next modifier inward of d under the same head, or the head itself if there is none."""
    for d in range(1, heads.shape[0]):
        h = heads[d]
        step = 1 if h > d else -1
        s = d + step
        while s != h and heads[s] != h:
            s += step
        siblings[d] = s


@njit
def weigh_pairs(
    arcs: Floats, siblings: Floats, single_root: bool, way: int, pairs: Floats, rows: Floats
) -> float:
    """pairs[d, h, s] = the weight of arc and sibling part, relative to the best into d; the sum of these best scores.

    Weights are exp(arcs[h, d] + siblings[h, s, d] - shift[d]), or their logarithms. Probabilities are shifted by GROWTH
    more, so that no inside value exceeds one, and nothing overflows. What is returned is the sum of the shifts: what log Z
    of the weights has to be raised by; ``-inf`` if a word has no candidate. ``rows`` is scratch of shape (2, >= n+1).
    """
    size: int = arcs.shape[0]
    growth = GROWTH if way == PROBABILITY else 0.0
    row, scratch = rows[0], rows[1]
    total = 0.0
    pairs[0].fill(nothing(way))
    for d in range(1, size):
        shift = -np.inf
        for h in range(size):
            begin, end = pair_range(h, d, single_root)
            for s in range(begin, end):
                value = arcs[h, d] + siblings[h, s, d]
                pairs[d, h, s] = value
                if value > shift:
                    shift = value
        if shift == -np.inf:
            return -np.inf
        shift += growth
        total += shift
        for h in range(size):
            begin, end = pair_range(h, d, single_root)
            cells = pairs[d, h, begin:end]
            for s in range(cells.size):
                row[s] = cells[s] - shift
                cells[s] = row[s]
            if way == PROBABILITY:
                exponentials(row[: cells.size], scratch, cells)
    return total


@njit
def pair_range(h: int, d: int, single_root: bool) -> tuple[int, int]:
    """The range of s for head h and modifier d: the words between them, and h; empty for h = d."""
    if single_root and h == 0:
        return 0, 1
    return (h, d) if h <= d else (d + 1, h + 1)


@njit
def pair_marginals(pair_counts: Floats, single_root: bool, arcs: Floats, siblings: Floats) -> None:
    """Write siblings[h, s, d] from pair_counts[d, h, s], and add it to arcs[h, d]."""
    size: int = arcs.shape[0]
    for h in range(size):
        for d in range(1, size):
            begin, end = pair_range(h, d, single_root)
            for s in range(begin, end):
                siblings[h, s, d] = pair_counts[d, h, s]
                arcs[h, d] += pair_counts[d, h, s]


@njit
def heads_of(pair_counts: Floats, single_root: bool, heads: Ints) -> None:
    """Write heads[d], given counts that are those of one tree: pair_counts[d, h, s] is positive for its parts alone."""
    size: int = pair_counts.shape[0]
    for h in range(size):
        for d in range(1, size):
            begin, end = pair_range(h, d, single_root)
            for s in range(begin, end):
                if pair_counts[d, h, s] > 0.0:
                    heads[d] = h


@njit
def weigh_grandparents(
    scores: Floats, grandparents: Floats, way: int, weights: Floats, arcs: Floats, rows: Floats
) -> None:
    """weights[h, g, d] = exp(grandparents[g, h, d] - the highest of any g), or its logarithm; one for the root as h.

    These highest scores go to the arcs instead, arcs[h, d] = scores[h, d] + max over g, to which the shifts of ``weigh_pairs``
    apply. ``rows`` is scratch of shape (2, >= n+1).
    """
    size: int = scores.shape[0]
    weights[0].fill(unity(way))
    row = rows[0, :size]
    for h in range(size):
        for d in range(1, size):
            highest = -np.inf if h > 0 else 0.0
            for g in range(size):
                if h > 0 and is_outside(g, h, d):
                    highest = max(highest, grandparents[g, h, d])
            arcs[h, d] = highest
    for h in range(1, size):
        for g in range(size):
            cells = weights[h, g]
            row[0] = -np.inf
            for d in range(1, size):
                possible = is_outside(g, h, d) and grandparents[g, h, d] > -np.inf
                row[d] = grandparents[g, h, d] - arcs[h, d] if possible else -np.inf
            for d in range(size):
                cells[d] = row[d]
            if way == PROBABILITY:
                exponentials(row, rows[1], cells)
    for h in range(size):
        for d in range(1, size):
            arcs[h, d] += scores[h, d]


@njit
def is_outside(g: int, h: int, d: int) -> bool:
    """Whether g can be the head of h where h is the head of d, in a projective tree."""
    return h != d and (g < min(h, d) or g > max(h, d))
