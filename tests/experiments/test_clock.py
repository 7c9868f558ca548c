"""The seconds of a learner are those of ``iterate``: all of its work is done there, whether or not
somebody asks for certificates in between.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from egparse.experiments.classification import ClassifierProblem
from egparse.experiments.kernels import perceptron
from learners.calls import count_calls
from learners.enumerated import random_problem

from egparse.experiments.maxent import dual_cd, tron
from egparse.experiments.maxent import learner as maxent
from egparse.fitting.choose_learner import LOSSES
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import EVERYTHING, LEARNERS, build

PASSES = 4
OPTIONS: dict[str, dict[str, Any]] = {
    "parallel-gradient": {"shards": 2, "processes": False},
    "parameter-mixing": {"shards": 2, "processes": False},
}
COUNTING = ("hmm", "naive-bayes")
"""They count the corpus, without any inference."""
FAST = ("eg-online", "eg-batch", "dca", "mira", "perceptron", "sgd", "lbfgs")
"""Their kernels are those of everyday use; the others are tried nightly."""
KERNELS = (
    *((maxent, kernel) for kernel in ("tabulate", "log_sums", "loss_and_expectations")),
    *((tron, kernel) for kernel in ("loss_and_expectations", "hessian_product")),
    (dual_cd, "dual_pass"),
    (perceptron, "_train_pass"),
)
"""Of learners that do not ask the problem: what goes through all contexts."""


def vectors() -> ClassifierProblem:
    random = np.random.default_rng(3)
    x = np.abs(random.normal(size=(20, 5)))
    x[:, 0] = 1.0
    return ClassifierProblem(x, random.integers(0, 3, size=20), 3)


def problem_for(name: str) -> Any:
    """A problem that the learner fits."""
    return random_problem(5) if LEARNERS[name].fits == EVERYTHING else vectors()


def calls_of_iterate(name: str, monkeypatch: pytest.MonkeyPatch, certified: bool) -> list[Any]:
    """How often each ``iterate`` asked for scores, inference and changes of v, or ran the kernels
    of learners that have their own.
    """
    problem = problem_for(name)
    counter = count_calls(problem)
    for module, kernel in KERNELS:
        monkeypatch.setattr(module, kernel, counted(getattr(module, kernel), kernel, counter))
    beta, gamma = LOSSES[LEARNERS[name].loss or "log-linear"]
    if name == "parameter-mixing":
        beta, gamma = LOSSES["perceptron"]
    config = LearnerConfig(beta=beta, gamma=gamma, c=1.0, seed=2)
    learner = build(name, problem, config, **OPTIONS.get(name, {}))
    state = learner.initialise()
    found = []
    for _ in range(PASSES):
        if certified:
            with learner.model_weights(state):
                learner.certificate(state)
        before = counter.copy()
        learner.iterate(state)
        found.append(counter - before)
    monkeypatch.undo()
    return found


def counted(call: Any, name: str, counter: Counter[str]) -> Any:
    def counting(*arguments: Any) -> Any:
        counter[name] += 1
        return call(*arguments)

    return counting


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] * (name not in FAST))
        for name in LEARNERS
        if name not in COUNTING
    ],
)
def test_a_certificate_saves_the_next_pass_no_work(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = calls_of_iterate(name, monkeypatch, certified=False)
    certified = calls_of_iterate(name, monkeypatch, certified=True)
    assert alone == certified
    assert all(alone)
