"""Settings in model files of format 1 mean today what they meant then."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egparse.config.named_losses import LOSSES
from egparse.config.old_tables import config_table_of, upgraded
from egparse.config.reading import check_config, config_as_table, learning_sections
from egparse.config.sections import ORDER_1, ParserConfig, TrainConfig
from egparse.fitting.choose_learner import is_probabilistic, loss_of
from egparse.storage.model_file import read_header

MODELS = Path(__file__).resolve().parents[2] / "models"
FORMAT_1 = Path(__file__).with_name("format_1.json")


def old_table() -> dict[str, Any]:
    """The settings of the first model of English EWT, which was of format 1; of the templates three
    are left.
    """
    header = json.loads(FORMAT_1.read_text(encoding="utf-8"))
    assert header["version"] == 1
    return dict(header["config"])


def config_of(table: dict[str, Any]) -> TrainConfig:
    return check_config(upgraded(table))


@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia", "pt_bosque"])
def test_the_shipped_models_were_trained_with_the_defaults_of_today(name: str) -> None:
    header = read_header(MODELS / f"{name}.msgpack")
    config = check_config(config_table_of(header))
    expected = TrainConfig(language=header["language"])
    for section, learning in learning_sections(expected):
        known = getattr(config, section)
        assert loss_of(known) == loss_of(learning)
        plain = {"loss": "auto", "gamma": None, "templates": (), "label_templates": ()}
        plain |= {"sibling_templates": (), "grandparent_templates": ()}
        plain = {key: value for key, value in plain.items() if hasattr(known, key)}
        assert replace(known, **plain) == replace(learning, **plain)
    sections = {section: getattr(expected, section) for section, _ in learning_sections(expected)}
    assert replace(config, **sections, classes=expected.classes) == expected


def test_what_was_renamed_keeps_its_value() -> None:
    table = old_table()
    table["closeness"] = 3.0
    table["upos"] |= {"all_labels_from": 7, "drop_below": 0.5, "settled": 0.25}
    table["parser"]["sharpness"] = 1.25
    table["second_order"]["sharpness"] = 0.75
    config = config_of(table)
    assert config.base_strength == 3.0
    assert config.upos.full_row_min_count == 7
    assert config.upos.weight_threshold == 0.5
    assert config.upos.prioritise_below_gain == 0.25
    assert (config.pruner.mbr_scale, config.parser.mbr_scale) == (1.25, 0.75)


def test_the_old_parser_of_order_two_was_the_pruner() -> None:
    table = old_table()
    table["parser"] |= {"c": 7.0, "bits": 19, "trees": "projective", "arc_share": 0.25}
    table["parser"]["templates"] = ["bias"]
    table["second_order"] |= {
        "c": 9.0, "bits": 17, "heads": 5, "share": 0.125, "pruner_passes": 3, "pruner_bits": 20,
        "siblings": False,
    }  # fmt: skip
    config = config_of(table)
    pruner, parser = config.pruner, config.parser
    assert (pruner.c, pruner.bits, pruner.max_heads) == (7.0, 19, 5)
    assert (pruner.min_relative_marginal, pruner.stop.iterations) == (0.125, 3)
    assert (pruner.stop.patience, pruner.learner, loss_of(pruner)) == (0, "eg-online", (1.0, 0.0))
    assert (parser.order, parser.c, parser.bits, parser.siblings) == (2, 9.0, 17, False)
    assert (parser.trees, parser.arc_share, parser.templates) == ("projective", 0.25, ("bias",))
    table["parser"]["bits"], table["second_order"]["pruner_bits"] = 22, 16
    assert config_of(table).pruner.bits == 16  # the smaller one counted


def test_the_old_parser_of_order_one_is_the_parser_still() -> None:
    table = old_table()
    table["parser"] |= {"order": 1, "c": 7.0, "sharpness": 0.0}
    table["second_order"]["c"] = 9.0
    config = config_of(table)
    assert config.pruner == TrainConfig().pruner
    parser = replace(config.parser, loss="auto", templates=())
    assert parser == replace(ORDER_1, c=7.0, mbr_scale=0.0)
    assert loss_of(config.parser) == (1.0, 0.0)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("learner", ["mira", "cutting-plane", "perceptron"])
def test_learners_with_one_loss_minimised_it_whatever_was_said(learner: str, order: int) -> None:
    table = old_table()
    table["upos"]["learner"] = learner
    table["parser"] |= {"order": order} | ({"learner": learner} if order == 1 else {})
    table["second_order"]["learner"] = learner
    config = config_of(table)
    loss = LOSSES["perceptron" if learner == "perceptron" else "max-margin"]
    for own in (config.upos, config.parser):
        assert loss_of(own) == loss
        assert not is_probabilistic(own)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (1.0, 4.0)),
        ({"margin": 2.5}, (1.0, 2.5)),
        ({"gamma": 3.0}, (1.0, 3.0)),
        ({"gamma": 0.0}, (1.0, 0.0)),
        ({"beta": 2.0}, (2.0, 0.0)),
        ({"loss": "softmax-margin"}, (1.0, 1.0)),
        ({"loss": "max-margin", "margin": 2.5}, (math.inf, 1.0)),
        ({"learner": "sgd"}, (1.0, 0.0)),
        ({"learner": "sgd", "gamma": 2.0}, (1.0, 2.0)),
    ],
    ids=str,
)
def test_the_margin_was_gamma_where_nothing_else_was_said_of_the_loss(
    settings: dict[str, Any], expected: tuple[float, float]
) -> None:
    table = old_table()
    table["second_order"] |= settings
    assert loss_of(config_of(table).parser) == expected


def test_tables_are_left_as_they_are_and_those_of_today_are_taken_as_they_are() -> None:
    table = old_table()
    upgraded(table)
    assert table == old_table()
    today = config_as_table(TrainConfig(parser=ParserConfig(c=3.0)))
    assert config_table_of({"version": 2, "config": today}) == today
