"""Arcs that a tree must or must not have: the candidate arcs of a sentence, restricted before they
are scored.

A word whose head is fixed keeps the arc from it and no other, so every tree algorithm on the
restricted arcs finds what it finds among the trees that have the fixed arcs: the best one, or the
distribution over them. Nothing here knows of scores.

Where the candidates that are left have no tree although the constraints allow one, words that are
free get every arc that is not forbidden. A tree exists if all words can be reached from the root; a
tree with a single root if all can be reached from some word that may be the root's only dependent.
The words from which all others can be reached are those that reach the one which a search, started
anew from each word not met yet, starts from last. All takes O(n^2) for n words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Arcs, Ints, Longs, Mask

FREE = -1
"""The fixed head of a word that may have any."""

NO_TREE = -1
"""What ``constrain_arcs`` returns where no tree is allowed."""


class SentenceArcs(NamedTuple):
    """The constraints of one sentence, as ``constrain_arcs`` takes them."""

    fixed_heads: Ints
    forbidden: Mask


class ArcConstraints(NamedTuple):
    """The arcs of a batch: ``heads`` (words,) holds fixed heads, ``FREE`` elsewhere;
    ``forbidden[i]`` the forbidden arcs of sentence ``i``, shape (n+1, n+1). ``constrained``
    (sentences,) says which sentences have either.
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
    """Write the arcs that the constraints leave of the candidates ``arcs[:count]``, by dependent;
    returns how many, or ``NO_TREE``.

    ``fixed_heads[dependent]``, shape (n+1,), is a head or ``FREE``; a fixed arc need not be a
    candidate. ``forbidden[head, dependent]`` has shape (n+1, n+1), or (0, 0) where nothing is. If a
    tree (with one root word if ``single_root``) is allowed at all, there is one in the result; it
    need not be projective. ``out`` has room for (n+1)^2 arcs and may be ``arcs`` itself.
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
    kept = 0
    for dependent in range(1, size):
        for head in range(size):
            if allowed[head, dependent]:
                out[kept, 0] = head
                out[kept, 1] = dependent
                kept += 1
    return kept


@njit
def _forbid(forbidden: Mask, allowed: Mask) -> None:
    """Take out the forbidden arcs, and those of a word to itself."""
    for dependent in range(allowed.shape[0]):
        allowed[dependent, dependent] = False
        for head in range(forbidden.shape[0]):
            if forbidden[head, dependent]:
                allowed[head, dependent] = False


@njit
def has_tree(allowed: Mask, single_root: bool) -> bool:
    """Whether the arcs ``allowed[head, dependent]``, shape (n+1, n+1), hold a tree over all words,
    of one root word if ``single_root``.
    """
    size = allowed.shape[0]
    stack = np.empty(size, dtype=np.int64)
    if not single_root:
        return bool(_reach(allowed, 0, stack, np.zeros(size, dtype=np.bool_)) == size)
    met = np.zeros(size, dtype=np.bool_)
    met[0] = True  # nothing is reached through the root
    last = 0
    for word in range(1, size):
        if not met[word]:
            last = word
            _reach(allowed, word, stack, met)
    if last == 0:
        return True
    met[:] = False
    met[0] = True
    if _reach(allowed, last, stack, met) != size - 1:
        return False
    met[:] = False
    met[0] = True
    _reach(allowed.T, last, stack, met)
    return bool(np.any(met[1:] & allowed[0, 1:]))


@njit
def _reach(allowed: Mask, start: int, stack: Longs, met: Mask) -> int:
    """Mark the positions that can be reached from ``start`` through unmarked ones; returns how
    many.
    """
    stack[0] = start
    met[start] = True
    top, count = 1, 1
    while top > 0:
        top -= 1
        head = stack[top]
        for dependent in range(allowed.shape[0]):
            if allowed[head, dependent] and not met[dependent]:
                met[dependent] = True
                stack[top] = dependent
                top += 1
                count += 1
    return count
