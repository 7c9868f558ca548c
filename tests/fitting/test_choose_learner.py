"""Every learner of the registry trains what it fits, and says what does not fit it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle

import pytest
from sample_treebank import quick, sample

from egparse.config.sections import (
    ORDER_1,
    TASK_SECTIONS,
    LearningConfig,
    ParserConfig,
    PrunerConfig,
)
from egparse.errors import ConfigError
from egparse.fitting.choose_learner import LOSSES, check_learners, is_probabilistic, loss_of
from egparse.fitting.progress import Iteration, Step
from egparse.learners.registry import LEARNERS
from egparse.training import checks
from egparse.training.run import train

EVERY_LAYER = ("upos", "heads", "deprels")


def everywhere(learner: str) -> list[str]:
    """The overrides that make it the learner of all tasks, as ``--learner`` does."""
    return [f"{section}.learner={learner}" for section in TASK_SECTIONS]


def no_check(*_: object) -> None:
    """In the place of ``check_learners``: leaves it to the learners to refuse."""


def fitting(structure: str) -> list[str]:
    return [name for name, entry in LEARNERS.items() if structure in entry.fits]


def constant(section: str, c: float, learner: str) -> list[str]:
    """C of a section, where the learner has one: settings without effect are refused."""
    return [f"{section}.c={c}"] if LEARNERS[learner].regularised else []


OF_PAPERS = {"eg-2007", "frank-wolfe", "n-slack", "sdca"}


@pytest.mark.parametrize(
    "learner",
    [
        pytest.param(name, marks=[pytest.mark.nightly] * (name in OF_PAPERS))
        for name in fitting("trees")
    ],
)
def test_every_learner_of_trees_trains_a_tagger_and_a_parser(learner: str) -> None:
    config = quick(
        'layers=["upos", "heads"]',
        "hold_out=0",
        "upos.stop.iterations=4",
        "parser.stop.iterations=4",
        *constant("upos", 2, learner),
        "parser.bits=12",
        *everywhere(learner),
    )
    model = train(sample("train")[:25], sample("dev")[:10], config).model
    for sentence in model.annotate(sample("dev")[:5]):
        assert len(sentence.upos) == len(sentence.heads) == len(sentence)
    assert model.record["tasks"]["upos"]["score"] > 30


OTHERS = sorted({*fitting("sequences"), *fitting("choices")} - {*fitting("trees")})


@pytest.mark.parametrize(
    ("learner", "layer"),
    [
        pytest.param(own, layer, marks=[pytest.mark.nightly] * (own not in ("cd", "gis")))
        for own, layer in zip(OTHERS, cycle(["upos", "feats"]), strict=False)
    ],
)
def test_the_other_learners_train_taggers(learner: str, layer: str) -> None:
    """With weights for all labels (upos), or for those seen and the candidates of a tag dictionary
    (feats).
    """
    config = quick(
        f'layers=["{layer}"]',
        "hold_out=0",
        f"{layer}.learner={learner}",
        f"{layer}.bigrams=false",
        "feats.c=0.5",
    )
    model = train(sample("train")[:120], sample("dev")[:20], config).model
    assert model.record["tasks"][layer]["score"] > (70 if layer == "upos" else 55)
    assert all(
        len(sentence.upos or sentence.feats) == len(sentence)
        for sentence in model.annotate(sample("dev")[:3])
    )


def test_a_multiclass_learner_trains_a_labeller() -> None:
    config = quick(
        'layers=["heads", "deprels"]',
        "hold_out=0",
        "labeller.learner=cd",
        "parser.stop.iterations=4",
    )
    record = train(sample("train")[:60], sample("dev")[:20], config).model.record["tasks"]
    assert record["deprels"]["score"] > 0.7 * record["heads"]["score"]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("layer", EVERY_LAYER)
def test_the_check_before_training_and_the_learner_itself_agree(
    learner: str, layer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "check_learners", no_check)
    config = quick("hold_out=0", "parser.bits=12", *everywhere(learner))
    layers = ("heads", layer) if layer == "deprels" else (layer,)
    if layer == "deprels":
        parser = ParserConfig(bits=12, learner=learner)
        config = replace(config, parser=parser, pruner=PrunerConfig(bits=12))
    try:
        check_learners(config, layers)
    except ConfigError:
        with pytest.raises(ConfigError, match=learner):
            train(sample("train")[:4], None, replace(config, layers=layers))
    else:
        assert learner in fitting(
            {"upos": "sequences", "heads": "trees", "deprels": "choices"}[layer]
        )


def test_what_does_not_fit_comes_with_ways_out() -> None:
    without = quick("upos.learner=gis", "upos.bigrams=false")
    check_learners(without, ["upos", "heads", "deprels"])
    with pytest.raises(ConfigError) as fault:
        check_learners(quick(*everywhere("gis"), "upos.bigrams=false"), ["upos", "heads"])
    for text in (
        "gis fits labels chosen one by one only, and cannot train parser (trees)",
        "--set parser.learner=eg-online",
        """--set 'layers=["upos"]'""",
        "--set upos.learner=gis, no --learner",
    ):
        assert text in str(fault.value)
    with pytest.raises(ConfigError) as fault:
        check_learners(quick(*everywhere("gis")), EVERY_LAYER)
    for text in ("--set upos.bigrams=false", "--set labeller.learner=gis"):
        assert text in str(fault.value)
    assert "layers=" not in str(fault.value)  # labels alone have no arcs to go on


def test_what_does_not_fit_is_said_before_anything_is_trained() -> None:
    events: list[Iteration | Step] = []
    config = quick('layers=["upos", "heads"]', "hold_out=0", "parser.learner=gis")
    with pytest.raises(
        ConfigError,
        match=r"gis fits labels chosen one by one only, and cannot train parser \(trees\)",
    ):
        train(sample("train")[:10], None, config, events.append)
    assert events == []


def test_losses_by_name_and_by_number() -> None:
    assert loss_of(ORDER_1) == (1.0, 4.0)
    assert loss_of(replace(ORDER_1, loss="log-linear")) == (1.0, 0.0)
    assert loss_of(replace(ORDER_1, loss="softmax-margin")) == (1.0, 1.0)
    assert loss_of(replace(ORDER_1, loss="max-margin", gamma=2.0)) == (math.inf, 2.0)
    assert loss_of(replace(ORDER_1, learner="mira")) == (math.inf, 1.0)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_automatic_loss_is_the_one_that_the_learner_minimises(learner: str) -> None:
    margin = ("mira", "n-slack", "frank-wolfe")
    only = {**dict.fromkeys(margin, "max-margin"), "perceptron": "perceptron"}
    expected = LOSSES[only.get(learner, "log-linear")]
    learns_trees = learner not in only and "trees" in LEARNERS[learner].fits
    of_parsers = (1.0, 4.0) if learns_trees else expected
    for config, loss in (
        (LearningConfig(learner=learner), expected),
        (PrunerConfig(learner=learner), expected),
        (ParserConfig(learner=learner), of_parsers),
        (replace(ORDER_1, learner=learner), of_parsers),
    ):
        assert loss_of(config) == loss
        assert loss_of(replace(config, gamma=3.0)) == (loss[0], 3.0)
        assert loss_of(replace(config, beta=2.0)) == (2.0, loss[1])


def test_the_second_order_parser_has_a_margin_of_its_own_unless_the_settings_say_otherwise() -> (
    None
):
    assert loss_of(ParserConfig()) == (1.0, 4.0)
    assert loss_of(ParserConfig(gamma=1.5)) == (1.0, 1.5)
    assert loss_of(ParserConfig(loss="log-linear")) == (1.0, 0.0)
    assert loss_of(ParserConfig(loss="softmax-margin")) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("learner", "only"),
    [
        *((name, "max-margin") for name in ("mira", "n-slack", "frank-wolfe")),
        ("perceptron", "perceptron"),
    ],
)
def test_a_loss_that_the_learner_does_not_minimise_is_refused(learner: str, only: str) -> None:
    for loss in LOSSES:
        config = quick('layers=["upos"]', f"upos.learner={learner}", f"upos.loss={loss}")
        if loss == only:
            check_learners(config, ["upos"])
            assert loss_of(config.upos) == LOSSES[loss]
        else:
            expected = f"learner {learner}: expected loss = '{only}' or 'auto', got '{loss}'"
            with pytest.raises(ConfigError, match=expected):
                check_learners(config, ["upos"])


def test_only_probabilities_have_marginals() -> None:
    assert is_probabilistic(ParserConfig())
    assert is_probabilistic(ORDER_1)
    assert is_probabilistic(ParserConfig(beta=3.0))
    assert not is_probabilistic(ParserConfig(loss="max-margin"))
    assert not is_probabilistic(replace(ORDER_1, loss="max-margin"))
    assert not is_probabilistic(ParserConfig(learner="perceptron"))
    assert not is_probabilistic(replace(ORDER_1, learner="mira"))


@pytest.mark.parametrize("setting", ["pruner.learner=perceptron", "pruner.loss=max-margin"])
def test_a_pruner_needs_probabilities(setting: str) -> None:
    config = quick("parser.order=2", setting)
    with pytest.raises(ConfigError, match="pruner: expected a learner of trees and a loss that"):
        check_learners(config, ["upos", "heads"])
    check_learners(config, ["upos"])


REFUSED = [
    (
        "heads",
        ["parser.learner=lbgfs"],
        "parser.learner: expected a learner among .* did you mean lbfgs",
    ),
    ("heads", ["parser.learner=lbfgs", "parser.loss=max-margin"], "beta"),
    ("heads", ["parser.loss=perceptron"], "exponentiated gradient expects a loss"),
    (
        "heads",
        ["parser.learner=sgd", "parser.options.eta=1"],
        "the learner sgd are: eta0, decay, averaged; did",
    ),
    ("heads", ["parser.learner=gis"], "gis fits labels chosen one by one only"),
    ("upos", ["upos.learner=cd"], "--set upos.bigrams=false"),
    (
        "upos",
        ["upos.learner=lbfgs", "upos.options.lambda=1"],
        "options.lambda: unknown option .* of the learner lbfgs are: memory",
    ),
    (
        "upos",
        ["upos.learner=gis", "upos.bigrams=false", "upos.loss=max-margin"],
        "maximum-entropy learners expect the log-linear loss",
    ),
    (
        "upos",
        ["upos.learner=lbfgs", "upos.options.memory=0"],
        "options.memory: expected an integer from 1 to 1000, got 0",
    ),
    (
        "upos",
        ["upos.options.every_step=true"],
        "the learner eg-online are: eta, search, relaxation, growth, curvature, max_halvings, "
        "round_fraction, prioritise_below_gain, visit_cost, min_visit_probability, anneal_hold, "
        "published, order, start, exact",
    ),
]


def test_what_does_not_fit_is_said() -> None:
    for layer, overrides, expected in REFUSED:
        with pytest.raises(ConfigError, match=expected):
            train(
                sample("train")[:10], None, quick(f'layers=["{layer}"]', "hold_out=0", *overrides)
            )


@pytest.mark.parametrize(
    ("layer", "overrides", "expected"),
    [
        (
            "heads",
            ["parser.learner=gis"],
            "gis fits choices made one by one .* TreeProblem has no design matrix",
        ),
        ("upos", ["upos.learner=cd"], "cd fits choices .*set bigrams = false"),
    ],
)
def test_learners_themselves_say_what_does_not_fit(
    layer: str, overrides: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "check_learners", no_check)
    config = quick(f'layers=["{layer}"]', "hold_out=0", *overrides)
    with pytest.raises(ConfigError, match=expected):
        train(sample("train")[:10], None, config)
