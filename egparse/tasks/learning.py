"""From a task's configuration to the learner of its problem."""

from __future__ import annotations

import math
from typing import Any

from egparse.learners.learner import Learner, LearnerConfig, VectorProblem
from egparse.learners.registry import build
from egparse.tasks.config import DEFAULT_LEARNER, LearningConfig

LOSSES = {
    "log-linear": (1.0, 0.0),
    "max-margin": (math.inf, 1.0),
    "softmax-margin": (1.0, 1.0),
    "perceptron": (math.inf, 0.0),
}
"""Name -> beta and gamma of the loss family (``egparse.losses``)."""

_WITHOUT_PROBABILITIES = ("perceptron", "mira", "cutting-plane", "parameter-mixing")


def build_learner(problem: VectorProblem, config: LearningConfig, seed: int, **own: Any) -> Learner:
    """The learner that a task's configuration names; ``own`` are settings of online EG that only this task has.

    Raises:
        ConfigError: an unknown learner, or one that does not fit the loss or its options.
    """
    beta, gamma = loss_of(config)
    common = LearnerConfig(beta=beta, gamma=gamma, c=config.c, seed=seed)
    options = dict(config.options)
    if config.learner == DEFAULT_LEARNER:
        options = {"anneal_from": config.anneal_from, "anneal_decay": config.anneal_decay, **own, **options}
    return build(config.learner, problem, common, **options)


def loss_of(config: LearningConfig) -> tuple[float, float]:
    """Beta and gamma: as given, else those of the named loss; the margin for learners that know nothing else."""
    beta, gamma = LOSSES[config.loss]
    if config.learner in ("mira", "cutting-plane"):
        beta, gamma = LOSSES["max-margin"]
    return (
        beta if config.beta is None else config.beta,
        gamma if config.gamma is None else config.gamma,
    )


def is_probabilistic(config: LearningConfig) -> bool:
    """Whether exp(score) of the model was fitted as a probability: only then do its marginals mean something."""
    return config.learner not in _WITHOUT_PROBABILITIES and math.isfinite(loss_of(config)[0])
