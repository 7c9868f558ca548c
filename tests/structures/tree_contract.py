"""Both kinds of tree behind one interface, and what they promise, checked against enumeration: one
function a promise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
from tolerances import DOUBLE, score_rounding

from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.dependency_trees import BestTree, Floats

FORBIDDEN = float("-inf")


class TreeMarginals(NamedTuple):
    """log Z, and the probability of each arc."""

    log_partition: float
    marginals: Floats


class Trees(NamedTuple):
    """The functions of one kind of tree."""

    is_projective: bool
    kernel: Callable[..., float]
    workspace: Callable[[int], Any]
    argmax: Callable[..., BestTree]
    k_best: Callable[..., list[BestTree]]

    def marginals(self, scores: Floats, single_root: bool = True) -> TreeMarginals:
        """What the kernel writes for one sentence; unread cells may hold anything."""
        marginals = np.full_like(scores, np.nan)
        work = self.workspace(len(scores) - 1)
        return TreeMarginals(self.kernel(scores, single_root, marginals, work), marginals)

    def log_partition(self, scores: Floats, single_root: bool = True) -> float:
        return self.marginals(scores, single_root).log_partition


PROJECTIVE = Trees(
    True,
    projective.inside_outside,
    projective.workspace,
    projective.argmax,
    projective.k_best,
)
NONPROJECTIVE = Trees(
    False,
    nonprojective.matrix_tree,
    nonprojective.workspace,
    nonprojective.argmax,
    nonprojective.k_best,
)


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


def check_distribution(structure: Trees, scores: Floats, single_root: bool) -> None:
    """Log Z and every marginal are those of the enumerated trees."""
    facts = tree_facts(scores.tolist(), single_root, structure.is_projective)
    result = structure.marginals(scores, single_root)
    # the inside algorithm has n^3 items, and so many operations has elimination
    near = score_rounding(scores, len(scores), len(scores) ** 3)
    np.testing.assert_allclose(result.log_partition, facts.log_partition, rtol=0, atol=near)
    np.testing.assert_allclose(result.marginals, facts.marginals, rtol=3 * near, atol=DOUBLE)


def check_argmax(structure: Trees, scores: Floats, single_root: bool) -> None:
    """The best tree is a tree of the kind, scores what it says, and no tree scores more."""
    facts = tree_facts(scores.tolist(), single_root, structure.is_projective)
    best = structure.argmax(scores, single_root)
    if not facts.ranked:
        assert best.score == FORBIDDEN
        assert best.heads.tolist() == [-1] * len(scores)
        return
    near = score_rounding(scores, len(scores))
    np.testing.assert_allclose(best.score, facts.ranked[0], rtol=0, atol=near)
    check_tree(best, scores, single_root, structure.is_projective)


def check_tree(tree: BestTree, scores: Floats, single_root: bool, projective_only: bool) -> None:
    """The heads form a tree of the kind, and it has the score."""
    heads = tree.heads.tolist()
    assert is_tree(heads)
    assert not single_root or is_single_rooted(heads)
    assert not projective_only or is_projective(heads)
    near = score_rounding(scores, len(scores))
    np.testing.assert_allclose(tree.score, tree_score(scores.tolist(), heads), rtol=0, atol=near)


def check_k_best(structure: Trees, scores: Floats, k: int, single_root: bool) -> None:
    """The k best trees are distinct, of the kind, and have the k highest scores."""
    facts = tree_facts(scores.tolist(), single_root, structure.is_projective)
    trees = structure.k_best(scores, k, single_root)
    near = score_rounding(scores, len(scores))
    np.testing.assert_allclose([tree.score for tree in trees], facts.ranked[:k], rtol=0, atol=near)
    assert len({tuple(tree.heads.tolist()) for tree in trees}) == len(trees)
    for tree in trees:
        assert tuple(tree.heads.tolist()) in all_trees(
            len(scores) - 1, single_root, structure.is_projective
        )
        check_tree(tree, scores, single_root, structure.is_projective)
