"""Lawler's partition: the trees of a copy of the scores for each subset, in less memory.

That the trees are the best ones is tested where each search is, by enumeration.
"""

from __future__ import annotations

import heapq
import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from structures.test_arc_graph import random_graph, random_potentials

from egparse.structures.second_order import projective_log
from egparse.structures.trees import nonprojective
from egparse.structures.trees.dependency_trees import BestTree
from egparse.types import Floats


def by_copies(scores: Floats, k: int, single_root: bool) -> list[BestTree]:
    """The same partition with a matrix for each subset."""
    trees: list[BestTree] = []
    first = nonprojective.argmax(scores, single_root)
    subsets = [(-first.score, 0, first, scores, 0)] if first.score > -math.inf else []
    n_subsets = 1
    while subsets and len(trees) < k:
        _, _, best, allowed, n_fixed = heapq.heappop(subsets)
        trees.append(best)
        fixed = allowed.copy()
        for word in range(n_fixed + 1, len(scores)):
            other = fixed.copy()
            other[best.heads[word], word] = -math.inf
            runner_up = nonprojective.argmax(other, single_root)
            if runner_up.score > -math.inf:
                heapq.heappush(subsets, (-runner_up.score, n_subsets, runner_up, other, word - 1))
                n_subsets += 1
            fixed[:, word] = -math.inf
            fixed[best.heads[word], word] = allowed[best.heads[word], word]
    return trees


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("ties", [True, False])
def test_trees_and_their_order_are_those_of_copies(single_root: bool, ties: bool) -> None:
    random = np.random.default_rng(3)
    for n in (1, 2, 5, 9):
        shape = (n + 1, n + 1)
        scores = random.integers(0, 2, shape).astype(float) if ties else random.normal(size=shape)
        scores[random.random(shape) < 0.2] = -np.inf
        found = nonprojective.k_best(scores, 30, single_root)
        expected = by_copies(scores, 30, single_root)
        assert [tree.score for tree in found] == [tree.score for tree in expected]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.heads, other.heads)


def peak(search: Callable[[], list[BestTree]]) -> int:
    """The most bytes that Python and numpy have allocated at once."""
    search()
    tracemalloc.start()
    try:
        search()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.compiled_only
def test_memory_is_that_of_the_scores_and_of_the_heads_of_some_trees() -> None:
    """Four copies of the scores (two of the arcs, one and the workspace of a search, 12 bytes a
    cell), and for each of 3 k trees its heads (4 bytes) and 600 bytes of objects; with a copy of
    the scores for each subset there would be k n of them, here 80 MB.
    """
    random = np.random.default_rng(4)
    for n, k in ((20, 10), (20, 80), (60, 10), (60, 40)):
        scores = random.normal(size=(n + 1, n + 1))
        used = peak(lambda scores=scores, k=k: nonprojective.k_best(scores, k))  # type: ignore[misc]
        assert used < 4 * 12 * (n + 1) ** 2 + (3 * k + n) * (4 * (n + 1) + 600)


@pytest.mark.compiled_only
def test_memory_of_sparse_candidates_is_bounded_likewise() -> None:
    graph = random_graph(25, 6, seed=5)
    potentials = random_potentials(graph, 2.0, seed=5)
    one, many = (
        peak(lambda k=k: projective_log.k_best(graph, potentials, k))  # type: ignore[misc]
        for k in (1, 30)
    )
    assert many - one < potentials.nbytes + (3 * 30 + 25) * (4 * 26 + 600)
