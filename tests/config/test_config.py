"""Configurations: defaults, files, overrides, and errors that name the key."""

from __future__ import annotations

import re
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from egparse.config.fields import about
from egparse.config.reading import (
    check_config,
    learning_sections,
    load_config,
    read_config,
)
from egparse.config.sections import ORDER_1, LearningConfig, ParserConfig, TrainConfig
from egparse.errors import ConfigError

OF_PARSER = [one.name for one in fields(ParserConfig)]
ORDER_2_ONLY = [
    name for name in OF_PARSER if about(ParserConfig, name)["meaning"].startswith("order 2: ")
]
CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs").glob("*.toml"))


def test_no_file_means_the_defaults_and_overrides_win(tmp_path: Path) -> None:
    assert load_config() == TrainConfig()
    file = tmp_path / "c.toml"
    file.write_text("[parser]\nc = 3\nbits = 18\n")
    config = load_config(file, ["parser.c=5", "upos.stop.iterations=2", "parser.trees=projective"])
    assert (config.parser.c, config.parser.bits, config.upos.stop.iterations) == (5.0, 18, 2)
    assert config.parser.trees == "projective"


def test_a_section_that_says_one_thing_leaves_the_rest_as_it_was(tmp_path: Path) -> None:
    defaults = TrainConfig()
    file = tmp_path / "c.toml"
    file.write_text("[spans]\nc = 3\n")
    config = load_config(file, ["upos.min_count=3", "labeller.stop.patience=0"])
    assert config.spans == replace(defaults.spans, c=3.0)
    assert config.upos == replace(defaults.upos, min_count=3)
    assert config.labeller == replace(
        defaults.labeller, stop=replace(defaults.labeller.stop, patience=0)
    )


def test_a_configuration_survives_being_stored() -> None:
    config = load_config(None, ["seed=7", 'upos.templates=["bias"]'])
    assert check_config(asdict(config)) == config
    assert read_config(asdict(config)) == config


def test_the_parser_of_order_one_has_defaults_of_its_own() -> None:
    assert load_config(None, ["parser.order=1"]).parser == ORDER_1
    config = load_config(None, ["parser.order=1", "parser.c=3", "parser.stop.iterations=4"])
    assert config.parser == replace(ORDER_1, c=3.0, stop=replace(ORDER_1.stop, iterations=4))
    assert load_config(None, ["parser.order=2"]) == TrainConfig()


def test_every_section_with_a_learner_is_known() -> None:
    sections = [name for name, _ in learning_sections(TrainConfig())]
    tasks = ["upos", "xpos", "feats", "morphology", "lemmas", "spans"]
    tasks += ["supertags", "pruner", "parser", "labeller"]
    tasks += ["tokeniser", "expander", "splitter"]
    assert sections == tasks
    for _, learning in learning_sections(TrainConfig()):
        assert {own.name for own in fields(LearningConfig)} <= {
            own.name for own in fields(learning)
        }


def test_every_configuration_in_the_repository_is_valid() -> None:
    for path in CONFIGS:
        load_config(path)


FAULTY = [
    ("parser.x=1", "parser.x"),
    ("parser.c=abc", "parser.c: expected a number from 1e-9 to 1e9, got 'abc'"),
    ('parser.trees="both"', "parser.trees"),
    ("parser", "expected an override such as parser.c=5, got 'parser'"),
    ("seed.x=1", "seed"),
    ("parser.bits=60", "parser.bits"),
    ("upos.c=-1", "upos.c"),
    ("upos.stop.passes=3", "upos.stop.passes"),
    ("jackknife.fold=3", "jackknife.fold"),
    ("parser.closeness=3", "parser.closeness"),
    ("parser.mbr_scale=0", "parser.mbr_scale: expected more than 0 for order 2, got 0"),
]


def test_a_faulty_key_is_named() -> None:
    for override, text in FAULTY:
        with pytest.raises(ConfigError, match=re.escape(text)):
            load_config(None, [override])


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("parser = [")
    with pytest.raises(ConfigError, match=r"c\.toml: expected a configuration in TOML"):
        load_config(file)
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        load_config(tmp_path / "missing.toml")


LEARNING = [name for name, _ in learning_sections(TrainConfig())]
TAGGERS = ("upos", "xpos", "feats", "spans")
WITHOUT_EFFECT = [
    *((f"{own}.learner=lbfgs", f"{own}.anneal_from=5.5") for own in LEARNING),
    *((f"{own}.learner=lbfgs", f"{own}.anneal_decay=0.55") for own in LEARNING),
    *((f"{own}.learner=lbfgs", f"{own}.prioritise_below_gain=0.5") for own in TAGGERS),
    *((f"{own}.learner=lbfgs", f"{own}.search=quadratic") for own in TAGGERS[:3]),
    ("spans.learner=lbfgs", "spans.search=halving"),
    *(("seed=1", f"{own}.scheme=iobes") for own in TAGGERS[:3]),
    *(("parser.order=1", f"parser.{own}=false") for own in ORDER_2_ONLY[:3]),
    ("parser.order=1", "parser.inference=exact"),
    *(("parser.order=1", f'parser.{own}=["bias"]') for own in ORDER_2_ONLY[4:]),
    ("parser.trees=projective", "parser.non_projective_above=0.1"),
    ("parser.siblings=false", 'parser.sibling_templates=["h.upos s.upos"]'),
    ("parser.grandparents=false", 'parser.grandparent_templates=["g.upos h.upos"]'),
    ("parser.labels=false", 'parser.label_templates=["h.upos d.upos"]'),
    ("splitter.train=false", "splitter.c=2"),
    ("splitter.train=false", "splitter.longest=3"),
    ("jackknife.folds=0", "jackknife.passes=2"),
    ("jackknife.folds=1", "jackknife.c=2"),
    ("parser.learner=perceptron", "parser.c=2"),
]
"""Pairs of a setting, and another that has no effect beside it."""


def test_a_setting_without_effect_is_refused_by_its_name() -> None:
    for overrides in WITHOUT_EFFECT:
        key = overrides[1].partition("=")[0]
        with pytest.raises(ConfigError, match=f"^configuration: {key}: (?!expected a)"):
            load_config(None, overrides)


def test_an_option_does_not_override_a_setting() -> None:
    for option in ("c", "seed", "loss", "anneal_from", "search"):
        with pytest.raises(ConfigError, match=rf"upos\.options\.{option}: expected the setting"):
            load_config(None, [f"upos.options={{{option}=1}}"])


def test_all_settings_of_order_two_are_among_those_that_order_one_refuses() -> None:
    refused = {key.partition("=")[0] for first, key in WITHOUT_EFFECT if first == "parser.order=1"}
    assert refused == {f"parser.{own}" for own in ORDER_2_ONLY}


def test_a_pruner_is_refused_where_there_is_none() -> None:
    for setting in ("pruner.c=3", "pruner.max_heads=4", "pruner.stop.gap=0.1"):
        with pytest.raises(ConfigError, match=r"^configuration: pruner: .*order (= )?1"):
            load_config(None, ["parser.order=1", setting])
        load_config(None, [setting])


def test_the_strength_of_a_base_is_refused_without_one() -> None:
    with pytest.raises(ConfigError, match="base_strength: expected a base model beside it"):
        load_config(None, ["base_strength=3"])
    assert check_config({"base_strength": 3.0}).base_strength == 3.0


def test_a_setting_without_effect_may_stand_at_its_default() -> None:
    """A file with all settings can be edited."""
    for changed in ("upos.learner=dca", "spans.learner=dca", "labeller.learner=mira"):
        config = load_config(None, [changed])
        assert read_config(asdict(config)) == config
    arc_factored = load_config(None, ["parser.order=1"])
    assert read_config(asdict(arc_factored)) == arc_factored
