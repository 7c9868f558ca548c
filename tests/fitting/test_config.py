"""Configurations: defaults, files, overrides, and errors that name the key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from egparse.errors import ConfigError
from egparse.fitting.config import TrainConfig, check_config, config_as_table, load_config

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
    assert check_config(config_as_table(config)) == config


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_configuration_in_the_repository_is_valid(path: Path) -> None:
    load_config(path)


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("parser.x=1", "parser.x"),
        ("parser.c=abc", "parser.c: input should be a valid number"),
        ('parser.trees="both"', "parser.trees"),
        ("parser", "expected an override such as parser.c=5, got 'parser'"),
        ("seed.x=1", "seed"),
        ("parser.bits=60", "parser.bits"),
        ("upos.c=-1", "upos.c"),
    ],
)
def test_a_faulty_key_is_named(override: str, text: str) -> None:
    with pytest.raises(ConfigError) as fault:
        load_config(None, [override])
    assert text in str(fault.value)


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("parser = [")
    with pytest.raises(ConfigError, match=r"c\.toml: expected a configuration in TOML"):
        load_config(file)
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        load_config(tmp_path / "missing.toml")
