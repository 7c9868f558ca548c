"""Batch EG keeps what is proven of it, and exponentiated gradient of every order finds one
optimum.
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
from learners.slices import EACH, SLICES
from properties import examples
from scipy.special import logsumexp
from tolerances import bracket, rounding, stored_slack

from egparse.errors import EgparseError
from egparse.experiments.learners.batch_eg import (
    BatchEG,
    EGBatchConfig,
    EGBatchState,
    proven_rate,
)
from egparse.experiments.learners.published_eg import (
    AsPublishedConfig,
    CyclicConfig,
    PublishedEG,
    squared_radii,
)
from egparse.learners.eg.online import OnlineEG
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import NAMED
from egparse.learners.problem import read
from egparse.learners.registry import build

LOSSES = {
    "log-linear": LearnerConfig(c=2.0),
    "max-margin": LearnerConfig(beta=math.inf, gamma=1.0, c=2.0),
}
OPTIMA = {"log-linear": log_linear_optimum, "max-margin": max_margin_optimum}
losses = pytest.mark.parametrize("loss", list(LOSSES))
drawn = given(st.integers(0, 10_000), st.sampled_from([0.5, 2.0, 20.0]))


def log_alphas(problem: EnumeratedProblem, theta: np.ndarray) -> list[np.ndarray]:
    """The logarithms of the distributions over structures."""
    scores = [
        structures @ theta[problem.part_starts[i] : problem.part_starts[i + 1]]
        for i, structures in enumerate(problem.structures)
    ]
    return [own - logsumexp(own) for own in scores]


def divergence(p: list[np.ndarray], q: list[np.ndarray]) -> float:
    """D[p || q], from logarithms."""
    return sum(float(np.exp(own) @ (own - other)) for own, other in zip(p, q, strict=True))


def weights_of(problem: EnumeratedProblem, state: EGBatchState) -> np.ndarray:
    """v by its dual expression."""
    alphas = log_alphas(problem, state.theta)
    return -sum(np.exp(own) @ problem.differences(i)[0] for i, own in enumerate(alphas))


def precision_of_v(problem: EnumeratedProblem) -> float:
    """Of sums over all parts, by way of marginals of up to 16 structures each."""
    magnitude = sum(float(np.abs(own).max(axis=1).sum()) for own in problem.features)
    return rounding(16 * 4, magnitude)


@losses
@examples(8)
@drawn
def test_every_step_at_the_proven_rate_gains_what_is_proven(loss: str, seed: int, c: float) -> None:
    """Collins et al. 2008, Corollary 1."""
    problem = random_problem(seed, n=6)
    eg = BatchEG(problem, EGBatchConfig.under(NAMED[loss], c=c, rate="proven"))
    state = eg.initialise(2.0)
    for _ in range(10):
        before, alphas = state.dual, log_alphas(problem, state.theta)
        eg.iterate(state)
        proven = divergence(alphas, log_alphas(problem, state.theta)) / state.eta
        # differences of duals, sums over the structures of 6 examples
        assert state.dual - before >= proven - rounding(100, abs(before))


@examples(8)
@drawn
def test_log_linear_dual_closes_in_geometrically(seed: int, c: float) -> None:
    """Ibid., Theorem 1, eq. 15, with the divergence of the optimum from the start at hand."""
    problem = random_problem(seed, n=6)
    found = build("lbfgs", problem, LearnerConfig(c=c))
    state = found.initialise()
    for _ in range(60):
        found.iterate(state)
    certificate = found.certificate(state)
    optimum = certificate.primal
    slack = certificate.gap + rounding(100, optimum)  # of the optimum, and of sums
    best = log_alphas(problem, np.concatenate([own @ read(problem) for own in problem.features]))
    eg = BatchEG(problem, EGBatchConfig(c=c, rate="proven"))
    state = eg.initialise(1.0)
    distance = divergence(best, log_alphas(problem, state.theta))
    for step in range(1, 60):
        eg.iterate(state)
        assert (
            -slack
            <= optimum - state.dual
            <= math.exp(-state.eta * step) / state.eta * distance + slack
        )


@pytest.mark.parametrize("seed", [1, 2])
def test_max_margin_dual_closes_in_with_the_steps(seed: int) -> None:
    """Ibid., Theorem 1, eq. 14: from the uniform start, no distribution is further than log |Y|."""
    problem = random_problem(seed)
    optimum = max_margin_optimum(problem, 2.0)
    eg = BatchEG(problem, EGBatchConfig.under(NAMED["max-margin"], c=2.0, rate="proven"))
    state = eg.initialise(0.0)
    distance = sum(math.log(len(own)) for own in problem.structures)
    for step in range(1, 100):
        eg.iterate(state)
        gap = optimum - state.dual
        assert -PROVEN * optimum <= gap <= distance / (state.eta * step) + PROVEN * optimum


@examples(20)
@drawn
def test_the_proven_rate_is_at_most_that_of_the_paper_at_the_true_maximum(
    seed: int, c: float
) -> None:
    problem = random_problem(seed)
    true = np.array([(problem.differences(i)[0] ** 2).sum(axis=1).max() for i in range(12)])
    radii = squared_radii(problem)
    assert (radii >= true * (1 - rounding(problem.v.size + 2 * 4))).all()  # |sum of parts|^2
    assert not problem.v.any()
    assert proven_rate(true, EGBatchConfig(c=c)) >= 1 / (
        1 + 12 * true.max() / c
    )  # the sum is at most n |A|


def test_radii_know_of_parts_that_occur_twice() -> None:
    """One structure has its only part twice, the other once: |F'(z - y)| is the norm of the
    part.
    """
    for gold in ([1.0], [2.0]):
        structures = [np.array([gold, [3.0 - gold[0]], [0.0]])]
        problem = EnumeratedProblem(structures, [np.array([[3.0, 4.0]])])
        true = max(abs(gold[0] - own) for own in (0.0, 1.0, 2.0)) * 5.0
        assert squared_radii(problem)[0] >= true**2 * (1 - rounding(4))


@losses
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("learner", ["eg-online", "eg-cyclic", "eg-2007", "eg-batch"])
def test_every_order_finds_the_optimum(loss: str, seed: int, learner: str) -> None:
    problem = random_problem(seed)
    optimum = OPTIMA[loss](problem, 2.0)
    options = {"published": True} if learner == "eg-online" else {}
    eg = build(learner, problem, LOSSES[loss], **options)
    state = eg.initialise()
    precision = 1e-4 if loss == "log-linear" else 1e-3
    for _ in range(1000):
        eg.iterate(state)
        certificate = eg.certificate(state)
        if certificate.relative_gap < precision:
            break
    assert certificate.relative_gap < precision
    bracket([certificate], optimum, PROVEN * optimum + stored_slack(problem.features, 2.0))


@pytest.mark.compiled_only
@pytest.mark.parametrize("name", EACH)
def test_the_proven_rate_holds_on_sentences(name: str) -> None:
    eg = BatchEG(SLICES[name](), EGBatchConfig(c=100.0, rate="proven"))
    state = eg.initialise()
    duals = [state.dual]
    for _ in range(5):
        eg.iterate(state)
        duals.append(state.dual)
    assert 0 < state.eta < 1.0
    assert all(after > before for before, after in itertools.pairwise(duals))


def test_weights_are_their_dual_expression() -> None:
    problem = random_problem(5)
    eg = BatchEG(problem, EGBatchConfig(c=2.0))
    state: EGBatchState = eg.initialise()
    for _ in range(7):
        eg.iterate(state)
    v = weights_of(problem, state)
    np.testing.assert_allclose(problem.v, v, atol=precision_of_v(problem))
    alphas = [np.exp(own) for own in log_alphas(problem, state.theta)]
    entropy = -sum(float(own @ np.log(own)) for own in alphas)
    assert eg.certificate(state).dual == pytest.approx(entropy - v @ v / 4.0)


def test_a_fixed_rate_that_is_too_large_is_named() -> None:
    problem = random_problem(6)
    eg = BatchEG(problem, EGBatchConfig.under(NAMED["max-margin"], c=0.05, rate="fixed", eta=5.0))
    state = eg.initialise()
    duals = [state.dual]

    def until_it_falls() -> None:
        for _ in range(50):
            eg.iterate(state)
            duals.append(state.dual)

    with pytest.raises(
        EgparseError, match=r"fixed learning rate to raise the dual, got .* with eta = 5"
    ):
        until_it_falls()
    assert eg.certificate(state).dual == duals[-1]  # the step is taken back
    np.testing.assert_allclose(problem.v, weights_of(problem, state), atol=precision_of_v(problem))


def test_cyclic_order_is_that_of_the_corpus() -> None:
    problem = random_problem(7)
    eg = PublishedEG(problem, CyclicConfig(c=2.0))
    visited: list[int] = []
    eg.run_steps = lambda state, order: visited.extend(order.tolist())  # type: ignore[method-assign]
    state = eg.initialise()
    eg.iterate(state)
    eg.iterate(state)
    assert visited == 2 * list(range(eg.n))


def test_online_as_published_is_a_choice_of_the_registry() -> None:
    eg = build(
        "eg-online", random_problem(8), LearnerConfig(c=3.0, seed=4), published=True, eta=0.25
    )
    assert isinstance(eg, OnlineEG)
    assert eg.config == AsPublishedConfig(
        c=3.0,
        seed=4,
        eta=0.25,
        order="drawn",
        start="uniform",
        largest_eta=math.inf,
        max_halvings=60,
        every_move=True,
        round_fraction=1.0,
    )


def test_the_algorithm_of_2007_starts_its_rates_again_at_each_visit() -> None:
    """So that no visit tries a rate that is not eta_0 over a power of two, and each tries eta_0."""
    problem = random_problem(7)
    eg = build("eg-2007", problem, LearnerConfig(c=0.1), eta=0.75)
    assert isinstance(eg, OnlineEG)
    assert (eg.config.order, eg.config.start) == ("cyclic", "uniform")
    state, tried = eg.initialise(), []
    attempt = problem.attempt

    def noted(*arguments: Any) -> tuple[float, float, float]:
        tried.append((arguments[0], arguments[3]))
        return attempt(*arguments)

    problem.attempt = noted  # type: ignore[method-assign]
    for _ in range(4):
        tried.clear()
        eg.iterate(state)
        visits = [list(rates) for _, rates in itertools.groupby(tried, key=lambda one: one[0])]
        assert [visit[0] for visit in visits] == [(i, 0.75) for i in range(eg.n)]
        for visit in visits:
            assert [eta for _, eta in visit] == [0.75 / 2**k for k in range(len(visit))]
    assert len(tried) > eg.n  # some rates were halved, and start again none the less


def test_batch_starts_where_it_is_told() -> None:
    eg = BatchEG(random_problem(8), EGBatchConfig(start="uniform"))
    assert not eg.initialise(3.0).theta.any()
    assert BatchEG(random_problem(8), EGBatchConfig()).initialise(3.0).theta.max() == 3.0
