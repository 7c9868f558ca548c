"""The tables of commands and settings, written anew from the program, where both are defined.

``python docs/program_pages.py`` writes docs/command-line.md and docs/settings.md between their
marks; with ``--check`` it names the pages that are not up to date, with exit code 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import dedent, fill
from typing import Any

DOCS = Path(__file__).resolve().parent
PAGES = ("command-line.md", "settings.md")
_PART = re.compile(
    r"^<!-- (?P<name>[a-z]+): begin -->\n.*?^<!-- (?P=name): end -->$", re.MULTILINE | re.DOTALL
)
_OPTION = re.compile(r"(?<![\w`-])(--[a-z][a-z-]*(?: [a-z_.]+=\w+)?)")


def written(page: str) -> str:
    """The text of a page of ``PAGES`` with what the program says now between its marks."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return _PART.sub(lambda part: _marked(part["name"], GENERATED[part["name"]]()), text)


def stale() -> list[str]:
    """The pages that say something else than the program."""
    return [page for page in PAGES if (DOCS / page).read_text(encoding="utf-8") != written(page)]


def _marked(name: str, text: str) -> str:
    return f"<!-- {name}: begin -->\n\n{text}\n\n<!-- {name}: end -->"


def commands() -> str:
    """Every command: what it does, its arguments and options, its examples."""
    import typer

    from egparse.cli.app import app

    program = typer.main.get_command(app)
    pages = [_command(name, command) for name, command in program.commands.items()]  # type: ignore[attr-defined]
    return "\n\n".join(pages)


def _command(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join(
        ["egparse", name, "[OPTIONS]", *(_placeholder(argument) for argument in arguments)]
    )
    parts = [f"## {name}", _prose(command.help), f"```text\n{usage}\n```"]
    if arguments:
        rows = [(_typed(_placeholder(own).strip("[]")), _prose(own.help)) for own in arguments]
        parts.append(_table(("argument", "meaning"), rows))
    parts.append(_table(("option", "default", "meaning"), map(_option, options)))
    parts += _epilog(command.epilog or "")
    return "\n\n".join(parts)


def _epilog(text: str) -> list[str]:
    """The sections at the end of a help text: examples to copy, and remarks, in lines that are
    aligned.
    """
    parts = []
    for section in text.replace("\b", "").strip().split("\n\n"):
        title, *lines = section.strip("\n").splitlines() or [""]
        if title == "Examples:":
            parts.append("```sh\n" + dedent("\n".join(lines)) + "\n```")
        elif lines:
            parts += [title, "```text\n" + dedent("\n".join(lines)) + "\n```"]
        elif title:
            parts.append(_prose(title))
    return parts


def _placeholder(argument: Any) -> str:
    shown = argument.metavar or argument.name.upper()
    if argument.nargs != 1:
        shown += "..."
    return shown if argument.required else f"[{shown}]"


def _typed(text: str) -> str:
    """Text as it is typed. A vertical bar would end the cell of a table, and be shown with its
    backslash inside of code.
    """
    return "|".join(f"`{part}`" for part in text.split("|"))


def _option(option: Any) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len, reverse=True))
    if not option.is_flag and option.metavar:
        names += f" {option.metavar}"
    default = option.default
    has_default = not option.is_flag and default not in (None, (), [])
    shown = str(getattr(default, "value", default))
    return names, f"`{shown}`" if has_default else "", _prose(option.help)


def settings() -> str:
    """Every setting of training, one table a section: key, default, range, meaning."""
    import egparse

    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    for setting in egparse.settings():
        section, _, key = setting.key.rpartition(".")
        row = (f"`{key}`", _defaults(setting), setting.range, setting.meaning)
        sections.setdefault(section, []).append(row)
    pages = []
    for section, rows in sections.items():
        title = f"## [{section}]" if section else "## At the top"
        pages.append(f"{title}\n\n{_table(('key', 'default', 'range', 'meaning'), rows)}")
    return "\n\n".join(pages)


def options() -> str:
    """The options of every learner that has some: a row for each, with its range."""
    from egparse.config.fields import range_of
    from egparse.learners.registry import LEARNERS, options_of

    rows = [
        (f"`{learner}`" if first else "", f"`{option}`", range_of(hint))
        for learner, own in ((name, options_of(name)) for name in LEARNERS)
        for first, (option, hint) in zip([True] + [False] * len(own), own.items(), strict=False)
    ]
    return _table(("learner", "option", "range"), rows)


def _defaults(setting: Any) -> str:
    shown = _value(setting.default)
    if setting.default_order_1 is not None:
        shown += f"; order 1: {_value(setting.default_order_1)}"
    return shown


def _value(text: str) -> str:
    if "\n" in text:
        return f"{len(text.splitlines()) - 2} templates"
    return f"`{text}`" if text else ""


GENERATED: dict[str, Callable[[], str]] = {
    "commands": commands,
    "options": options,
    "settings": settings,
}


def _prose(text: str | None) -> str:
    """The paragraphs of a help text, in which options and metavariables stand as they are typed."""
    paragraphs = [" ".join(part.split()) for part in (text or "").replace("\b", "").split("\n\n")]
    return "\n\n".join(
        fill(_OPTION.sub(r"`\1`", part), 100, break_long_words=False, break_on_hyphens=False)
        for part in paragraphs
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description="Write the tables of commands and settings anew.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if stale")
    if parser.parse_args().check:
        sys.exit("\n".join(f"docs/{page} is not up to date" for page in stale()) or None)
    for page in PAGES:
        (DOCS / page).write_text(written(page), encoding="utf-8")


if __name__ == "__main__":
    main()
