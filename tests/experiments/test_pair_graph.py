"""Smith and Eisner's graph: exact where it has no loops, and elsewhere what plain belief
propagation over enumerated trees gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from oracles.trees import all_trees
from parsing.test_second_order_problem import made, places_of

from egparse.experiments.problems.generated import sentences
from egparse.experiments.problems.pair_graph import (
    PairGraphProblem,
    footnote17,
    pair_graph_parser,
    propagate_pairs,
    share_above_one,
)
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.second_order import PrunedTrees
from egparse.features.arcs import ArcLabels
from egparse.parsing.second_order.parts import Parts
from egparse.structures.second_order.arc_graph import lay_out
from egparse.structures.second_order.loopy import Schedule, workspace

Floats = npt.NDArray[np.float64]
Arc = tuple[int, int]

TO_THE_END = Schedule(sweeps=3000, residual=1e-13, damping=0.5)
ROOTS = pytest.mark.parametrize("single_root", [True, False])


class Listed(NamedTuple):
    """A graph with its trees: ``trees`` (trees, parts), and ``pairs`` as (arc, arc, part)."""

    graph: object
    trees: Floats
    pairs: list[tuple[int, int, int]]


def listed(n: int, arcs: Iterable[Arc], single_root: bool) -> Listed:
    """Every part by its definition: arcs, any two siblings on a side, grandparents."""
    graph = lay_out(np.array(list(arcs), dtype=np.int16), n + 1, True, True)
    nothing = ArcLabels(np.zeros(0, dtype=np.uint8), np.zeros(len(graph.arcs) + 1, dtype=np.int32))
    places = places_of(Parts(graph, nothing))
    trees = [
        {("arc", tree[d], d) for d in range(1, n + 1)} for tree in all_trees(n, single_root, False)
    ]
    trees = [tree for tree in trees if tree <= places.keys()]
    pairs, vectors = [], np.zeros((len(trees), len(places)))
    for name, place in places.items():
        both = {
            "arc": lambda h, d: [(h, d), (h, d)],
            "sibling": lambda h, s, d: [(h, s), (h, d)],
            "grandparent": lambda g, h, d: [(g, h), (h, d)],
            "stop": lambda h, d: [(h, h), (h, h)],
        }[str(name[0])](*name[1:])
        wanted = {("arc", *arc) for arc in both}
        vectors[:, place] = [wanted <= tree for tree in trees]
        if name[0] != "arc" and vectors[:, place].any():
            first, second = (places["arc", *arc] for arc in both)
            pairs.append((first, second, place))
    return Listed(graph, vectors, pairs)


def exact(trees: Floats, potentials: Floats) -> tuple[float, Floats]:
    scores = trees @ potentials
    log_z = float(np.logaddexp.reduce(scores))
    return log_z, np.exp(scores - log_z) @ trees


def by_enumeration(found: Listed, potentials: Floats) -> tuple[float, Floats]:
    """Damped belief propagation in log odds, with TREE by its list, and the free energy term by
    term (Yedidia et al. 2001): every factor, and every variable times its number of factors less
    one.
    """
    m = len(found.graph.arcs)  # type: ignore[attr-defined]
    trees, unary = found.trees[:, :m], potentials[:m]
    first, second, place = np.array(found.pairs).T
    weights, to_first, to_second = potentials[place], *np.zeros((2, len(place)))
    for _ in range(4000):
        incoming = unary + np.bincount(first, to_first, m) + np.bincount(second, to_second, m)
        log_tree, marginals = exact(trees, incoming)
        odds = np.log(marginals) - np.log1p(-marginals)
        a, b = odds[first] - to_first, odds[second] - to_second
        to_first = 0.5 * to_first + 0.5 * (np.logaddexp(0, b + weights) - np.logaddexp(0, b))
        to_second = 0.5 * to_second + 0.5 * (np.logaddexp(0, a + weights) - np.logaddexp(0, a))
    log_pairs = np.logaddexp.reduce([0 * a, a, b, a + b + weights])
    of_variables = np.logaddexp(0, odds)
    counts = 1 + np.bincount(first, minlength=m) + np.bincount(second, minlength=m)
    log_z = log_tree + log_pairs.sum() - counts @ of_variables + of_variables.sum()
    out = np.zeros(len(potentials))
    out[:m], out[place] = marginals, np.exp(a + b + weights - log_pairs)
    return log_z, out


def inferred(found: Listed, potentials: Floats, single_root: bool) -> tuple[float, Floats]:
    out = np.zeros(len(potentials))
    outcome = propagate_pairs(
        found.graph, potentials, single_root, TO_THE_END, out, workspace(6, is_projective=False)
    )
    assert outcome.residual <= TO_THE_END.residual
    return outcome.log_partition, out


def every_arc(n: int) -> list[Arc]:
    return [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d]


@ROOTS
@pytest.mark.parametrize("n", [1, 3, 4])
def test_without_scores_of_pairs_arcs_are_exact(n: int, single_root: bool) -> None:
    found = listed(n, every_arc(n), single_root)
    potentials, m = np.zeros(found.trees.shape[1]), n * n
    potentials[:m] = np.random.default_rng(n).normal(size=m) * 3
    log_z, marginals = exact(found.trees, potentials)
    estimate, estimates = inferred(found, potentials, single_root)
    assert estimate == pytest.approx(log_z, abs=1e-9)
    np.testing.assert_allclose(estimates[:m], marginals[:m], atol=1e-9)


def test_where_one_arc_of_every_pair_is_certain_there_is_no_loop() -> None:
    certain = [(2, 1), (0, 2), (2, 3), (3, 4)]
    found = listed(5, [*certain, *((h, 5) for h in range(1, 5))], True)
    potentials = np.random.default_rng(5).normal(size=found.trees.shape[1]) * 2
    log_z, marginals = exact(found.trees, potentials)
    estimate, estimates = inferred(found, potentials, True)
    assert estimate == pytest.approx(log_z, abs=1e-6)
    np.testing.assert_allclose(estimates, marginals, atol=1e-6)


@ROOTS
@pytest.mark.parametrize(("n", "spread"), [(2, 2.0), (3, 1.0), (4, 0.7)])
def test_it_is_belief_propagation(n: int, spread: float, single_root: bool) -> None:
    found = listed(n, every_arc(n), single_root)
    potentials = np.random.default_rng(n).normal(size=found.trees.shape[1]) * spread
    log_z, marginals = by_enumeration(found, potentials)
    estimate, estimates = inferred(found, potentials, single_root)
    assert estimate == pytest.approx(log_z, abs=1e-7)
    np.testing.assert_allclose(estimates, marginals, atol=1e-7)
    words = found.graph.arcs[:, 1]  # type: ignore[attr-defined]
    np.testing.assert_allclose(np.bincount(words, estimates[: n * n])[1:], 1.0, atol=1e-9)
    for _, _, place in found.pairs[::5]:  # the estimate is stationary in the messages
        step = np.zeros(len(potentials))
        step[place] = 1e-4
        high, low = (inferred(found, potentials + way * step, single_root)[0] for way in (1, -1))
        assert (high - low) / 2e-4 == pytest.approx(estimates[place], abs=1e-5)


def test_a_problem_has_the_pairs_of_its_trees() -> None:
    whole = made(trees="non-projective", inference="loopy", n_labels=0)
    problem = PairGraphProblem(whole.problem)
    for i, (parts, heads) in enumerate(zip(whole.parts, whole.heads, strict=True)):
        found = listed(len(heads) - 1, [tuple(arc) for arc in parts.graph.arcs.tolist()], True)
        correct = {("arc", heads[d], d) for d in range(1, len(heads))}
        places, gold = places_of(parts), problem.gold(i)
        assert {
            name for name, place in places.items() if place < problem.part_starts[-1]
        } >= correct
        assert (found.trees == gold).all(axis=1).any()
        assert all(gold[places[name]] == 1 for name in correct)
        potentials = np.random.default_rng(i).normal(size=len(gold))
        out = np.zeros(len(gold))
        score = problem.argmax(i, potentials, out)
        assert score == pytest.approx(float(out @ potentials))
        assert (found.trees == out).all(axis=1).any()


def test_footnote_17_counts_what_dual_coordinate_ascent_skips() -> None:
    drawn = sentences(60, 1)
    trees = PrunedTrees.of(Sample("drawn", drawn[:40], drawn[40:]), "non-projective", 14)
    setup = pair_graph_parser(trees, siblings=True, grandparents=True)
    assert share_above_one(setup.problem) == 0.0
    rows = footnote17(setup, 1.0, 3)
    assert [0 <= row.above_one <= 100 for row in rows] == [True] * 3
    assert rows[-1].score > rows[0].score - 10 and rows[-1].score > 50
