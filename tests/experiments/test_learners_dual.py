"""Learners that keep dual variables of each example: a dual that never falls and says by how much
it rises, v as its dual expression, the optimum between dual and primal, and the pieces of steps.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.passes import passes
from properties import examples
from scipy.optimize import minimize
from tolerances import SINGLE, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.frank_wolfe import (
    FrankWolfe,
    FrankWolfeConfig,
    nearest_structure,
)
from egparse.experiments.learners.n_slack import NSlack, NSlackConfig
from egparse.experiments.learners.working_sets import Structure, WorkingSets
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import squared_norm
from egparse.learners.registry import build

INF = math.inf
HINGE = {"beta": INF, "gamma": 1.0}
LOG_LINEAR = {"beta": 1.0, "gamma": 0.0}
DIGITS = rounding(100, eps=SINGLE)
"""Marginals are stored in float32, in sums of up to 100 parts of an example."""
LEARNERS: list[tuple[str, dict[str, float], dict[str, Any], float]] = [
    ("sdca", LOG_LINEAR, {}, 1e-5),
    ("sdca", HINGE, {}, 1e-2),
    ("frank-wolfe", HINGE, {}, 5e-2),
    ("n-slack", HINGE, {"epsilon": 1e-5}, 1e-4),
    ("n-slack", HINGE, {"epsilon": 1e-5, "accumulate": 1}, 1e-4),
]
"""Name, loss, options, and the relative gap after 300 passes."""
learners = pytest.mark.parametrize(("name", "loss", "options", "gap"), LEARNERS)


@learners
@pytest.mark.parametrize(("seed", "c"), [(1, 2.0), (2, 2.0), (3, 0.3)])
def test_the_optimum_is_between_dual_and_primal_and_the_gap_closes(
    name: str, loss: dict[str, float], options: dict[str, Any], gap: float, seed: int, c: float
) -> None:
    problem = random_problem(seed)
    optimum = (max_margin_optimum if loss == HINGE else log_linear_optimum)(problem, c)
    learner: Any = build(name, problem, LearnerConfig(**loss, c=c), **options)
    state = learner.initialise(3.0)
    slack = (DIGITS * 10 + PROVEN) * optimum
    found = list(passes(learner, state, 300))
    assert all(b.dual >= a.dual - slack for a, b in itertools.pairwise(found))
    assert max(each.dual for each in found) <= optimum + slack
    assert min(each.primal for each in found) >= optimum - slack
    best = min(each.primal for each in found) - max(each.dual for each in found)
    assert best <= gap * optimum * (3 if c < 1 else 1)
    assert state.squared_norm == pytest.approx(squared_norm(problem), rel=1e-5)


def test_frank_wolfe_keeps_distributions_and_v_is_their_dual_expression() -> None:
    problem = random_problem(4)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=0.3))
    state = learner.initialise()
    visits = 20 * learner.n
    for k in range(visits):
        before = learner.dual(state)
        increase = learner.update(state, k % learner.n)
        assert learner.dual(state) - before == pytest.approx(increase, abs=1e-9)
        assert increase >= -1e-8
    v = np.zeros_like(problem.v)
    for i in range(learner.n):
        own = state.mixtures[problem.part_starts[i] : problem.part_starts[i + 1]]
        v += problem.features[i].T @ (problem.gold(i) - own)
        assert state.value[i] == pytest.approx(problem.expected_cost(i, own))
    np.testing.assert_allclose(problem.v, v, atol=rounding(4 * visits))


def proven_distance(problem: EnumeratedProblem, c: float, visits: int, optimum: float) -> float:
    """2 n (C_f + h_0) / (k + 2 n) after k visits, with curvatures C_f <= sum_i R_i^2 / C and
    the first distance h_0, from a dual of 0 (Lacoste-Julien et al. 2013, Theorem 2; in
    expectation, for plain steps on uniform draws).
    """
    n, curvature = len(problem.structures), 0.0
    for i in range(n):
        psi, _ = problem.differences(i)
        curvature += float(((psi[:, None] - psi[None]) ** 2).sum(axis=2).max()) / c
    return 2 * n * (curvature + optimum) / (visits + 2 * n)


@examples(6)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 2.0]))
def test_frank_wolfe_closes_in_as_fast_as_is_proven(seed: int, c: float) -> None:
    problem = random_problem(seed)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=c))
    optimum = max_margin_optimum(problem, c)
    *_, last = passes(learner, learner.initialise(), 60)
    allowed = proven_distance(problem, c, 60 * learner.n, optimum)
    assert optimum - last.dual <= allowed + DIGITS * optimum


def test_the_start_is_the_correct_structure_or_the_nearest_that_can_be_reached() -> None:
    problem = random_problem(7)
    learner = FrankWolfe(problem, FrankWolfeConfig(c=1.0))
    state = learner.initialise()
    assert not problem.v.any()
    assert learner.dual(state) == 0.0
    np.testing.assert_array_equal(state.mixtures[: problem.part_starts[1]], problem.gold(0))
    chain = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    reachable = EnumeratedProblem([chain[1:]], [np.eye(4)])
    reachable.gold = lambda i: chain[0].copy()  # type: ignore[method-assign]
    np.testing.assert_array_equal(nearest_structure(reachable, 0), chain[1])


def test_working_sets_solve_their_program() -> None:
    """Against an independent solver, over all structures of a few examples."""
    random, c = np.random.default_rng(5), 0.7
    psi, costs = random.integers(-2, 3, size=(3, 4, 5)).astype(float), random.random((3, 4)) * 3

    def structure(i: int, k: int) -> Structure:
        used = np.flatnonzero(psi[i, k]).astype(np.int32)
        return Structure(i, costs[i, k], float(k == 0), used, psi[i, k][used].astype(np.float32))

    sets = WorkingSets.of(5, c, [structure(i, 0) for i in range(3)])
    sets.add([structure(i, k) for i in range(3) for k in (1, 2, 3)])
    assert sets.solve(1e-8)

    def value(alpha: np.ndarray) -> float:
        v = np.einsum("ik,ikf->f", alpha.reshape(3, 4), psi)
        return -float(alpha @ costs.ravel()) + float(v @ v) / (2 * c)

    sums = {"type": "eq", "fun": lambda alpha: alpha.reshape(3, 4).sum(axis=1) - 1}
    best = minimize(
        value, np.full(12, 0.25), bounds=[(0, 1)] * 12, constraints=sums, options={"ftol": 1e-14}
    )
    assert sets.value() - float(sets.v @ sets.v) / (2 * c) == pytest.approx(-best.fun, rel=1e-6)


def test_working_sets_end_at_what_epsilon_allows() -> None:
    """Outside the working sets no structure is violated by more than epsilon, and within them no
    structure with weight is below the slack by more than epsilon / 2: 1.5 n epsilon in all.
    """
    problem = random_problem(2)
    learner = NSlack(problem, NSlackConfig(c=0.2, epsilon=1e-4))
    state = learner.initialise()
    while not state.finished:
        learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.gap <= 1.5 * learner.n * 1e-4 + rounding(100, certificate.dual, SINGLE)


def test_a_correct_structure_out_of_reach_lowers_the_optimum_below_zero() -> None:
    """Slacks have no lower bound of 0."""
    gold, others = np.array([1.0, 0.0, 0.0]), np.eye(3)[1:]
    features = [np.array([[9.0, 1.0], [1.0, 0.0], [0.0, -1.0]])]
    bounds = []
    for name in ("n-slack", "eg-online"):
        problem = EnumeratedProblem([others], features)
        problem.gold = lambda i: gold.copy()  # type: ignore[method-assign]
        problem.cost = lambda i: -gold  # type: ignore[method-assign]
        problem.cost_constant = lambda i: 1.0  # type: ignore[method-assign]
        learner = build(name, problem, LearnerConfig(**HINGE, c=2.0))
        *_, certificate = passes(learner, learner.initialise(), 40)
        bounds.append(certificate)
    assert bounds[1].primal < -5.0
    assert bounds[0].primal == pytest.approx(bounds[1].primal, rel=1e-3)


@pytest.mark.parametrize("name", ["frank-wolfe", "n-slack", "sdca"])
def test_what_cannot_be_learned_is_named(name: str) -> None:
    if name != "sdca":
        for beta, gamma in [(1.0, 0.0), (INF, 0.0), (INF, 2.0)]:
            with pytest.raises(ConfigError, match=r"expects? the loss max-margin"):
                build(name, random_problem(3), LearnerConfig(beta=beta, gamma=gamma))
    with pytest.raises(ConfigError, match="expected c > 0"):
        build(name, random_problem(3), LearnerConfig(**HINGE, c=0.0))
    problem = random_problem(4)
    problem.features[2][0, 0] = np.inf
    learner = build(name, problem, LearnerConfig(**HINGE))
    with np.errstate(invalid="ignore"), pytest.raises(EgparseError, match=r"expected a .*finite"):
        list(passes(learner, learner.initialise(), 5))
