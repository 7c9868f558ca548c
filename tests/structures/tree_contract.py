"""What both kinds of tree promise, checked against enumeration: one function a promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from oracles.trees import (
    all_trees,
    is_projective,
    is_single_rooted,
    is_tree,
    tree_facts,
    tree_score,
)

from egparse.structures.trees.dependency_trees import BestTree, Floats, TreeMarginals, entropy

FORBIDDEN = float("-inf")


class TreeStructure(Protocol):
    """The public functions of ``projective`` and ``nonprojective``."""

    log_partition: Callable[..., float]
    marginals: Callable[..., TreeMarginals]
    argmax: Callable[..., BestTree]
    k_best: Callable[..., list[BestTree]]


@st.composite
def score_matrices(draw: st.DrawFn, max_words: int = 5) -> npt.NDArray[np.float64]:
    """Scores with ties, forbidden arcs and gaps of hundreds of nats; unread cells hold nan."""
    size = draw(st.integers(1, max_words)) + 1
    cell = st.one_of(
        st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0]),
        st.sampled_from([0.0, FORBIDDEN]),
        st.floats(-3, 3),
        st.floats(-400, 400),
    )
    kinds = draw(st.sampled_from([cell, st.sampled_from([0.0, 1.0, FORBIDDEN]), st.floats(-2, 2)]))
    scores = np.array(draw(st.lists(kinds, min_size=size * size, max_size=size * size))).reshape(
        size, size
    )
    scores[:, 0] = np.nan
    np.fill_diagonal(scores, np.nan)
    return scores


def check_distribution(
    structure: TreeStructure, scores: Floats, single_root: bool, projective: bool
) -> None:
    """Log Z, every marginal and the entropy are those of the enumerated trees."""
    facts = tree_facts(scores.tolist(), single_root, projective)
    result = structure.marginals(scores, single_root)
    np.testing.assert_allclose(result.log_partition, facts.log_partition, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result.marginals, facts.marginals, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        structure.log_partition(scores, single_root), facts.log_partition, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(entropy(result, scores), facts.entropy, atol=1e-8)


def check_argmax(
    structure: TreeStructure, scores: Floats, single_root: bool, projective: bool
) -> None:
    """The best tree is a tree of the kind, scores what it says, and no tree scores more."""
    facts = tree_facts(scores.tolist(), single_root, projective)
    best = structure.argmax(scores, single_root)
    if not facts.ranked:
        assert best.score == FORBIDDEN
        assert best.heads.tolist() == [-1] * len(scores)
        return
    np.testing.assert_allclose(best.score, facts.ranked[0], rtol=1e-12, atol=1e-12)
    check_tree(best, scores, single_root, projective)


def check_tree(tree: BestTree, scores: Floats, single_root: bool, projective: bool) -> None:
    """The heads form a tree of the kind, and it has the score."""
    heads = tree.heads.tolist()
    assert is_tree(heads)
    assert not single_root or is_single_rooted(heads)
    assert not projective or is_projective(heads)
    np.testing.assert_allclose(
        tree.score, tree_score(scores.tolist(), heads), rtol=1e-12, atol=1e-12
    )


def check_k_best(
    structure: TreeStructure, scores: Floats, k: int, single_root: bool, projective: bool
) -> None:
    """The k best trees are distinct, of the kind, and have the k highest scores."""
    facts = tree_facts(scores.tolist(), single_root, projective)
    trees = structure.k_best(scores, k, single_root)
    np.testing.assert_allclose(
        [tree.score for tree in trees], facts.ranked[:k], rtol=1e-12, atol=1e-12
    )
    assert len({tuple(tree.heads.tolist()) for tree in trees}) == len(trees)
    for tree in trees:
        assert tuple(tree.heads.tolist()) in all_trees(len(scores) - 1, single_root, projective)
        check_tree(tree, scores, single_root, projective)
