"""The loss family against its definition, its limits, and exact arithmetic at sharp and large
scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.enumerated import EnumeratedProblem, random_problem
from learners.small_problems import sequences, trees
from oracles.trees import all_trees
from properties import examples
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from structures.tree_contract import NONPROJECTIVE, PROJECTIVE

from egparse.learners.losses import (
    HINGE,
    LOG_LINEAR,
    PERCEPTRON,
    SOFTMAX_MARGIN,
    Loss,
    expected_cost,
)
from egparse.structures.chains import chain
from egparse.types import Floats

INF = math.inf
FAMILY = [
    LOG_LINEAR,
    HINGE,
    PERCEPTRON,
    SOFTMAX_MARGIN,
    Loss(0.3, 0.0),
    Loss(3.0, 2.0),
    Loss(100.0, 1.0),
    Loss(INF, 2.5),
]
family = pytest.mark.parametrize("loss", FAMILY, ids=lambda loss: f"{loss.beta:g}-{loss.gamma:g}")


def by_definition(problem: EnumeratedProblem, i: int, loss: Loss, w: Floats) -> float:
    """Martins et al. 2010, eq. 3, structure by structure; for beta = inf, its limit."""
    differences, costs = problem.differences(i)
    values = differences @ w + loss.gamma * costs
    if loss.beta == INF:
        return float(values.max())
    return float(logsumexp(loss.beta * values)) / loss.beta


def at(problem: EnumeratedProblem, i: int, loss: Loss, w: Floats) -> tuple[float, Floats]:
    """The value and F'(zbar - z)."""
    scores = problem.features[i] @ w
    expected = np.full(len(scores), np.nan)
    value = loss.value(problem, i, scores, expected)
    assert (scores == problem.features[i] @ w).all()  # left alone
    return value, problem.features[i].T @ (expected - problem.gold(i))


@family
@pytest.mark.parametrize("seed", [1, 2])
def test_value_is_the_definition_and_gradient_its_slope(loss: Loss, seed: int) -> None:
    problem = random_problem(seed)
    random = np.random.default_rng(seed)
    for i in range(len(problem.structures)):
        w = random.normal(size=len(problem.v))
        value, gradient = at(problem, i, loss, w)
        assert value == pytest.approx(by_definition(problem, i, loss, w), rel=1e-10, abs=1e-10)
        slope = approx_fprime(w, lambda point: by_definition(problem, i, loss, point), 1e-7)  # noqa: B023
        np.testing.assert_allclose(gradient, slope, atol=2e-5 * max(1.0, min(loss.beta, 100.0)))


@family
def test_values_are_never_negative_and_lie_above_their_tangents(loss: Loss) -> None:
    problem = random_problem(3)
    random = np.random.default_rng(3)
    for i in range(len(problem.structures)):
        here, there = random.normal(size=(2, len(problem.v)))
        value, gradient = at(problem, i, loss, here)
        assert value >= -1e-12
        assert at(problem, i, loss, there)[0] >= value + gradient @ (there - here) - 1e-9


@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("beta", [1.0, 10.0, 100.0, 1e4, 1e8])
def test_large_beta_is_the_margin_loss_within_its_bound(beta: float, gamma: float) -> None:
    """max <= log sum exp(beta .) / beta <= max + log(count) / beta."""
    problem = random_problem(4)
    random = np.random.default_rng(4)
    for i, structures in enumerate(problem.structures):
        w = random.normal(size=len(problem.v))
        soft, gradient = at(problem, i, Loss(beta, gamma), w)
        hard, subgradient = at(problem, i, Loss(INF, gamma), w)
        assert hard - 1e-9 <= soft <= hard + math.log(len(structures)) / beta + 1e-9
        if beta == 1e8:
            np.testing.assert_allclose(gradient, subgradient, atol=1e-9)


def enumerated(seed: int) -> Iterator[tuple[EnumeratedProblem, int, Floats, Floats, Floats]]:
    """Problem, example and part scores; the log probability and the cost of each structure."""
    problem, random = random_problem(seed), np.random.default_rng(seed)
    for i, structures in enumerate(problem.structures):
        scores = random.normal(scale=2.0, size=structures.shape[1])
        totals = structures @ scores
        yield problem, i, scores, totals - logsumexp(totals), problem.differences(i)[1]


@family
def test_a_difference_is_that_of_two_members(loss: Loss) -> None:
    for problem, i, scores, _, _ in enumerated(1):
        before, expected = scores.copy(), np.empty_like(scores)
        zbar = np.empty_like(scores)
        members = [own.value(problem, i, scores, zbar) for own in (Loss(loss.beta), loss)]
        difference = loss.difference(problem, i, scores, expected)
        assert difference == pytest.approx(members[1] - members[0], rel=1e-10, abs=1e-10)
        assert (scores == before).all()
        np.testing.assert_array_equal(expected, zbar)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
def test_the_difference_of_the_softmax_is_a_bound_of_the_expected_cost(gamma: float) -> None:
    """Martins et al. 2010, footnote 1: log E exp(gamma l) >= gamma E l."""
    for problem, i, scores, log_p, costs in enumerated(2):
        expected = np.empty_like(scores)
        bound = Loss(1.0, gamma).difference(problem, i, scores, expected)
        assert bound == pytest.approx(logsumexp(log_p + gamma * costs), rel=1e-10, abs=1e-12)
        risk = expected_cost(problem, i, scores, expected)
        assert risk == pytest.approx(np.exp(log_p) @ costs, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(expected, np.exp(log_p) @ problem.structures[i], atol=1e-12)
        assert bound >= gamma * risk > 0


def test_the_difference_of_the_hinge_is_the_structured_ramp() -> None:
    """max (score + cost) - max score: no less than the cost of the best structure, no more than any
    cost.
    """
    for problem, i, scores, log_p, costs in enumerated(3):
        ramp = HINGE.difference(problem, i, scores, np.empty_like(scores))
        assert ramp == pytest.approx((log_p + costs).max() - log_p.max(), rel=1e-10, abs=1e-10)
        assert costs[log_p.argmax()] - 1e-10 <= ramp <= costs.max() + 1e-10


@pytest.mark.parametrize("loss", [SOFTMAX_MARGIN, HINGE], ids=["softmax-margin", "hinge"])
def test_a_difference_does_without_the_correct_structure(loss: Loss) -> None:
    problem = trees(kind="non-projective")
    for i in range(1, len(problem.part_starts) - 1):
        gold = problem.gold(i)
        if len(gold) < 4:
            continue  # no other tree
        scores = np.where(np.arange(len(gold)) == gold.argmax(), -INF, 0.5)
        own = loss.difference(problem, i, scores, np.empty_like(scores))
        assert 1.0 <= own <= problem.cost_constant(i)
        assert not math.isfinite(loss.value(problem, i, scores, np.empty_like(scores)))


@pytest.mark.parametrize("make", [sequences, trees], ids=["chain", "trees"])
def test_equivalent_settings(make: Callable[[], EnumeratedProblem]) -> None:
    """a L(beta, gamma) at w is L(beta / a, a gamma) at a w (Martins et al. 2010, footnote 18)."""
    problem = make()
    random = np.random.default_rng(5)
    for i in range(len(problem.part_starts) - 1):
        scores = random.normal(size=len(problem.gold(i)))
        first, second = np.empty((2, len(scores)))
        for beta in (2.0, INF):
            value = Loss(beta, 1.0).value(problem, i, scores, first)
            scaled = Loss(beta / 4.0, 4.0).value(problem, i, 4.0 * scores, second)
            assert scaled == pytest.approx(4.0 * value, rel=1e-9, abs=1e-9)
            np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize(
    ("beta", "gamma"),
    [(0.0, 0.0), (-1.0, 0.0), (1.0, -0.5), (1.0, INF), (math.nan, 0.0), (1.0, math.nan)],
)
def test_settings_out_of_range(beta: float, gamma: float) -> None:
    with pytest.raises(ValueError, match="expected beta > 0 and gamma >= 0, got beta = "):
        Loss(beta, gamma)


def exact(structures: Sequence[Sequence[int]], potentials: Floats) -> tuple[float, Floats]:
    """log Z and marginals of structures, each a list of parts (with repeats), in decimal arithmetic
    of 60 digits.
    """
    with localcontext() as context:
        context.prec = 60
        numbers = [Decimal(float(value)) if value > -INF else None for value in potentials]
        weighed = [
            (sum((numbers[part] for part in own), Decimal(0)), own)  # type: ignore[misc]
            for own in structures
            if all(numbers[part] is not None for part in own)
        ]
        best = max(score for score, _ in weighed)
        masses = [(score - best).exp() for score, _ in weighed]
        total = sum(masses, Decimal(0))
        marginals = [Decimal(0)] * len(potentials)
        for mass, (_, own) in zip(masses, weighed, strict=True):
            for part in own:
                marginals[part] += mass
        return float(best + total.ln()), np.array([float(mass / total) for mass in marginals])


HARD = st.one_of(
    st.sampled_from([1e4, 1e4 - 0.01, 1e4 - 0.1, -1e4, 0.0, 0.02, -INF]),
    st.floats(-1e4, 1e4),
    st.floats(-0.1, 0.1),
)
"""Scores that beta = 100 turns into a million nats, with near ties among them."""
BETA = 100.0


def assert_exact(log_z: float, marginals: Floats, facts: tuple[float, Floats]) -> None:
    assert np.isfinite(marginals).all()
    assert log_z == pytest.approx(facts[0], rel=1e-13, abs=1e-9)
    np.testing.assert_allclose(marginals, facts[1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["projective", "non-projective"])
@pytest.mark.parametrize("single_root", [True, False])
@examples(25)
@given(data=st.data())
def test_sharp_and_large_scores_of_trees(kind: str, single_root: bool, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    scores = np.array(data.draw(st.lists(HARD, min_size=(n + 1) ** 2, max_size=(n + 1) ** 2)))
    potentials = BETA * scores
    parts = [
        [heads[d] * (n + 1) + d for d in range(1, n + 1)]
        for heads in all_trees(n, single_root, kind == "projective")
    ]
    structure = PROJECTIVE if kind == "projective" else NONPROJECTIVE
    result = structure.marginals(potentials.reshape(n + 1, n + 1), single_root)
    if not any(np.isfinite(potentials[own]).all() for own in parts):
        assert result.log_partition == -INF
        return
    assert_exact(result.log_partition, result.marginals.reshape(-1), exact(parts, potentials))


@pytest.mark.parametrize("kind", ["projective", "non-projective"])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("spread", [1e4, 1.0, 0.05])
def test_sharp_and_large_scores_of_five_words(kind: str, single_root: bool, spread: float) -> None:
    """The loss of a whole problem at beta = 100, with all that comes between."""
    problem = trees(kind=kind, single_root=single_root)  # type: ignore[arg-type]
    random = np.random.default_rng(6)
    i, loss = 3, Loss(BETA, 1.0)
    arcs = problem.arcs(i)
    places = {(int(head), int(dependent)): place for place, (head, dependent) in enumerate(arcs)}
    scores = random.choice([-1e4, 0.0, 1e4], size=len(arcs)) + spread * random.uniform(
        -1, 1, size=len(arcs)
    )
    scores = np.clip(scores, -1e4, 1e4)
    listed = [
        [places[heads[d], d] for d in range(1, 6)]
        for heads in all_trees(5, single_root, kind == "projective")
    ]
    log_z, marginals = exact(listed, BETA * (scores + problem.cost(i)))
    expected = np.empty(len(arcs))
    value = loss.value(problem, i, scores, expected)
    gold = problem.gold(i)
    assert value == pytest.approx(log_z / BETA - scores @ gold + 5.0, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(expected, marginals, rtol=1e-8, atol=1e-8)
    assert value >= 0


@examples(60)
@given(data=st.data())
def test_sharp_and_large_scores_of_chains(data: st.DataObject) -> None:
    words, size = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    total = words * size + size**2
    potentials = BETA * np.array(data.draw(st.lists(HARD, min_size=total, max_size=total)))
    parts = [
        [k * size + label for k, label in enumerate(own)]
        + [words * size + p * size + q for p, q in itertools.pairwise(own)]
        for own in itertools.product(range(size), repeat=words)
    ]
    starts = np.arange(words + 1, dtype=np.int32) * size
    labels = np.tile(np.arange(size, dtype=np.int32), words)
    result = chain.marginals(potentials, starts, labels, size)
    if not any(np.isfinite(potentials[own]).all() for own in parts):
        assert result.log_partition == -INF
        return
    assert_exact(result.log_partition, result.marginals, exact(parts, potentials))
