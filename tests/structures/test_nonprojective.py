"""Non-projective trees against enumeration, and where a determinant would lose its digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from structures.tree_contract import (
    NONPROJECTIVE,
    check_argmax,
    check_distribution,
    check_k_best,
    score_matrices,
)

from egparse.structures.trees import nonprojective
from egparse.structures.trees.chu_liu_edmonds import chu_liu_edmonds, search_workspace
from egparse.structures.trees.dependency_trees import Floats
from egparse.structures.trees.leave_one_out import plan_halving
from egparse.structures.trees.nonprojective_log import log_matrix_tree

EXAMPLES = examples(150)


def random_scores(n: int, spread: float, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n + 1, n + 1)) * spread


@EXAMPLES
@given(scores=score_matrices(), single_root=st.booleans())
def test_the_distribution_is_that_of_the_enumerated_trees(
    scores: Floats, single_root: bool
) -> None:
    check_distribution(NONPROJECTIVE, scores, single_root)


@EXAMPLES
@given(scores=score_matrices(), single_root=st.booleans())
def test_no_tree_scores_more_than_the_best(scores: Floats, single_root: bool) -> None:
    check_argmax(NONPROJECTIVE, scores, single_root)


@examples(60)
@given(scores=score_matrices(max_words=4), k=st.integers(1, 9), single_root=st.booleans())
def test_the_k_best_trees_have_the_k_highest_scores(
    scores: Floats, k: int, single_root: bool
) -> None:
    check_k_best(NONPROJECTIVE, scores, k, single_root)


def log_marginals(scores: Floats, single_root: bool) -> tuple[float, Floats]:
    work = nonprojective.workspace(len(scores) - 1)
    result = np.zeros_like(scores)
    log_z = log_matrix_tree(scores, single_root, result, work.rates, work.escape, work.schedule)
    return log_z, result


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("spread", [0.1, 3.0, 1e4])
def test_scaling_and_logarithms_agree(spread: float, single_root: bool) -> None:
    scores = random_scores(12, spread)
    log_z, expected = log_marginals(scores, single_root)
    result = NONPROJECTIVE.marginals(scores, single_root)
    np.testing.assert_allclose(result.log_partition, log_z, rtol=1e-12)
    np.testing.assert_allclose(result.marginals, expected, atol=1e-8)


def attracting_pairs(n: int, strength: float) -> Floats:
    """Words 1-2, 3-4 .. want each other as heads: best heads form cycles, the Laplacian is near
    singular.
    """
    scores = random_scores(n, 1.0)
    for word in range(1, n, 2):
        scores[word, word + 1] += strength
        scores[word + 1, word] += strength
    return scores


@pytest.mark.parametrize("single_root", [True, False])
def test_a_nearly_singular_laplacian_costs_no_digits(single_root: bool) -> None:
    """With 40 nats between cycles and trees, scaled rates suffice; an inverse would have no digit
    left.
    """
    scores = attracting_pairs(20, 40.0)
    work = nonprojective.workspace(20)
    discount = nonprojective._root_discount(scores, work.shifts) if single_root else 0.0
    assert nonprojective._scaled_rates(scores, discount, work) > -math.inf
    marginals = np.zeros_like(scores)
    assert nonprojective._eliminate_all(21, marginals, work) > -math.inf, (
        "the first way must do here"
    )
    _, expected = log_marginals(scores, single_root)
    np.testing.assert_allclose(
        NONPROJECTIVE.marginals(scores, single_root).marginals, expected, rtol=1e-9
    )


@pytest.mark.parametrize("single_root", [True, False])
def test_rates_that_underflow_are_noticed(single_root: bool) -> None:
    scores = attracting_pairs(10, 1000.0)
    work = nonprojective.workspace(10)
    nonprojective._scaled_rates(scores, 0.0, work)
    assert nonprojective._eliminate_all(11, np.zeros_like(scores), work) == -math.inf
    result = NONPROJECTIVE.marginals(scores, single_root)
    log_z, expected = log_marginals(scores, single_root)
    assert result.log_partition == log_z
    np.testing.assert_array_equal(result.marginals, expected)
    np.testing.assert_allclose(result.marginals.sum(axis=0)[1:], 1.0, atol=1e-9)


def test_roots_that_every_word_wants_are_still_single() -> None:
    scores = random_scores(9, 1.0)
    scores[0] += 500.0
    result = NONPROJECTIVE.marginals(scores)
    lowered = scores.copy()
    lowered[0] -= 500.0
    reference = NONPROJECTIVE.marginals(lowered)
    np.testing.assert_allclose(result.log_partition, reference.log_partition + 500.0, rtol=1e-13)
    np.testing.assert_allclose(result.marginals, reference.marginals, rtol=1e-10)
    assert nonprojective.argmax(scores).heads.tolist().count(0) == 1
    assert nonprojective.argmax(scores, single_root=False).heads.tolist().count(0) == 9


def test_a_workspace_serves_shorter_sentences() -> None:
    work, search = nonprojective.workspace(30), search_workspace(30)
    for n in (30, 7, 1, 12):
        scores = random_scores(n, 2.0, seed=n)
        marginals, heads = np.empty_like(scores), np.empty(n + 1, dtype=np.int32)
        log_z = nonprojective.matrix_tree(scores, True, marginals, work)
        score = chu_liu_edmonds(scores, True, heads, search)
        expected = NONPROJECTIVE.marginals(scores)
        assert log_z == expected.log_partition
        np.testing.assert_array_equal(marginals, expected.marginals)
        best = nonprojective.argmax(scores)
        assert (heads.tolist(), score) == (best.heads.tolist(), best.score)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
def test_halving_leaves_every_word_alone_once(n: int) -> None:
    steps = np.empty((2 * n + 2, 4), dtype=np.int32)
    n_steps = plan_halving(n + 1, steps)
    assert n_steps == 2 * n - 1
    ranges = steps[:n_steps, :2].tolist()
    assert [first for first, last in ranges if last - first == 1] == list(range(1, n + 1))
    for first, last, parent, depth in steps[1:n_steps].tolist():
        assert ranges[parent][0] <= first < last <= ranges[parent][1]
        assert depth == steps[parent, 3] + 1


def test_scores_that_are_no_scores_are_refused() -> None:
    with pytest.raises(ValueError, match=r"got nan at head 0, dependent 1"):
        nonprojective.argmax(np.array([[0.0, math.nan], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="expected k >= 1, got 0"):
        nonprojective.k_best(np.zeros((3, 3)), 0)
