"""Laws of distributions over trees at lengths where nothing can be enumerated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.trees import is_projective, is_single_rooted, is_tree
from structures.tree_contract import NONPROJECTIVE, PROJECTIVE, Trees

from egparse.compilation.kernel import INTERPRETED
from egparse.structures.trees.dependency_trees import Floats

STRUCTURES = [
    pytest.param(PROJECTIVE, id="projective"),
    pytest.param(NONPROJECTIVE, id="nonprojective"),
]
both_structures = pytest.mark.parametrize("structure", STRUCTURES)
both_roots = pytest.mark.parametrize(
    "single_root", [True, False], ids=["single-root", "multi-root"]
)
lengths = pytest.mark.parametrize("n", [30, pytest.param(80, marks=pytest.mark.compiled_only)])


def random_scores(n: int, spread: float = 2.0) -> Floats:
    return np.random.default_rng(n).normal(size=(n + 1, n + 1)) * spread


def log_count(structure: Trees, n: int, single_root: bool) -> float:
    """Log of the number of trees over n words."""
    if structure.is_projective:
        count = (
            math.comb(3 * n - 2, n - 1) // n if single_root else math.comb(3 * n, n) // (2 * n + 1)
        )
    else:
        count = n ** (n - 1) if single_root else (n + 1) ** (n - 1)
    return math.log(count)


@both_structures
@both_roots
@pytest.mark.parametrize(
    "n", [1, 2, 30, *(pytest.param(n, marks=pytest.mark.compiled_only) for n in (80, 160))]
)
def test_zero_scores_count_the_trees(structure: Trees, n: int, single_root: bool) -> None:
    result = structure.marginals(np.zeros((n + 1, n + 1)), single_root)
    expected = log_count(structure, n, single_root)
    assert result.log_partition == pytest.approx(expected, rel=1e-12, abs=1e-12)


@both_structures
@both_roots
@lengths
@pytest.mark.parametrize("spread", [2.0, 50.0, 1e4])
def test_every_word_has_one_head(
    structure: Trees, n: int, single_root: bool, spread: float
) -> None:
    result = structure.marginals(random_scores(n, spread), single_root)
    assert math.isfinite(result.log_partition)
    assert (result.marginals >= 0.0).all()
    np.testing.assert_allclose(result.marginals.sum(axis=0)[1:], 1.0, atol=1e-9)
    assert not result.marginals[:, 0].any()
    assert not np.diag(result.marginals).any()
    if single_root:
        assert result.marginals[0].sum() == pytest.approx(1.0, abs=1e-9)


@both_structures
@both_roots
def test_marginals_are_the_gradient(structure: Trees, single_root: bool) -> None:
    n, step = 15 if INTERPRETED else 40, 1e-4
    scores = random_scores(n)
    marginals = structure.marginals(scores, single_root).marginals
    likely = np.argwhere(marginals > 0.05)
    unlikely = np.argwhere((marginals < 0.05) & (marginals > 0.0))
    for head, dependent in [*likely[:: max(1, len(likely) // 8)], *unlikely[:: len(unlikely) // 8]]:
        above, below = scores.copy(), scores.copy()
        above[head, dependent] += step
        below[head, dependent] -= step
        slope = (
            structure.log_partition(above, single_root)
            - structure.log_partition(below, single_root)
        ) / (2 * step)
        assert slope == pytest.approx(marginals[head, dependent], abs=1e-8)


@both_structures
@both_roots
@lengths
def test_a_constant_adds_itself_once_a_word(structure: Trees, n: int, single_root: bool) -> None:
    scores = random_scores(n)
    plain, raised = (
        structure.marginals(scores, single_root),
        structure.marginals(scores + 7.25, single_root),
    )
    assert raised.log_partition == pytest.approx(plain.log_partition + 7.25 * n, rel=1e-13)
    np.testing.assert_allclose(raised.marginals, plain.marginals, atol=1e-11)


@both_structures
@both_roots
@lengths
@pytest.mark.parametrize("spread", [0.5, 5.0, 1e4])
def test_log_z_lies_above_the_best_score_by_at_most_the_log_count(
    structure: Trees, n: int, single_root: bool, spread: float
) -> None:
    scores = random_scores(n, spread)
    best = structure.argmax(scores, single_root)
    heads = best.heads.tolist()
    assert is_tree(heads)
    assert not single_root or is_single_rooted(heads)
    assert not structure.is_projective or is_projective(heads)
    log_z = structure.log_partition(scores, single_root)
    slack = 1e-12 * abs(best.score)
    assert best.score - slack <= log_z <= best.score + log_count(structure, n, single_root) + slack


@both_structures
@both_roots
def test_in_the_limit_of_large_scores_the_best_tree_has_all_the_mass(
    structure: Trees, single_root: bool
) -> None:
    scores = random_scores(30) * 1e4
    best = structure.argmax(scores, single_root)
    marginals = structure.marginals(scores, single_root).marginals
    np.testing.assert_allclose(marginals[best.heads[1:], np.arange(1, 31)], 1.0, atol=1e-8)


@both_structures
@both_roots
def test_k_best_trees_start_with_the_best_and_never_rise(
    structure: Trees, single_root: bool
) -> None:
    scores = random_scores(30)
    trees = structure.k_best(scores, 10, single_root)
    values = [tree.score for tree in trees]
    assert values[0] == pytest.approx(structure.argmax(scores, single_root).score, rel=1e-13)
    assert values == sorted(values, reverse=True)
    assert len({tuple(tree.heads.tolist()) for tree in trees}) == 10
    for tree in trees:
        assert is_tree(tree.heads.tolist())
        assert not single_root or is_single_rooted(tree.heads.tolist())
        assert not structure.is_projective or is_projective(tree.heads.tolist())


@both_roots
def test_projective_trees_are_trees(single_root: bool) -> None:
    scores = random_scores(50)
    assert (
        PROJECTIVE.argmax(scores, single_root).score
        <= NONPROJECTIVE.argmax(scores, single_root).score
    )
    assert PROJECTIVE.log_partition(scores, single_root) < NONPROJECTIVE.log_partition(
        scores, single_root
    )


@both_structures
@both_roots
def test_a_chain_of_allowed_arcs_is_the_only_tree(structure: Trees, single_root: bool) -> None:
    n = 60
    scores = np.full((n + 1, n + 1), -math.inf)
    scores[np.arange(n), np.arange(1, n + 1)] = 1.5
    result = structure.marginals(scores, single_root)
    assert result.log_partition == pytest.approx(1.5 * n, rel=1e-13)
    assert structure.argmax(scores, single_root).heads.tolist() == list(range(-1, n))
    assert len(structure.k_best(scores, 3, single_root)) == 1
    scores[0, 1] = -math.inf
    nothing = structure.marginals(scores, single_root)
    assert nothing.log_partition == -math.inf
    assert not nothing.marginals.any()
