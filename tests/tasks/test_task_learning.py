"""Every learner of the registry trains taggers and parsers, and says what does not fit it."""

from __future__ import annotations

import math

import pytest
from tasks.sample import quick, sample

from egparse.errors import ConfigError
from egparse.learners.registry import LEARNERS
from egparse.tasks.config import ParserConfig, with_learner
from egparse.tasks.learning import is_probabilistic, loss_of
from egparse.tasks.training import train


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_trains_a_tagger_and_a_parser(learner: str) -> None:
    config = with_learner(
        quick(
            'layers=["upos", "heads"]', "hold_out=0", "upos.stop.iterations=4", "parser.stop.iterations=4",
            "upos.c=2", "parser.bits=12",
        ),
        learner,
    )  # fmt: skip
    model = train(sample("train")[:25], sample("dev")[:10], config).model
    for sentence in model.annotate(sample("dev")[:5]):
        assert len(sentence.upos) == len(sentence.heads) == len(sentence)
    assert model.record["tasks"]["upos"]["score"] > 30


def test_losses_by_name_and_by_number() -> None:
    assert loss_of(ParserConfig()) == (1.0, 0.0)
    assert loss_of(ParserConfig(loss="softmax-margin")) == (1.0, 1.0)
    assert loss_of(ParserConfig(loss="max-margin", gamma=2.0)) == (math.inf, 2.0)
    assert loss_of(ParserConfig(learner="mira")) == (math.inf, 1.0)


def test_only_probabilities_have_marginals() -> None:
    assert is_probabilistic(ParserConfig())
    assert is_probabilistic(ParserConfig(learner="dca", beta=3.0))
    assert not is_probabilistic(ParserConfig(loss="max-margin"))
    assert not is_probabilistic(ParserConfig(learner="perceptron"))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["parser.learner=lbgfs"], "expected a learner among"),
        (["parser.learner=lbfgs", "parser.loss=max-margin"], "beta"),
        (["parser.loss=softmax-margin"], "exponentiated gradient expects the loss"),
        (["parser.learner=sgd", "parser.options.eta=1"], "sgd"),
    ],
)
def test_what_does_not_fit_is_said(overrides: list[str], expected: str) -> None:
    config = quick('layers=["heads"]', "hold_out=0", *overrides)
    with pytest.raises(ConfigError, match=expected):
        train(sample("train")[:10], None, config)
