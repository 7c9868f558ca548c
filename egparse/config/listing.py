"""All settings of training as a list: key, default, range, and a line of meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from textwrap import wrap
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from egparse.config.sections import ORDER_1, TrainConfig
from egparse.config.toml_text import toml_value

_SHORT = 60
"""Characters: longer lists are written with a line for each value."""


class Setting(NamedTuple):
    """One setting; ``default`` and ``default_order_1`` (None: the same) are in TOML notation.

    ``default_order_1`` is the default of a setting of the parser where ``parser.order`` is 1.
    """

    key: str
    default: str
    range: str
    meaning: str
    default_order_1: str | None = None


def settings() -> list[Setting]:
    """Every setting of training, section by section; the settings of no section come first."""
    config = TrainConfig()
    of_order_1 = {setting.key: setting.default for setting in _settings_of(ORDER_1, "parser.")}
    del of_order_1["parser.order"]
    return [
        setting._replace(default_order_1=of_order_1[setting.key])
        if of_order_1.get(setting.key, setting.default) != setting.default
        else setting
        for setting in _settings_of(config, "")
    ]


def settings_as_toml() -> str:
    """A configuration file with every setting at its default, each with its meaning above it.

    A setting without a default value is commented out: another setting decides its value.
    """
    lines = [
        "# The settings of egparse train, with their defaults. Keep what you change, for example",
        "#   egparse train corpus.conllu --config this-file.toml",
    ]
    section = ""
    for setting in settings():
        path, _, name = setting.key.rpartition(".")
        if path != section:
            lines += ["", f"[{path}]"]
            section = path
        other = f"; with order = 1: {setting.default_order_1}" if setting.default_order_1 else ""
        comment = f"{setting.meaning} ({setting.range}{other})"
        lines += wrap(comment, 98, initial_indent="# ", subsequent_indent="# ")
        default = setting.default
        lines.append(f"# {name} = ..." if default == "" else f"{name} = {default}")
    return "\n".join(lines) + "\n"


def _settings_of(section: Any, prefix: str) -> Iterator[Setting]:
    """The settings of a section; nested sections come last, as TOML requires."""
    hints = get_type_hints(type(section), include_extras=True)
    nested = []
    for one in fields(section):
        value = getattr(section, one.name)
        key = prefix + one.name
        if hasattr(value, "__dataclass_fields__"):
            nested.append((value, f"{key}."))
        else:
            default = "" if value is None else toml_value(value, _SHORT)
            meaning = _meaning(type(section), one.name)
            yield Setting(key, default, range_of(hints[one.name]), meaning)
    for value, path in nested:
        yield from _settings_of(value, path)


def _meaning(section: type, name: str) -> str:
    """The line of meaning, of the nearest class that declares one."""
    for kind in section.__mro__:
        declared = getattr(kind, "__dataclass_fields__", {}).get(name)
        if declared is not None and "meaning" in declared.metadata:
            return str(declared.metadata["meaning"])
    raise KeyError(f"{section.__name__}.{name} has no line of meaning")


def range_of(hint: Any) -> str:
    """The values that a type of ``config`` allows, in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounds(parts[1], "integer" if parts[0] is int else "number")
    if origin is Literal:
        return " | ".join(str(part) for part in parts)
    if origin in (Union, UnionType):
        return range_of(next(part for part in parts if part is not type(None)))
    if origin is tuple:
        return "list of strings"
    if hint is bool:
        return "true | false"
    if hint is str:
        return "string"
    return "table"


def _bounds(interval: Any, kind: str) -> str:
    """An interval of ``annotated_types`` in words, as ``integer from 1 to 3``."""
    above, least = getattr(interval, "gt", None), getattr(interval, "ge", None)
    below, most = getattr(interval, "lt", None), getattr(interval, "le", None)
    if above is not None:
        return f"{kind} > {_number(above)}"
    if below is not None:
        return f"{kind} from {_number(least)}, below {_number(below)}"
    if most is None:
        return f"{kind} >= {_number(least)}"
    return f"{kind} from {_number(least)} to {_number(most)}"


def _number(value: Any) -> str:
    """A bound, as ``3``, ``0.001`` or ``1e9``."""
    return re.sub(r"e([+-])0*", lambda found: "e" + found[1].strip("+"), f"{value:g}")
