"""The program before any command runs: help, version, usage errors."""

from __future__ import annotations

import re

import pytest
from cli.program import run_process as run
from cli.program import run_python

import egparse
from egparse.cli.options import CorpusFormat, InputFormat
from egparse.io.detection import FORMATS
from egparse.text.reading import PLAIN_FORMATS

COMMANDS = (
    "train", "evaluate", "parse", "visualize", "suggest", "serve", "inspect", "models", "download",
    "package", "tune", "classes", "settings", "warm", "experiment",
)  # fmt: skip


def test_help_names_every_command_and_layer_and_fits_a_terminal() -> None:
    done = run("--help")
    text = " ".join(done.stdout.split())
    layers = ("tokens", "part-of-speech tags", "morphological features", "lemmas", "entities")
    assert all(layer in text for layer in (*layers, "sentences", "dependency trees"))
    assert all(f"  {command} " in done.stdout for command in COMMANDS)
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_with_examples(command: str) -> None:
    text = run(command, "--help").stdout
    assert f"Usage: egparse {command}" in text
    assert re.search(f"Examples:\n    egparse {command}[ \n]", text)
    assert "\\[" not in text  # what is copied from it has to work
    _, _, description = text.partition("\n\n")
    assert "..." not in description.partition("Options:")[0]


def test_version() -> None:
    assert run("--version").stdout == f"egparse {egparse.__version__}\n"


def test_without_arguments_help_is_shown() -> None:
    done = run(status=2)
    assert "Usage: egparse" in done.stderr + done.stdout


@pytest.mark.parametrize(
    "command", ["fly", "train", "parse model", "train x --sed 1", "visualize x --compare"]
)
def test_usage_errors_are_explained(command: str) -> None:
    done = run(command, status=2)
    assert "Error: " in done.stderr
    assert done.stdout == ""


def test_formats_are_those_of_the_readers() -> None:
    assert tuple(CorpusFormat) == FORMATS
    assert set(InputFormat) == {"auto", *PLAIN_FORMATS, *FORMATS}


COLLECTOR = """
import gc, sys
from egparse.cli.app import main
sys.argv = ["egparse", "--version"]
try:
    main({arguments})
except SystemExit:
    print(gc.get_threshold()[0] == {usual}, gc.get_freeze_count() > 0)
"""


@pytest.mark.parametrize(("arguments", "changed"), [("", True), ("['--version']", False)])
def test_only_the_program_of_a_process_changes_its_garbage_collector(
    arguments: str, changed: bool
) -> None:
    usual = run_python("import gc; print(gc.get_threshold()[0])").stdout.strip()
    done = run_python(COLLECTOR.format(arguments=arguments, usual=usual))
    assert done.stdout.splitlines()[-1] == f"{not changed} {changed}"
