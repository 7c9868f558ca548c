"""``egparse settings``: every setting of training with its default, its range and its meaning."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from egparse.cli import completion, tables
from egparse.errors import ConfigError

if TYPE_CHECKING:
    from egparse.config.fields import Setting

_WIDTH_OF_PIPES = 100
_NAME, _DEFAULT, _RANGE, _LEAST_MEANING = 21, 14, 17, 20
"""Widths of columns: the longest name, `order 1: 25.0`, `softmax-margin |`; meanings get the rest.
"""

_NO_BREAK = "\N{NO-BREAK SPACE}"


def settings_of(part: str | None = None) -> list[Setting]:
    """The settings of a section with those of the sections within it, or one by its key, or all.

    Raises:
        ConfigError: no section or key has this name; it names similar ones.
    """
    from egparse.config.sections import settings

    known = settings()
    if part is None:
        return known
    chosen = [one for one in known if one.key == part or one.key.startswith(f"{part}.")]
    if not chosen:
        raise ConfigError(_unknown(part, [one.key for one in known]))
    return chosen


def settings(
    section: Annotated[
        str | None, typer.Argument(show_default=False, autocompletion=completion.settings)
    ] = None,
    toml: bool = False,
    json_: bool = False,
) -> None:
    """List the settings of training: default, range and meaning.

    Set them in a file, 'egparse train --config FILE', or one by one, 'egparse train --set
    KEY=VALUE'. Values are in the notation of TOML.

    Arguments:
        SECTION|KEY: Show only a section, such as parser, or a setting, such as parser.c.

    Options:
        --toml: Write a configuration file with all settings at their defaults.

    Examples:
        egparse settings
        egparse settings parser
        egparse settings parser.c
        egparse settings --toml > mine.toml
    """
    if toml and json_:
        raise typer.BadParameter("cannot be combined with --json", param_hint="'--toml'")
    if toml and section is not None:
        raise typer.BadParameter("writes all settings, without SECTION", param_hint="'--toml'")
    if toml:
        from egparse.config.sections import settings_as_toml

        print(settings_as_toml(), end="")
        return
    chosen = settings_of(section)
    if json_:
        print(tables.as_json({"settings": [one._asdict() for one in chosen]}))
    elif section == chosen[0].key:
        print(_one(chosen[0]))
    else:
        width = shutil.get_terminal_size((_WIDTH_OF_PIPES, 1)).columns
        print("\n\n".join(_shown(chosen, width)))


def _shown(chosen: Sequence[Setting], width: int) -> Iterator[str]:
    meaning = max(_LEAST_MEANING, width - _NAME - _DEFAULT - _RANGE - 3 * len(tables.GAP))
    widths = (_NAME, _DEFAULT, _RANGE, meaning)
    for section, group in groupby(chosen, key=lambda one: one.key.rpartition(".")[0]):
        rows = [
            (
                one.key.rpartition(".")[2],
                _short(one.default) + _of_order_1(one, "\n"),
                one.range.replace(" |", f"{_NO_BREAK}|"),
                one.meaning,
            )
            for one in group
        ]
        title = f"[{section}]" if section else "(no section)"
        table = tables.wrapped_table(("key", "default", "range", "meaning"), rows, widths)
        yield f"{title}\n{table}".replace(_NO_BREAK, " ")


def _one(setting: Setting) -> str:
    return tables.record(
        [
            ("key", setting.key),
            ("default", (setting.default or tables.NOTHING) + _of_order_1(setting, "; ")),
            ("range", setting.range),
            ("meaning", setting.meaning),
        ]
    )


def _short(default: str) -> str:
    """A default for a table: of a long list its length."""
    if default.startswith("[\n"):
        return f"{len(default.splitlines()) - 2} templates"
    if default.startswith("[") and len(default) > _DEFAULT:
        return f"{len(tomllib.loads(f'list = {default}')['list'])} templates"
    return default or tables.NOTHING


def _of_order_1(setting: Setting, separator: str) -> str:
    """The default of an arc-factored parser, where it is another."""
    other = setting.default_order_1
    return "" if other is None else f"{separator}order 1: {other}"


def _unknown(part: str, keys: Sequence[str]) -> str:
    sections = dict.fromkeys(key.rpartition(".")[0] for key in keys if "." in key)
    same = [key for key in keys if key.rpartition(".")[2] == part]
    similar = list(dict.fromkeys([*same, *get_close_matches(part, [*sections, *keys])]))
    top = ", ".join(section for section in sections if "." not in section)
    hint = f"similar: {', '.join(similar)}" if similar else f"sections: {top}"
    return f"expected a section or key of the settings, got {part!r}: {hint}"
