"""Constraints on trees: fixed and forbidden arcs restrict the candidate arcs before these are
scored.

A word with a fixed head keeps the arc from it and no other. Every tree algorithm on the restricted
arcs is therefore restricted to the trees with the fixed arcs: it finds the best of them, or the
distribution over them. Scores play no role here.

If the remaining candidates have no tree although the constraints allow one, words without a fixed
head get every arc that is not forbidden. A tree exists if the root reaches all words; a tree with a
single root exists if all words are reached from one that may be the root's dependent. Such a word
is found by the mother-vertex lemma: if any word reaches all others, so does the start of the last
tree of a depth-first search. Then exactly the words that reach this start reach all others. All
steps take O(n^2) for n words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.parsing.candidates import ArcFilter, candidate_arcs
from egparse.types import Arcs, Ints, Longs, Mask

FREE = -1
"""In the place of the fixed head of a word without one."""

NO_TREE = -1
"""The result of ``constrain_arcs`` if the constraints allow no tree."""


class SentenceArcs(NamedTuple):
    """The constraints of one sentence, as ``constrain_arcs`` takes them."""

    fixed_heads: Ints
    forbidden: Mask


class ArcConstraints(NamedTuple):
    """The constraints of a batch: ``heads`` (words,) holds fixed heads, ``FREE`` elsewhere;
    ``forbidden[i]`` marks the forbidden arcs of sentence ``i``, shape (n+1, n+1); ``constrained``
    (sentences,) marks the sentences that have either.
    """

    heads: Ints
    forbidden: Mapping[int, Mask]
    constrained: Mask

    def arcs(self, sentence: int, first: int, end: int) -> SentenceArcs:
        """The constraints of a sentence whose words are ``first`` to ``end - 1`` of the batch."""
        fixed = np.full(end - first + 1, FREE, dtype=np.int32)
        fixed[1:] = self.heads[first:end]
        forbidden = self.forbidden.get(sentence)
        return SentenceArcs(
            fixed, np.zeros((0, 0), dtype=np.bool_) if forbidden is None else forbidden
        )


def allowed_arcs(
    values: Ints,
    arc_filter: ArcFilter,
    limits: SentenceArcs,
    single_root: bool,
    room: Arcs,
    every_arc: bool = False,
) -> Arcs:
    """The arcs (arcs, 2) that the constraints of a sentence allow of its candidates, or of all arcs
    if ``every_arc``; none if they allow no tree.
    """
    count = all_arcs(len(values), room) if every_arc else candidate_arcs(values, arc_filter, room)
    count = constrain_arcs(room, count, *limits, single_root, room)
    return room[: max(count, 0)].copy()


@njit
def all_arcs(size: int, out: Arcs) -> int:
    """List every (head, dependent) pair of ``size`` - 1 words and the root at 0; returns how
    many.
    """
    count = 0
    for dependent in range(1, size):
        for head in range(size):
            if head != dependent:
                out[count, 0] = head
                out[count, 1] = dependent
                count += 1
    return count


@njit
def constrain_arcs(
    arcs: Arcs, count: int, fixed_heads: Ints, forbidden: Mask, single_root: bool, out: Arcs
) -> int:
    """Write the arcs that the constraints allow of the candidates ``arcs[:count]``, by dependent;
    returns how many, or ``NO_TREE``.

    ``fixed_heads[dependent]``, shape (n+1,), is a head or ``FREE``; a fixed arc need not be a
    candidate. ``forbidden[head, dependent]`` has shape (n+1, n+1), or (0, 0) if nothing is
    forbidden. If the constraints allow a tree (with one root word if ``single_root``), the arcs
    that are written contain one; it need not be projective. ``out`` has room for (n+1)^2 arcs and
    may be ``arcs`` itself.
    """
    size = fixed_heads.shape[0]
    allowed = np.zeros((size, size), dtype=np.bool_)
    for r in range(count):
        allowed[arcs[r, 0], arcs[r, 1]] = fixed_heads[arcs[r, 1]] == FREE
    for dependent in range(1, size):
        if fixed_heads[dependent] != FREE:
            allowed[fixed_heads[dependent], dependent] = True
    _forbid(forbidden, allowed)
    if not has_tree(allowed, single_root):
        for dependent in range(1, size):
            if fixed_heads[dependent] == FREE:
                allowed[:, dependent] = True
        _forbid(forbidden, allowed)
        if not has_tree(allowed, single_root):
            return NO_TREE
    written = 0
    for dependent in range(1, size):
        for head in range(size):
            if allowed[head, dependent]:
                out[written, 0] = head
                out[written, 1] = dependent
                written += 1
    return written


@njit
def _forbid(forbidden: Mask, allowed: Mask) -> None:
    """Remove the forbidden arcs and the diagonal from ``allowed``."""
    for dependent in range(allowed.shape[0]):
        allowed[dependent, dependent] = False
        for head in range(forbidden.shape[0]):
            if forbidden[head, dependent]:
                allowed[head, dependent] = False


@njit
def has_tree(allowed: Mask, single_root: bool) -> bool:
    """Whether the arcs ``allowed[head, dependent]``, shape (n+1, n+1), contain a tree over all
    words, with one root word if ``single_root``.
    """
    size = allowed.shape[0]
    stack = np.empty(size, dtype=np.int64)
    if not single_root:
        return bool(_reach(allowed, 0, stack, np.zeros(size, dtype=np.bool_)) == size)
    reached = np.zeros(size, dtype=np.bool_)
    reached[0] = True  # no path leads through the root
    last = 0  # the start of the last tree of the depth-first search
    for word in range(1, size):
        if not reached[word]:
            last = word
            _reach(allowed, word, stack, reached)
    if last == 0:
        return True
    reached[:] = False
    reached[0] = True
    if _reach(allowed, last, stack, reached) != size - 1:
        return False
    reached[:] = False
    reached[0] = True
    _reach(allowed.T, last, stack, reached)  # against the arcs: the words that reach ``last``
    return bool(np.any(reached[1:] & allowed[0, 1:]))


@njit
def _reach(allowed: Mask, start: int, stack: Longs, reached: Mask) -> int:
    """Mark the positions that ``start`` reaches through unmarked ones; returns how many."""
    stack[0] = start
    reached[start] = True
    top, count = 1, 1
    while top > 0:
        top -= 1
        head = stack[top]
        for dependent in range(allowed.shape[0]):
            if allowed[head, dependent] and not reached[dependent]:
                reached[dependent] = True
                stack[top] = dependent
                top += 1
                count += 1
    return count
