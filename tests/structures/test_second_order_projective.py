"""Second-order trees over sparse candidates against enumeration, and laws where enumeration cannot
reach.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from oracles.second_order_trees import second_order_facts
from properties import examples
from structures.test_arc_graph import (
    FORBIDDEN,
    PAIRS,
    ROOTS,
    Floats,
    Pruned,
    listed,
    parts_of,
    place_of,
    pruned,
    random_graph,
    random_potentials,
)
from tolerances import DOUBLE, score_rounding

from egparse.structures.second_order import projective
from egparse.structures.second_order.arc_graph import ArcGraph, lay_out
from egparse.structures.second_order.loopy import Schedule, propagate, workspace
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import LOG, log_inside_outside, new_chart

EXAMPLES = examples(200)


def marginals_of(graph: ArcGraph, potentials: Floats, single_root: bool) -> tuple[float, Floats]:
    marginals = np.full(len(potentials), np.nan)
    return inside_outside(graph, potentials, single_root, marginals), marginals


def log_marginals_of(
    graph: ArcGraph, potentials: Floats, single_root: bool
) -> tuple[float, Floats]:
    marginals = np.full(len(potentials), np.nan)
    return log_inside_outside(graph, potentials, single_root, LOG, marginals), marginals


@pytest.mark.parametrize(
    "inference", [marginals_of, log_marginals_of], ids=["probabilities", "logarithms"]
)
@ROOTS
@EXAMPLES
@given(drawn=pruned())
def test_distribution_is_that_of_the_enumerated_trees(
    inference: object, single_root: bool, drawn: Pruned
) -> None:
    graph, potentials = drawn
    facts = listed(graph, potentials, single_root)
    log_z, marginals = inference(graph, potentials, single_root)  # type: ignore[operator]
    # an arc for each word and at most two pairs for each arc; the items are of three words
    words = len(graph.into) - 1
    near = score_rounding(potentials, 3 * words, words**3)
    np.testing.assert_allclose(log_z, facts.log_partition, rtol=0, atol=near)
    np.testing.assert_allclose(marginals, facts.marginals, rtol=3 * near, atol=DOUBLE)


def all_candidates(n: int, with_grandparents: bool) -> ArcGraph:
    every = [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d]
    return lay_out(np.array(every, dtype=np.int16), n + 1, True, with_grandparents)


@ROOTS
@pytest.mark.parametrize("with_grandparents", [True, False])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_parts_of_all_candidates_are_those_of_the_definitions(
    single_root: bool, with_grandparents: bool, n: int
) -> None:
    rng = np.random.default_rng(n)
    size = n + 1
    arcs = rng.normal(0, 2, (size, size))
    siblings, grandparents = rng.normal(0, 2, (2, size, size, size))
    graph = all_candidates(n, with_grandparents)
    facts = second_order_facts(
        arcs, siblings, grandparents if with_grandparents else None, single_root
    )
    places = parts_of(graph)
    potentials, expected = np.zeros((2, len(places)))
    for place, (kind, g, h, d) in enumerate(places):
        # the definitions score no stops, and starts as siblings[h, h, d]
        if kind == "arc":
            potentials[place], expected[place] = arcs[h, d], facts.arcs.get((h, d), 0.0)
        elif kind in ("start", "sibling"):
            potentials[place], expected[place] = (
                siblings[g, h, d],
                facts.siblings.get((g, h, d), 0.0),
            )
        elif kind == "grandparent":
            potentials[place], expected[place] = (
                grandparents[g, h, d],
                facts.grandparents.get((g, h, d), 0.0),
            )
    log_z, marginals = marginals_of(graph, potentials, single_root)
    assert log_z == pytest.approx(facts.log_partition, abs=1e-11)
    scored = np.array([kind != "stop" for kind, *_ in places])
    np.testing.assert_allclose(marginals[scored], expected[scored], rtol=1e-10, atol=1e-13)


def check_laws(graph: ArcGraph, marginals: Floats, single_root: bool, near: float = 1e-9) -> None:
    """Marginals of all kinds of parts agree with each other."""
    m = len(graph.arcs)
    assert (marginals >= 0.0).all()
    assert (marginals <= 1.0 + near).all()
    into = np.bincount(graph.arcs[:, 1], marginals[:m], minlength=len(graph.into) - 1)
    np.testing.assert_allclose(into[1:], 1.0, atol=near)
    roots = marginals[:m][graph.arcs[:, 0] == 0].sum()
    assert roots == pytest.approx(1.0, abs=near) if single_root else roots >= 1.0 - near
    block = np.searchsorted(graph.blocks, np.arange(m), side="right") - 1
    for a, (h, _) in enumerate(graph.arcs):
        own = marginals[graph.pairs[a] : graph.pairs[a + 1]]
        if graph.siblings:
            own, others = np.split(own, [a - graph.blocks[block[a]] + 2])
            assert own[:-1].sum() == pytest.approx(marginals[a], abs=near)  # START or a sibling
        else:
            others = own
        if graph.grandparents and h > 0:
            assert others.sum() == pytest.approx(marginals[a], abs=near)


@ROOTS
@PAIRS
@pytest.mark.parametrize("spread", [0.0, 2.0, 1e3])
def test_marginals_of_all_kinds_agree(
    spread: float, siblings: bool, grandparents: bool, single_root: bool
) -> None:
    graph = random_graph(25, 4, 1, siblings, grandparents)
    log_z, marginals = marginals_of(graph, random_potentials(graph, spread, 2), single_root)
    assert np.isfinite(log_z)
    check_laws(graph, marginals, single_root)


@ROOTS
@pytest.mark.parametrize("with_grandparents", [True, False])
def test_all_candidates_of_a_longer_sentence_obey_the_laws(
    single_root: bool, with_grandparents: bool
) -> None:
    graph = all_candidates(12, with_grandparents)
    potentials = random_potentials(graph, 2.0, 12)
    log_z, marginals = marginals_of(graph, potentials, single_root)
    expected_z, expected = log_marginals_of(graph, potentials, single_root)
    assert log_z == pytest.approx(expected_z, abs=1e-11)
    np.testing.assert_allclose(marginals, expected, rtol=1e-9, atol=1e-13)
    check_laws(graph, marginals, single_root)


@ROOTS
@PAIRS
def test_marginals_are_the_gradient_of_the_log_partition(
    siblings: bool, grandparents: bool, single_root: bool
) -> None:
    graph = random_graph(10, 4, 3, siblings, grandparents)
    potentials = random_potentials(graph, 1.5, 4)
    _, marginals = marginals_of(graph, potentials, single_root)
    step = 1e-5
    for place in np.random.default_rng(5).permutation(len(potentials))[:40]:
        above, below = potentials.copy(), potentials.copy()
        above[place] += step
        below[place] -= step
        slope = (
            marginals_of(graph, above, single_root)[0] - marginals_of(graph, below, single_root)[0]
        )
        assert slope / (2 * step) == pytest.approx(marginals[place], abs=1e-8)


@ROOTS
def test_a_shift_of_all_arcs_moves_the_log_partition_alone(single_root: bool) -> None:
    graph = random_graph(15, 4, 6)
    potentials = random_potentials(graph, 1.0, 7)
    log_z, marginals = marginals_of(graph, potentials, single_root)
    potentials[: len(graph.arcs)] += 1e4
    shifted, again = marginals_of(graph, potentials, single_root)
    assert shifted == pytest.approx(log_z + 15e4, abs=1e-7)
    np.testing.assert_allclose(again, marginals, atol=1e-9)


@ROOTS
def test_forbidden_arcs_might_as_well_be_no_candidates(single_root: bool) -> None:
    graph = random_graph(12, 4, 8)
    fewer = lay_out(random_graph(12, 2, 8).arcs, 13, True, True)
    graph = lay_out(np.unique(np.concatenate([graph.arcs, fewer.arcs]), axis=0), 13, True, True)
    potentials = random_potentials(graph, 1.0, 9)
    places = place_of(graph)
    kept = [places[part] for part in parts_of(fewer)]
    expected_z, expected = marginals_of(fewer, potentials[kept], single_root)
    arcs = np.arange(len(graph.arcs))
    potentials[arcs[~np.isin(arcs, kept)]] = FORBIDDEN
    log_z, marginals = marginals_of(graph, potentials, single_root)
    assert log_z == pytest.approx(expected_z, abs=1e-11)
    np.testing.assert_allclose(marginals[kept], expected, atol=1e-12)
    assert marginals.sum() == pytest.approx(expected.sum(), abs=1e-10)


@ROOTS
def test_where_no_tree_is_possible_nothing_is(single_root: bool) -> None:
    cycle = lay_out(np.array([(0, 1), (3, 2), (2, 3)], dtype=np.int16), 4, True, True)
    headless = lay_out(np.array([(0, 1), (1, 2)], dtype=np.int16), 4, True, True)
    crossing = lay_out(np.array([(0, 2), (4, 1), (2, 3), (2, 4)], dtype=np.int16), 5, True, True)
    for graph in (cycle, headless, crossing):
        log_z, marginals = marginals_of(graph, np.zeros(graph.pairs[-1]), single_root)
        assert log_z == FORBIDDEN
        assert not marginals.any()
    graph = random_graph(6, 3, 0)
    potentials = np.zeros(graph.pairs[-1])
    potentials[: len(graph.arcs)][graph.arcs[:, 0] == 0] = FORBIDDEN
    assert marginals_of(graph, potentials, single_root)[0] == FORBIDDEN


def share_of_trees(graph: ArcGraph, potentials: Floats, single_root: bool) -> float:
    """z of the first try."""
    weights = projective._weigh(graph, potentials)
    return projective._inside(graph, weights, single_root, new_chart(graph, 0.0))


@ROOTS
def test_logarithms_decide_where_probabilities_underflow(single_root: bool) -> None:
    graph = lay_out(
        np.array(
            [(h, d) for h in range(21) for d in range(1, 21) if h in (d - 1, d + 1, 21 - d)],
            dtype=np.int16,
        ),
        21,
        True,
        True,
    )
    potentials = random_potentials(graph, 2.0, 10)
    m = len(graph.arcs)
    # every word wants its mirror image as its head: the best heads are far from a tree
    potentials[:m][graph.arcs.sum(axis=1) == 21] += 1000.0
    assert share_of_trees(graph, potentials, single_root) < projective.SMALLEST
    log_z, marginals = marginals_of(graph, potentials, single_root)
    expected_z, expected = log_marginals_of(graph, potentials, single_root)
    assert log_z == expected_z
    np.testing.assert_array_equal(marginals, expected)
    check_laws(graph, marginals, single_root)


@pytest.mark.compiled_only
@ROOTS
@pytest.mark.parametrize("spread", [0.5, 2.0, 8.0])
def test_long_sentences_are_no_trouble(single_root: bool, spread: float) -> None:
    graph = random_graph(600, 3, 11)
    potentials = random_potentials(graph, spread, 12)
    log_z, marginals = marginals_of(graph, potentials, single_root)
    expected_z, expected = log_marginals_of(graph, potentials, single_root)
    assert log_z == pytest.approx(expected_z, rel=1e-12)
    np.testing.assert_allclose(marginals, expected, atol=1e-9)
    check_laws(graph, marginals, single_root)


@pytest.mark.compiled_only
@ROOTS
def test_without_pairs_it_is_the_arc_factored_distribution_of_a_long_sentence(
    single_root: bool,
) -> None:
    n = 600
    graph = random_graph(n, 3, 15)
    m = len(graph.arcs)
    potentials = random_potentials(graph, 1.0, 16)
    potentials[m:] = 0.0
    log_z, marginals = marginals_of(graph, potentials, single_root)
    arcs_alone = lay_out(graph.arcs, n + 1, False, False)
    expected = np.zeros(m)
    work = workspace(n, is_projective=True)
    outcome = propagate(
        arcs_alone, potentials[:m], True, single_root, Schedule(), True, expected, work
    )
    assert log_z == pytest.approx(outcome.log_partition, rel=1e-11)
    np.testing.assert_allclose(marginals[:m], expected, atol=1e-9)
