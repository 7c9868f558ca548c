"""Faults in the heads of a sentence that are not a tree.

Cycles are found by walking up from every head until a word that was visited before: O(n).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from egparse.sentences import MISSING_HEAD


class TreeFault(NamedTuple):
    """A fault at ``word`` (from 1)."""

    word: int
    expected: str
    got: str


def find_tree_fault(heads: Sequence[int], single_root: bool) -> TreeFault | None:
    """The first fault in ``heads``, or None: a head out of range, no root or too many, a cycle.

    ``heads[k]`` is the head (from 1) of word ``k + 1``, 0 for the root. A word whose head is
    ``MISSING_HEAD`` may be attached anywhere and is never a fault itself.
    """
    if not heads:
        return None
    used = set(heads)
    if min(used) < MISSING_HEAD or max(used) > len(heads):
        return _range_fault(heads)
    if 0 not in used and MISSING_HEAD not in used:
        return TreeFault(1, "a word with head 0", "a sentence without a root")
    if single_root and heads.count(0) > 1:
        return _second_root(heads)
    return _cycle_fault(heads, used)


def find_missing_head(heads: Sequence[int]) -> TreeFault | None:
    """The first word without a head, or None."""
    if MISSING_HEAD not in heads:
        return None
    return TreeFault(
        heads.index(MISSING_HEAD) + 1, "a head for every word", "'_' in the column HEAD"
    )


def _range_fault(heads: Sequence[int]) -> TreeFault:
    n = len(heads)
    word = next(k for k, head in enumerate(heads, 1) if not MISSING_HEAD <= head <= n)
    return TreeFault(word, f"a head from 0 to {n}", str(heads[word - 1]))


def _second_root(heads: Sequence[int]) -> TreeFault:
    first = heads.index(0) + 1
    second = heads.index(0, first) + 1
    return TreeFault(second, "one root", f"a second word with head 0 after word {first}")


def _cycle_fault(heads: Sequence[int], used: Set[int]) -> TreeFault | None:
    # the word from which the walk that visited this word began; 0 if it was not visited
    walk_of = [0] * (len(heads) + 1)
    for start in used:  # a word that is the head of no other is in no cycle
        word = start
        while word > 0 and not walk_of[word]:
            walk_of[word] = start
            word = heads[word - 1]
        if word > 0 and walk_of[word] == start:
            return _cycle_at(heads, word)
    return None


def _cycle_at(heads: Sequence[int], word: int) -> TreeFault:
    if heads[word - 1] == word:
        return TreeFault(word, "a head other than the word itself", str(word))
    cycle = [word]
    while len(cycle) < 8 and (head := heads[cycle[-1] - 1]) != word:
        cycle.append(head)
    closed = heads[cycle[-1] - 1] == word
    path = " -> ".join(map(str, [*cycle, word] if closed else cycle))
    return TreeFault(word, "a tree", f"the cycle {path}" if closed else f"the cycle {path} -> ...")
