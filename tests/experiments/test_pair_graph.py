"""Smith and Eisner's graph: exact where it has no loops, and elsewhere what plain belief
propagation over enumerated trees gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from oracles.trees import all_trees
from parsing.test_second_order_problem import made, places_of

from egparse.experiments.problems import pair_graph
from egparse.experiments.problems.generated import sentences
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.second_order import PrunedTrees
from egparse.features.arcs import ArcLabels
from egparse.parsing.second_order.parts import Parts
from egparse.structures.second_order.arc_graph import lay_out
from egparse.structures.second_order.loopy import Schedule, workspace

Floats = npt.NDArray[np.float64]

TO_THE_END = Schedule(sweeps=3000, residual=1e-13, damping=0.5)
ROOTS = pytest.mark.parametrize("single_root", [True, False])


class Listed:
    """The ``trees`` over some arcs, (trees, parts), by definition: arcs, any two siblings on a
    side, grandparents; ``pairs`` (pairs, 3) are arc, arc, part. Inference gives marginals, log Z.
    """

    def __init__(self, n: int, root: bool, arcs: Sequence[Any] = ()) -> None:
        arcs = arcs or [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d]
        self.graph = lay_out(np.array(arcs, dtype=np.int16), n + 1, True, True)
        self.m, self.root = len(self.graph.arcs), root
        nothing = ArcLabels(np.zeros(0, dtype=np.uint8), np.zeros(self.m + 1, dtype=np.int32))
        places: dict[Any, int] = dict(places_of(Parts(self.graph, nothing)))
        there = {(h, d) for _, h, d in list(places)[: self.m]}
        trees = ({(h, d) for d, h in enumerate(tree) if d} for tree in all_trees(n, root, False))
        every = [tree for tree in trees if tree <= there]
        pairs, self.trees = [], np.zeros((len(every), len(places)))
        for (kind, *words), place in places.items():
            # a sibling (h, s, d) is START where s = h; then (g, h, d), and (h, d) for a STOP
            arc = (words[0] if kind == "sibling" else words[-2], words[-1])
            other = tuple(words[:2]) if kind != "stop" else (0, 0)
            self.trees[:, place] = [{arc, other} <= tree for tree in every]
            if kind != "arc" and self.trees[:, place].any():
                pairs.append((places["arc", *other], places["arc", *arc], place))
        self.pairs = np.array(pairs, dtype=int).reshape(-1, 3)

    def random(self, spread: float) -> Floats:
        return np.random.default_rng(self.m).normal(size=self.trees.shape[1]) * spread

    def inferred(self, potentials: Floats) -> Floats:
        out, work, root = np.zeros(len(potentials)), workspace(6, is_projective=False), self.root
        outcome = pair_graph.propagate_pairs(self.graph, potentials, root, TO_THE_END, out, work)
        assert outcome.residual <= TO_THE_END.residual
        return np.append(out, outcome.log_partition)

    def by_enumeration(self, potentials: Floats) -> Floats:
        """Damped, in log odds; the free energy is that of all factors, less that of each variable
        as often as it has factors beyond the first (Yedidia et al. 2001).
        """
        m, (first, second, place) = self.m, self.pairs.T
        weights, to_first, to_second = potentials[place], *np.zeros((2, len(place)))
        for _ in range(4000):
            received = np.bincount(first, to_first, m) + np.bincount(second, to_second, m)
            *marginals, log_tree = exact(self.trees[:, :m], potentials[:m] + received)
            odds = np.log(marginals) - np.log1p(-np.array(marginals))
            a, b = odds[first] - to_first, odds[second] - to_second
            to_first = (to_first + np.logaddexp(0, b + weights) - np.logaddexp(0, b)) / 2
            to_second = (to_second + np.logaddexp(0, a + weights) - np.logaddexp(0, a)) / 2
        log_pairs = np.logaddexp.reduce([0 * a, a, b, a + b + weights])
        beyond_first = np.bincount(first, minlength=m) + np.bincount(second, minlength=m)
        log_z = log_tree + log_pairs.sum() - beyond_first @ np.logaddexp(0, odds)
        out = np.zeros(len(potentials))
        out[:m], out[place] = marginals, np.exp(a + b + weights - log_pairs)
        return np.append(out, log_z)


def exact(trees: Floats, potentials: Floats) -> Floats:
    scores = trees @ potentials
    log_z = np.logaddexp.reduce(scores)
    return np.append(np.exp(scores - log_z) @ trees, log_z)


@ROOTS
@pytest.mark.parametrize("n", [1, 3, 4])
def test_without_scores_of_pairs_arcs_are_exact(n: int, single_root: bool) -> None:
    found = Listed(n, single_root)
    potentials = found.random(3.0)
    potentials[found.m :] = 0.0
    parts = [*range(found.m), -1]  # arcs and log Z
    expected = exact(found.trees, potentials)[parts]
    np.testing.assert_allclose(found.inferred(potentials)[parts], expected, atol=1e-9)


def test_where_one_arc_of_every_pair_is_certain_there_is_no_loop() -> None:
    found = Listed(5, True, [(2, 1), (0, 2), (2, 3), (3, 4), (1, 5), (2, 5), (3, 5), (4, 5)])
    scores = found.random(2.0)
    np.testing.assert_allclose(found.inferred(scores), exact(found.trees, scores), atol=1e-7)


@ROOTS
@pytest.mark.parametrize(("n", "spread"), [(2, 1.0), (3, 1.0), (4, 0.7)])
def test_it_is_belief_propagation(n: int, spread: float, single_root: bool) -> None:
    # at greater scores there are several fixed points (Martins et al. 2010, footnote 20)
    found = Listed(n, single_root)
    potentials = found.random(spread)
    estimates = found.inferred(potentials)
    np.testing.assert_allclose(estimates, found.by_enumeration(potentials), atol=1e-7)
    of_words = np.bincount(found.graph.arcs[:, 1], estimates[: found.m])
    np.testing.assert_allclose(of_words[1:], 1.0, atol=1e-9)
    for place in found.pairs[::5, 2]:  # the estimate is stationary in the messages
        step = 1e-4 * (np.arange(len(potentials)) == place)
        high, low = (found.inferred(potentials + way * step)[-1] for way in (1, -1))
        assert (high - low) / 2e-4 == pytest.approx(estimates[place], abs=1e-5)


def test_a_problem_has_the_pairs_of_its_trees() -> None:
    whole = made(trees="non-projective", inference="loopy", n_labels=0)
    problem = pair_graph.PairGraphProblem(whole.problem)
    for i, (parts, heads) in enumerate(zip(whole.parts, whole.heads, strict=True)):
        found, gold = Listed(len(heads) - 1, True, parts.graph.arcs.tolist()), problem.gold(i)
        assert gold[: found.m].tolist() == [heads[d] == h for h, d in parts.graph.arcs]
        assert gold.tolist() in found.trees.tolist()
        chosen = problem.most_probable_heads(i, found.random(1.0))
        tree = [float(chosen[d] == h) for h, d in parts.graph.arcs]
        assert tree in found.trees[:, : found.m].tolist()


def test_a_parser_is_trained_as_in_footnote_17() -> None:
    drawn = sentences(60, 1)
    trees = PrunedTrees.of(Sample("drawn", drawn[:40], drawn[40:]), "non-projective", 14)
    setup = pair_graph.pair_graph_parser(trees)
    found = pair_graph.footnote17(setup, 1.0, 3)
    assert found["score"]["3"] > 80.0
    assert found["above one"]["1"] == 0.0
