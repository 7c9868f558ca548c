"""Best trees over sparse candidates against enumeration, and laws where enumeration cannot
reach.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from oracles.trees import is_projective, is_single_rooted, is_tree
from properties import examples
from structures.test_arc_graph import (
    FORBIDDEN,
    PAIRS,
    ROOTS,
    Pruned,
    listed,
    pruned,
    random_graph,
    random_potentials,
)
from tolerances import score_rounding

from egparse.structures.second_order.arc_graph import ArcGraph, lay_out, mark_tree
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import best_tree, k_best
from egparse.structures.trees import projective
from egparse.structures.trees.dependency_trees import BestTree, Floats

EXAMPLES = examples(150)


def best_of(graph: ArcGraph, potentials: Floats, single_root: bool) -> BestTree:
    heads = np.full(len(graph.into) - 1, 7, dtype=np.int32)
    return BestTree(heads, best_tree(graph, potentials, single_root, heads))


def check_tree(graph: ArcGraph, potentials: Floats, single_root: bool, tree: BestTree) -> None:
    """It is a tree of the kind, of candidates, and scores what it says."""
    heads = tree.heads.tolist()
    assert is_tree(heads)
    assert is_projective(heads)
    assert not single_root or is_single_rooted(heads)
    marks = np.empty(len(potentials))
    assert mark_tree(graph, tree.heads, marks) == 0
    near = score_rounding(potentials, 3 * len(heads))  # arcs, and at most two pairs for each
    assert potentials[marks > 0.0].sum() == pytest.approx(tree.score, rel=0, abs=near)


@ROOTS
@EXAMPLES
@given(drawn=pruned())
def test_no_tree_scores_more_than_the_best(single_root: bool, drawn: Pruned) -> None:
    graph, potentials = drawn
    facts = listed(graph, potentials, single_root)
    best = best_of(graph, potentials, single_root)
    if not facts.ranked:
        assert best.score == FORBIDDEN
        assert set(best.heads.tolist()) == {-1}
        return
    near = score_rounding(potentials, 3 * len(best.heads))
    np.testing.assert_allclose(best.score, facts.ranked[0], rtol=0, atol=near)
    check_tree(graph, potentials, single_root, best)


@ROOTS
@EXAMPLES
@given(drawn=pruned(max_words=4))
def test_the_k_best_are_the_enumerated_ones_in_order(single_root: bool, drawn: Pruned) -> None:
    graph, potentials = drawn
    facts = listed(graph, potentials, single_root)
    found = k_best(graph, potentials, 12, single_root)
    near = score_rounding(potentials, 3 * 4)
    np.testing.assert_allclose([tree.score for tree in found], facts.ranked[:12], rtol=0, atol=near)
    assert len({tuple(tree.heads) for tree in found}) == len(found)
    for tree in found:
        check_tree(graph, potentials, single_root, tree)


def test_all_trees_are_found_where_k_is_large() -> None:
    graph = random_graph(4, 4, 0)
    potentials = random_potentials(graph, 1.0, 1)
    before = potentials.copy()
    found = k_best(graph, potentials, 1000, False)
    assert len(found) == len(listed(graph, potentials, False).ranked)
    np.testing.assert_array_equal(potentials, before)


def test_fewer_than_one_tree_is_refused() -> None:
    graph = random_graph(3, 2, 0)
    with pytest.raises(ValueError, match="k best trees: expected k >= 1, got 0"):
        k_best(graph, np.zeros(graph.pairs[-1]), 0)


@ROOTS
def test_candidates_without_a_tree_have_none(single_root: bool) -> None:
    cycle = lay_out(np.array([(0, 1), (3, 2), (2, 3)], dtype=np.int16), 4, True, True)
    potentials = np.zeros(cycle.pairs[-1])
    assert best_of(cycle, potentials, single_root).heads.tolist() == [-1] * 4
    assert k_best(cycle, potentials, 3, single_root) == []


@ROOTS
@PAIRS
def test_the_best_tree_is_all_of_the_mass_where_potentials_are_large(
    siblings: bool, grandparents: bool, single_root: bool
) -> None:
    graph = random_graph(30, 4, 2, siblings, grandparents)
    potentials = random_potentials(graph, 1e4, 3)
    marginals, marks = np.empty((2, len(potentials)))
    log_z = inside_outside(graph, potentials, single_root, marginals)
    best = best_of(graph, potentials, single_root)
    assert log_z == pytest.approx(best.score, rel=1e-13)
    mark_tree(graph, best.heads, marks)
    np.testing.assert_allclose(marginals, marks, atol=1e-9)


@ROOTS
def test_without_pairs_it_is_the_best_tree_of_the_arcs(single_root: bool) -> None:
    n = 40
    graph = random_graph(n, 4, 4)
    potentials = random_potentials(graph, 1.0, 5)
    m = len(graph.arcs)
    potentials[m:] = 0.0
    scores = np.full((n + 1, n + 1), FORBIDDEN)
    scores[graph.arcs[:, 0], graph.arcs[:, 1]] = potentials[:m]
    expected = projective.argmax(scores, single_root)
    best = best_of(graph, potentials, single_root)
    assert best.score == pytest.approx(expected.score, abs=1e-11)
    assert best.heads.tolist() == expected.heads.tolist()


@pytest.mark.compiled_only
@ROOTS
def test_long_sentences_have_a_best_tree(single_root: bool) -> None:
    graph = random_graph(600, 3, 6)
    potentials = random_potentials(graph, 3.0, 7)
    check_tree(graph, potentials, single_root, best_of(graph, potentials, single_root))
