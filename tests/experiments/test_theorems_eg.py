"""What Globerson et al. 2007 and Collins et al. 2008 prove of exponentiated gradient, against
enumerated distributions; Theorem 1, Corollary 1 and eq. 17 of 2008 are in ``test_learners_eg``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from learners.enumerated import (
    EnumeratedProblem,
    divergence,
    log_alpha,
    log_alphas,
    max_margin_optimum,
    random_problem,
)
from learners.passes import distances, eg_of
from scipy.special import logsumexp
from tolerances import SINGLE, rounding, stored_slack

from egparse.experiments.learners.batch_eg import BatchEG, EGBatchConfig
from egparse.experiments.learners.published_eg import CyclicConfig, PublishedConfig
from egparse.learners.losses import NAMED
from egparse.types import Floats

losses = pytest.mark.parametrize("loss", ["log-linear", "max-margin"])
constants = pytest.mark.parametrize("c", [0.5, 20.0])


def negative_dual(problem: EnumeratedProblem, alphas: list[Floats], loss: str, c: float) -> float:
    """Q (2008, eq. 9 and 11), from logarithms of distributions; psi is minus ``differences``."""
    w, value = np.zeros(problem.v.size), 0.0
    for i, own in enumerate(alphas):
        differences, costs = problem.differences(i)
        w -= np.exp(own) @ differences
        value += float(np.exp(own) @ (own if loss == "log-linear" else -costs))
    return value + float(w @ w) / (2 * c)


@losses
@constants
def test_a_step_on_theta_is_that_on_the_distributions(loss: str, c: float) -> None:
    """2008, Lemma 1 and section 2: alpha' is alpha exp(-eta times the gradient), normalised."""
    problem = random_problem(3)
    eg = BatchEG(problem, EGBatchConfig.under(NAMED[loss], c=c, rate="proven"))
    state = eg.initialise(1.0)
    for _ in range(5):
        before, v = log_alphas(problem, state.theta), problem.v.copy()
        eta = state.eta
        eg.iterate(state)
        for i, (own, after) in enumerate(
            zip(before, log_alphas(problem, state.theta), strict=True)
        ):
            differences, costs = problem.differences(i)
            gradient = (1 + own if loss == "log-linear" else -costs) - differences @ v / c
            moved = own - eta * gradient
            np.testing.assert_allclose(after, moved - logsumexp(moved), atol=1e-9)


@losses
@constants
def test_an_online_step_gains_what_is_proven(loss: str, c: float) -> None:
    """2007, eq. 4 with section 4.5: Q falls by at least D[alpha_i || alpha'_i] / eta, in the order
    of the corpus as in any other.
    """
    problem = random_problem(2)
    eg = eg_of(problem, CyclicConfig.under(NAMED[loss], c=c, search="proven"))
    state = eg.initialise()
    for _ in range(8):
        for i in range(eg.n):
            before = log_alpha(problem, state.theta, i)
            alphas = log_alphas(problem, state.theta)
            q = negative_dual(problem, alphas, loss, c)
            eg.update(state, i)
            after = log_alpha(problem, state.theta, i)
            fall = q - negative_dual(problem, [*alphas[:i], after, *alphas[i + 1 :]], loss, c)
            # theta is stored in single precision, and v of marginals that are
            slack = rounding(100, 1 + abs(q), eps=SINGLE)
            assert fall >= divergence([before], [after]) / state.eta[i] - slack


@losses
@constants
def test_batch_steps_obey_the_bound_of_kivinen_and_warmuth(loss: str, c: float) -> None:
    """2007, Lemma 4 for any u, and what section 4.4 makes of it: after T steps Q is at most Q(u)
    plus (D[u || alpha_1] - D[u || alpha_T+1]) / (eta T).
    """
    problem, random = random_problem(5), np.random.default_rng(1)
    eg = BatchEG(problem, EGBatchConfig.under(NAMED[loss], c=c, rate="proven"))
    state = eg.initialise(1.0)
    points = [
        [np.log(random.dirichlet(np.ones(len(own)))) for own in problem.structures]
        for _ in range(20)
    ]
    path = [log_alphas(problem, state.theta)]
    for _ in range(30):
        eg.iterate(state)
        path.append(log_alphas(problem, state.theta))
    values = [negative_dual(problem, alphas, loss, c) for alphas in path]
    for u in points:
        q = negative_dual(problem, u, loss, c)
        distances = [divergence(u, alphas) for alphas in path]
        for t in range(30):
            rest = divergence(path[t], path[t + 1])
            slack = rounding(1000, 1 + abs(q) + abs(values[t]))
            assert state.eta * (values[t] - q) <= distances[t] - distances[t + 1] + rest + slack
            closer = (distances[0] - distances[t + 1]) / (state.eta * (t + 1))
            assert values[t + 1] <= q + closer + slack / state.eta


def test_max_margin_closes_in_as_fast_as_theorem_2_says() -> None:
    """2008, eq. 16, for the mean over runs from the uniform start, from which no distribution is
    further than log |Y|.
    """
    seeds, most, c = 20, 60, 2.0
    problem = random_problem(1)
    optimum = max_margin_optimum(problem, c)
    distance = sum(math.log(len(own)) for own in problem.structures)
    gaps = np.empty((seeds, most))
    for seed in range(seeds):
        config = PublishedConfig.under(NAMED["max-margin"], c=c, seed=seed, search="proven")
        state, (first, *gaps[seed]) = distances(eg_of(problem, config), optimum, most)
    passes = np.arange(1, most + 1)  # T / n
    bound = (distance / state.first_eta + first) / passes
    assert (gaps.mean(axis=0) <= bound + stored_slack(problem.features, c)).all()
