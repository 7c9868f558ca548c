"""``egparse settings``: the table, one setting, the file to edit, and names that do not exist."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from cli.program import COMMAND, ENVIRONMENT, ROOT
from cli.program import run_process as run

from egparse.cli.commands.train import train
from egparse.cli.commands.tune import tune
from egparse.cli.options import help_of
from egparse.config.reading import load_config
from egparse.config.sections import TrainConfig, settings, settings_as_toml


def wide(*arguments: str, columns: int = 100) -> str:
    """What it writes to a terminal of so many columns."""
    environment = ENVIRONMENT | {"COLUMNS": str(columns)}
    command = [*COMMAND, "settings", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_the_table_has_every_setting_and_fits_the_terminal(columns: int) -> None:
    shown = wide(columns=columns)
    assert max(map(len, shown.splitlines())) <= columns
    keys = []
    for block in shown.split("\n\n"):
        title, headings, *rows = block.splitlines()
        assert headings.split() == ["key", "default", "range", "meaning"]
        section = title.strip("[]") + "." if title.startswith("[") else ""
        keys += [section + row.split()[0] for row in rows if not row.startswith(" ")]
    assert keys == [setting.key for setting in settings()]


def test_columns_are_aligned_and_long_cells_wrapped() -> None:
    lines = wide("parser").splitlines()
    places = [lines[1].index(name) for name in ("key", "default", "range", "meaning")]
    c = next(k for k, line in enumerate(lines) if line.startswith("c "))
    cells = [lines[c][place:].split("  ")[0] for place in places]
    assert cells[:3] == ["c", "28.0", "number from 1e-9"]
    assert cells[3].startswith("regularisation constant C")
    assert lines[c + 1][places[1] :].startswith("order 1: 12.5 ")
    for line in lines[1:]:
        if line and not line.startswith("["):
            assert all(line[place - 1 : place] in (" ", "") for place in places[1:])


def test_a_section_has_the_sections_within_it() -> None:
    shown = wide("splitter")
    assert [line for line in shown.splitlines() if line.startswith("[")] == [
        "[splitter]",
        "[splitter.stop]",
    ]
    assert "37 templates" in shown
    assert wide("splitter.stop").splitlines()[0] == "[splitter.stop]"


def test_one_setting_is_shown_with_its_whole_default() -> None:
    assert wide("parser.bits").splitlines() == [
        "key      parser.bits",
        "default  23; order 1: 22",
        "range    integer from 8 to 28",
        "meaning  binary logarithm of the size of the hashed weight table",
    ]
    assert '"normal[-1]|normal[0]",' in wide("upos.templates")
    assert wide("seed").startswith("key      seed\n")


def test_the_file_to_edit_means_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    with path.open("w", encoding="utf-8") as file:
        command = [*COMMAND, "settings", "--toml"]
        subprocess.run(command, stdout=file, env=ENVIRONMENT, check=True)
    assert path.read_text(encoding="utf-8") == settings_as_toml()
    assert load_config(path) == TrainConfig()
    edited = path.read_text(encoding="utf-8").replace("folds = 5", "folds = 3")
    path.write_text(edited, encoding="utf-8")
    default = TrainConfig()
    assert load_config(path) == replace(default, jackknife=replace(default.jackknife, folds=3))


def test_json_has_every_field() -> None:
    found = json.loads(wide("--json"))["settings"]
    assert found == [setting._asdict() for setting in settings()]
    (only,) = json.loads(wide("pruner.max_heads", "--json"))["settings"]
    assert (only["default"], only["range"]) == ("8", "integer from 1 to 32")


@pytest.mark.parametrize("other", ["--json", "parser"])
def test_a_file_has_all_settings(other: str) -> None:
    assert "'--toml'" in run("settings", "--toml", other, status=2).stderr


@pytest.mark.parametrize("command", [train, tune])
def test_the_examples_of_commands_have_settings_that_exist(command: Callable[..., None]) -> None:
    lines = help_of(command).epilog.splitlines()
    examples = [shlex.split(line) for line in lines if "egparse " in line]
    assert any("--set" in words for words in examples)
    for words in examples:
        options = list(pairwise(words))
        overrides = [value for name, value in options if name == "--set"]
        files = [ROOT / value for name, value in options if name == "--config"]
        load_config(files[0] if files else None, overrides)


@pytest.mark.parametrize("arguments", [[], ["parser"], ["--toml"], ["--json"]], ids=str)
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    heavy = ("numpy", "numba", "scipy", "spacy", "matplotlib", "multiprocessing")
    script = (
        "import sys\nfrom egparse.cli.app import main\n"
        f"try:\n    main(['settings', *{arguments}])\nexcept SystemExit:\n    pass\n"
        f"print('loaded:', [name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    assert done.stdout.splitlines()[-1] == "loaded: []"
