"""Standard streams that are closed, full, or without Unicode."""

from __future__ import annotations

import codecs
import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest
from cli.program import COMMAND, ENVIRONMENT, run

from egparse.cli import process as streams

CLOSED = [chosen for count in (1, 2, 3) for chosen in itertools.combinations(range(3), count)]

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


def shell(command: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a shell in which ``egparse`` is this program."""
    function = f'egparse() {{ {" ".join(COMMAND)} "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", function + command, "bash", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**ENVIRONMENT, **environment},
        check=False,
    )


@pytest.mark.parametrize("closed", CLOSED, ids=str)
def test_closed_streams_are_told_in_one_line_where_it_can_be_read(closed: tuple[int, ...]) -> None:
    closing = " ".join(f"{descriptor}>&-" for descriptor in closed)
    done = shell(f"egparse --version {closing}")
    if 1 not in closed:
        assert (done.returncode, done.stderr) == (0, "")
        return
    said = (
        ""
        if 2 in closed
        else "egparse: standard output: expected an open stream, got a closed one\n"
    )
    assert (done.returncode, done.stderr) == (2, said)


def test_a_closed_input_is_told() -> None:
    done = shell("egparse visualize - 0<&-")
    assert done.returncode == 2
    assert done.stderr == "egparse: standard input: expected an open stream, got a closed one\n"


def test_a_closed_output_does_not_become_that_of_another_file(tmp_path: Path) -> None:
    """The next file that is opened would get its number."""
    corpus = tmp_path / "in.conllu"
    corpus.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    done = shell('egparse visualize "$1" -o "$2" 1>&- 2>&-', corpus, tmp_path / "out.html")
    assert done.returncode == 0
    assert (tmp_path / "out.html").read_text().startswith("<!DOCTYPE html>")


@needs_full
def test_a_full_disk_behind_standard_output_is_named() -> None:
    for command in ("egparse --help", "egparse settings"):
        done = shell(f"{command} > /dev/full")
        assert done.returncode == 2
        assert done.stderr == "egparse: standard output: No space left on device\n"


@needs_full
def test_a_full_disk_behind_standard_error_ends_nothing() -> None:
    assert shell("egparse settings nothing 2> /dev/full").returncode == 2


def test_a_reader_that_is_gone_is_no_fault() -> None:
    done = shell("egparse settings | true; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_characters_that_a_terminal_lacks_are_escaped_as_in_json(tmp_path: Path) -> None:
    corpus = tmp_path / "\N{LATIN SMALL LETTER E WITH GRAVE}\N{GRINNING FACE}.conllu"
    corpus.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    command = 'egparse evaluate --predicted "$1" "$1" --bootstrap 0'
    shown = shell(command, corpus, PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\\u00e8\\ud83d\\ude00.conllu" in shown.stdout


def test_escapes_are_json() -> None:
    codecs.register_error("egparse.escape", streams._escaped)
    for text in ("à", "\N{GRINNING FACE}", "\udcff"):
        escaped = text.encode("ascii", "egparse.escape").decode()
        assert json.loads(f'"{escaped}"') == text


@pytest.mark.parametrize(
    "terminal", [{"TERM": "dumb"}, {"COLUMNS": "20"}, {"LC_ALL": "C"}], ids=str
)
def test_help_and_tables_fit_any_terminal(
    terminal: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in terminal.items():
        monkeypatch.setenv(name, value)
    assert os.environ.items() >= terminal.items()
    for command in (["--help"], ["settings"]):
        assert run(*command).stderr == ""
