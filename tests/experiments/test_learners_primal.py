"""Quasi-Newton learners: the optimum of independent solvers, the gradient and the dual of every
certificate, and SciPy's own run step by step.
"""

from __future__ import annotations

import gc
import math
import threading

import numpy as np
import pytest
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    random_problem,
)
from learners.passes import passes
from scipy.optimize import approx_fprime, minimize
from tolerances import bracket

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.quasi_newton import QuasiNewton, QuasiNewtonConfig
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import Loss
from egparse.learners.registry import build

names = pytest.mark.parametrize("name", ["lbfgs", "cg"])


@pytest.mark.parametrize(("name", "most"), [("lbfgs", 60), ("cg", 200)])
@pytest.mark.parametrize("c", [0.2, 2.0, 20.0])
def test_log_linear_optimum(name: str, most: int, c: float) -> None:
    """No dual is above the optimum and no primal below, and both end there."""
    problem = random_problem(1)
    optimum = log_linear_optimum(problem, c)
    learner = build(name, problem, LearnerConfig(c=c))
    found = list(passes(learner, learner.initialise(), most))
    bracket(found, optimum, (PROVEN + 1e-9) * optimum)
    assert found[-1].relative_gap <= 1e-9


def dual_at_the_weights(problem: EnumeratedProblem, loss: Loss, c: float) -> float:
    """The dual value of the structures' distributions at w, by enumeration (Martins et al. 2010,
    eq. 8-9, conjugate form).
    """
    w, value, v = problem.v, 0.0, np.zeros_like(problem.v)
    for i in range(len(problem.structures)):
        differences, costs = problem.differences(i)
        scores = loss.beta * (differences @ w + loss.gamma * costs)
        alpha = np.exp(scores - scores.max())
        alpha /= alpha.sum()
        value += float(-(alpha @ np.log(alpha)) / loss.beta + loss.gamma * alpha @ costs)
        v -= alpha @ differences
    return value - float(v @ v) / (2 * c)


@names
@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (1.0, 1.0), (3.0, 0.5)])
def test_certificate_of_every_smooth_loss(name: str, beta: float, gamma: float) -> None:
    problem, c = random_problem(2), 0.7
    learner = build(name, problem, LearnerConfig(beta=beta, gamma=gamma, c=c))
    state = learner.initialise()
    for _ in range(3):
        learner.iterate(state)
        certificate = learner.certificate(state)
        assert certificate.dual == pytest.approx(
            dual_at_the_weights(problem, Loss(beta, gamma), c), rel=1e-9
        )
        expected = np.empty(problem.part_starts[-1])

        def primal(w: np.ndarray) -> float:
            problem.v[:] = w
            value = c / 2 * float(w @ w)
            for i in range(len(problem.structures)):
                scores = problem.scores(i)
                value += Loss(beta, gamma).value(problem, i, scores, expected[: len(scores)])  # noqa: B023
            return value

        w = problem.v.copy()
        assert certificate.primal == pytest.approx(primal(w))
        slope = approx_fprime(w, primal, 1e-7)
        np.testing.assert_allclose(state.kept.gradient, slope, atol=1e-4)
        problem.v[:] = w


@names
def test_steps_and_evaluations_are_those_of_one_call(name: str) -> None:
    """Nothing is lost by going step by step."""
    problem, points = random_problem(3, n=30, d=20), []
    learner = build(name, problem, LearnerConfig(c=0.1))
    assert isinstance(learner, QuasiNewton)
    state = learner.initialise()
    for _ in range(8):
        learner.iterate(state)
    reached = problem.v.copy()
    other = QuasiNewton(problem.with_own_weights(), learner.config)
    calls = 0

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        found = other._evaluate(w)
        return found.value, found.gradient

    minimize(
        objective,
        np.zeros(20),
        jac=True,
        method=learner.method,
        callback=points.append,
        options={"maxiter": 8, "gtol": 0.0},
    )
    np.testing.assert_array_equal(points[-1], reached)
    assert learner.certificate(state).effective_iterations == calls


def test_an_interrupted_evaluation_is_taken_up_again() -> None:
    certificates = []
    for interrupted in (False, True):
        problem = random_problem(4)
        learner = QuasiNewton(problem, QuasiNewtonConfig(c=0.5))
        state = learner.initialise()
        learner.iterate(state)
        if interrupted:
            marginals = problem.marginals

            def interrupt(*arguments: object) -> float:
                raise KeyboardInterrupt

            problem.marginals = interrupt  # type: ignore[method-assign]
            with pytest.raises(KeyboardInterrupt):
                learner.iterate(state)
            problem.marginals = marginals  # type: ignore[method-assign]
        learner.iterate(state)
        certificates.append(learner.certificate(state)._replace(effective_iterations=0.0))
    assert certificates[0] == certificates[1]


def test_no_thread_outlives_its_state() -> None:
    before = set(threading.enumerate())
    learner = QuasiNewton(random_problem(5), QuasiNewtonConfig(c=0.5))
    state = learner.initialise()
    learner.iterate(state)
    mine = [thread for thread in threading.enumerate() if thread not in before]
    assert len(mine) == 1
    del state
    gc.collect()
    mine[0].join(timeout=10)
    assert not mine[0].is_alive()


def test_no_step_far_from_the_optimum_is_an_error() -> None:
    """A gradient that points the wrong way: no step lowers the objective."""
    problem = random_problem(8)
    learner = QuasiNewton(problem, QuasiNewtonConfig(c=0.5))
    evaluate = learner._evaluate
    learner._evaluate = lambda w: evaluate(w)._replace(gradient=-evaluate(w).gradient)  # type: ignore[method-assign]
    state = learner.initialise()
    with pytest.raises(
        EgparseError, match=r"L-BFGS-B: expected steps down to a relative gap of 0.001, got none"
    ):
        list(passes(learner, state, 3))


@names
def test_what_cannot_be_learned_is_named(name: str) -> None:
    for beta, gamma in [(math.inf, 1.0), (math.inf, 0.0), (-1.0, 0.0), (1.0, -1.0)]:
        with pytest.raises(ConfigError, match=f"got beta = {beta:g}, gamma = {gamma:g}"):
            build(name, random_problem(6), LearnerConfig(beta=beta, gamma=gamma))
    with pytest.raises(ConfigError, match="expected c > 0"):
        build(name, random_problem(6), LearnerConfig(c=0.0))
    problem = random_problem(7)
    problem.features[3][0, 0] = np.nan
    learner = build(name, problem, LearnerConfig())
    with pytest.raises(EgparseError, match=r"expected a finite (loss|objective)"):
        learner.iterate(learner.initialise())
