"""Projective trees against enumeration, and each of the three ways to their marginals against the
others.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from structures.tree_contract import (
    PROJECTIVE,
    check_argmax,
    check_distribution,
    check_k_best,
    score_matrices,
)

from egparse.structures.trees import projective
from egparse.structures.trees.dependency_trees import Floats
from egparse.structures.trees.projective_log import log_inside_outside

EXAMPLES = examples(150)


def random_scores(n: int, spread: float, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n + 1, n + 1)) * spread


@EXAMPLES
@given(scores=score_matrices(), single_root=st.booleans())
def test_the_distribution_is_that_of_the_enumerated_trees(
    scores: Floats, single_root: bool
) -> None:
    check_distribution(PROJECTIVE, scores, single_root)


@EXAMPLES
@given(scores=score_matrices(), single_root=st.booleans())
def test_no_tree_scores_more_than_the_best(scores: Floats, single_root: bool) -> None:
    check_argmax(PROJECTIVE, scores, single_root)


@EXAMPLES
@given(scores=score_matrices(), k=st.integers(1, 9), single_root=st.booleans())
def test_the_k_best_trees_have_the_k_highest_scores(
    scores: Floats, k: int, single_root: bool
) -> None:
    check_k_best(PROJECTIVE, scores, k, single_root)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("spread", [0.1, 3.0, 1e4])
def test_scaling_and_logarithms_agree(spread: float, single_root: bool) -> None:
    scores = random_scores(12, spread)
    work = projective.workspace(12)
    expected = np.zeros_like(scores)
    log_z = log_inside_outside(scores, single_root, expected, work)
    result = PROJECTIVE.marginals(scores, single_root)
    np.testing.assert_allclose(result.log_partition, log_z, rtol=1e-13)
    np.testing.assert_allclose(result.marginals, expected, atol=1e-9)


def conflicting_scores(n: int, strength: float) -> Floats:
    """Every word wants its mirror image in the sentence as its head: the best heads are far from a
    tree.
    """
    scores = random_scores(n, 1.0)
    for dependent in range(1, n + 1):
        scores[n + 1 - dependent, dependent] += strength
    return scores


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("strength", [40.0, 1000.0])
def test_underflow_of_the_scaled_partition_is_noticed(strength: float, single_root: bool) -> None:
    scores = conflicting_scores(40, strength)
    work = projective.workspace(40)
    assert projective._highest_scores(scores, work.shifts) > -math.inf
    scaled = projective._scaled_inside(scores, projective.GROWTH, single_root, work)
    assert scaled < projective.SMALLEST, "this test needs scores for which the first way is lost"
    expected = np.zeros_like(scores)
    log_z = log_inside_outside(scores, single_root, expected, work)
    result = PROJECTIVE.marginals(scores, single_root)
    np.testing.assert_allclose(result.log_partition, log_z, rtol=1e-13)
    np.testing.assert_allclose(result.marginals, expected, atol=1e-9)
    np.testing.assert_allclose(result.marginals.sum(axis=0)[1:], 1.0, atol=1e-9)


def test_a_workspace_serves_shorter_sentences() -> None:
    work = projective.workspace(30)
    for n in (30, 7, 1, 12):
        scores = random_scores(n, 2.0, seed=n)
        marginals, heads = np.empty_like(scores), np.empty(n + 1, dtype=np.int32)
        log_z = projective.inside_outside(scores, True, marginals, work)
        score = projective.eisner(scores, True, heads, work)
        assert log_z == PROJECTIVE.log_partition(scores)
        np.testing.assert_array_equal(marginals, PROJECTIVE.marginals(scores).marginals)
        assert (heads.tolist(), score) == (
            projective.argmax(scores).heads.tolist(),
            projective.argmax(scores).score,
        )


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 4)), r"expected shape \(n\+1, n\+1\) with n >= 1, got \(3, 4\)"),
        (np.zeros((1, 1)), r"with n >= 1, got \(1, 1\)"),
        (np.array([[0.0, math.nan], [0.0, 0.0]]), r"got nan at head 0, dependent 1"),
        (np.array([[0.0, math.inf], [0.0, 0.0]]), r"got inf at head 0, dependent 1"),
    ],
)
def test_scores_that_are_no_scores_are_refused(scores: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        projective.argmax(scores)


def test_fewer_than_one_best_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="expected k >= 1, got 0"):
        projective.k_best(np.zeros((3, 3)), 0)
