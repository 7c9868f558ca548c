"""Learners in the primal: the step as it is written, the optimum of independent solvers, the dual
bound of SAG, and SciPy's own run step by step.
"""

from __future__ import annotations

import gc
import math
import threading
from typing import Any

import numpy as np
import pytest
from learners.calls import count_calls
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.passes import passes
from learners.slices import EACH, SLICES
from scipy.optimize import approx_fprime, minimize

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.adagrad import AdaGrad, AdaGradConfig
from egparse.experiments.learners.quasi_newton import QuasiNewton, QuasiNewtonConfig
from egparse.experiments.learners.sag import SAG, SAGConfig
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import HINGE, LOG_LINEAR, PERCEPTRON, SOFTMAX_MARGIN, Loss
from egparse.learners.registry import build
from egparse.types import Floats

OTHER = Loss(2.0, 0.5)
WAYS: list[dict[str, Any]] = [
    {"sampling": sampling, "saga": saga}
    for sampling in ("uniform", "non-uniform")
    for saga in (False, True)
]
ways = pytest.mark.parametrize("options", WAYS, ids=str)
losses = pytest.mark.parametrize("loss", [LOG_LINEAR, SOFTMAX_MARGIN, OTHER], ids=str)
methods = pytest.mark.parametrize("method", ["L-BFGS-B", "CG"])
LEARNERS: list[tuple[str, dict[str, Any], int, float]] = [
    *(("sag", options, 150, 1e-7) for options in WAYS),
    ("adagrad", {"eta": 0.3}, 300, 1e-2),
    ("lbfgs", {}, 60, 1e-9),
    ("cg", {}, 200, 1e-9),
]
"""Name, options, passes, and how far from the optimum they end."""
SWEEP = 3  # visits between two proximal steps of AdaGrad, a 32nd of a pass
DELTA = 1e-8


@pytest.mark.parametrize(("name", "options", "most", "digits"), LEARNERS)
@pytest.mark.parametrize("c", [0.2, 2.0, 20.0])
def test_log_linear_optimum(
    name: str, options: dict[str, Any], most: int, digits: float, c: float
) -> None:
    """No dual is above the optimum and no primal below, and all end there."""
    problem = random_problem(1)
    optimum = log_linear_optimum(problem, c)
    learner = build(name, problem, LearnerConfig(c=c), **options)
    found = list(passes(learner, learner.initialise(), most))
    slack = (PROVEN + 1e-9) * optimum
    assert max(each.dual for each in found) <= optimum + slack
    assert min(each.primal for each in found) >= optimum - slack
    assert found[-1].primal == pytest.approx(optimum, rel=digits)
    if name != "adagrad":
        assert found[-1].dual == pytest.approx(optimum, rel=digits)


@pytest.mark.parametrize("name", EACH)
def test_structures_agree_with_lbfgs(name: str) -> None:
    """Weights in single precision leave the last digits open."""
    bounds = {}
    for learner_name, most in (("lbfgs", 200), ("sag", 60), ("adagrad", 40)):
        learner = build(learner_name, SLICES[name](), LearnerConfig(c=3.0))
        *_, bounds[learner_name] = passes(learner, learner.initialise(), most)
    primal, dual = bounds["lbfgs"].primal, bounds["lbfgs"].dual
    assert dual * (1 - 1e-5) <= bounds["sag"].primal <= primal * (1 + 1e-3)
    assert primal * (1 - 1e-2) <= bounds["sag"].dual <= primal * (1 + 1e-5)
    assert dual * (1 - 1e-5) <= bounds["adagrad"].primal <= primal * 1.1


def learner_of(problem: EnumeratedProblem, loss: Loss, c: float, **options: Any) -> SAG:
    return SAG(problem, SAGConfig(beta=loss.beta, gamma=loss.gamma, c=c, **options))


@losses
def test_stored_marginals_make_the_dual(loss: Loss) -> None:
    """v and the terms of the dual are those of the stored marginals, in the middle of a pass:
    entropies by enumeration.
    """
    problem = random_problem(2)
    learner = learner_of(problem, loss, 2.0)
    state = learner.initialise()
    for i in (0, 3, 4, 9):
        learner.update(state, i, 1.0 / learner.n)
    learner.fold(state)
    v, value = np.zeros_like(problem.v), 0.0
    for i, structures in enumerate(problem.structures):
        marginals = state.marginals[problem.part_starts[i] : problem.part_starts[i + 1]]
        v += problem.features[i].T @ (problem.gold(i) - marginals)
        if i not in (0, 3, 4, 9):
            np.testing.assert_array_equal(marginals, problem.gold(i))
        elif i % 2:  # one part a structure: the marginals are the distribution
            assert len(structures) == len(marginals)
            entropy = -float(marginals @ np.log(marginals))
            cost = float(problem.cost(i) @ marginals) + problem.cost_constant(i)
            value = entropy / loss.beta + loss.gamma * cost
            assert state.value[i] == pytest.approx(value)
    np.testing.assert_allclose(learner.memory.vectors()[0], v, atol=1e-12)


@ways
def test_lazy_updates_are_the_dense_step(options: dict[str, Any]) -> None:
    """w of every visit, as the docstring of the module writes it, with the step sizes taken."""
    problem = random_problem(4)
    learner = SAG(problem, SAGConfig(c=3.0, **options))
    steps: list[float] = []
    chosen = learner.step_size

    def step_size(state: Any) -> float:
        steps.append(chosen(state))
        return steps[-1]

    learner.step_size = step_size  # type: ignore[method-assign]
    state, n, share = learner.initialise(), learner.n, 3.0 / learner.n
    w, v = np.zeros_like(problem.v), np.zeros_like(problem.v)
    stored = [problem.gold(i) for i in range(n)]
    order = [*range(n), *np.random.default_rng(1).integers(n, size=30).tolist()]
    for k, i in enumerate(order):
        state.iteration = int(k >= n)
        expected = np.empty(len(stored[i]))
        LOG_LINEAR.value(problem, i, problem.features[i] @ w, expected)
        chance = 0.5 / n if i % 2 else 1.5 / n
        learner.update(state, i, chance)
        change = problem.features[i].T @ (stored[i] - expected)
        seen = min(k + 1, n)
        factor = 1 / (n * chance) if options["saga"] else 1 / seen
        w = (1 - steps[-1] * share) * w + steps[-1] * (factor * change + v / seen)
        v, stored[i] = v + change, expected
        now = state.scale * problem.v + state.pull * learner.memory.vectors()[0]
        np.testing.assert_allclose(now, w, rtol=1e-9, atol=1e-11)


def test_smoothness_keeps_its_promise() -> None:
    """After a search a step of 1 / L along the gradient lowers the loss by |g|^2 / (2L), and half
    of that L would not.
    """
    problem = random_problem(1)
    learner = SAG(problem, SAGConfig(c=1.0))
    for i in range(learner.n):
        state = learner.initialise()
        learner.update(state, i, 1.0 / learner.n)
        features, smoothness = problem.features[i], float(state.smoothness[i])
        expected = np.empty(features.shape[0])
        loss = LOG_LINEAR.value(problem, i, np.zeros(features.shape[0]), expected)
        gradient = features.T @ (expected - problem.gold(i))

        def at(rate: float, i: int = i, g: Floats = gradient) -> float:
            own = problem.features[i]
            return LOG_LINEAR.value(problem, i, own @ (-rate * g), np.empty(len(own)))

        squared = float(gradient @ gradient)
        assert at(1 / smoothness) <= loss - squared / (2 * smoothness) * (1 - 1e-9)
        if smoothness > 1:  # the search starts there
            assert at(2 / smoothness) > loss - squared / smoothness


def test_examples_that_change_faster_are_visited_more_often() -> None:
    problem = random_problem(5)
    problem.features[3] *= 6.0
    learner = SAG(problem, SAGConfig(c=1.0))
    state = learner.initialise()
    visits: list[int] = []
    update = learner.update

    def counted(state: Any, i: int, chance: float) -> None:
        visits.append(i)
        update(state, i, chance)

    learner.update = counted  # type: ignore[method-assign]
    learner.iterate(state)
    assert sorted(visits) == list(range(learner.n))
    visits.clear()
    for _ in range(40):
        learner.iterate(state)
    counts = np.bincount(visits, minlength=learner.n)
    assert counts.argmax() == 3
    assert counts.sum() == 40 * learner.n


def test_all_inference_calls_are_counted() -> None:
    problem = random_problem(4)
    calls = count_calls(problem)
    learner = SAG(problem, SAGConfig(c=2.0))
    state = learner.initialise()
    for _ in range(5):
        learner.iterate(state)
    assert state.evaluations == calls["marginals"] > 5 * learner.n
    certificate = learner.certificate(state)
    assert certificate.effective_iterations == state.evaluations / learner.n
    assert certificate.details["search"] == pytest.approx(certificate.effective_iterations - 5)


def test_strong_regularisation_puts_w_together_in_a_pass() -> None:
    """The factor of x falls by 1 - C / (n L + C) a visit, and would leave what numbers can hold."""
    learner = SAG(problem := random_problem(1), SAGConfig(c=1e6))
    *_, last = passes(learner, learner.initialise(), 30)
    assert last.primal == pytest.approx(log_linear_optimum(problem, 1e6), rel=1e-9)


def test_max_margin_optimum() -> None:
    learner = AdaGrad(
        problem := random_problem(1), AdaGradConfig.under(HINGE, c=2.0, averaged=True)
    )
    *_, last = passes(learner, learner.initialise(), 1000)
    optimum = max_margin_optimum(problem, 2.0)
    assert optimum * (1 - PROVEN) <= last.primal == pytest.approx(optimum, rel=2e-2)


@pytest.mark.parametrize("loss", [LOG_LINEAR, HINGE, PERCEPTRON, SOFTMAX_MARGIN], ids=str)
@pytest.mark.parametrize(("averaged", "batch"), [(False, 1), (True, 1), (True, 3)])
def test_steps_are_those_of_the_paper(loss: Loss, averaged: bool, batch: int) -> None:
    """Composite mirror descent with the diagonal matrix, the proximal step for some visits at once,
    and the average of the weights after it.
    """
    problem = random_problem(2, n=100)
    learner = AdaGrad(
        problem, AdaGradConfig.under(loss, c=3.0, eta=0.2, averaged=averaged, batch=batch)
    )
    state, n = learner.initialise(), 100
    w, squares, total = np.zeros((3, len(problem.v)))
    order = np.random.default_rng(1).permutation(n).tolist()  # that of the first pass
    for chunk in (order[k : k + SWEEP] for k in range(0, n, SWEEP)):
        for own in (chunk[k : k + batch] for k in range(0, len(chunk), batch)):
            gradient = np.zeros_like(w)
            for i in own:
                features = problem.features[i]
                expected = np.empty(len(features))
                loss.value(problem, i, features @ w, expected)
                gradient += features.T @ (expected - problem.gold(i))
            squares += gradient**2
            w = w - 0.2 * gradient / (DELTA + np.sqrt(squares))
        w = w / (1 + 0.2 * len(chunk) * 3.0 / n / (DELTA + np.sqrt(squares)))
        total += len(chunk) * w
    learner.iterate(state)
    np.testing.assert_allclose(problem.v, w, rtol=1e-9, atol=1e-12)
    with learner.model_weights(state):
        np.testing.assert_allclose(problem.v, total / n if averaged else w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(problem.v, w, rtol=1e-9, atol=1e-12)


def test_divergence_is_told() -> None:
    learner = AdaGrad(random_problem(1), AdaGradConfig(c=0.0, eta=1e300))
    with pytest.raises(EgparseError, match=r"adagrad: expected a finite (loss|primal), got"):
        list(passes(learner, learner.initialise(), 3))


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


@pytest.mark.parametrize("name", ["sag", "lbfgs", "cg"])
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
