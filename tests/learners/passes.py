"""The passes of a learner, each with its certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from egparse.experiments.learners.published_eg import PublishedConfig, PublishedEG
from egparse.learners.certificate import Certificate
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import Learner
from egparse.learners.problem import Problem


def passes(learner: Learner, state: Any, count: int) -> Iterator[Certificate]:
    """The certificate after each of ``count`` passes."""
    for _ in range(count):
        learner.iterate(state)
        yield learner.certificate(state)


def eg_of(problem: Problem, config: EGConfig) -> OnlineEG:
    """Online EG with a configuration of either kind."""
    if isinstance(config, PublishedConfig):
        return PublishedEG(problem, config)
    return OnlineEG(problem, config)
