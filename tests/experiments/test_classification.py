"""The classifier's problem: the contract of learners, by enumeration and finite differences, and
its optimum by SciPy.
"""

from __future__ import annotations

import numpy as np
import pytest
from learners.passes import passes
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from egparse.experiments.learners.published_eg import PublishedConfig, PublishedEG
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.learners.losses import NAMED, Loss
from egparse.types import Floats

N, D, K = 30, 5, 4


def drawn(seed: int = 0) -> tuple[Floats, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(N, D)), random.integers(K, size=N)


def problem_at(v: Floats, seed: int = 0) -> ClassifierProblem:
    problem = ClassifierProblem(*drawn(seed), K)
    problem.weights[:] = v
    return problem


def random_v(seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(size=(K, D))


def test_parts_are_classes_and_structures_choose_one() -> None:
    v, (x, y) = random_v(), drawn()
    problem, choices = problem_at(v), np.eye(K)
    assert np.diff(problem.part_starts).tolist() == [K] * N
    for i in range(N):
        assert problem.scores(i) == pytest.approx(v @ x[i])
        assert problem.gold(i).tolist() == choices[y[i]].tolist()
        costs = choices @ problem.cost(i) + problem.cost_constant(i)
        assert costs.tolist() == [float(y[i] != r) for r in range(K)]
    scores, out = np.array([0.5, -1.0, 2.0, 2.0]), np.empty(K)
    assert problem.marginals(0, scores, out) == pytest.approx(logsumexp(scores))
    assert out == pytest.approx(softmax(scores))
    assert problem.argmax(0, scores, out) == 2.0
    assert out.tolist() == [0, 0, 1, 0]
    best = problem.k_best(0, np.array([1.0, 3.0, 1.0, 0.0]), 2)
    assert best.tolist() == choices[[1, 0]].tolist()
    assert problem.k_best(0, np.zeros(K), 9).tolist() == choices.tolist()
    assert problem.predict(x).tolist() == (x @ v.T).argmax(axis=1).tolist()


@pytest.mark.parametrize("loss", [Loss(1.0, 0.0), Loss(3.0, 1.0), Loss(1.0, 2.0)])
def test_the_gradient_of_a_loss_agrees_with_finite_differences(loss: Loss) -> None:
    v, expected = random_v(), np.empty(K)

    def total(at: Floats) -> float:
        problem = problem_at(at)
        return sum(loss.value(problem, i, problem.scores(i), np.empty(K)) for i in range(N))

    problem, gradient = problem_at(v), problem_at(np.zeros((K, D)))
    for i in range(N):
        loss.value(problem, i, problem.scores(i), expected)
        gradient.add(i, expected - problem.gold(i))
    for place in [(0, 0), (2, 3), (3, 4)]:
        step = np.zeros((K, D))
        step[place] = 1e-6
        slope = (total(v + step) - total(v - step)) / 2e-6
        assert gradient.weights[place] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_adding_reports_the_change_of_the_squared_norm_of_its_own_weights() -> None:
    first, squared, random = problem_at(random_v()), 0.0, np.random.default_rng(3)
    problem = first.with_own_weights()
    assert not problem.weights.any()
    for i in range(N):
        squared += problem.add(i, random.normal(size=K))
    assert squared == pytest.approx(float(np.vdot(problem.weights, problem.weights)))
    assert first.weights == pytest.approx(random_v())
    assert problem.vectors()[0] is problem.weights
    problem.reset()
    assert not problem.weights.any()


@pytest.mark.parametrize("loss", ["log-linear", "max-margin"])
def test_the_compiled_sweep_takes_the_steps_of_the_learner(loss: str) -> None:
    config = PublishedConfig.under(NAMED[loss], c=2.0)
    one, other = ClassifierProblem(*drawn(), K), ClassifierProblem(*drawn(), K)
    swept, single = PublishedEG(one, config), PublishedEG(other, config)
    a, b = swept.initialise(0.0), single.initialise(0.0)
    assert one.offers("sweep")
    for _ in range(3):
        swept.iterate(a)
        order = b.generator.integers(N, size=N)
        for i in order:
            single.update(b, int(i))
    assert one.weights == pytest.approx(other.weights, abs=1e-5)
    assert a.evaluations == b.evaluations
    assert a.squared_norm == pytest.approx(float(np.vdot(one.weights, one.weights)))


@pytest.mark.parametrize("c", [0.3, 10.0])
def test_eg_reaches_the_optimum_of_an_independent_solver(c: float) -> None:
    x, y = drawn()

    def objective(w: Floats) -> float:
        scores = x @ w.reshape(K, D).T
        return float((logsumexp(scores, axis=1) - scores[np.arange(N), y]).sum() + c / 2 * w @ w)

    optimum = float(
        minimize(objective, np.zeros(K * D), method="L-BFGS-B", options={"maxfun": 10**6}).fun
    )
    learner = PublishedEG(ClassifierProblem(x, y, K), PublishedConfig(c=c))
    *_, last = passes(learner, learner.initialise(0.0), 150)
    assert last.dual - 1e-4 <= optimum <= last.primal + 1e-4
    assert last.gap < 1e-3 * optimum
