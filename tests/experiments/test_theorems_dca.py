"""What Martins et al. 2010 prove, by enumeration of all structures. Eq. 15, footnotes 17 and 18 and
1-best MIRA are tests of the learners (``test_learner_dca.py``, ``test_learner_mira.py``).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from learners.enumerated import log_linear_optimum, random_problem
from learners.small_problems import FAMILY, sample_trees
from scipy.optimize import minimize
from scipy.special import logsumexp

from egparse.experiments.problems.precision import precision_of_arc_marginals
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.losses import Loss
from egparse.types import Floats

losses = pytest.mark.parametrize(("beta", "gamma"), FAMILY)
RANDOM = np.random.default_rng(1)


def entropy(distribution: Floats) -> float:
    used = distribution[distribution > 0]
    return -float(used @ np.log(used))


def test_log_z_is_the_greatest_sum_of_expected_score_and_entropy() -> None:
    """Prop. 1: eq. 6, its maximum at the marginals, which are the gradient, and eq. 7."""
    problem = random_problem(1)
    for i, structures in enumerate(problem.structures):
        s = RANDOM.normal(size=structures.shape[1])
        z = np.empty(len(s))
        log_z = problem.marginals(i, s, z)
        gibbs = np.exp(structures @ s - log_z)
        assert log_z == pytest.approx(s @ z + entropy(gibbs))
        slopes = [
            (logsumexp(structures @ (s + e)) - logsumexp(structures @ (s - e))) / 2e-5
            for e in 1e-5 * np.eye(len(s))
        ]
        np.testing.assert_allclose(slopes, z, atol=1e-8)
        best, highest = np.empty(len(s)), (structures @ s).max()
        assert problem.argmax(i, s, best) == pytest.approx(highest)
        for other in RANDOM.dirichlet(np.ones(len(structures)), 20):
            assert log_z >= s @ (other @ structures) + entropy(other) - 1e-12
            assert s @ best >= s @ (other @ structures)


@losses
def test_losses_are_maxima_over_the_marginal_polytope(beta: float, gamma: float) -> None:
    """Eq. 8, and eq. 9: the gradient is F (zbar - z)."""
    problem = random_problem(2)
    for i, structures in enumerate(problem.structures):
        differences, costs = problem.differences(i)
        w = RANDOM.normal(size=len(problem.v))
        expected = np.empty(structures.shape[1])
        value = Loss(beta, gamma).value(problem, i, problem.features[i] @ w, expected)
        for other in RANDOM.dirichlet(np.ones(len(structures)), 20):
            mixed = other @ (differences @ w + gamma * costs) + entropy(other) / beta
            assert value >= mixed - 1e-12
        gradient = problem.features[i].T @ (expected - problem.gold(i))
        for other in w + RANDOM.normal(size=(20, len(w))):
            there = Loss(beta, gamma).value(problem, i, problem.features[i] @ other, expected)
            assert there >= value + (other - w) @ gradient - 1e-9


def test_losses_of_great_beta_fall_to_the_hinge_loss() -> None:
    """Fig. 1; and footnote 1: for beta = 1 the difference bounds the expected cost, for beta = inf
    it is the ramp loss, which bounds the cost of the best structure.
    """
    problem = random_problem(3)
    for i, structures in enumerate(problem.structures):
        scores = RANDOM.normal(size=structures.shape[1])
        room = np.empty(len(scores))
        hinge = Loss(math.inf, 1.0).value(problem, i, scores, room)
        family = [Loss(beta, 1.0).value(problem, i, scores, room) for beta in (1.0, 3.0, 10.0, 1e3)]
        assert family == sorted(family, reverse=True)
        assert hinge <= family[-1] <= hinge + math.log(len(structures)) / 1e3
        _, costs = problem.differences(i)
        gibbs = np.exp(structures @ scores - logsumexp(structures @ scores))
        assert Loss(1.0, 1.0).difference(problem, i, scores, room) >= gibbs @ costs - 1e-12
        ramp = Loss(math.inf, 1.0).difference(problem, i, scores, room)
        assert ramp >= costs[(structures @ scores).argmax()] - 1e-12


@losses
def test_the_subproblem_and_its_dual_have_the_same_optimum(beta: float, gamma: float) -> None:
    """Prop. 2 and 3: the dual of eq. 11 is over distributions of one example; with its optimum mu
    the weights w - mu / C have the same value of eq. 11, which no others are below.
    """
    problem, c = random_problem(4, n=4), 2.0
    at = RANDOM.normal(size=len(problem.v))

    def negative_dual(other: Floats, i: int) -> float:
        differences, costs = problem.differences(i)
        mu = other @ differences
        value = mu @ at + gamma * (other @ costs) + entropy(other) / beta
        return float(mu @ mu / (2 * c) - value)

    def primal(w: Floats, i: int) -> float:
        scores = problem.features[i] @ w
        value = Loss(beta, gamma).value(problem, i, scores, np.empty(len(scores)))
        return value + c / 2 * float((w - at) @ (w - at))

    for i, structures in enumerate(problem.structures):
        found = minimize(
            negative_dual,
            np.full(len(structures), 1 / len(structures)),
            args=(i,),
            bounds=[(0.0, 1.0)] * len(structures),
            constraints={"type": "eq", "fun": lambda other: other.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        best = at - found.x @ problem.differences(i)[0] / c
        assert primal(best, i) == pytest.approx(-found.fun, abs=1e-4)
        for other in best + RANDOM.normal(size=(20, len(at))):
            assert primal(other, i) >= -found.fun - 1e-6


def test_several_epochs_ascend_the_dual_of_another_problem() -> None:
    """Section 4: K passes add K n dual variables, so that the dual that rises is that of K times
    the loss. It passes the optimum of the problem that is named, from which the weights move away.
    """
    problem, c, passes = random_problem(5), 2.0, 20
    learner = DCA(problem, DCAConfig(c=c, averaged=False))
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    named = log_linear_optimum(problem, c)
    assert named < state.total_increase <= passes * log_linear_optimum(problem, c / passes)
    assert learner.certificate(state).primal > 1.1 * named


def test_the_inverse_of_the_laplacian_loses_its_digits() -> None:
    """Caption of Table 1; the random walk of this project does not."""
    found = precision_of_arc_marginals(sample_trees(60), (1.0, 20.0))
    assert found["1"]["inverse"] < 1e-9 < 1e-3 < found["20"]["inverse"]
    assert all(row["walk"] < 1e-9 for row in found.values())
