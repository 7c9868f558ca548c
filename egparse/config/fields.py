"""One setting is one field of a section: its default, its range (in its type) and its meaning.

All else is read from the field: the list of settings, TOML, and what is said of a faulty value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Interval

from egparse.errors import ConfigError, did_you_mean

_SHORT = 60
"""Characters: longer lists have a line for each value, longer values are cut in messages."""


LARGE = 1e9
"""Beyond this, and below its inverse for C, squares and quotients leave the range in which training
is accurate; counts of this size mean "all" and "never".
"""

Constant = Annotated[float, Interval(ge=1 / LARGE, le=LARGE)]
Beta = Annotated[float, Ge(1e-3)]
NonNegative = Annotated[float, Interval(ge=0, le=LARGE)]
OrInfinite = Annotated[float, Ge(0)]
Scale = Annotated[float, Interval(ge=0, le=1000)]
Natural = Annotated[int, Interval(ge=0, le=int(LARGE))]
Count = Annotated[int, Interval(ge=1, le=int(LARGE))]
Seed = Annotated[int, Interval(ge=0, le=10**18)]
Folds = Annotated[int, Interval(ge=0, le=1000)]
Share = Annotated[float, Interval(ge=0, lt=1)]
Bits = Annotated[int, Interval(ge=8, le=28)]


def setting(default: Any, meaning: str) -> Any:
    """A setting with its default and its line of meaning.

    The line begins with ``order 2:`` or the like if the setting has an effect only there.
    """
    return field(default=default, metadata={"meaning": meaning})


def fixed(default: Any, meaning: str) -> Any:
    """A setting that cannot be changed where training continues from a model, whose weights depend
    on it.
    """
    return field(default=default, metadata={"meaning": meaning, "fixed": True})


class Setting(NamedTuple):
    """One setting; ``default`` and ``default_order_1`` (None: the same) are in TOML notation.

    ``default_order_1`` is the default of a setting of the parser where ``parser.order`` is 1.
    """

    key: str
    default: str
    range: str
    meaning: str
    default_order_1: str | None = None


def settings_in(section: Any, prefix: str = "") -> Iterator[Setting]:
    """The settings of a section, with its values as defaults; nested sections come last, as TOML
    requires.
    """
    hints = get_type_hints(type(section), include_extras=True)
    nested = []
    for one in fields(section):
        value, key = getattr(section, one.name), prefix + one.name
        if is_dataclass(value):
            nested.append((value, f"{key}."))
        else:
            default = "" if value is None else toml_value(value, _SHORT)
            meaning = about(type(section), one.name)["meaning"]
            yield Setting(key, default, range_of(hints[one.name]), meaning)
    for value, path in nested:
        yield from settings_in(value, path)


def about(section: type, name: str) -> Mapping[str, Any]:
    """``meaning`` and perhaps ``fixed`` of a setting, by the nearest class that declares them: a
    section may have another default than the section that it extends.
    """
    for kind in section.__mro__:
        declared = getattr(kind, "__dataclass_fields__", {}).get(name)
        if declared is not None and declared.metadata:
            return dict(declared.metadata)
    return {"meaning": ""}  # a section in a section


def range_of(hint: Any) -> str:
    """The values that the type of a setting allows, in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounds(parts[1], "integer" if parts[0] is int else "number")
    if origin is Literal:
        return " | ".join(str(part) for part in parts)
    if origin in (Union, UnionType):
        return range_of(next(part for part in parts if part is not type(None)))
    return {tuple: "list of strings", bool: "true | false", str: "string"}.get(
        origin or hint, "table"
    )


def _bounds(interval: Any, kind: str) -> str:
    """An interval of ``annotated_types`` in words, as ``integer from 1 to 3``."""
    above, least, below, most = (getattr(interval, key, None) for key in ("gt", "ge", "lt", "le"))
    if above is not None:
        return f"{kind} > {_bound(above)}"
    if below is not None:
        return f"{kind} from {_bound(least)}, below {_bound(below)}"
    if most is None:
        return f"{kind} >= {_bound(least)}"
    return f"{kind} from {_bound(least)} to {_bound(most)}"


def _bound(value: Any) -> str:
    """A bound, as ``3``, ``0.001`` or ``1e9``."""
    return re.sub(r"e([+-])0*", lambda found: "e" + found[1].strip("+"), f"{value:g}")


def toml_value(value: object, width: int | None = None) -> str:
    """A string, number, truth value, list or table in TOML; keys of tables need no quotes.

    It stands on one line, but for a list of more than ``width`` characters, whose values get a line
    each.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [toml_value(item) for item in value]
        line = f"[{', '.join(items)}]"
        if width is None or len(line) <= width:
            return line
        return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    if isinstance(value, float):
        return str(value)  # inf and nan are written so in TOML, unlike in JSON
    # JSON escapes every character that TOML requires to be escaped, except DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def merge_tables(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The first table, updated with the values of the second, in nested tables too."""
    merged = dict(defaults)
    for key, value in table.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            value = merge_tables(known, value)
        merged[key] = value
    return merged


def updated(section: Any, table: Mapping[str, Any], name: str) -> Any:
    """A section with the values of a table in place of its own.

    Raises:
        ConfigError: an unknown key, or a value of the wrong type or out of range; it begins with
            ``name`` and the key.
    """
    from pydantic import ValidationError  # costs 0.1 s: only where settings are read

    kind = section.__class__
    _refuse_truth_values(kind, table, name)
    try:
        return _validator(kind).validate_python(merge_tables(asdict(section), table))
    except ValidationError as error:
        first = error.errors()[0]
    fault = _fault(kind, [str(part) for part in first["loc"]], first)
    raise ConfigError(f"{name}: {fault}")


@cache
def _validator(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


@cache
def _settings_by_key(kind: Any) -> dict[str, Setting]:
    """Every setting of a section by its full key."""
    return {one.key: one for one in settings_in(kind())}


def _refuse_truth_values(kind: type, table: Mapping[str, Any], name: str, prefix: str = "") -> None:
    """Raise ConfigError for a truth value in place of a number, which would count as 0 or 1."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            _refuse_truth_values(kind, value, name, f"{prefix}{key}.")
        elif isinstance(value, bool):
            known = _settings_by_key(kind).get(f"{prefix}{key}")
            if known is not None and known.range != "true | false":
                raise ConfigError(f"{name}: {known.key}: {_outside(known.range, value)}")


def _fault(kind: type, parts: Sequence[str], error: Mapping[str, Any]) -> str:
    """The key and what is wrong there, of an error of pydantic."""
    known, key = _settings_by_key(kind), ".".join(parts)
    if error["type"] == "unexpected_keyword_argument":
        section = isinstance(error["input"], Mapping)
        return f"{key}: {_unknown_key(key, known, section=section)}"
    for end in range(len(parts), 0, -1):  # a value in a list or a table has a longer place
        if found := known.get(".".join(parts[:end])):
            return f"{found.key}: {_outside(found.range, error['input'])}"
    within = next((one for one in known if one.startswith(f"{key}.")), next(iter(known)))
    got = shown(error["input"])
    return f"{key}: expected a section with settings such as {within}, got {got}"


def _unknown_key(key: str, keys: Mapping[str, Setting], *, section: bool) -> str:
    """What to say of a key that no setting has; ``section`` where a table of settings came."""
    inside_of, _, name = key.rpartition(".")
    sections = {one.rpartition(".")[0] for one in keys} - {""}
    inside = [one for one in (*keys, *sections) if one.rpartition(".")[0] == inside_of]
    close = get_close_matches(name, [one.rpartition(".")[2] for one in inside], n=1)
    if section or (not close and inside_of and inside_of not in sections):
        wrong = name if section else inside_of
        return f"expected a section of the settings, got {wrong!r}{did_you_mean(wrong, sections)}"
    same = [one for one in keys if one.endswith(f".{name}")]
    if not close and same:
        return f"expected the section too, such as {same[0]}, got {name!r}"
    similar = f"{inside_of}.{close[0]}" if close and inside_of else "".join(close)
    hint = f"; did you mean {similar}?" if close else did_you_mean(key, keys)
    return f"expected a setting that 'egparse settings' lists, got {name!r}{hint}"


def _outside(range: str, value: object) -> str:
    """What to say of a value outside a range, with the name that may be meant."""
    named = " | " in range and isinstance(value, str)
    return expected(range, value) + (did_you_mean(str(value), range.split(" | ")) if named else "")


def expected(range: str, value: object) -> str:
    """What a range allows, and what came."""
    if range == "true | false":
        words = "true or false"
    elif range.isdigit():  # the only choice
        words = range
    elif " | " in range:
        *others, last = range.split(" | ")
        words = f"{', '.join(others)} or {last}"
    else:
        words = f"{'an' if range.startswith('integer') else 'a'} {range}"
    return f"expected {words}, got {shown(value)}"


def shown(value: object) -> str:
    """A value in a message; long ones are cut."""
    if isinstance(value, Mapping):
        return "a section"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() >= 200:
        return f"a number of {value.bit_length()} bits"  # str raises for thousands of digits
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."
