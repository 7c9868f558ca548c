"""What the lectures prove (McDonald 2009): the widest margin is that of the least norm and of the
support vectors alone; at the maximum of the likelihood the counts of the data are those that are
expected. The bound of the perceptron's mistakes and MIRA's programs are tested with these learners.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

from egparse.experiments.problems.classification import ClassifierProblem
from egparse.experiments.problems.generated import classes_of_points
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build
from egparse.types import Floats, Ints

X, Y = classes_of_points(30, 1)


def trained(
    name: str, x: Floats, y: Ints, passes: int, config: LearnerConfig, **options: float | bool
) -> Floats:
    """The weights (classes, d)."""
    problem = ClassifierProblem(x, y, 5)
    learner = build(name, problem, config, **options)
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    with learner.model_weights(state):
        return np.array(problem.weights * state.scale)


def margins(w: Floats) -> Floats:
    """By how much each point's class scores above the best other one."""
    scores = X @ w.T
    own = scores[np.arange(len(Y)), Y]
    scores[np.arange(len(Y)), Y] = -np.inf
    return np.asarray(own - scores.max(axis=1))


def test_the_widest_margin_is_that_of_the_least_norm() -> None:
    hard = LearnerConfig(beta=math.inf, gamma=1.0, c=0.01)
    w = trained("n-slack", X, Y, 60, hard, epsilon=1e-7)
    assert margins(w).min() == pytest.approx(1.0, abs=1e-5)
    widest = 1.0 / np.linalg.norm(w)
    perceptron = LearnerConfig(beta=math.inf, gamma=0.0)
    for other in (
        trained("perceptron", X, Y, 200, perceptron, averaged=False),
        trained("mira", X, Y, 200, hard, k=5),
    ):
        assert 0 < margins(other).min() / np.linalg.norm(other) < widest
    support = margins(w) < 1.0 + 1e-4
    assert 0 < support.sum() < len(Y)
    alone = trained("n-slack", X[support], Y[support], 60, hard, epsilon=1e-7)
    np.testing.assert_allclose(alone, w, atol=1e-3 * float(abs(w).max()))


def test_both_counts_agree_at_the_maximum_but_for_the_regularisation() -> None:
    c = 0.5
    w = trained("eg-online", X, Y, 200, LearnerConfig(c=c))
    seen, expected = np.eye(5)[Y].T @ X, softmax(X @ w.T, axis=1).T @ X
    np.testing.assert_allclose(seen - expected, c * w, atol=1e-3 * c * float(abs(w).max()))
