"""The parts of second-order dependency trees over a sparse set of candidate arcs, and their layout
in arrays.

Words are 1..n, the root is at 0. A tree has one part for each of its arcs and, for each arc a = (h,
d) of it,

    a sibling part   (s, a)    s is the next modifier of h inward of d on the same side, or START if
                               d is the innermost;
    a stop part      (a, STOP) if d is the outermost modifier of h on its side;
    a grandparent    (g, a)    g is the head of h, for h other than the root.

These are the parts of McDonald and Pereira (2006) and Carreras (2007). Scores, marginals and costs
are flat arrays over all parts. First come the arcs, sorted by head, then side (left, right), then
from the head outward. Then come the other parts, arc by arc in the same order: START, the siblings
from the innermost to the one before d, STOP, and the grandparents in the order of ``incoming``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Arcs, Floats, Ints, Shorts


class ArcGraph(NamedTuple):
    """The candidate arcs of a sentence of n words, and the indices of their parts.

    ``arcs`` (m, 2) holds head and dependent. Block b is the arcs ``blocks[b]:blocks[b + 1]``: those
    leftward from h for b = 2 h, rightward for b = 2 h + 1. The arcs into d, sorted by head, are
    ``incoming[into[d]:into[d + 1]]``. The pair parts of arc a are ``pairs[a]:pairs[a + 1]``;
    without ``siblings`` START, sibling and STOP parts are missing, without ``grandparents`` the
    grandparent parts.
    """

    arcs: Arcs
    blocks: Ints
    incoming: Ints
    into: Ints
    pairs: Ints
    siblings: bool
    grandparents: bool


@njit(separate=True)
def lay_out(arcs: Arcs, size: int, siblings: bool, grandparents: bool) -> ArcGraph:
    """The graph of the distinct arcs (m, 2), given in any order, of a sentence of ``size`` - 1
    words.
    """
    m = arcs.shape[0]
    blocks = np.zeros(2 * size + 1, dtype=np.int32)
    into = np.zeros(size + 1, dtype=np.int32)
    for a in range(m):
        blocks[_block(arcs[a]) + 1] += 1
        into[arcs[a, 1] + 1] += 1
    for b in range(2 * size):
        blocks[b + 1] += blocks[b]
    for d in range(size):
        into[d + 1] += into[d]
    by_dependent = np.empty(m, dtype=np.int32)
    filled = into[:-1].copy()
    for a in range(m):
        by_dependent[filled[arcs[a, 1]]] = a
        filled[arcs[a, 1]] += 1
    ordered = np.empty((m, 2), dtype=np.int16)
    filled = blocks[:-1].copy()
    for k in range(m):
        _put(arcs[by_dependent[k]], 1, ordered, filled)
    for k in range(m - 1, -1, -1):
        _put(arcs[by_dependent[k]], 0, ordered, filled)
    incoming = np.empty(m, dtype=np.int32)
    filled = into[:-1].copy()
    for a in range(m):
        incoming[filled[ordered[a, 1]]] = a
        filled[ordered[a, 1]] += 1
    pairs = np.empty(m + 1, dtype=np.int32)
    place = m
    for b in range(2 * size):
        head = b // 2
        for a in range(blocks[b], blocks[b + 1]):
            pairs[a] = place
            if siblings:
                place += a - blocks[b] + 2
            if grandparents:
                place += into[head + 1] - into[head]
    pairs[m] = place
    return ArcGraph(ordered, blocks, incoming, into, pairs, siblings, grandparents)


@njit
def _block(arc: Shorts) -> int:
    return 2 * int(arc[0]) + (1 if arc[1] > arc[0] else 0)


@njit
def _put(arc: Shorts, side: int, ordered: Arcs, filled: Ints) -> None:
    """Append an arc to its block if it is on this side."""
    block = _block(arc)
    if block % 2 == side:
        ordered[filled[block], 0] = arc[0]
        ordered[filled[block], 1] = arc[1]
        filled[block] += 1


@njit
def mark_tree(graph: ArcGraph, heads: Ints, parts: Floats) -> int:
    """Write 1 to ``parts`` (parts,) for each part of the tree ``heads`` (n + 1,) and 0 elsewhere;
    returns how many of the tree's arcs are not candidates.

    Parts that contain an arc which is not a candidate are left out, and such an arc does not count
    as a sibling.
    """
    parts[:] = 0.0
    size: int = graph.into.shape[0] - 1
    missing: int = size - 1
    for b in range(2 * size):
        head, first = b // 2, graph.blocks[b]
        last = -1
        for a in range(first, graph.blocks[b + 1]):
            if heads[graph.arcs[a, 1]] != head:
                continue
            missing -= 1
            parts[a] = 1.0
            place = graph.pairs[a]
            if graph.siblings:
                parts[place + last + 1] = 1.0
                last = a - first
                place += last + 2
            if graph.grandparents:
                for k in range(graph.into[head], graph.into[head + 1]):
                    if graph.arcs[graph.incoming[k], 0] == heads[head]:
                        parts[place + k - graph.into[head]] = 1.0
        if graph.siblings and last >= 0:
            parts[graph.pairs[first + last] + last + 1] = 1.0
    return missing
