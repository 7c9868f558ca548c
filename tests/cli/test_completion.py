"""Shells complete commands, options, choices, and names of models, downloads and settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.program import COMMAND, ENVIRONMENT
from house.test_house_startup import HEAVY

from egparse.cli import completion


def completed(shell: str, *words: str) -> str:
    """What a shell is told to complete the last word with, by the protocol of its script."""
    line = " ".join(("egparse", *words))
    environment = {
        **ENVIRONMENT,
        "_EGPARSE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_bash_completes_commands_options_and_models() -> None:
    assert completed("bash", "pa").split() == ["parse", "package"]
    assert completed("bash", "parse", "en_ewt", "--gold").split() == ["--gold-tags"]
    assert completed("bash", "parse", "en_").split() == ["en_ewt"]
    assert completed("bash", "parse", "en_ewt", "docs/in").split() == []  # files, by the shell


def test_other_shells_do_too() -> None:
    assert '"parse"' in completed("zsh", "pa")
    assert "parse\t" in completed("fish", "pa")


def test_the_script_works_in_bash(tmp_path: Path) -> None:
    program = tmp_path / "egparse"
    program.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    typed = """
        eval "$(_EGPARSE_COMPLETE=source_bash egparse)"
        COMP_WORDS=(egparse tune corpus.conllu --task la) COMP_CWORD=4
        _egparse_completion egparse
        echo "${COMPREPLY[@]}"
    """
    environment = ENVIRONMENT | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", typed], env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("labeller\n", "")


def test_names_come_before_files_and_paths_are_left_to_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("en_mine.msgpack", "en_text.txt", "other.msgpack"):
        (tmp_path / name).touch()
    (tmp_path / "en_models").mkdir()
    words = [word for word, _ in completion.models("en_")]
    assert words == ["en_ewt", "en_mine.msgpack", "en_models/"]
    assert completion.models("oth") == []
    assert ".hidden" not in [word for word, _ in completion.models("")]


def test_downloads_settings_learners_and_experiments() -> None:
    assert ("UD_French-Sequoia", "treebank, French") in completion.downloads("UD_French")
    assert completion.settings("lab") == ["labeller"]
    assert "parser.c" in completion.settings("parser.")
    assert all(key.startswith("parser.c") for key in completion.settings("parser.c"))
    assert "dca" in [name for name, _ in completion.learners("d")]
    assert completion.experiments("ma") == ["max-margin", "maxent"]


def test_nothing_heavy_is_imported_while_somebody_waits() -> None:
    program = (
        "import sys; from egparse.cli import app; from egparse.cli import completion as c;"
        "[f('') for f in (c.models, c.downloads, c.settings, c.learners, c.experiments)];"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) & HEAVY == set()
