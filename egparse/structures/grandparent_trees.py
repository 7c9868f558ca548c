"""Projective trees that score arcs, grandparents and consecutive siblings: log Z, marginals and the best tree in O(n^4).

The dynamic program is Model 1 of Koo and Collins (2010, "Efficient third-order dependency parsers", sec. 4.1): the items of
``sibling_trees``, each with the head g, outside of its span, of the word that heads it. (Carreras 2007, "Experiments with a
higher-order projective dependency parser", scores the grandparents of outermost modifiers only, and needs no g.) Parts and
their cells: ``second_order_parts``. The score of their grand-sibling part (g, h, s, d) is here a sum, siblings[h, s, d] +
grandparents[g, h, d], so that the stretch between two modifiers is weighed once for all g. With i < j, and everything mirrored::

    complete[h, g, e]    h, under g, governs all of h..e
    incomplete[h, g, d]  h, under g, governs all of h..d, and has d as its outermost modifier
    joint[i, g, j]       i governs i..r and j governs r+1..j, for some r, both under g

    joint[i, g, j]       = sum_r complete[i, g, r] complete[j, g, r+1]
    pairs[j, i, s]       = weight of arc i -> j and sibling s, times joint[s, i, j]
    pairs[j, i, i]       = weight of arc i -> j as the innermost, times complete[j, i, i+1]
    incomplete[i, g, j]  = grandparent weight times sum_s incomplete[i, g, s] pairs[j, i, s]     with incomplete[i, g, i] = 1
    complete[i, g, j]    = sum_d incomplete[i, g, d] complete[d, i, j]

A joint item serves one pair only, and is not kept. The root, in multi-root trees a node at the left end, has no head: its
items have g = 0 like itself. Ways to add and multiply, and the best tree: as in ``sibling_trees``.
Memory: 8 (n+1)^3 numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.structures.dependency_trees import NO_HEAD, BestTree, Floats, Ints, checked_scores
from egparse.structures.second_order_parts import (
    SMALLEST,
    checked_grandparents,
    checked_siblings,
    heads_of,
    is_outside,
    pair_marginals,
    siblings_of,
    weigh_grandparents,
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


class GrandparentMarginals(NamedTuple):
    """The log-partition in nats (``-inf`` if no tree exists) and the probability of each part.

    ``arcs[h, d]`` is (n+1, n+1), ``siblings[h, s, d]`` and ``grandparents[g, h, d]`` (n+1, n+1, n+1); zero in cells that no
    tree holds. If a tree exists, ``arcs[h, d]`` is the sum of ``siblings[h, :, d]``, of ``grandparents[:, h, d]`` unless h = 0,
    and each column of ``arcs`` sums to one.
    """

    log_partition: float
    arcs: Floats
    siblings: Floats
    grandparents: Floats


class Workspace(NamedTuple):
    """Buffers that the kernels overwrite; sized for ``n_max`` words, good for any shorter sentence.

    Flat, used as cubes of stride n+1. ``complete_t[e, g, h]`` is ``complete[h, g, e]``: the head of heads is always in the middle,
    so that what is walked for one span and all g lies together. ``*_counts`` are what ``semirings`` calls counts; that of a
    complete item is the sum of its two cubes. ``arcs`` is square: arc scores with the best grandparent.
    """

    complete: Floats
    complete_t: Floats
    incomplete: Floats
    pairs: Floats
    complete_counts: Floats
    complete_t_counts: Floats
    incomplete_counts: Floats
    pair_counts: Floats
    arcs: Floats
    rows: Floats


def workspace(n_max: int) -> Workspace:
    """Buffers for the kernels, for sentences of up to ``n_max`` words."""
    size = n_max + 1
    a, b, c, d, e, f, g, h = np.empty((8, size**3))
    return Workspace(a, b, c, d, e, f, g, h, np.empty(size**2), np.empty((2, size)))


def log_partition(
    scores: npt.ArrayLike, siblings: npt.ArrayLike, grandparents: npt.ArrayLike, single_root: bool = True
) -> float:
    """Log of the sum over projective trees of exp(score of all parts), in nats; ``-inf`` if none exists.

    ``scores`` is (n+1, n+1), the others (n+1, n+1, n+1); ValueError for other shapes, nan and +inf.
    """
    arcs, pairs, chains = _checked(scores, siblings, grandparents)
    return float(inside(arcs, pairs, chains, single_root, workspace(len(arcs) - 1)))


def marginals(
    scores: npt.ArrayLike, siblings: npt.ArrayLike, grandparents: npt.ArrayLike, single_root: bool = True
) -> GrandparentMarginals:
    """The log-partition and the probability of each part, under the distribution over projective trees."""
    arcs, pairs, chains = _checked(scores, siblings, grandparents)
    result = GrandparentMarginals(-np.inf, np.empty_like(arcs), np.empty_like(pairs), np.empty_like(chains))
    log_z = inside_outside(arcs, pairs, chains, single_root, *result[1:], workspace(len(arcs) - 1))
    return result._replace(log_partition=float(log_z))


def argmax(
    scores: npt.ArrayLike, siblings: npt.ArrayLike, grandparents: npt.ArrayLike, single_root: bool = True
) -> BestTree:
    """A projective tree of highest score; score ``-inf`` and heads -1 where none exists."""
    arcs, pairs, chains = _checked(scores, siblings, grandparents)
    heads = np.empty(len(arcs), dtype=np.int32)
    score = viterbi(arcs, pairs, chains, single_root, heads, workspace(len(arcs) - 1))
    return BestTree(heads, float(score))


def _checked(
    scores: npt.ArrayLike, siblings: npt.ArrayLike, grandparents: npt.ArrayLike
) -> tuple[Floats, Floats, Floats]:
    arcs = checked_scores(scores)
    return arcs, checked_siblings(siblings, len(arcs)), checked_grandparents(grandparents, len(arcs))


@njit
def inside(
    scores: Floats, siblings: Floats, grandparents: Floats, single_root: bool, work: Workspace
) -> float:
    """Log Z alone."""
    log_z, _ = _log_partition(scores, siblings, grandparents, single_root, work)
    return log_z


@njit
def inside_outside(
    scores: Floats,
    siblings: Floats,
    grandparents: Floats,
    single_root: bool,
    arcs: Floats,
    of_siblings: Floats,
    of_grandparents: Floats,
    work: Workspace,
) -> float:
    """Fill the marginals of all parts and return log Z, for C-contiguous scores without nan or +inf.

    Allocates nothing.
    """
    size: int = scores.shape[0]
    arcs.fill(0.0)
    of_siblings.fill(0.0)
    of_grandparents.fill(0.0)
    log_z, way = _log_partition(scores, siblings, grandparents, single_root, work)
    if log_z == -np.inf:
        return log_z
    _share(size, single_root, way, work)
    pair_counts = _cube(work.pair_counts, size)
    incomplete_counts = _cube(work.incomplete_counts, size)
    pair_marginals(pair_counts, single_root, arcs, of_siblings)
    for g in range(size):
        for h in range(1, size):
            for d in range(1, size):
                if is_outside(g, h, d):
                    of_grandparents[g, h, d] = incomplete_counts[h, g, d]
    return log_z


@njit
def viterbi(
    scores: Floats,
    siblings: Floats,
    grandparents: Floats,
    single_root: bool,
    heads: Ints,
    work: Workspace,
) -> float:
    """Fill ``heads`` (n+1,) with a best projective tree and return its score; ``-inf``, all -1 if none.

    Allocates one row of integers.
    """
    size: int = scores.shape[0]
    heads[:size] = NO_HEAD
    if _weigh(scores, siblings, grandparents, single_root, BEST, work) == -np.inf:
        return -np.inf
    if _inside(size, single_root, BEST, work) == -np.inf:
        return -np.inf
    _share(size, single_root, BEST, work)
    pair_counts = _cube(work.pair_counts, size)
    heads_of(pair_counts, single_root, heads)
    inward = np.empty_like(heads)
    siblings_of(heads, inward)
    total = 0.0
    for d in range(1, size):
        total += scores[heads[d], d] + siblings[heads[d], inward[d], d]
        if heads[d] > 0:
            total += grandparents[heads[heads[d]], heads[d], d]
    return total


@njit
def _cube(flat: Floats, size: int) -> Floats:
    return flat[: size**3].reshape((size, size, size))


@njit
def _log_partition(
    scores: Floats, siblings: Floats, grandparents: Floats, single_root: bool, work: Workspace
) -> tuple[float, int]:
    """Log Z, and the way of ``semirings`` in which the charts have been filled."""
    size: int = scores.shape[0]
    log_scale = _weigh(scores, siblings, grandparents, single_root, PROBABILITY, work)
    if log_scale == -np.inf:
        return -np.inf, PROBABILITY
    z = _inside(size, single_root, PROBABILITY, work)
    if z >= SMALLEST:
        return np.log(z) + log_scale, PROBABILITY
    log_scale = _weigh(scores, siblings, grandparents, single_root, LOG, work)
    return _inside(size, single_root, LOG, work) + log_scale, LOG


@njit
def _weigh(
    scores: Floats, siblings: Floats, grandparents: Floats, single_root: bool, way: int, work: Workspace
) -> float:
    """Write weights to ``incomplete`` and ``pairs``; what log Z has to be raised by, ``-inf`` if no tree exists."""
    size: int = scores.shape[0]
    arcs = work.arcs[: size * size].reshape((size, size))
    weigh_grandparents(scores, grandparents, way, _cube(work.incomplete, size), arcs, work.rows)
    return weigh_pairs(arcs, siblings, single_root, way, _cube(work.pairs, size), work.rows)


@njit
def _inside(size: int, single_root: bool, way: int, work: Workspace) -> float:
    """Fill the inside charts over the weights in them and return the partition of these weights."""
    complete, complete_t = _cube(work.complete, size), _cube(work.complete_t, size)
    incomplete, pairs = _cube(work.incomplete, size), _cube(work.pairs, size)
    first = 1 if single_root else 0
    for i in range(size - 1, first - 1, -1):
        for g in range(size):
            complete[i, g, i] = unity(way)
            complete_t[i, g, i] = unity(way)
            incomplete[i, g, i] = unity(way)
        for j in range(i + 1, size):
            pairs[j, i, i] = product(pairs[j, i, i], complete[j, i, i + 1], way)
            if i == 0:
                _close_right(0, 0, j, way, complete, complete_t, incomplete, pairs)
                continue
            pairs[i, j, j] = product(pairs[i, j, j], complete[i, j, j - 1], way)
            for g in range(size):
                if i <= g <= j:
                    continue
                _close_right(g, i, j, way, complete, complete_t, incomplete, pairs)
                _close_left(g, i, j, way, complete, complete_t, incomplete, pairs)
                # the stretch between i and j as modifiers of g: i is the inner one if g is on the left
                both = inner(complete[i, g, i:j], complete[j, g, i + 1 : j + 1], way)
                outermost, inmost = (j, i) if g < i else (i, j)
                pairs[outermost, g, inmost] = product(pairs[outermost, g, inmost], both, way)
    if not single_root:
        return float(complete[0, 0, size - 1])
    # sum over r of weight(0 -> r) complete[r, 0, 1] complete[r, 0, n]
    return inner(_root_terms(size, way, work), complete_t[size - 1, 0, 1:], way)


@njit
def _close_right(
    g: int, i: int, j: int, way: int, complete: Floats, complete_t: Floats, incomplete: Floats, pairs: Floats
) -> None:
    """The items that i heads in i..j, under g."""
    # incomplete[i, g, j] = weight times sum over s in i..j-1 of incomplete[i, g, s] pairs[j, i, s]
    modified = inner(incomplete[i, g, i:j], pairs[j, i, i:j], way)
    incomplete[i, g, j] = product(incomplete[i, g, j], modified, way)
    # complete[i, g, j] = sum over d in i+1..j of incomplete[i, g, d] complete[d, i, j]
    value = inner(incomplete[i, g, i + 1 : j + 1], complete_t[j, i, i + 1 : j + 1], way)
    complete[i, g, j] = value
    complete_t[j, g, i] = value


@njit
def _close_left(
    g: int, i: int, j: int, way: int, complete: Floats, complete_t: Floats, incomplete: Floats, pairs: Floats
) -> None:
    """The items that j heads in i..j, under g."""
    # incomplete[j, g, i] = weight times sum over s in i+1..j of incomplete[j, g, s] pairs[i, j, s]
    modified = inner(incomplete[j, g, i + 1 : j + 1], pairs[i, j, i + 1 : j + 1], way)
    incomplete[j, g, i] = product(incomplete[j, g, i], modified, way)
    # complete[j, g, i] = sum over d in i..j-1 of incomplete[j, g, d] complete[d, j, i]
    value = inner(incomplete[j, g, i:j], complete_t[i, j, i:j], way)
    complete[j, g, i] = value
    complete_t[i, g, j] = value


@njit
def _root_terms(size: int, way: int, work: Workspace) -> Floats:
    """For each word r but not the root, the weight of 0 -> r times complete[r, 0, 1]."""
    terms = work.rows[0, : size - 1]
    pairs = _cube(work.pairs, size)
    for r in range(1, size):
        terms[r - 1] = pairs[r, 0, 0]
    multiply(terms, _cube(work.complete_t, size)[1, 0, 1:], way)
    return terms


@njit
def _share(size: int, single_root: bool, way: int, work: Workspace) -> None:
    """Fill the charts of counts, the widest items first: the inside sweep backwards, item by item."""
    complete, complete_t, incomplete, pairs = work.complete, work.complete_t, work.incomplete, work.pairs
    of_complete, of_complete_t = work.complete_counts, work.complete_t_counts
    of_incomplete, of_pairs = work.incomplete_counts, work.pair_counts
    square = size * size
    for counts in (of_complete, of_complete_t, of_incomplete, of_pairs):
        counts[: size * square] = 0.0
    if single_root:
        terms, chosen = _root_terms(size, way, work), work.rows[1]
        chosen.fill(0.0)
        share(1.0, size - 1, terms, 0, complete_t, (size - 1) * square + 1, way, chosen, of_complete_t)
        for r in range(1, size):
            of_pairs[r * square] = chosen[r - 1]
            of_complete_t[square + r] += chosen[r - 1]
    else:
        of_complete[size - 1] = 1.0
    first = 1 if single_root else 0
    for i in range(first, size):
        for j in range(size - 1, i, -1):
            # where rows [j, i] and [i, j] begin; every sum has the ``width`` terms i..j-1 or i+1..j
            right, left, width = j * square + i * size, i * square + j * size, j - i
            for g in range(size):
                if i <= g <= j and i > 0:
                    continue
                of_i, of_j = i * square + g * size, j * square + g * size
                i_to_j, j_to_i = of_i + j, of_j + i
                count = of_complete[i_to_j] + of_complete_t[j_to_i]
                if count > FAINT:
                    share(
                        count,
                        width,
                        incomplete,
                        of_i + i + 1,
                        complete_t,
                        right + i + 1,
                        way,
                        of_incomplete,
                        of_complete_t,
                    )
                count = of_incomplete[i_to_j]
                if count > FAINT:
                    share(count, width, incomplete, of_i + i, pairs, right + i, way, of_incomplete, of_pairs)
                if i == 0:
                    break
                count = of_complete[j_to_i] + of_complete_t[i_to_j]
                if count > FAINT:
                    share(
                        count,
                        width,
                        incomplete,
                        of_j + i,
                        complete_t,
                        left + i,
                        way,
                        of_incomplete,
                        of_complete_t,
                    )
                count = of_incomplete[j_to_i]
                if count > FAINT:
                    share(
                        count,
                        width,
                        incomplete,
                        of_j + i + 1,
                        pairs,
                        left + i + 1,
                        way,
                        of_incomplete,
                        of_pairs,
                    )
                count = of_pairs[j_to_i if g < i else i_to_j]
                if count > FAINT:
                    share(
                        count,
                        width,
                        complete,
                        of_i + i,
                        complete,
                        of_j + i + 1,
                        way,
                        of_complete,
                        of_complete,
                    )
            of_complete[right + i + 1] += of_pairs[right + i]
            if i > 0:
                of_complete[left + j - 1] += of_pairs[left + j]
