"""L-BFGS and conjugate gradient step by step: SciPy's own run, with a certificate, at the optimum
of every smooth loss.
"""

from __future__ import annotations

import gc
import math
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learners.enumerated import PROVEN, EnumeratedProblem, log_linear_optimum, random_problem
from learners.slices import EACH, SLICES, sequence
from properties import examples
from scipy.optimize import approx_fprime, minimize
from tolerances import SINGLE, bracket, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.quasi_newton import (
    QuasiNewton,
    QuasiNewtonConfig,
    QuasiNewtonState,
)
from egparse.learners.learner import Certificate, LearnerConfig
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, read
from egparse.learners.registry import build

methods = pytest.mark.parametrize("method", ["L-BFGS-B", "CG"])
names = pytest.mark.parametrize("name", ["lbfgs", "cg"])


def run(learner: QuasiNewton, most: int = 300) -> tuple[QuasiNewtonState, list[Certificate]]:
    """The certificates of every step, until there is none left."""
    state = learner.initialise()
    certificates = [learner.certificate(state)]
    while not state.finished and len(certificates) < most:
        learner.iterate(state)
        certificates.append(learner.certificate(state))
    return state, certificates


def steps(learner: QuasiNewton, state: QuasiNewtonState, count: int) -> None:
    """Some steps."""
    for _ in range(count):
        learner.iterate(state)


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


@methods
@examples(10)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 2.0]))
def test_log_linear_optimum(method: str, seed: int, c: float) -> None:
    problem = random_problem(seed)
    optimum = log_linear_optimum(problem, c)
    _, certificates = run(QuasiNewton(problem, QuasiNewtonConfig(method=method, c=c)))  # type: ignore[arg-type]
    assert certificates[-1].relative_gap <= 1e-9
    bracket(certificates, optimum, PROVEN * optimum)


@methods
@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (1.0, 1.0), (3.0, 0.5)])
def test_certificate_of_every_smooth_loss(method: str, beta: float, gamma: float) -> None:
    problem, c = random_problem(2), 0.7
    config = QuasiNewtonConfig(method=method, beta=beta, gamma=gamma, c=c)  # type: ignore[arg-type]
    learner = QuasiNewton(problem, config)
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
        assert certificate.details["gradient_norm"] == pytest.approx(
            np.linalg.norm(slope), abs=1e-3
        )
        problem.v[:] = w


@methods
def test_steps_and_evaluations_are_those_of_one_call(method: str) -> None:
    """Nothing is lost by going step by step."""
    problem, points = random_problem(3, n=30, d=20), []
    learner = QuasiNewton(problem, QuasiNewtonConfig(method=method, c=0.1))  # type: ignore[arg-type]
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
        method=method,
        callback=points.append,
        options={"maxiter": 8, "gtol": 0.0},
    )
    np.testing.assert_array_equal(points[-1], reached)
    assert learner.certificate(state).effective_iterations == calls
    assert learner.certificate(state).details["steps"] == 8


@pytest.mark.compiled_only
@names
@pytest.mark.parametrize("slice_name", EACH)
def test_agreement_with_exponentiated_gradient_on_sentences(name: str, slice_name: str) -> None:
    config = LearnerConfig(c=20.0)
    certificates = []
    for learner_name in ("eg-online", name):
        learner = build(learner_name, SLICES[slice_name](), config)
        state = learner.initialise()
        for _ in range(40):
            learner.iterate(state)
        certificate = learner.certificate(state)
        assert certificate.relative_gap < 1e-5
        certificates.append(certificate)
    # Every dual is at most the optimum and every primal at least, but for the rounding of scores of
    # up to 100 features in single precision, that of trees.
    slack = 1 + rounding(100, eps=SINGLE)
    assert max(each.dual for each in certificates) <= slack * min(
        each.primal for each in certificates
    )


@pytest.mark.compiled_only
@names
def test_weights_outside_the_support_stay_zero(name: str) -> None:
    untouched = sequence(bigrams=True)
    for i in range(len(untouched.part_starts) - 1):
        for r in range(int(untouched.part_starts[i + 1] - untouched.part_starts[i])):
            untouched.add(
                i, np.eye(1, untouched.part_starts[i + 1] - untouched.part_starts[i], r)[0]
            )
    supported = read(untouched) != 0
    assert not supported.all()
    problem = sequence(bigrams=True)
    learner = build(name, problem, LearnerConfig(c=1.0))
    state = learner.initialise()
    for _ in range(10):
        learner.iterate(state)
    assert not read(problem)[~supported].any()
    assert read(problem)[supported].any()


@pytest.mark.nightly
@pytest.mark.compiled_only
@methods
def test_without_a_step_left_nothing_moves(method: str) -> None:
    problem: Problem = SLICES["projective"]()
    learner = QuasiNewton(problem, QuasiNewtonConfig(method=method, c=20.0))  # type: ignore[arg-type]
    state, certificates = run(learner)
    assert state.finished
    assert certificates[-1].relative_gap < 1e-6  # weights are single precision
    before = read(problem)
    learner.iterate(state)
    assert learner.certificate(state) == certificates[-1]
    np.testing.assert_array_equal(read(problem), before)


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


@names
@pytest.mark.parametrize(
    ("beta", "gamma"), [(math.inf, 1.0), (math.inf, 0.0), (-1.0, 0.0), (1.0, -1.0)]
)
def test_losses_without_a_gradient_are_named(name: str, beta: float, gamma: float) -> None:
    with pytest.raises(
        ConfigError, match=rf"differentiable loss .* got beta = {beta:g}, gamma = {gamma:g}"
    ):
        build(name, random_problem(6), LearnerConfig(beta=beta, gamma=gamma))


def test_an_objective_that_is_not_finite_is_named() -> None:
    problem = random_problem(7)
    problem.features[3][0, 0] = np.nan
    learner = build("lbfgs", problem, LearnerConfig())
    with pytest.raises(EgparseError, match="L-BFGS-B: expected a finite objective, got nan"):
        learner.iterate(learner.initialise())


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
        steps(learner, state, 3)
