"""Projective trees that score arcs and consecutive siblings: log Z, marginals and the best tree in O(n^3).

The dynamic program is McDonald and Pereira's (2006, "Online learning of approximate dependency parsing algorithms"):
Eisner's (``projective``), in which a head takes its modifiers of one side from the inside out, one at a time, and meets
each together with the one before. Parts and their cells: ``second_order_parts``. With i < j, and everything mirrored::

    complete[h, e]    h governs all of h..e
    incomplete[h, d]  h governs all of h..d, and has d as its outermost modifier
    joint[i, j]       i governs i..r and j governs r+1..j, for some r: two modifiers that follow each other, or head and modifier

    joint[i, j]       = sum_r complete[i, r] complete[j, r+1]
    pairs[j, i, s]    = weight of arc i -> j and sibling s, times joint[s, j]        (the stretch between two modifiers)
    pairs[j, i, i]    = weight of arc i -> j as the innermost, times complete[j, i+1]
    incomplete[i, j]  = sum_s incomplete[i, s] pairs[j, i, s]                        with incomplete[i, i] = 1
    complete[i, j]    = sum_d incomplete[i, d] complete[d, j]

Each tree has exactly one derivation. A single-root tree is a word r with ``complete[r, 1]`` and ``complete[r, n]`` under the
arc 0 -> r; for multi-root trees the root is one more node at the left end.

Sums and products are those of ``semirings``: probabilities relative to the best arc and sibling into each word, bounded as in
``projective``, where the partition that results can be trusted, otherwise their logarithms. The best tree comes from the
same two sweeps. Memory: 2 (n+1)^3 numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.structures.dependency_trees import NO_HEAD, BestTree, Floats, Ints, checked_scores
from egparse.structures.second_order_parts import (
    SMALLEST,
    checked_siblings,
    heads_of,
    pair_marginals,
    siblings_of,
    weigh_pairs,
)
from egparse.structures.semirings import (
    BEST,
    FAINT,
    LOG,
    PROBABILITY,
    inner,
    multiply,
    product,
    share,
    unity,
)


class SiblingMarginals(NamedTuple):
    """The log-partition in nats (``-inf`` if no tree exists) and the probability of each part.

    ``arcs[h, d]`` is (n+1, n+1), ``siblings[h, s, d]`` (n+1, n+1, n+1); zero in cells that no tree holds. Each column d of
    both sums to one over all else, if a tree exists.
    """

    log_partition: float
    arcs: Floats
    siblings: Floats


class Workspace(NamedTuple):
    """Buffers that the kernels overwrite; sized for ``n_max`` words, good for any shorter sentence.

    Flat, used as charts of stride n+1; ``*_t`` are transposed copies, ``*_counts`` what ``semirings`` calls counts. The
    count of a complete item is the sum of its two charts, that of joint[i, j] the sum of the cells (i, j) and (j, i).
    """

    complete: Floats
    complete_t: Floats
    incomplete: Floats
    joint: Floats
    pairs: Floats
    complete_counts: Floats
    complete_t_counts: Floats
    incomplete_counts: Floats
    joint_counts: Floats
    pair_counts: Floats
    rows: Floats


def workspace(n_max: int) -> Workspace:
    """Buffers for the kernels, for sentences of up to ``n_max`` words."""
    size = n_max + 1
    a, b, c, d, e, f, g, h = np.empty((8, size**2))
    pairs, pair_counts = np.empty((2, size**3))
    return Workspace(a, b, c, d, pairs, e, f, g, h, pair_counts, np.empty((2, size)))


def log_partition(scores: npt.ArrayLike, siblings: npt.ArrayLike, single_root: bool = True) -> float:
    """Log of the sum over projective trees of exp(score of all parts), in nats; ``-inf`` if none exists.

    ``scores`` is (n+1, n+1), ``siblings`` (n+1, n+1, n+1); ValueError for other shapes, nan and +inf.
    """
    arcs = checked_scores(scores)
    pairs = checked_siblings(siblings, len(arcs))
    return float(inside(arcs, pairs, single_root, workspace(len(arcs) - 1)))


def marginals(scores: npt.ArrayLike, siblings: npt.ArrayLike, single_root: bool = True) -> SiblingMarginals:
    """The log-partition and the probability of each part, under the distribution over projective trees."""
    arcs = checked_scores(scores)
    pairs = checked_siblings(siblings, len(arcs))
    of_arcs, of_siblings = np.empty_like(arcs), np.empty_like(pairs)
    log_z = inside_outside(arcs, pairs, single_root, of_arcs, of_siblings, workspace(len(arcs) - 1))
    return SiblingMarginals(float(log_z), of_arcs, of_siblings)


def argmax(scores: npt.ArrayLike, siblings: npt.ArrayLike, single_root: bool = True) -> BestTree:
    """A projective tree of highest score; score ``-inf`` and heads -1 where none exists."""
    arcs = checked_scores(scores)
    pairs = checked_siblings(siblings, len(arcs))
    heads = np.empty(len(arcs), dtype=np.int32)
    score = viterbi(arcs, pairs, single_root, heads, workspace(len(arcs) - 1))
    return BestTree(heads, float(score))


@njit
def inside(scores: Floats, siblings: Floats, single_root: bool, work: Workspace) -> float:
    """Log Z alone."""
    log_z, _ = _log_partition(scores, siblings, single_root, work)
    return log_z


@njit
def inside_outside(
    scores: Floats, siblings: Floats, single_root: bool, arcs: Floats, of_siblings: Floats, work: Workspace
) -> float:
    """Fill the marginals ``arcs`` and ``of_siblings`` and return log Z, for C-contiguous scores without nan or +inf.

    Allocates nothing.
    """
    size: int = scores.shape[0]
    arcs.fill(0.0)
    of_siblings.fill(0.0)
    log_z, way = _log_partition(scores, siblings, single_root, work)
    if log_z == -np.inf:
        return log_z
    _share(size, single_root, way, work)
    pair_counts = work.pair_counts[: size**3].reshape((size, size, size))
    pair_marginals(pair_counts, single_root, arcs, of_siblings)
    return log_z


@njit
def viterbi(scores: Floats, siblings: Floats, single_root: bool, heads: Ints, work: Workspace) -> float:
    """Fill ``heads`` (n+1,) with a best projective tree and return its score; ``-inf``, all -1 if none.

    Allocates one row of integers.
    """
    size: int = scores.shape[0]
    heads[:size] = NO_HEAD
    pairs = work.pairs[: size**3].reshape((size, size, size))
    if weigh_pairs(scores, siblings, single_root, BEST, pairs, work.rows) == -np.inf:
        return -np.inf
    if _inside(size, single_root, BEST, work) == -np.inf:
        return -np.inf
    _share(size, single_root, BEST, work)
    pair_counts = work.pair_counts[: size**3].reshape((size, size, size))
    heads_of(pair_counts, single_root, heads)
    inward = np.empty_like(heads)
    siblings_of(heads, inward)
    total = 0.0
    for d in range(1, size):
        total += scores[heads[d], d] + siblings[heads[d], inward[d], d]
    return total


@njit
def _log_partition(scores: Floats, siblings: Floats, single_root: bool, work: Workspace) -> tuple[float, int]:
    """Log Z, and the way of ``semirings`` in which the charts have been filled."""
    size: int = scores.shape[0]
    pairs = work.pairs[: size**3].reshape((size, size, size))
    log_scale = weigh_pairs(scores, siblings, single_root, PROBABILITY, pairs, work.rows)
    if log_scale == -np.inf:
        return -np.inf, PROBABILITY
    z = _inside(size, single_root, PROBABILITY, work)
    if z >= SMALLEST:
        return np.log(z) + log_scale, PROBABILITY
    log_scale = weigh_pairs(scores, siblings, single_root, LOG, pairs, work.rows)
    return _inside(size, single_root, LOG, work) + log_scale, LOG


@njit
def _inside(size: int, single_root: bool, way: int, work: Workspace) -> float:
    """Fill the inside charts from the weights in ``work.pairs`` and return the partition of these weights."""
    cells = size * size
    complete = work.complete[:cells].reshape((size, size))
    complete_t = work.complete_t[:cells].reshape((size, size))
    incomplete = work.incomplete[:cells].reshape((size, size))
    joint = work.joint[:cells].reshape((size, size))
    pairs = work.pairs[: size**3].reshape((size, size, size))
    first = 1 if single_root else 0
    for i in range(size - 1, first - 1, -1):
        complete[i, i] = unity(way)
        complete_t[i, i] = unity(way)
        incomplete[i, i] = unity(way)
        for j in range(i + 1, size):
            both = inner(complete[i, i:j], complete[j, i + 1 : j + 1], way)
            joint[i, j] = both
            joint[j, i] = both
            # pairs[j, i, s] and pairs[i, j, s] hold weights until here
            pairs[j, i, i] = product(pairs[j, i, i], complete[j, i + 1], way)
            multiply(pairs[j, i, i + 1 : j], joint[j, i + 1 : j], way)
            pairs[i, j, j] = product(pairs[i, j, j], complete[i, j - 1], way)
            multiply(pairs[i, j, i + 1 : j], joint[i, i + 1 : j], way)
            # incomplete[i, j] = sum over s in i..j-1 of incomplete[i, s] pairs[j, i, s]
            incomplete[i, j] = inner(incomplete[i, i:j], pairs[j, i, i:j], way)
            # incomplete[j, i] = sum over s in i+1..j of incomplete[j, s] pairs[i, j, s]
            incomplete[j, i] = inner(incomplete[j, i + 1 : j + 1], pairs[i, j, i + 1 : j + 1], way)
            # complete[i, j] = sum over d in i+1..j of incomplete[i, d] complete[d, j]
            right = inner(incomplete[i, i + 1 : j + 1], complete_t[j, i + 1 : j + 1], way)
            complete[i, j] = right
            complete_t[j, i] = right
            # complete[j, i] = sum over d in i..j-1 of incomplete[j, d] complete[d, i]
            left = inner(incomplete[j, i:j], complete_t[i, i:j], way)
            complete[j, i] = left
            complete_t[i, j] = left
    if not single_root:
        return float(complete[0, size - 1])
    # sum over r of weight(0 -> r) complete[r, 1] complete[r, n]
    halves = _root_terms(size, way, work)
    return inner(halves, complete_t[size - 1, 1:], way)


@njit
def _root_terms(size: int, way: int, work: Workspace) -> Floats:
    """For each word r but not the root, the weight of 0 -> r times complete[r, 1]."""
    complete_t = work.complete_t[: size * size].reshape((size, size))
    pairs = work.pairs[: size**3].reshape((size, size, size))
    terms = work.rows[0, : size - 1]
    for r in range(1, size):
        terms[r - 1] = pairs[r, 0, 0]
    multiply(terms, complete_t[1, 1:], way)
    return terms


@njit
def _share(size: int, single_root: bool, way: int, work: Workspace) -> None:
    """Fill the charts of counts, the widest items first: the inside sweep backwards, item by item."""
    complete, complete_t, incomplete, pairs = work.complete, work.complete_t, work.incomplete, work.pairs
    of_complete, of_complete_t = work.complete_counts, work.complete_t_counts
    of_incomplete, of_joint, of_pairs = work.incomplete_counts, work.joint_counts, work.pair_counts
    square = size * size
    for counts in (of_complete, of_complete_t, of_incomplete, of_joint):
        counts[:square] = 0.0
    of_pairs[: size * square] = 0.0
    if single_root:
        terms, chosen = _root_terms(size, way, work), work.rows[1]
        chosen.fill(0.0)
        share(1.0, size - 1, terms, 0, complete_t, (size - 1) * size + 1, way, chosen, of_complete_t)
        for r in range(1, size):
            of_pairs[r * square] = chosen[r - 1]
            of_complete_t[size + r] += chosen[r - 1]
    else:
        of_complete[size - 1] = 1.0
    first = 1 if single_root else 0
    for i in range(first, size):
        for j in range(size - 1, i, -1):
            # where rows i and j of squares, [j, i] and [i, j] of cubes begin; every sum has ``width`` terms, i..j-1 or i+1..j
            of_i, of_j, width = i * size, j * size, j - i
            right, left = j * square + i * size, i * square + j * size
            count = of_complete[of_i + j] + of_complete_t[of_j + i]
            if count > FAINT:
                share(
                    count,
                    width,
                    incomplete,
                    of_i + i + 1,
                    complete_t,
                    of_j + i + 1,
                    way,
                    of_incomplete,
                    of_complete_t,
                )
            count = of_complete[of_j + i] + of_complete_t[of_i + j]
            if count > FAINT:
                share(
                    count,
                    width,
                    incomplete,
                    of_j + i,
                    complete_t,
                    of_i + i,
                    way,
                    of_incomplete,
                    of_complete_t,
                )
            count = of_incomplete[of_i + j]
            if count > FAINT:
                share(count, width, incomplete, of_i + i, pairs, right + i, way, of_incomplete, of_pairs)
            count = of_incomplete[of_j + i]
            if count > FAINT:
                share(
                    count, width, incomplete, of_j + i + 1, pairs, left + i + 1, way, of_incomplete, of_pairs
                )
            # each pair uses what lies between its two modifiers, or between its head and its only one, once
            of_complete[of_j + i + 1] += of_pairs[right + i]
            of_complete[of_i + j - 1] += of_pairs[left + j]
            for s in range(i + 1, j):
                of_joint[of_j + s] += of_pairs[right + s]
                of_joint[of_i + s] += of_pairs[left + s]
            count = of_joint[of_i + j] + of_joint[of_j + i]
            if count > FAINT:
                share(count, width, complete, of_i + i, complete, of_j + i + 1, way, of_complete, of_complete)
