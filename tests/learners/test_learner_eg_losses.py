"""Exponentiated gradient for every member of the family of losses: primal and dual meet at the
optimum that a solver in the primal finds, and no step lowers the dual.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from learners.enumerated import EnumeratedProblem, random_problem
from learners.passes import passes
from learners.slices import EACH, SLICES
from scipy.optimize import minimize
from scipy.special import logsumexp
from tolerances import SINGLE, bracket, rounding, stored_slack

from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import NAMED, Loss
from egparse.learners.registry import build

FINITE = [(1.0, 1.0), (1.0, 4.0), (0.5, 0.3), (3.0, 1.0), (2.0, 0.0)]
C = 2.0


def optimum_of(problem: EnumeratedProblem, beta: float, gamma: float) -> float:
    """min sum_i log sum_y exp(beta (w . F'(y - gold) + gamma cost)) / beta + C/2 |w|^2, by L-BFGS
    over the enumerated structures.
    """
    own = [problem.differences(i) for i in range(len(problem.structures))]

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = C / 2 * float(w @ w), C * w
        for moved, costs in own:
            scores = beta * (moved @ w + gamma * costs)
            log_z = logsumexp(scores)
            value += float(log_z) / beta
            gradient = gradient + np.exp(scores - log_z) @ moved
        return value, gradient

    start = np.zeros(len(problem.v))
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
    )
    # the objective is strongly convex: the optimum is at most |gradient|^2 / (2C) below
    assert found.jac @ found.jac / (2 * C) <= 1e-10 * found.fun
    return float(found.fun)


@pytest.mark.parametrize("learner", ["eg-online", "eg-cyclic", "eg-batch"])
@pytest.mark.parametrize(("beta", "gamma"), FINITE)
def test_primal_and_dual_meet_at_the_optimum(learner: str, beta: float, gamma: float) -> None:
    problem = random_problem(3)
    optimum = optimum_of(problem, beta, gamma)
    eg = build(learner, problem, LearnerConfig(beta=beta, gamma=gamma, c=C))
    state = eg.initialise()
    for certificate in passes(eg, state, 1500):
        if certificate.relative_gap < 1e-5:
            break
    assert certificate.relative_gap < 1e-5
    bracket([certificate], optimum, 1e-10 * optimum + stored_slack(problem.features, C))


@pytest.mark.nightly
def test_max_margin_with_another_weight_of_the_cost_is_max_margin_in_other_units() -> None:
    """gamma cost + w . F'(y - z) = gamma (cost + w'. F'(y - z)) with w = gamma w', so that the
    objective is gamma times that of C' = gamma C.
    """
    gamma, ends = 3.0, []
    for weight, c in ((gamma, C), (1.0, gamma * C)):
        config = LearnerConfig(beta=math.inf, gamma=weight, c=c)
        eg = build("eg-online", random_problem(3), config, search="quadratic")
        ends.append(list(passes(eg, eg.initialise(), 400))[-1])
    weighted, plain = ends
    assert weighted.relative_gap < 1e-3
    assert weighted.dual <= gamma * plain.primal * (1 + 1e-6)
    assert gamma * plain.dual <= weighted.primal * (1 + 1e-6)


@pytest.mark.parametrize(
    ("loss", "member"), [("log-linear", (1.0, 0.0)), ("max-margin", (math.inf, 1.0))]
)
def test_the_general_step_is_that_of_the_losses_with_names(
    loss: str, member: tuple[float, float]
) -> None:
    """Losses next to those with a name take the general step, and nearly the same one."""
    states = []
    for own in (NAMED[loss], Loss(member[0] if member[0] == 1.0 else 1e12, member[1] + 1e-12)):
        eg = OnlineEG(random_problem(6), EGConfig.under(own, c=C))  # type: ignore[arg-type]
        states.append(eg.initialise())
        for _ in range(5):
            eg.iterate(states[-1])
    np.testing.assert_allclose(states[0].theta, states[1].theta, rtol=1e-4, atol=1e-5)


@pytest.mark.compiled_only
@pytest.mark.parametrize("name", EACH)
def test_softmax_margin_of_sentences(name: str) -> None:
    """Taggers and parsers: the gap closes, and L-BFGS finds no lower primal than the dual."""
    config = LearnerConfig(beta=1.0, gamma=1.0, c=20.0)
    eg = build("eg-online", SLICES[name](), config)
    for certificate in passes(eg, eg.initialise(), 150):
        if certificate.relative_gap < 1e-4:
            break
    assert certificate.relative_gap < 1e-4
    rival = build("lbfgs", SLICES[name](), config)
    last = list(passes(rival, rival.initialise(), 40))[-1]
    slack = 1 + rounding(100, eps=SINGLE)
    assert certificate.dual <= last.primal * slack
    assert last.dual <= certificate.primal * slack
