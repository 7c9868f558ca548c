"""Iterative scaling and coordinate descent as learners of words and vectors: the optimum of L-BFGS
on the same problem, from each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from learners.slices import sequence
from learners.small_problems import sequences, trees
from tolerances import bracket, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.maxent import adapter as maxent_adapter
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import LOG_LINEAR
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.registry import build

NAMES = ("gis", "iis", "scgis", "cd", "cd-exact", "tron", "dual-cd")
C = 0.5


def vectors() -> ClassifierProblem:
    random = np.random.default_rng(3)
    x = np.where(random.random((40, 6)) < 0.6, random.choice([0.5, 1.0, 2.0], size=(40, 6)), 0.0)
    x[:, 0] = 1.0
    return ClassifierProblem(x, random.integers(0, 3, size=40), 3)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "words with candidates": lambda: sequences(bigrams=False),
    "words with all labels": lambda: sequences(bigrams=False, listed=False),
    "words of the sample, weights for pairs seen": lambda: sequence(bigrams=False),
    "vectors": vectors,
}


def objective(problem: Problem, c: float) -> float:
    """sum_i L_i + C/2 |v|^2 of v as the problem holds it."""
    total = c / 2 * squared_norm(problem)
    for i in range(len(problem.part_starts) - 1):
        scores = problem.scores(i)
        total += LOG_LINEAR.value(problem, i, scores, np.empty(len(scores)))
    return total


KNOWN = 1e-8
"""The relative gap to which the optimum is known."""


def optimum(make: Callable[[], Problem]) -> float:
    learner = build("lbfgs", make(), LearnerConfig(c=C))
    state = learner.initialise()
    for _ in range(300):
        learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.relative_gap < KNOWN
    return certificate.primal


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", NAMES)
def test_the_optimum_is_that_of_lbfgs(name: str, kind: str) -> None:
    problem, best = PROBLEMS[kind](), optimum(PROBLEMS[kind])
    learner = build(name, problem, LearnerConfig(c=C))
    state = learner.initialise()
    passed = [learner.certificate(state)]
    for _ in range(600):
        learner.iterate(state)
        passed.append(learner.certificate(state))
        if passed[-1].relative_gap <= 1e-5:
            break
    bracket(passed, best, KNOWN * best)
    rounded = 1 + rounding(100)  # sums over words and labels
    if name != "dual-cd":  # whose dual rises instead
        assert all(a.primal * rounded >= b.primal for a, b in itertools.pairwise(passed))
    assert passed[-1].relative_gap <= 1e-5
    assert passed[-1].effective_iterations == len(passed) - 1
    assert state.scale == 1.0
    with learner.model_weights(state):
        assert objective(problem, C) == pytest.approx(passed[-1].primal, rel=1e-9)


def test_the_first_point_is_zero() -> None:
    problem = vectors()
    problem.add(0, np.array([1.0, -1.0, 0.0]))
    learner = build("cd", problem, LearnerConfig(c=C))
    state = learner.initialise()
    assert squared_norm(problem) == 0
    assert learner.certificate(state).primal == pytest.approx(40 * math.log(3))


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=f"{name} fits choices .*label bigrams"):
        build(name, sequences(), LearnerConfig())
    with pytest.raises(ConfigError, match=f"{name} fits choices .*TreeProblem"):
        build(name, trees(), LearnerConfig())
    with pytest.raises(ConfigError, match=f"{name} expects the log-linear loss"):
        build(name, vectors(), LearnerConfig(gamma=1.0))
    with pytest.raises(ConfigError, match=f"{name} expects c > 0"):
        build(name, vectors(), LearnerConfig(c=0.0))
    with pytest.raises(ConfigError, match=f"learner {name}: .*temperature"):
        build(name, vectors(), LearnerConfig(), temperature=1)
    with pytest.raises(EgparseError, match="expected finite attribute values of at least 0"):
        build(name, ClassifierProblem([[1.0], [-1.0]], [0, 1], 2), LearnerConfig())
    monkeypatch.setattr(maxent_adapter, "_TABLE_BYTES", 100)
    if name == "gis":  # goes through the contexts instead
        build(name, vectors(), LearnerConfig())
        return
    with pytest.raises(ConfigError, match=f"{name} keeps a table .*expected at most 100 bytes"):
        build(name, vectors(), LearnerConfig())
