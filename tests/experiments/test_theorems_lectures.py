"""What the lectures prove (McDonald 2009): the widest margin is that of the least norm and of the
support vectors alone; the gradient of the likelihood is the counts of the data less those that are
expected, which agree at its maximum. The bound of the perceptron's mistakes and the programs of
MIRA are tested with these learners.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from egparse.experiments.problems.classification import ClassifierProblem
from egparse.experiments.problems.generated import classes_of_points
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build
from egparse.types import Floats, Ints

X, Y = classes_of_points(30, 1)


def trained(name: str, x: Floats, y: Ints, passes: int, **settings: float | bool) -> Floats:
    """The weights (classes, d)."""
    problem = ClassifierProblem(x, y, 5)
    config = LearnerConfig(beta=math.inf, gamma=0.0 if name == "perceptron" else 1.0, c=0.01)
    learner = build(name, problem, config, **settings)
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
    w = trained("n-slack", X, Y, 60, epsilon=1e-7)
    assert margins(w).min() == pytest.approx(1.0, abs=1e-5)
    widest = 1.0 / np.linalg.norm(w)
    for name, more in (("perceptron", {"averaged": False}), ("mira", {"k": 5})):
        other = trained(name, X, Y, 200, **more)
        assert 0 < margins(other).min() / np.linalg.norm(other) < widest
    support = margins(w) < 1.0 + 1e-4
    assert 0 < support.sum() < len(Y)
    alone = trained("n-slack", X[support], Y[support], 60, epsilon=1e-7)
    np.testing.assert_allclose(alone, w, atol=1e-3 * float(abs(w).max()))


def counts(w: Floats) -> tuple[Floats, Floats, float]:
    """Feature counts of the data, those expected under w, (classes, d), and the log-likelihood."""
    scores = X @ w.T
    log_z = np.logaddexp.reduce(scores, axis=1)
    likelihood = float((scores[np.arange(len(Y)), Y] - log_z).sum())
    return np.eye(5)[Y].T @ X, np.exp(scores - log_z[:, None]).T @ X, likelihood


def test_the_gradient_is_counts_less_expected_counts() -> None:
    w, way = np.random.default_rng(2).normal(size=(2, 5, X.shape[1]))
    seen, expected, _ = counts(w)
    problem = ClassifierProblem(X, Y, 5)
    problem.weights[:] = w
    likelihood, own = 0.0, np.zeros_like(w)
    for i, y in enumerate(Y.tolist()):
        scores, marginals = problem.scores(i).copy(), np.empty(5)
        likelihood += scores[y] - problem.marginals(i, scores, marginals)
        own += np.outer(problem.gold(i) - marginals, X[i])
    assert likelihood == pytest.approx(counts(w)[2], rel=1e-12)
    np.testing.assert_allclose(own, seen - expected, atol=1e-10)
    step = 1e-5
    slope = (counts(w + step * way)[2] - counts(w - step * way)[2]) / (2 * step)
    assert slope == pytest.approx(float(((seen - expected) * way).sum()), rel=1e-6)


def test_both_counts_agree_at_the_maximum_but_for_the_regularisation() -> None:
    problem, c = ClassifierProblem(X, Y, 5), 0.5
    learner = build("eg-online", problem, LearnerConfig(c=c))
    state = learner.initialise()
    for _ in range(200):
        learner.iterate(state)
    w = problem.weights * state.scale
    seen, expected, _ = counts(w)
    np.testing.assert_allclose(seen - expected, c * w, atol=1e-3 * c * float(abs(w).max()))
