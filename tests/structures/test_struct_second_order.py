"""Trees of second order against enumeration, and laws where enumeration cannot reach."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from structures.second_order_contract import (
    Parts,
    check_argmax,
    check_distribution,
    part_scores,
    random_parts,
    spoilt,
    used,
)

from egparse.structures import grandparent_trees, projective, sibling_trees
from egparse.structures.second_order_parts import checked_grandparents, grandparent_cells, sibling_cells
from egparse.structures.semirings import LOG, PROBABILITY

EXAMPLES = settings(max_examples=120, deadline=None)
BOTH = pytest.mark.parametrize(
    "structure", [sibling_trees, grandparent_trees], ids=["sibling", "grandparent"]
)
ROOTS = pytest.mark.parametrize("single_root", [True, False], ids=["single", "multi"])


@BOTH
@ROOTS
@EXAMPLES
@given(parts=part_scores())
def test_distribution_is_that_of_the_enumerated_trees(
    structure: ModuleType, single_root: bool, parts: Parts
) -> None:
    check_distribution(structure, parts, single_root)


@BOTH
@ROOTS
@EXAMPLES
@given(parts=part_scores())
def test_no_tree_scores_more_than_the_best(structure: ModuleType, single_root: bool, parts: Parts) -> None:
    check_argmax(structure, parts, single_root)


@BOTH
@ROOTS
@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_without_pairs_it_is_the_arc_factored_distribution(
    structure: ModuleType, single_root: bool, n: int
) -> None:
    arcs = random_parts(n, 2.0, seed=n).arcs
    scores = used(structure, spoilt(arcs, np.zeros((n + 1,) * 3), np.zeros((n + 1,) * 3)))
    expected = projective.marginals(arcs, single_root)
    result = structure.marginals(*scores, single_root)
    assert result.log_partition == pytest.approx(expected.log_partition, abs=1e-11)
    np.testing.assert_allclose(result.arcs, expected.marginals, rtol=1e-11, atol=1e-13)
    best = structure.argmax(*scores, single_root)
    assert best.score == pytest.approx(projective.argmax(arcs, single_root).score, abs=1e-11)


@ROOTS
def test_without_grandparents_it_is_the_distribution_of_siblings(single_root: bool) -> None:
    parts = random_parts(20, 2.0)
    scores = spoilt(parts.arcs, parts.siblings, np.zeros_like(parts.siblings))
    expected = sibling_trees.marginals(*scores[:2], single_root)
    result = grandparent_trees.marginals(*scores, single_root)
    assert result.log_partition == pytest.approx(expected.log_partition, abs=1e-11)
    np.testing.assert_allclose(result.arcs, expected.arcs, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(result.siblings, expected.siblings, rtol=1e-10, atol=1e-13)


@BOTH
@ROOTS
def test_trees_are_counted(structure: ModuleType, single_root: bool) -> None:
    n = 30
    count = math.comb(3 * n - 2, n - 1) // n if single_root else math.comb(3 * n, n) // (2 * n + 1)
    scores = used(structure, random_parts(n, 0.0))
    assert structure.log_partition(*scores, single_root) == pytest.approx(math.log(count), abs=1e-11)


@BOTH
@ROOTS
@pytest.mark.parametrize("spread", [0.0, 2.0, 1e4])
def test_marginals_of_all_kinds_agree(structure: ModuleType, single_root: bool, spread: float) -> None:
    parts = random_parts(25, spread)
    result = structure.marginals(*used(structure, parts), single_root)
    near = {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_allclose(result.arcs.sum(axis=0)[1:], 1.0, **near)
    np.testing.assert_allclose(result.siblings.sum(axis=1), result.arcs, **near)
    assert (result.siblings[~sibling_cells(26)] == 0.0).all()
    if single_root:
        np.testing.assert_allclose(result.arcs[0].sum(), 1.0, **near)
        assert not result.siblings[0, 1:].any()
    if structure is grandparent_trees:
        np.testing.assert_allclose(result.grandparents.sum(axis=0)[1:], result.arcs[1:], **near)
        assert (result.grandparents[~grandparent_cells(26)] == 0.0).all()


@BOTH
@ROOTS
def test_marginals_are_the_gradient_of_the_log_partition(structure: ModuleType, single_root: bool) -> None:
    parts = random_parts(9, 1.5)
    scores = used(structure, parts)
    result = structure.marginals(*scores, single_root)
    rng = np.random.default_rng(1)
    step = 1e-5
    for array, marginals in zip(scores, result[1:], strict=True):
        readable = np.argwhere(np.isfinite(array))
        for cell in map(tuple, rng.permutation(readable)[:25]):
            before = array[cell]
            array[cell] = before + step
            above = structure.log_partition(*scores, single_root)
            array[cell] = before - step
            below = structure.log_partition(*scores, single_root)
            array[cell] = before
            assert (above - below) / (2 * step) == pytest.approx(marginals[cell], abs=1e-8)


@BOTH
@ROOTS
def test_a_shift_of_all_arcs_moves_the_log_partition_alone(structure: ModuleType, single_root: bool) -> None:
    parts = random_parts(15)
    scores = used(structure, parts)
    result = structure.marginals(*scores, single_root)
    shifted = structure.marginals(parts.arcs + 1e4, *scores[1:], single_root)
    assert shifted.log_partition == pytest.approx(result.log_partition + 15e4, abs=1e-7)
    for own, other in zip(shifted[1:], result[1:], strict=True):
        np.testing.assert_allclose(own, other, atol=1e-9)


@BOTH
@ROOTS
def test_the_best_tree_is_all_of_the_mass_where_scores_are_large(
    structure: ModuleType, single_root: bool
) -> None:
    scores = used(structure, random_parts(30, 1e4))
    result = structure.marginals(*scores, single_root)
    best = structure.argmax(*scores, single_root)
    assert result.log_partition == pytest.approx(best.score, rel=1e-13)
    np.testing.assert_array_equal(result.arcs.argmax(axis=0)[1:], best.heads[1:])


@BOTH
@ROOTS
def test_logarithms_agree_with_probabilities(structure: ModuleType, single_root: bool) -> None:
    parts = random_parts(20, 3.0)
    expected = structure.marginals(*used(structure, parts), single_root)
    # every word wants its mirror image as its head: the best heads are far from a tree, probabilities underflow
    arcs = parts.arcs.copy()
    for d in range(1, 21):
        arcs[21 - d, d] += 1000.0
    for matrix, way in ((parts.arcs, PROBABILITY), (arcs, LOG)):
        scores = used(structure, parts._replace(arcs=matrix))
        assert structure._log_partition(*scores, single_root, structure.workspace(20))[1] == way
    result = structure.marginals(*used(structure, parts._replace(arcs=arcs)), single_root)
    np.testing.assert_allclose(result.arcs.sum(axis=0)[1:], 1.0, atol=1e-9)
    # and forced upon scores that both ways can do, the sweeps agree
    forced = _log_marginals(structure, parts, single_root)
    np.testing.assert_allclose(forced, expected.siblings, rtol=1e-9, atol=1e-14)


def _log_marginals(structure: ModuleType, parts: Parts, single_root: bool) -> np.ndarray:
    """Marginals of siblings by logarithms, whatever the scores."""
    size = len(parts.arcs)
    work = structure.workspace(size - 1)
    if structure is sibling_trees:
        pairs = work.pairs.reshape((size,) * 3)
        sibling_trees.weigh_pairs(*parts[:2], single_root, LOG, pairs, work.rows)
    else:
        grandparent_trees._weigh(*parts, single_root, LOG, work)
    structure._inside(size, single_root, LOG, work)
    structure._share(size, single_root, LOG, work)
    return work.pair_counts.reshape((size,) * 3).transpose(1, 2, 0)


@BOTH
@ROOTS
def test_where_no_tree_is_possible_nothing_is(structure: ModuleType, single_root: bool) -> None:
    for n, forbid in ((1, "all"), (6, "all"), (6, "root"), (6, "pairs")):
        parts = random_parts(n)
        if forbid == "pairs":
            parts.siblings[:, :, 3] = -math.inf
        elif forbid == "root":
            parts.arcs[0, 1:] = -math.inf
        else:
            parts.arcs[:, 1:] = -math.inf
        scores = used(structure, parts)
        result = structure.marginals(*scores, single_root)
        assert result.log_partition == -math.inf
        assert all(not array.any() for array in result[1:])
        assert structure.log_partition(*scores, single_root) == -math.inf
        best = structure.argmax(*scores, single_root)
        assert (best.score, set(best.heads.tolist())) == (-math.inf, {-1})


@BOTH
def test_a_workspace_serves_shorter_sentences(structure: ModuleType) -> None:
    work = structure.workspace(14)
    for array in work:
        array.fill(np.nan)
    for n in (14, 3, 1, 8):
        scores = used(structure, random_parts(n, 2.0, seed=n))
        arrays = [np.empty_like(array) for array in scores]
        heads = np.empty(n + 1, dtype=np.int32)
        expected = structure.marginals(*scores)
        assert structure.inside_outside(*scores, True, *arrays, work) == expected.log_partition
        for own, other in zip(arrays, expected[1:], strict=True):
            np.testing.assert_array_equal(own, other)
        assert structure.viterbi(*scores, True, heads, work) == structure.argmax(*scores).score
        assert heads.tolist() == structure.argmax(*scores).heads.tolist()


def test_scores_that_are_no_scores_are_refused() -> None:
    parts = random_parts(3)
    with pytest.raises(ValueError, match=r"sibling scores: expected shape \(4, 4, 4\).*got \(4, 4\)"):
        sibling_trees.marginals(parts.arcs, parts.arcs)
    with pytest.raises(ValueError, match=r"grandparent scores: expected shape \(3, 3, 3\)"):
        checked_grandparents(parts.grandparents, 3)
    parts.siblings[1, 2, 3] = math.nan
    with pytest.raises(ValueError, match=r"sibling scores: .* got nan at \[1, 2, 3\]"):
        sibling_trees.argmax(*parts[:2])
    parts.grandparents[0, 1, 2] = math.inf
    with pytest.raises(ValueError, match=r"grandparent scores: .* got inf at \[0, 1, 2\]"):
        grandparent_trees.log_partition(parts.arcs, np.zeros((4, 4, 4)), parts.grandparents)
