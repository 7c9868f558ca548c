"""Online EG as published: its order, its start, and the rates that are proven or calibrated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.passes import eg_of, passes
from tolerances import stored_slack

from egparse.experiments.learners.published_eg import (
    ENOUGH,
    PASSES,
    AsPublishedConfig,
    PublishedConfig,
    PublishedEG,
)
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.losses import NAMED, Loss

losses = pytest.mark.parametrize("loss", ["log-linear", "max-margin"])
seeds = pytest.mark.parametrize("seed", [1, 2])
members = pytest.mark.parametrize(
    ("beta", "gamma"), [(1.0, 1.0), (1.0, 4.0), (0.5, 0.3), (3.0, 1.0), (2.0, 0.0), (math.inf, 3.0)]
)
C = 2.0


def test_as_published_draws_with_replacement_from_the_uniform_start() -> None:
    eg = PublishedEG(random_problem(3, n=40), AsPublishedConfig(c=2.0))
    visited: list[int] = []
    eg.run_steps = lambda state, order: visited.extend(order.tolist())  # type: ignore[method-assign]
    state = eg.initialise(3.0)
    assert not state.theta.any()
    for _ in range(50):
        eg.iterate(state)
    counts = np.bincount(visited, minlength=eg.n)
    assert len(visited) == 50 * eg.n
    # counts are binomial with mean 50 and variance 50 (1 - 1 / n); those of permutations have none
    assert 0.4 < counts.var() / 50 < 2.0
    assert len(set(visited[: eg.n])) < 0.8 * eg.n  # 1 - 1/e of them, in expectation


def test_rounding_stops_no_line_search_where_theta_is_large() -> None:
    """From the uniform start theta soon is in the thousands if features are large. What marginals
    in single precision take from the entropy there is no fall of the dual: learning rates stay
    far from the least one.
    """
    problem = random_problem(2, n=40)
    for own in problem.features:
        own *= 60.0
    eg = PublishedEG(problem, AsPublishedConfig(c=10.0))
    state = eg.initialise()
    largest = 0.0
    for _ in range(150):
        eg.iterate(state)
        largest = max(largest, float(np.abs(state.theta).max()))
    assert largest > 1000.0
    assert state.eta.min() > 1e-4


def test_the_start_is_uniform_if_asked_for() -> None:
    problem = random_problem(3)
    state = PublishedEG(problem, PublishedConfig(start="uniform")).initialise(3.0)
    entropies = [np.log(len(own)) for own in problem.structures]
    assert state.value == pytest.approx(entropies, rel=1e-6)


def test_rates_have_the_limit_that_is_set() -> None:
    def largest(limit: float | None) -> float:
        eg = PublishedEG(random_problem(7), PublishedConfig(c=50.0, largest_eta=limit))
        state = eg.initialise()
        for _ in range(40):
            eg.iterate(state)
        return float(state.eta.max())

    assert largest(None) == 1.0
    assert largest(0.6) == 0.6
    assert largest(np.inf) > 1.05


def radius(problem: EnumeratedProblem) -> float:
    """max_iy |F_i' (z_i - y)|^2, by enumeration."""
    return max(
        float((problem.differences(i)[0] ** 2).sum(axis=1).max())
        for i in range(len(problem.structures))
    )


@losses
@seeds
def test_no_step_at_the_proven_rate_lowers_the_dual(loss: str, seed: int) -> None:
    """Collins et al. 2008, Lemma 7 with Fig. 2: no rate is ever halved."""
    problem = random_problem(seed)
    eg = eg_of(problem, replace(AsPublishedConfig.under(NAMED[loss], c=0.5), search="proven"))
    state = eg.initialise()
    smoothness = radius(problem) / 0.5 + (loss == "log-linear")
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
        config = replace(AsPublishedConfig(c=c, seed=seed), eta=eta, growth=1.0)
        eg = eg_of(problem, config)
        state = eg.initialise()
        first = optimum - eg.dual(state)
        for t in range(most):
            eg.iterate(state)
            gaps[seed, t] = optimum - eg.dual(state)
        # at the optimum a fall by rounding may halve a rate
        assert most * eg.n <= state.evaluations <= 1.05 * most * eg.n
    steps = np.arange(1, most + 1)  # T / n
    bound = np.exp(-eta * steps) * (divergence / eta + first)
    assert (gaps.mean(axis=0) <= bound + stored_slack(problem.features, c)).all()
    assert gaps.mean(axis=0)[-1] > -1e-6 * optimum


@losses
def test_a_calibrated_rate_improves_nearly_all_examples_and_its_double_does_not(
    loss: str,
) -> None:
    problem = random_problem(2, n=60)
    config = replace(AsPublishedConfig.under(NAMED[loss], c=0.5), calibrate=0.5)
    eg = eg_of(problem, config)
    state = eg.initialise()
    assert np.log2(state.first_eta / config.eta) % 1 == 0
    assert (state.eta == state.first_eta).all()
    assert state.evaluations > 0  # the search is part of the effort
    sample = np.random.default_rng(config.seed).permutation(eg.n)[:30]

    def improving(eta: float) -> float:
        """The share of the sample that improves at each of its visits, by hand."""
        small = EnumeratedProblem(
            [problem.structures[i] for i in sample], [problem.features[i] for i in sample]
        )
        one = eg_of(small, replace(config, calibrate=0.0))
        state, falls = one.initialise(), np.zeros(one.n)
        for _ in range(PASSES):
            for i in range(one.n):
                before = one.dual(state)
                one.take_step(state, i, eta)
                falls[i] += one.dual(state) < before - 1e-8
        return float((falls == 0).mean())

    assert improving(state.first_eta) >= ENOUGH > improving(2 * state.first_eta)
    # and from there the optimum is found as from any other rate
    optimum = {"log-linear": log_linear_optimum, "max-margin": max_margin_optimum}[loss](
        problem, 0.5
    )
    last = list(passes(eg, state, 60))[-1]
    assert last.dual <= optimum + stored_slack(problem.features, 0.5) + PROVEN * optimum
    assert last.primal <= optimum * (1.01 if loss == "log-linear" else 1.3)


def test_callback_hears_of_every_visit() -> None:
    eg = PublishedEG(random_problem(8), AsPublishedConfig(c=2.0))
    heard: list[int] = []
    eg.iterate(eg.initialise(), heard.append)
    assert heard == [eg.n]


@members
def test_no_step_at_the_proven_rate_is_undone(beta: float, gamma: float) -> None:
    config = PublishedConfig.under(Loss(beta, gamma), c=C, search="proven", round_fraction=1.0)
    eg = eg_of(random_problem(4), config)
    state = eg.initialise()
    for _ in range(10):
        eg.iterate(state)
    assert state.evaluations == 10 * eg.n
