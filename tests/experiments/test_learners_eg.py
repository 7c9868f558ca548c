"""Exponentiated gradient as published, one by one and in batches: its orders and starts, the rates
that are proven and what is proven of them, and one optimum.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    divergence,
    log_alphas,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.passes import distances, eg_of
from properties import examples
from scipy.optimize import minimize
from scipy.special import softmax
from tolerances import bracket, rounding, stored_slack

from egparse.errors import EgparseError
from egparse.experiments.learners.batch_eg import BatchEG, EGBatchConfig, EGBatchState
from egparse.experiments.learners.published_eg import (
    CyclicConfig,
    PublishedConfig,
    PublishedEG,
    proven_rate,
    squared_radii,
)
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import NAMED, Loss
from egparse.learners.problem import read
from egparse.learners.registry import build
from egparse.types import Floats

LOSSES = {
    "log-linear": LearnerConfig(c=2.0),
    "max-margin": LearnerConfig(beta=math.inf, gamma=1.0, c=2.0),
}
OPTIMA = {"log-linear": log_linear_optimum, "max-margin": max_margin_optimum}
losses = pytest.mark.parametrize("loss", list(LOSSES))
drawn = given(st.integers(0, 10_000), st.sampled_from([0.5, 2.0, 20.0]))
members = pytest.mark.parametrize(
    ("beta", "gamma"),
    [(1.0, 0.0), (1.0, 4.0), (0.5, 0.3), (2.0, 0.0), (math.inf, 1.0), (math.inf, 3.0)],
)


def visits_of(config: PublishedConfig, passes: int) -> tuple[list[int], int]:
    """The examples in the order of their visits, and how many there are."""
    eg = PublishedEG(random_problem(3, n=40), config)
    visited: list[int] = []
    eg.run_steps = lambda state, order: visited.extend(order.tolist())  # type: ignore[method-assign]
    state = eg.initialise()
    assert not state.theta.any()  # the uniform start
    for _ in range(passes):
        eg.iterate(state)
    return visited, eg.n


def test_as_published_draws_with_replacement() -> None:
    visited, n = visits_of(PublishedConfig(c=2.0), 50)
    assert len(visited) == 50 * n
    # counts are binomial with mean 50 and variance 50 (1 - 1 / n); those of permutations have none
    assert 0.4 < np.bincount(visited, minlength=n).var() / 50 < 2.0
    assert len(set(visited[:n])) < 0.8 * n  # 1 - 1/e of them, in expectation


def test_cyclic_order_is_that_of_the_corpus() -> None:
    visited, n = visits_of(CyclicConfig(c=2.0), 2)
    assert visited == 2 * list(range(n))


def test_rounding_stops_no_line_search_where_theta_is_large() -> None:
    """From the uniform start theta soon is in the thousands if features are large. What marginals
    in single precision take from the entropy there is no fall of the dual: learning rates stay
    far from the least one.
    """
    problem = random_problem(2, n=40)
    for own in problem.features:
        own *= 60.0
    eg = PublishedEG(problem, PublishedConfig(c=10.0))
    state = eg.initialise()
    largest = 0.0
    for _ in range(150):
        eg.iterate(state)
        largest = max(largest, float(np.abs(state.theta).max()))
    assert largest > 1000.0
    assert state.eta.min() > 1e-4


def radius(problem: EnumeratedProblem) -> float:
    """max_iy |F_i' (z_i - y)|^2, by enumeration."""
    return max(
        float((problem.differences(i)[0] ** 2).sum(axis=1).max())
        for i in range(len(problem.structures))
    )


@members
@pytest.mark.parametrize("seed", [1, 4])
def test_no_step_at_the_proven_rate_lowers_the_dual(beta: float, gamma: float, seed: int) -> None:
    """Collins et al. 2008, Lemma 7 with Fig. 2: no rate is ever halved."""
    problem = random_problem(seed)
    config = PublishedConfig.under(Loss(beta, gamma), c=0.5, search="proven")
    eg = eg_of(problem, config)
    state = eg.initialise()
    smoothness = radius(problem) / 0.5 + 1 / beta
    assert 0.2 / smoothness < state.first_eta <= 1 / smoothness
    for _ in range(10):
        eg.iterate(state)
    assert state.evaluations == 10 * eg.n
    assert (state.eta == state.first_eta).all()


@pytest.mark.parametrize("c", [1.0, 20.0])
def test_the_expected_dual_closes_in_as_fast_as_theorem_2_says(c: float) -> None:
    """Ibid., eq. 17, for the mean over runs, at the greatest rate that is proven. Divergence of
    the optimum from the uniform start: sum_i log |Y_i| - H(alpha*_i).
    """
    seeds, most = 20, 40
    problem = random_problem(1)
    optimum = log_linear_optimum(problem, c)
    eta = 1.0 / (1.0 + radius(problem) / c)
    best = OnlineEG(problem, EGConfig(c=c))
    state = best.initialise()
    for _ in range(300):
        best.iterate(state)
    logs = sum(np.log(len(own)) for own in problem.structures)
    divergence = logs - float(state.value.sum())
    gaps = np.empty((seeds, most))
    for seed in range(seeds):
        config = replace(PublishedConfig(c=c, seed=seed), eta=eta, growth=1.0)
        eg = eg_of(problem, config)
        state, (first, *gaps[seed]) = distances(eg, optimum, most)
        # at the optimum a fall by rounding may halve a rate
        assert most * eg.n <= state.evaluations <= 1.05 * most * eg.n
    steps = np.arange(1, most + 1)  # T / n
    bound = np.exp(-eta * steps) * (divergence / eta + first)
    assert (gaps.mean(axis=0) <= bound + stored_slack(problem.features, c)).all()
    assert gaps.mean(axis=0)[-1] > -1e-6 * optimum


def test_an_exact_visit_maximises_the_dual_over_its_example() -> None:
    """Against a general maximiser over the logits of alpha_i, with all other examples fixed."""
    problem, c = random_problem(1), 0.5
    eg = eg_of(problem, PublishedConfig(c=c, exact=True))
    state = eg.initialise()
    for i in range(eg.n):
        parts = slice(problem.part_starts[i], problem.part_starts[i + 1])
        features, structures = problem.features[i], problem.structures[i]
        rest = problem.v - features.T @ (problem.gold(i) - state.marginals[parts])

        def negative(logits: np.ndarray) -> float:
            alpha = softmax(logits)
            v = rest + features.T @ (problem.gold(i) - alpha @ structures)  # noqa: B023
            return float(alpha @ np.log(alpha)) + float(v @ v) / (2 * c)

        best = -minimize(negative, np.zeros(len(structures)), tol=1e-10).fun
        start = float(state.value[i]) - float(problem.v @ problem.v) / (2 * c)
        gained = eg.update(state, i)
        assert best - start == pytest.approx(gained, rel=1e-3, abs=1e-5)
    assert state.evaluations > eg.n


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
    assert proven_rate(true.sum(), EGBatchConfig(c=c)) >= 1 / (
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


@losses
@pytest.mark.parametrize("name", ["eg-cyclic", "eg-batch"])
def test_the_start_is_uniform_or_near_gold(name: str, loss: str) -> None:
    for start in ("uniform", "gold"):
        eg: Any = build(name, random_problem(3), LOSSES[loss], start=start)
        theta = eg.initialise(3.0).theta
        assert theta.max() == (3.0 if start == "gold" else 0.0)


@pytest.mark.parametrize("c", [0.5, 20.0])
def test_a_pairwise_step_is_the_best_one_between_its_labels(c: float) -> None:
    """No other share of the probability of the two labels has a higher dual, and v follows."""
    generator = np.random.default_rng(4)
    x, y = generator.normal(size=(12, 5)), generator.integers(0, 4, size=12)
    problem = ClassifierProblem(x, y, 4)
    eg = PublishedEG(problem, PublishedConfig(c=c, start="gold", pairwise=True))
    state = eg.initialise(1.0)

    def dual_of(alpha: Floats) -> float:
        v = (np.eye(4)[y] - alpha).T @ x
        return float(-(alpha * np.log(alpha)).sum() - (v * v).sum() / (2 * c))

    for k in range(60):
        before = state.marginals.reshape(12, 4).astype(float)
        gained = eg.update(state, k % 12)
        after = state.marginals.reshape(12, 4).astype(float)
        np.testing.assert_allclose(read(problem), ((np.eye(4)[y] - after).T @ x).ravel(), atol=1e-9)
        assert eg.dual(state) == pytest.approx(dual_of(after), abs=1e-5)
        assert gained == pytest.approx(dual_of(after) - dual_of(before), abs=1e-5)
        moved = np.flatnonzero(np.abs(after - before)[k % 12] > 1e-7)
        if len(moved) < 2:
            continue
        assert len(moved) == 2
        others = after.copy()
        for share in np.linspace(0.01, 0.99, 50):
            both = before[k % 12, moved].sum()
            others[k % 12, moved] = both * np.array([share, 1 - share])
            assert dual_of(others) <= dual_of(after) + 1e-5
    for _ in range(300):
        eg.iterate(state)
    assert eg.certificate(state).relative_gap < 1e-4
