"""Belief propagation: exact where it should be, a stationary estimate elsewhere, and no nan
whatever the potentials.

And the search for the best tree by it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from properties import examples
from structures.test_arc_graph import (
    FORBIDDEN,
    PAIRS,
    ROOTS,
    Floats,
    Pruned,
    listed,
    parts_of,
    pruned,
    random_graph,
    random_potentials,
)

from egparse.structures.second_order.annealing import Annealing, find_tree
from egparse.structures.second_order.arc_graph import ArcGraph, Ints, lay_out, mark_tree
from egparse.structures.second_order.loopy import Outcome, Schedule, propagate, workspace
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import best_tree
from egparse.structures.trees.dependency_trees import NO_HEAD

EXAMPLES = examples(80)
TREES = pytest.mark.parametrize("is_projective", [True, False], ids=["projective", "nonprojective"])
TO_THE_END = Schedule(sweeps=1000, residual=1e-12)


def propagated(
    graph: ArcGraph,
    potentials: Floats,
    is_projective: bool,
    single_root: bool = True,
    schedule: Schedule = TO_THE_END,
    with_pairs: bool = True,
) -> tuple[Outcome, Floats]:
    marginals = np.zeros(len(potentials))
    work = workspace(len(graph.into) - 2, is_projective=is_projective)
    outcome = propagate(
        graph, potentials, is_projective, single_root, schedule, with_pairs, marginals, work
    )
    return outcome, marginals


def near_exact(graph: ArcGraph, spread: float, seed: int) -> Floats:
    """Arcs of standard deviation 2, pairs of ``spread``."""
    potentials = random_potentials(graph, 1.0, seed)
    m = len(graph.arcs)
    potentials[:m] *= 2.0
    potentials[m:] *= spread
    return potentials


@TREES
@ROOTS
@EXAMPLES
@given(drawn=pruned(max_words=4))
def test_without_pairs_it_is_exact(is_projective: bool, single_root: bool, drawn: Pruned) -> None:
    graph, potentials = drawn
    m = len(graph.arcs)
    potentials[:m] = np.clip(
        potentials[:m], -30.0, 30.0, where=potentials[:m] > FORBIDDEN, out=potentials[:m]
    )
    potentials[m:] = 0.0
    facts = listed(graph, potentials, single_root, is_projective)
    outcome, marginals = propagated(graph, potentials, is_projective, single_root)
    np.testing.assert_allclose(outcome.log_partition, facts.log_partition, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(marginals[:m], facts.marginals[:m], atol=1e-8)


@TREES
@PAIRS
def test_weak_pairs_are_nearly_exact(
    is_projective: bool, siblings: bool, grandparents: bool
) -> None:
    for seed in range(5):
        graph = random_graph(4, 4, seed, siblings, grandparents)
        potentials = near_exact(graph, 0.1, seed)
        m = len(graph.arcs)
        facts = listed(graph, potentials, True, is_projective)
        outcome, marginals = propagated(graph, potentials, is_projective)
        assert outcome.log_partition == pytest.approx(facts.log_partition, abs=0.05)
        np.testing.assert_allclose(marginals[:m], facts.marginals[:m], atol=0.06)


@TREES
@PAIRS
def test_the_estimate_is_stationary_in_the_messages(
    is_projective: bool, siblings: bool, grandparents: bool
) -> None:
    graph = random_graph(8, 4, 1, siblings, grandparents)
    potentials = near_exact(graph, 0.3, 2)
    outcome, marginals = propagated(graph, potentials, is_projective)
    assert outcome.residual <= TO_THE_END.residual
    step = 1e-4
    for place in np.random.default_rng(3).permutation(len(potentials))[:20]:
        above, below = potentials.copy(), potentials.copy()
        above[place] += step
        below[place] -= step
        slope = propagated(graph, above, is_projective)[0].log_partition
        slope -= propagated(graph, below, is_projective)[0].log_partition
        assert slope / (2 * step) == pytest.approx(marginals[place], abs=1e-6)


@TREES
@ROOTS
def test_pseudo_marginals_agree_with_each_other(is_projective: bool, single_root: bool) -> None:
    graph = random_graph(12, 4, 4)
    _, marginals = propagated(graph, near_exact(graph, 0.5, 5), is_projective, single_root)
    m = len(graph.arcs)
    assert (marginals >= 0.0).all()
    assert (marginals <= 1.0 + 1e-9).all()
    into = np.bincount(graph.arcs[:, 1], marginals[:m], minlength=14)
    np.testing.assert_allclose(into[1:13], 1.0, atol=1e-9)
    sums = dict.fromkeys(map(tuple, graph.arcs.tolist()), 0.0)
    above = dict(sums)
    for place, (kind, first, second, d) in enumerate(parts_of(graph)):
        if kind in ("start", "sibling"):
            sums[first, d] += marginals[place]
        elif kind == "grandparent":
            above[second, d] += marginals[place]
    for a, (h, d) in enumerate(graph.arcs.tolist()):
        assert sums[h, d] == pytest.approx(marginals[a], abs=1e-7)
        assert h == 0 or above[h, d] == pytest.approx(marginals[a], abs=1e-7)


@TREES
def test_damping_reaches_the_same_point(is_projective: bool) -> None:
    graph = random_graph(10, 4, 6)
    potentials = near_exact(graph, 0.5, 7)
    plain, marginals = propagated(graph, potentials, is_projective)
    damped, again = propagated(
        graph, potentials, is_projective, schedule=TO_THE_END._replace(damping=0.5)
    )
    assert damped.sweeps > plain.sweeps
    assert damped.log_partition == pytest.approx(plain.log_partition, abs=1e-8)
    np.testing.assert_allclose(again, marginals, atol=1e-8)


@TREES
def test_the_outcome_says_how_far_it_came(is_projective: bool) -> None:
    graph = random_graph(12, 4, 8)
    potentials = near_exact(graph, 1.0, 9)
    enough, _ = propagated(graph, potentials, is_projective, schedule=Schedule(500, 1e-6))
    assert 1 < enough.sweeps < 500
    assert 0.0 <= enough.residual <= 1e-6
    cut, _ = propagated(graph, potentials, is_projective, schedule=Schedule(2, 1e-6))
    assert cut.sweeps == 2
    assert cut.residual > 1e-6
    arcs_alone = lay_out(graph.arcs, 13, False, False)
    assert propagated(arcs_alone, potentials[: len(graph.arcs)], is_projective)[0].sweeps == 0


@TREES
def test_arcs_are_the_same_without_pair_marginals(is_projective: bool) -> None:
    graph = random_graph(12, 4, 10)
    potentials = near_exact(graph, 0.5, 11)
    m = len(graph.arcs)
    _, full = propagated(graph, potentials, is_projective)
    _, arcs_only = propagated(graph, potentials, is_projective, with_pairs=False)
    np.testing.assert_array_equal(arcs_only[:m], full[:m])
    assert not arcs_only[m:].any()


@TREES
@ROOTS
def test_forbidden_parts_have_no_probability(is_projective: bool, single_root: bool) -> None:
    for seed in range(10):
        graph = random_graph(8, 4, seed)
        potentials = near_exact(graph, 0.5, seed)
        kinds = [kind for kind, *_ in parts_of(graph)]
        rng = np.random.default_rng(seed)
        spared = np.array([kind in ("start", "stop") for kind in kinds])
        spared[: len(graph.arcs)] = graph.arcs[:, 0] == graph.arcs[:, 1] - 1
        forbidden = ~spared & (rng.random(len(potentials)) < 0.15)
        # the chain of each word under the one before it remains
        for place, (kind, g, h, d) in enumerate(parts_of(graph)):
            if kind == "grandparent" and (g, h) == (h - 1, d - 1):
                forbidden[place] = False
        potentials[forbidden] = FORBIDDEN
        outcome, marginals = propagated(
            graph, potentials, is_projective, single_root, Schedule(50, 1e-8)
        )
        assert np.isfinite(outcome.log_partition)
        assert np.isfinite(marginals).all()
        assert not marginals[forbidden].any()


@TREES
@ROOTS
def test_candidates_without_a_tree_are_told(is_projective: bool, single_root: bool) -> None:
    graph = lay_out(np.array([(0, 1), (3, 2), (2, 3)], dtype=np.int16), 4, True, True)
    outcome, marginals = propagated(graph, np.zeros(graph.pairs[-1]), is_projective, single_root)
    assert outcome.log_partition == FORBIDDEN
    assert not marginals.any()


@TREES
@ROOTS
@PAIRS
@pytest.mark.parametrize("nats", [50.0, 400.0, 5000.0])
def test_saturated_potentials_give_numbers(
    is_projective: bool, single_root: bool, siblings: bool, grandparents: bool, nats: float
) -> None:
    for seed in range(10):
        graph = random_graph(12, 4, seed, siblings, grandparents)
        drawn = random_potentials(graph, 1.0, seed)
        potentials = nats * (np.sign(drawn) if seed % 2 else drawn)
        for schedule in (Schedule(), Schedule(30, 1e-9, 0.3)):
            outcome, marginals = propagated(graph, potentials, is_projective, single_root, schedule)
            assert np.isfinite(outcome.log_partition)
            assert np.isfinite(outcome.residual)
            assert ((marginals >= 0.0) & (marginals <= 1.0 + 1e-9)).all()


@pytest.mark.compiled_only
def test_it_is_near_the_exact_distribution_of_projective_trees() -> None:
    errors = []
    for seed in range(10):
        graph = random_graph(20, 4, seed)
        potentials = near_exact(graph, 0.3, seed)
        exact = np.zeros(len(potentials))
        log_z = inside_outside(graph, potentials, True, exact)
        outcome, marginals = propagated(graph, potentials, True)
        errors.append(np.abs(marginals - exact)[: len(graph.arcs)])
        assert outcome.log_partition == pytest.approx(log_z, abs=0.3)
    assert 1e-4 < np.concatenate(errors).mean() < 0.03


# --- the search for the best tree -----------------------------------------------------------------


def found(
    graph: ArcGraph, potentials: Floats, is_projective: bool, single_root: bool = True
) -> tuple[float, Ints]:
    heads = np.zeros(len(graph.into) - 1, dtype=np.int32)
    work = workspace(len(heads) - 1, is_projective=is_projective)
    before = potentials.copy()
    score = find_tree(graph, potentials, is_projective, single_root, Annealing(), heads, work)
    np.testing.assert_array_equal(potentials, before)
    return score, heads


def score_of(graph: ArcGraph, potentials: Floats, heads: Ints) -> float:
    """That of a tree of candidate arcs."""
    parts = np.empty(len(potentials))
    assert mark_tree(graph, heads, parts) == 0
    return float(potentials[parts > 0.0].sum())


@TREES
@ROOTS
@EXAMPLES
@given(drawn=pruned(max_words=4))
def test_search_is_exact_without_pairs(
    is_projective: bool, single_root: bool, drawn: Pruned
) -> None:
    m = len(drawn.graph.arcs)
    graph = lay_out(drawn.graph.arcs, len(drawn.graph.into) - 1, False, False)
    potentials = drawn.potentials[:m]
    ranked = listed(graph, potentials, single_root, is_projective).ranked
    score, heads = found(graph, potentials, is_projective, single_root)
    if ranked:
        assert score == pytest.approx(ranked[0], rel=1e-12, abs=1e-9)
        assert score_of(graph, potentials, heads) == pytest.approx(score)
    else:
        assert score == FORBIDDEN


@TREES
@ROOTS
@PAIRS
def test_search_nearly_always_finds_the_best_of_few_trees(
    is_projective: bool, single_root: bool, siblings: bool, grandparents: bool
) -> None:
    best = []
    for seed in range(30):
        graph = random_graph(4, 4, seed, siblings, grandparents)
        potentials = near_exact(graph, 1.0, seed)
        ranked = listed(graph, potentials, single_root, is_projective).ranked
        score, heads = found(graph, potentials, is_projective, single_root)
        assert score == pytest.approx(score_of(graph, potentials, heads))
        assert score <= ranked[0] + 1e-9
        best.append(score >= ranked[0] - 1e-9)
    assert np.mean(best) >= 0.9


@pytest.mark.compiled_only
def test_search_mostly_finds_the_best_of_many_trees() -> None:
    best = []
    for seed in range(40):
        graph = random_graph(12, 4, seed)
        potentials = near_exact(graph, 1.0, seed)
        exact = best_tree(graph, potentials, True, np.empty(13, dtype=np.int32))
        score, heads = found(graph, potentials, True)
        assert score == pytest.approx(score_of(graph, potentials, heads))
        assert score <= exact + 1e-9
        best.append(score >= exact - 1e-9)
    assert np.mean(best) >= 0.8


@TREES
@pytest.mark.compiled_only
def test_search_does_not_depend_on_the_scale(is_projective: bool) -> None:
    for seed in range(10):
        graph = random_graph(12, 4, seed)
        potentials = near_exact(graph, 1.0, seed)
        score, heads = found(graph, potentials, is_projective)
        for scale in (2.0**-8, 2.0**12):
            scaled, again = found(graph, scale * potentials, is_projective)
            assert scaled == pytest.approx(scale * score)
            np.testing.assert_array_equal(again, heads)


@TREES
@ROOTS
def test_search_tells_candidates_without_a_tree(is_projective: bool, single_root: bool) -> None:
    graph = lay_out(np.array([(0, 1), (3, 2), (2, 3)], dtype=np.int16), 4, True, True)
    score, heads = found(graph, np.zeros(graph.pairs[-1]), is_projective, single_root)
    assert score == FORBIDDEN
    assert (heads == NO_HEAD).all()


@TREES
@ROOTS
@EXAMPLES
@given(drawn=pruned(max_words=4))
def test_search_gives_a_tree_whatever_the_potentials(
    is_projective: bool, single_root: bool, drawn: Pruned
) -> None:
    graph, potentials = drawn
    score, heads = found(graph, potentials, is_projective, single_root)
    assert not np.isnan(score)
    if score > FORBIDDEN:
        assert score_of(graph, potentials, heads) == pytest.approx(score)
        assert score <= listed(graph, potentials, single_root, is_projective).ranked[0] + 1e-6
