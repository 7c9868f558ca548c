"""Commands in the README and the documentation name commands and options that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from house.package import ROOT

from egparse.cli.app import program

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "models").glob("*.md")]
)
BLOCK = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(egparse [a-z][^`]*)`")
COMMANDS = typer.main.get_command(program()).commands  # type: ignore[attr-defined]


def calls_in(text: str) -> Iterator[list[str]]:
    """The arguments of each call of egparse, in blocks and within lines."""
    lines = "\n".join(BLOCK.findall(text)).splitlines() + INLINE.findall(text)
    for line in lines:
        tokens = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        tokens.whitespace_split = True
        words: list[str] = []
        for token in [*tokens, ";"]:
            if set(token) <= set("|&;<>"):
                if words and words[0].rpartition("/")[2] == "egparse":
                    yield words[1:]
                words = []
            else:
                words.append(token)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_options_exist(page: Path) -> None:
    for name, *arguments in calls_in(page.read_text(encoding="utf-8")):
        if name in ("COMMAND", "--version", "--help"):
            continue
        assert name in COMMANDS, name
        known = {"--help", "-h"}
        for parameter in COMMANDS[name].params:
            known |= {*parameter.opts, *parameter.secondary_opts}
        used = {word.partition("=")[0] for word in arguments if re.match(r"--?[a-z]", word)}
        assert used <= known, (name, sorted(used - known))
        for parameter in COMMANDS[name].params:
            if arguments and parameter.required and parameter.param_type_name == "option":
                assert used & set(parameter.opts), (name, parameter.opts)


def test_the_check_sees_calls() -> None:
    text = (
        "```sh\necho a | .venv/bin/egparse parse m - > out  # egparse no\n```\nand `egparse models`"
    )
    assert list(calls_in(text)) == [["parse", "m", "-"], ["models"]]
