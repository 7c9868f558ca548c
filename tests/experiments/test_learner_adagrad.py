"""AdaGrad: the step as the paper writes it, the optimum of independent solvers, the average, and
its refusals.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from learners.enumerated import PROVEN, log_linear_optimum, max_margin_optimum, random_problem
from learners.passes import passes
from learners.slices import EACH, SLICES

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.adagrad import AdaGrad, AdaGradConfig
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import HINGE, LOG_LINEAR, PERCEPTRON, SOFTMAX_MARGIN, Loss
from egparse.learners.registry import build

SWEEP = 3  # visits between two proximal steps, a 32nd of a pass
DELTA = 1e-8


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("c", [0.2, 2.0, 20.0])
def test_log_linear_optimum(seed: int, c: float) -> None:
    learner = AdaGrad(problem := random_problem(seed), AdaGradConfig(c=c, eta=0.3))
    found = [each.primal for each in passes(learner, learner.initialise(), 300)]
    optimum = log_linear_optimum(problem, c)
    assert min(found) >= optimum * (1 - PROVEN)
    assert found[-1] == pytest.approx(optimum, rel=1e-2)


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


@pytest.mark.parametrize("name", EACH)
def test_structures_improve(name: str) -> None:
    problem = SLICES[name]()
    learner = build("adagrad", problem, LearnerConfig(c=3.0))
    found = [each.primal for each in passes(learner, learner.initialise(), 40)]
    reference = build("lbfgs", problem, LearnerConfig(c=3.0))
    *_, best = passes(reference, reference.initialise(), 60)
    assert best.dual * (1 - 1e-5) <= found[-1] < found[0]
    assert found[-1] == pytest.approx(best.primal, rel=0.1)


def test_divergence_is_told() -> None:
    learner = AdaGrad(random_problem(1), AdaGradConfig(c=0.0, eta=1e300))
    with pytest.raises(EgparseError, match=r"adagrad: expected a finite (loss|primal), got"):
        list(passes(learner, learner.initialise(), 3))


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        (LearnerConfig(c=-1.0), {}, "adagrad: expected c >= 0, got -1"),
        (LearnerConfig(), {"eta": 0.0}, "expected eta >= 1e-09, got 0"),
        (LearnerConfig(), {"batch": 0}, "expected batch >= 1, got 0"),
        (LearnerConfig(beta=0.0), {}, "expected beta > 0"),
        (LearnerConfig(c=math.inf), {}, "adagrad: expected c >= 0, got inf"),
        (LearnerConfig(), {"rate": 1.0}, "learner adagrad: .*rate"),
    ],
)
def test_configurations_that_cannot_work(
    config: LearnerConfig, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build("adagrad", random_problem(1), config, **options)
