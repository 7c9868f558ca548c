"""Losses by name, and whether the loss of a task fits probabilities.

Each model that is loaded asks for that, so that nothing is imported here that only training needs.
"""

from __future__ import annotations

import math

from egparse.errors import ConfigError
from egparse.learners.registry import LEARNERS

LOSSES = {
    "log-linear": (1.0, 0.0),
    "max-margin": (math.inf, 1.0),
    "softmax-margin": (1.0, 1.0),
    "perceptron": (math.inf, 0.0),
}
"""Name -> beta and gamma of the loss family (``egparse.learners.losses``)."""

DEFAULT_LEARNER = "eg-online"
PARSER_LEARNER = "dca"
"""The default of [parser]."""


def named_loss(learner: str, loss: str) -> tuple[float, float]:
    """Beta and gamma of a loss by its name; ``auto`` is the only loss of a learner that has but
    one, else log-linear. Unknown learners are left to ``choose_learner.build_learner``.

    Raises:
        ConfigError: a loss that the learner does not minimise.
    """
    entry = LEARNERS.get(learner)
    only = None if entry is None else entry.loss
    if loss == "auto":
        return LOSSES[only or "log-linear"]
    if only is not None and loss != only:
        raise ConfigError(f"learner {learner}: expected loss = {only!r} or 'auto', got {loss!r}")
    return LOSSES[loss]


def fits_probabilities(learner: str, loss: str, beta: float | None) -> bool:
    """Whether exp(score) is fitted as a probability by a learner with a loss, whose ``beta`` takes
    the place of that of the name unless it is None.
    """
    entry = LEARNERS.get(learner)
    if entry is not None and not entry.probabilities:
        return False
    named, _ = named_loss(learner, loss)
    return math.isfinite(named if beta is None else beta)
