"""Distributions over a few trees as targets."""

from __future__ import annotations

import numpy as np
import pytest
from learners.small_problems import trees
from parsing.test_second_order_problem import CORRECT, made, names_of, places_of

from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build
from egparse.parsing.arc_problem import TreeProblem
from egparse.parsing.arc_training import arc_target
from egparse.parsing.candidates import build_arc_filter, candidates_with_correct
from egparse.parsing.tree_mixtures import TreeMixture, mixture_of, pooled, with_gold
from egparse.types import Ints


def tree(*heads: int) -> Ints:
    return np.array(heads, dtype=np.int32)


def as_dict(mixture: TreeMixture) -> dict[tuple[int, ...], float]:
    assert mixture.shares.sum() == pytest.approx(1.0)
    return {
        tuple(heads.tolist()): share
        for heads, share in zip(mixture.heads, mixture.shares.tolist(), strict=True)
    }


def test_equal_trees_are_joined_and_shares_sum_to_one() -> None:
    first = mixture_of([(tree(0, 1), 2.0), (tree(2, 0), 1.0), (tree(0, 1), 1.0)])
    assert as_dict(first) == {(0, 1): 0.75, (2, 0): 0.25}
    second = mixture_of([(tree(2, 0), 5.0), (tree(0, 1), 0.0)])
    assert as_dict(second) == {(2, 0): 1.0}
    assert as_dict(pooled([first, second])) == {(0, 1): 0.375, (2, 0): 0.625}
    assert as_dict(with_gold(first, tree(2, 0), 0.4)) == pytest.approx({(2, 0): 0.7, (0, 1): 0.3})
    assert as_dict(with_gold(first, tree(0, 1), 0.0)) == {(0, 1): 1.0}


def test_a_target_of_arcs_is_their_probability() -> None:
    arcs = np.array([(0, 1), (2, 1), (0, 2), (1, 2)], dtype=np.int16)
    mixture = mixture_of([(tree(0, 1), 3.0), (tree(2, 0), 1.0)])
    assert arc_target(arcs, mixture).tolist() == [0.75, 0.25, 0.25, 0.75]


def test_candidates_have_the_arcs_of_all_trees() -> None:
    values = np.array([[1], [2], [3], [2], [3]], dtype=np.int32)
    arc_filter = build_arc_filter([values], [tree(0, 1, 2, 3)], 0, 3, 0.99)
    plain = candidates_with_correct(values, tree(0, 1, 2, 3), arc_filter)
    assert [3, 1] not in plain.tolist()
    arcs = candidates_with_correct(values, tree(0, 1, 2, 3), arc_filter, [tree(3, 1, 0, 3)])
    assert {(3, 1), (0, 3), (3, 4)} <= {tuple(arc) for arc in arcs.tolist()}
    assert len({tuple(arc) for arc in arcs.tolist()}) == len(arcs)


def test_a_mixture_has_the_mean_of_the_parts_of_its_trees() -> None:
    """Labels at arcs of the correct tree are the correct ones; at others, if it is no candidate,
    all candidates share.
    """
    whole = made(CORRECT[:4], n_labels=3, seed=3)
    random = np.random.default_rng(3)
    for i, (parts, heads, ranks) in enumerate(
        zip(whole.parts, whole.heads, whole.ranks, strict=True)
    ):
        n, places = len(heads) - 1, places_of(parts)
        other = [(-1, 2, 0, 2), (-1, 0), (-1, 2, 0, 2, 2), (-1, 0, 1)][i]
        share = float(random.uniform(0.2, 0.8))
        whole.problem.set_mixture(
            i, [tree(*heads[1:]), tree(*other[1:])], np.array([share, 1.0 - share])
        )
        expected = np.zeros(len(places))
        for structure, weight in ((heads, share), (other, 1.0 - share)):
            for name in names_of(structure, [None] * n, parts.graph):
                expected[places[name]] += weight
            for d in range(1, n + 1):
                labels = [
                    name for name in places if name[0] == "label" and name[1:3] == (structure[d], d)
                ]
                right = [name for name in labels if name[3] == ranks[d - 1]]
                for name in right or labels:
                    expected[places[name]] += weight / len(right or labels)
        np.testing.assert_allclose(whole.problem.gold(i), expected, atol=1e-6)


def replicated(heads: list[Ints]) -> TreeProblem:
    problem = trees()
    copies = len(heads) // len(problem._heads_of)
    return TreeProblem(
        codes=list(problem._codes) * copies,
        arcs=list(problem._arcs) * copies,
        heads=heads,
        templates=problem._templates,
        bits=12,
        trees="projective",
        single_root=True,
    )


@pytest.mark.parametrize("name", ["eg-online", "lbfgs"])
def test_a_mixture_of_trees_is_learned_like_a_copy_of_each(name: str) -> None:
    """Half of the weight of two copies, each with one of the trees, and twice the C."""
    mixed = trees()
    chains = list(mixed._heads_of)
    others = [np.arange(2, len(heads) + 2, dtype=np.int32) for heads in chains]
    for heads in others:
        heads[-1] = 0  # each word hangs from the next one
    for i, (first, second) in enumerate(zip(chains, others, strict=True)):
        mixture = mixture_of([(first, 1.0), (second, 1.0)])
        mixed.set_target(i, arc_target(mixed._arcs[i], mixture))
    optima = []
    for problem, c in ((mixed, 1.0), (replicated([*chains, *others]), 2.0)):
        learner = build(name, problem, LearnerConfig(c=c))
        state = learner.initialise()
        for _ in range(300):
            learner.iterate(state)
        certificate = learner.certificate(state)
        assert certificate.relative_gap < 1e-3
        optima.append(certificate.primal / c)
    # the gaps bound how far both are from the optimum
    assert optima[0] == pytest.approx(optima[1], rel=2e-3)
