"""What is said of faulty settings: the key, its range, what came, and a similar name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from egparse.config.learner_options import OPTIONS
from egparse.config.listing import Setting, range_of, settings
from egparse.config.sections import LearningConfig
from egparse.errors import ConfigError
from egparse.layers import LAYERS
from egparse.learners.registry import LEARNERS
from egparse.similar import did_you_mean

_SHOWN = 60
"""Characters of a faulty value in a message."""


def shown(value: object) -> str:
    """A value in a message; long ones are cut."""
    if isinstance(value, Mapping):
        return "a section"
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else _digits(value)
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _digits(value: int) -> str:
    """An integer; ``str`` would raise for thousands of digits."""
    return str(value) if value.bit_length() < 200 else f"a number of {value.bit_length()} bits"


def unknown_key(key: str) -> str:
    """What to say of a key that no setting has."""
    section, _, name = key.rpartition(".")
    keys = settings_by_key()
    sections = {one.rpartition(".")[0] for one in keys} - {""}
    inside = [one for one in (*keys, *sections) if one.rpartition(".")[0] == section]
    names = [one.rpartition(".")[2] for one in inside]
    close = get_close_matches(name, names, n=1)
    if not close and section and section not in sections:
        return f"expected a section of the settings, got {section!r}" + did_you_mean(
            section, sections
        )
    prefix = f"{section}." if section else ""
    same = [one for one in keys if one.endswith(f".{name}")]
    if not close and same:
        return f"expected the section too, such as {same[0]}, got {name!r}"
    hint = f"; did you mean {prefix}{close[0]}?" if close else did_you_mean(key, keys)
    return f"expected a setting that 'egparse settings' lists, got {name!r}{hint}"


def out_of_range(setting: Setting, value: object) -> str:
    """What to say of a value that a setting cannot have."""
    hint = ""
    if " | " in setting.range and isinstance(value, str):
        hint = did_you_mean(value, setting.range.split(" | "))
    return f"expected {in_words(setting.range)}, got {shown(value)}{hint}"


def in_words(range: str) -> str:
    """A range as the object of a sentence."""
    if range == "true | false":
        return "true or false"
    if " | " in range:
        *others, last = range.split(" | ")
        return f"{', '.join(others)} or {last}"
    return f"{'an' if range.startswith('integer') else 'a'} {range}"


def is_number(range: str) -> bool:
    """Whether the values of a range are numbers."""
    return range.startswith(("integer", "number"))


@cache
def settings_by_key() -> dict[str, Setting]:
    """Every setting by its full key."""
    return {setting.key: setting for setting in settings()}


def check_layers(layers: Sequence[str], name: str) -> None:
    """Raise ConfigError for an unknown layer, or arc labels without a parser."""
    for layer in layers:
        if layer not in LAYERS:
            raise ConfigError(
                f"{name}: layers: expected layers among {', '.join(LAYERS)}, got {shown(layer)}"
                + did_you_mean(layer, LAYERS)
            )
    if "deprels" in layers and "heads" not in layers:
        raise ConfigError(
            f"{name}: layers: expected heads beside deprels, which label their arcs, got "
            f"{', '.join(layers)}"
        )


def check_learner(section: str, config: LearningConfig, name: str) -> None:
    """Raise ConfigError for an unknown learner, an option that it does not have, or a value that
    the option cannot have.
    """
    learner, key = config.learner, f"{name}: {section}"
    if learner not in LEARNERS:
        raise ConfigError(
            f"{key}.learner: expected a learner among {', '.join(LEARNERS)}, got {shown(learner)}"
            + did_you_mean(learner, LEARNERS)
        )
    known = OPTIONS.get(learner, {})
    for option, value in config.options.items():
        if option not in known:
            listed = ", ".join(known) or "none"
            raise ConfigError(
                f"{key}.options.{option}: unknown option {option!r}: those of the learner "
                f"{learner} are: {listed}{did_you_mean(option, known)}"
            )
        if not _has_type(value, known[option]):
            expected = in_words(range_of(known[option]))
            raise ConfigError(f"{key}.options.{option}: expected {expected}, got {shown(value)}")


def _has_type(value: object, hint: Any) -> bool:
    from pydantic import TypeAdapter, ValidationError  # costs 0.1 s: only where needed

    if isinstance(value, bool) and hint is not bool:
        return False
    try:
        TypeAdapter(hint).validate_python(value, strict=not isinstance(value, int))
    except ValidationError:
        return False
    return True
