"""From a task's configuration to the learner of its problem."""

from __future__ import annotations

import math

from egparse.learners.eg import EGConfig, OnlineEG
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


def build_learner(problem: VectorProblem, config: LearningConfig, seed: int, **own: object) -> Learner:
    """The learner that a task's configuration names; ``own`` are settings of online EG that only this task has.

    Raises:
        ConfigError: an unknown learner, or one that does not fit the loss or its options.
    """
    if config.learner == DEFAULT_LEARNER and config.loss in ("log-linear", "max-margin"):
        eg = EGConfig(
            loss=config.loss, c=config.c, anneal_from=config.anneal_from, anneal_decay=config.anneal_decay, seed=seed,
            **own, **config.options,  # type: ignore[arg-type]
        )  # fmt: skip
        return OnlineEG(problem, eg)
    beta, gamma = loss_of(config)
    return build(
        config.learner,
        problem,
        LearnerConfig(beta=beta, gamma=gamma, c=config.c, seed=seed),
        **config.options,
    )


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
