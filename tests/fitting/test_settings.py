"""The list of settings: complete, with a meaning and the range that is enforced, and a file to
edit.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import egparse
from egparse.errors import ConfigError
from egparse.fitting.config import ORDER_1, TrainConfig
from egparse.fitting.config_files import load_config
from egparse.fitting.settings import Setting, settings, settings_as_toml

SETTINGS = settings()
OUTSIDE = {
    "integer >= 0": "-1",
    "integer >= 1": "0",
    "integer from 1 to 3": "4",
    "integer from 1 to 32": "33",
    "integer from 8 to 28": "29",
    "number > 0": "0.0",
    "number >= 0": "-0.5",
    "number from 0 to 1": "1.5",
    "number from 0, below 1": "1.0",
    "list of strings": "[1]",
    "string": "1",
    "table": "1",
    "true | false": '"perhaps"',
}
"""A value, in TOML, that each range excludes; a list of names excludes any other."""


def keys_of(section: Any, prefix: str = "") -> set[str]:
    """The full names of the fields of a configuration, written from the dataclasses alone."""
    found = set()
    for own in fields(section):
        value = getattr(section, own.name)
        name = prefix + own.name
        found |= keys_of(value, f"{name}.") if is_dataclass(value) else {name}
    return found


def value_of(config: TrainConfig, key: str) -> Any:
    value: Any = config
    for name in key.split("."):
        value = getattr(value, name)
    return value


def test_all_settings_are_listed_once_section_by_section() -> None:
    keys = [own.key for own in SETTINGS]
    assert set(keys) == keys_of(TrainConfig())
    assert len(set(keys)) == len(keys)
    sections = [key.rpartition(".")[0] for key in keys]
    blocks = [first for first, second in pairwise([*sections, None]) if first != second]
    assert len(set(blocks)) == len(blocks)
    assert blocks[0] == ""
    assert egparse.settings() == SETTINGS


@pytest.mark.parametrize("own", SETTINGS, ids=lambda own: own.key)
def test_a_setting_has_a_meaning_and_a_range_that_is_enforced(own: Setting) -> None:
    assert own.meaning
    assert "\n" not in own.meaning
    assert not own.meaning.endswith(".")
    outside = OUTSIDE.get(own.range)
    if outside is None:
        names = own.range.split(" | ")
        assert len(names) > 1
        outside = '"another"'
    with pytest.raises(ConfigError, match=f"configuration: {own.key}[:.]"):
        load_config(None, [f"{own.key}={outside}"])


@pytest.mark.parametrize("own", SETTINGS, ids=lambda own: own.key)
def test_the_default_that_is_listed_is_the_default(own: Setting) -> None:
    if own.default:
        assert load_config(None, [f"{own.key}={own.default}"]) == TrainConfig()
    else:
        assert value_of(TrainConfig(), own.key) in (None, ())
    if own.default_order_1 is None:
        order_1 = load_config(None, ["parser.order=1"])
        assert value_of(order_1, own.key) == value_of(TrainConfig(), own.key) or (
            own.key == "parser.order"
        )
    else:
        config = load_config(None, ["parser.order=1", f"{own.key}={own.default_order_1}"])
        assert config.parser == ORDER_1
        assert value_of(config, own.key) != value_of(TrainConfig(), own.key)


def test_the_file_with_all_settings_is_the_default_configuration(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(settings_as_toml(), encoding="utf-8")
    assert load_config(file) == TrainConfig()
    assert load_config(file, ["upos.learner=dca"]).upos.learner == "dca"
    lines = settings_as_toml().splitlines()
    assert max(map(len, lines)) <= 100
    for own in SETTINGS:
        name = own.key.rpartition(".")[2]
        assert f"{name} = {own.default or '...'}".splitlines()[0] in "\n".join(lines)
