"""The tables of commands and settings, written anew from the program, where both are defined, and
those of the models, from their recipes, scores and cards, and from those of UDPipe.

``python docs/program_pages.py`` writes docs/command-line.md, docs/settings.md, models/README.md and
docs/languages/index.md between their marks; with ``--check`` it names the pages that are not up to
date, with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from textwrap import dedent, fill
from typing import Any

DOCS = Path(__file__).resolve().parent
MODELS = DOCS.parent / "models"
PAGES = ("command-line.md", "settings.md", "../models/README.md", "languages/index.md")
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
    """The options that several commands share in one table; then every command: what it does, its
    arguments and its own options, its examples.
    """
    import typer

    from egparse.cli.app import program as made

    program = typer.main.get_command(made()).commands  # type: ignore[attr-defined]
    takers: dict[tuple[str, str, str], list[str]] = {}
    for name, command in program.items():
        for row in _options(command):
            takers.setdefault(row, []).append(name)
    shared = {row: names for row, names in takers.items() if len(names) > 1}
    rows = [(*row, _among(names, program)) for row, names in shared.items()]
    head = ("option", "default", "meaning", "commands")
    parts = ["## Options of several commands", _table(head, rows)]
    parts += [_command(name, command, shared) for name, command in program.items()]
    return "\n\n".join(parts)


def _among(names: Sequence[str], all_names: Iterable[str]) -> str:
    rest = [name for name in all_names if name not in names]
    if not rest:
        return "all"
    return "all but " + ", ".join(rest) if len(rest) <= 3 else ", ".join(names)


def _options(command: Any) -> list[tuple[str, str, str]]:
    shown = (p for p in command.params if p.param_type_name == "option" and not p.hidden)
    return [_option(option) for option in shown]


def _command(name: str, command: Any, shared: Container[tuple[str, str, str]]) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join(["egparse", name, "[OPTIONS]", *map(_placeholder, arguments)])
    usage = usage.replace("[", "\\[").replace("]", "\\]")  # no links
    rows = [(_typed(_placeholder(own).strip("[]")), "", _prose(own.help)) for own in arguments]
    rows += [row for row in _options(command) if row not in shared]
    parts = [f"## {name}", f"**{usage}**", _prose(command.help)]
    if rows:
        parts.append(_table(("argument or option", "default", "meaning"), rows))
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
    """Every setting of training: first what several sections have, with its default in each of
    them, then what only one has, by its whole key.
    """
    import egparse

    alike: dict[tuple[str, str, str], dict[str, str]] = {}
    for setting in egparse.settings():
        section, _, key = setting.key.rpartition(".")
        alike.setdefault((key, setting.range, setting.meaning), {})[section] = _defaults(setting)
    several, single = [], []
    for (key, span, meaning), defaults in alike.items():
        if len(defaults) > 1:
            several.append((f"`{key}`", _by_section(defaults), span, meaning))
        else:
            [(section, default)] = defaults.items()
            single.append((f"`{section}.{key}`" if section else f"`{key}`", default, span, meaning))
    return "\n\n".join(
        [
            "## Settings of several sections",
            _table(("key", "sections and their defaults", "range", "meaning"), several),
            "## Settings of one section",
            _table(("key", "default", "range", "meaning"), single),
        ]
    )


def _by_section(defaults: dict[str, str]) -> str:
    """Sections with the same default together."""
    sections: dict[str, list[str]] = {}
    for section, default in defaults.items():
        sections.setdefault(default, []).append(section)
    return "; ".join(
        ", ".join(names) + (f": {default}" if default else "")
        for default, names in sections.items()
    )


def options() -> str:
    """The options of learners with their ranges, and which learners have them."""
    from egparse.config.fields import range_of
    from egparse.learners.registry import LEARNERS, options_of

    learners: dict[tuple[str, str], list[str]] = {}
    for learner in LEARNERS:
        for option, hint in options_of(learner).items():
            learners.setdefault((f"`{option}`", range_of(hint)), []).append(f"`{learner}`")
    rows = [(*row, ", ".join(names)) for row, names in learners.items()]
    return _table(("option", "range", "learners"), rows)


def models() -> str:
    """The models with the words that they learned from and their scores, by language."""
    from egparse.service.hub.recipes import NAME, read_recipes
    from egparse.storage.header import read_model_header

    recipes, rows = read_recipes(MODELS / NAME), []
    for path in MODELS.glob("*.msgpack"):
        name, scores = path.stem, json.loads(path.with_suffix(".json").read_text("utf-8"))
        recipe, words = recipes.models[name], read_model_header(path)["record"]["words"]
        source = recipes.files[recipe.train[0]].source.removeprefix("UD_")
        raw, given = scores["raw_text"], scores["predicted"]
        row = [source.partition("-")[0].replace("_", " "), f"[{name}]({name}.md)"]
        row += [f"{words:,}", f"{path.stat().st_size / 1e6:.1f}"]
        row += [f"{raw['segmentation'][one]:.2f}" for one in ("Sentences", "Words")]
        row += [f"{raw['LAS']:.2f}", *(f"{given[one]:.2f}" for one in ("UPOS", "UAS", "LAS"))]
        rows.append((*row, f"{scores['words_per_second']:,.0f}", recipe.licence))
    head = ("language", "name", "learned from, words", "MB", "raw text: sentences", "words", "LAS")
    head += ("given words: UPOS", "UAS", "LAS", "words/s", "licence")
    return _table(head, sorted(rows))


def languages() -> str:
    """What the models and UDPipe 1 have, trained on the same sentences, and where the models are
    behind.
    """
    parts, behind = [], []
    for part, what in (("raw_text", "From raw text"), ("predicted", "With given words")):
        rows, metrics = [], ()
        for path in sorted((DOCS / "languages").glob("*.json")):
            ours, theirs = (
                json.loads(one.read_text("utf-8")) for one in (MODELS / path.name, path)
            )
            row, scores = [path.stem], ours[part] | (ours[part]["segmentation"] or {})
            metrics = tuple(theirs[part])
            for metric, other in theirs[part].items():
                one = scores.get(metric)
                row.append("" if one is None else f"{one:.2f} / {other:.2f}")
                if one is not None and round(one, 2) < round(other, 2):
                    behind.append(f"{path.stem}, {what.lower()}, {metric}: {row[-1]}")
            if part == "raw_text":
                size = (MODELS / path.name).with_suffix(".msgpack").stat().st_size
                row.append(f"{ours['cpu_seconds']:,} / {theirs['cpu_seconds']:,}")
                row.append(f"{ours['words_per_second']:,.0f} / {theirs['words_per_second']:,.0f}")
                row.append(f"{size / 1e6:.1f} / {theirs['bytes'] / 1e6:.1f}")
            rows.append(tuple(row))
        more = ("training, CPU s", "words/s", "MB") if part == "raw_text" else ()
        parts += [f"{what}, egparse / UDPipe:", _table(("model", *metrics, *more), rows)]
    return "\n\n".join(
        [*parts, "egparse is behind in:", "\n".join(f"- {one}" for one in behind or ["nothing"])]
    )


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
    "languages": languages,
    "models": models,
    "options": options,
    "settings": settings,
}


def _prose(text: str | None) -> str:
    """The paragraphs of a help text, in which options and metavariables stand as they are typed."""
    paragraphs = [" ".join(part.split()) for part in (text or "").replace("\b", "").split("\n\n")]
    return "\n\n".join(_filled(_OPTION.sub(r"`\1`", part)) for part in paragraphs)


def _filled(text: str) -> str:
    return fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description="Write the generated tables anew.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if stale")
    if parser.parse_args().check:
        sys.exit("\n".join(f"docs/{page} is not up to date" for page in stale()) or None)
    for page in PAGES:
        (DOCS / page).write_text(written(page), encoding="utf-8")


if __name__ == "__main__":
    main()
