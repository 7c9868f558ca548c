"""Whether a loss fits probabilities, by names alone and by settings that have been checked."""

from __future__ import annotations

import math

import pytest

from egparse.config.sections import LearningConfig, ParserConfig
from egparse.errors import ConfigError
from egparse.fitting.choose_learner import (
    LOSSES,
    fits_probabilities,
    is_probabilistic,
    loss_of,
    named_loss,
)
from egparse.learners.registry import LEARNERS

MINIMISED = [
    (learner, loss)
    for learner, entry in LEARNERS.items()
    for loss in LOSSES
    if entry.loss in (None, loss)
]
REFUSED = [(learner, loss) for learner in LEARNERS for loss in LOSSES]
REFUSED = [pair for pair in REFUSED if pair not in MINIMISED]


def test_names_say_what_settings_say() -> None:
    for learner, loss in [*MINIMISED, ("unknown", "max-margin")]:
        config = LearningConfig(learner=learner, loss=loss)  # type: ignore[arg-type]
        assert fits_probabilities(learner, loss, None) == is_probabilistic(config), (learner, loss)
        assert named_loss(learner, loss) == loss_of(config) == LOSSES[loss], (learner, loss)


def test_a_loss_that_the_learner_does_not_minimise_is_refused() -> None:
    for learner, loss in REFUSED:
        expected = rf"^learner {learner}: expected loss = .*, got '{loss}'"
        with pytest.raises(ConfigError, match=expected):
            named_loss(learner, loss)


def test_a_loss_that_is_not_named_is_that_of_the_learner() -> None:
    for learner, entry in LEARNERS.items():
        expected = LOSSES[entry.loss or "log-linear"]
        assert named_loss(learner, "auto") == expected, learner
        assert loss_of(LearningConfig(learner=learner)) == expected, learner


def test_beta_takes_the_place_of_that_of_the_name() -> None:
    assert fits_probabilities("dca", "max-margin", 2.0)
    assert not fits_probabilities("eg-online", "log-linear", math.inf)
    assert is_probabilistic(ParserConfig(loss="max-margin", beta=2.0))
