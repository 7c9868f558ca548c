"""Whether a loss fits probabilities, by names alone and by settings that have been checked."""

from __future__ import annotations

import pytest

from egparse.errors import ConfigError
from egparse.fitting.choose_learner import is_probabilistic, loss_of
from egparse.learners.registry import LEARNERS
from egparse.settings.config import LearningConfig, ParserConfig, TrainConfig
from egparse.settings.config_files import config_as_table
from egparse.settings.named_losses import LOSSES, named_loss, probabilistic_layers

LAYERS = ("upos", "xpos", "feats", "lemmas", "spans", "heads", "deprels")
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
        found = probabilistic_layers({"upos": {"learner": learner, "loss": loss}}, ("upos",))
        assert found == (("upos",) if is_probabilistic(config) else ()), (learner, loss)
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


def test_what_a_table_lacks_is_the_default() -> None:
    assert probabilistic_layers({}, LAYERS) == LAYERS
    assert probabilistic_layers(config_as_table(TrainConfig()), LAYERS) == LAYERS


def test_beta_takes_the_place_of_that_of_the_name() -> None:
    table = {"parser": {"loss": "max-margin", "beta": 2.0}, "upos": {"beta": float("inf")}}
    assert probabilistic_layers(table, ("upos", "heads")) == ("heads",)
    assert is_probabilistic(ParserConfig(loss="max-margin", beta=2.0))
