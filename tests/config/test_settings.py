"""The list of settings: complete, with a meaning and the range that is enforced, and a file to
edit.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import egparse
from egparse.config.reading import load_config
from egparse.config.sections import ORDER_1, TrainConfig, settings, settings_as_toml
from egparse.errors import ConfigError

SETTINGS = settings()
_NO_NUMBERS = ["nan", "-inf", "-1e300", "true", '"many"', "[]", "[1]", "{x = 1}", "1979-05-27"]
_NO_INTEGERS = [*_NO_NUMBERS, "inf", "1.5", "1e300", "-1", "9" * 30, "-" + "9" * 30, "9" * 4000]
OUTSIDE = {
    "integer from 0 to 1e9": [*_NO_INTEGERS, "1000000001"],
    "integer from 0 to 1e18": [*_NO_INTEGERS, "1000000000000000001"],
    "integer from 0 to 1000": [*_NO_INTEGERS, "1001"],
    "integer from 1 to 1000": [*_NO_INTEGERS, "0", "1001"],
    "integer from 1 to 20": [*_NO_INTEGERS, "0", "21"],
    "integer from 1 to 1e9": [*_NO_INTEGERS, "0", "1000000001"],
    "integer from 1 to 32": [*_NO_INTEGERS, "0", "33"],
    "integer from 2 to 16384": [*_NO_INTEGERS, "1", "16385"],
    "integer from 8 to 28": [*_NO_INTEGERS, "7", "29", "63"],
    "number >= 0": [*_NO_NUMBERS, "-0.5"],
    "number >= 0.001": [*_NO_NUMBERS, "0", "1e-300", "-1"],
    "number from 0 to 1": [*_NO_NUMBERS, "inf", "1.5", "-0.5"],
    "number from 0 to 1000": [*_NO_NUMBERS, "inf", "1001", "-0.5"],
    "number from 0 to 1e9": [*_NO_NUMBERS, "inf", "1e300", "-0.5"],
    "number from 0, below 0.5": [*_NO_NUMBERS, "inf", "0.5", "-0.5"],
    "number from 0, below 1": [*_NO_NUMBERS, "inf", "1.0", "-0.5"],
    "number from 1e-9 to 1e9": [*_NO_NUMBERS, "inf", "0.0", "1e-300", "1e300", "-1"],
    "list of strings": ["[1]", "1", '"bias"', "{x = 1}", "[[]]", "nan"],
    "string": ["1", "[]", "{x = 1}", "nan", "true"],
    "table": ["1", "[]", '"x"', "nan", "{x = []}", "{x = {}}", "{nothing_of_this_name = 1}"],
    "true | false": ['"perhaps"', "2", "-1", "nan", "[]", "{x = 1}"],
}
"""Values, in TOML, that each range excludes; a list of names excludes any others."""
ANOTHER = ['"another"', '""', "3", "-1", "nan", "[]", "{x = 1}", "9" * 30]


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


def test_a_setting_has_a_meaning_and_a_range_that_is_enforced() -> None:
    for own in SETTINGS:
        assert re.fullmatch(r"[^\n]*[^\n.]", own.meaning)
        for outside in OUTSIDE.get(own.range, ANOTHER):
            with pytest.raises(ConfigError, match=f"^configuration: {own.key}[:.]") as fault:
                load_config(None, [f"{own.key}={outside}"])
            assert "\n" not in str(fault.value)
            assert len(str(fault.value)) < 400


def test_every_range_has_values_outside_it() -> None:
    names = {own.range for own in SETTINGS if " | " in own.range} - {"true | false"}
    assert {own.range for own in SETTINGS} == {*OUTSIDE, *names}


def test_the_default_that_is_listed_is_the_default() -> None:
    order_1 = load_config(None, ["parser.order=1"])
    for own in SETTINGS:
        if own.default:
            assert load_config(None, [f"{own.key}={own.default}"]) == TrainConfig()
        else:
            assert value_of(TrainConfig(), own.key) in (None, ())
        if own.default_order_1 is not None:
            config = load_config(None, ["parser.order=1", f"{own.key}={own.default_order_1}"])
            assert config.parser == ORDER_1
            assert value_of(config, own.key) != value_of(TrainConfig(), own.key)
        elif own.key != "parser.order":
            assert value_of(order_1, own.key) == value_of(TrainConfig(), own.key)


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
