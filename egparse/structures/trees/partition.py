"""The k best trees by search for best trees: Lawler's (1972) partition.

The trees other than the best one of a set are split by the first word at which they differ from it,
and the best of each subset is found by a search. O(k n) searches.

A subset is described by what restricts it: the heads of the first words, which all its trees share,
and the heads that the next word may not have. Its scores are made of the common ones when it is
split, so one copy of the scores serves all. Only subsets that can still be among the k best are
kept, at most 2 k: memory is O(n^2 + k n) for dense scores, of which O(n^2) are two copies of them.
A copy of the scores for each subset, of which there are up to k n, would be O(k n^3).
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple, Protocol

from egparse.structures.trees.dependency_trees import BestTree


class Arcs(Protocol):
    """A search for the best tree among those of the arcs that are allowed."""

    def allow_all(self) -> None:
        """Allow every arc."""

    def fix(self, word: int, head: int) -> None:
        """Forbid every arc into a word but the one from ``head``, which is allowed."""

    def forbid(self, word: int, head: int) -> None:
        """Forbid an arc."""

    def best(self) -> BestTree:
        """A tree of highest score; score ``-inf`` where none exists."""


class _Subset(NamedTuple):
    """Trees that have the heads of ``best`` up to the word ``n_fixed``, and none of ``forbidden``
    at the next one. ``serial`` breaks ties of ``cost``, minus the highest score.
    """

    cost: float
    serial: int
    best: BestTree
    n_fixed: int
    forbidden: tuple[int, ...]


def k_best_of(arcs: Arcs, k: int) -> list[BestTree]:
    """The ``k`` best trees, best first; fewer where fewer exist."""
    trees: list[BestTree] = []
    first = arcs.best()
    subsets = [_Subset(-first.score, 0, first, 0, ())] if first.score > -math.inf else []
    n_subsets = 1
    while subsets and len(trees) < k:
        subset = heapq.heappop(subsets)
        best = subset.best
        trees.append(best)
        if len(trees) == k:
            break
        arcs.allow_all()
        for word in range(1, subset.n_fixed + 1):
            arcs.fix(word, int(best.heads[word]))
        for word in range(subset.n_fixed + 1, len(best.heads)):
            head = int(best.heads[word])
            others = subset.forbidden if word == subset.n_fixed + 1 else ()
            for other in (*others, head):
                arcs.forbid(word, other)
            runner_up = arcs.best()
            if runner_up.score > -math.inf:
                heapq.heappush(
                    subsets,
                    _Subset(-runner_up.score, n_subsets, runner_up, word - 1, (*others, head)),
                )
                n_subsets += 1
            arcs.fix(word, head)
        if len(subsets) > 2 * (k - len(trees)):
            subsets = heapq.nsmallest(k - len(trees), subsets)  # sorted, which is a heap
    return trees
