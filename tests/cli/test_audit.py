"""Every command with every kind of unsuitable file: exit code 2 and one line, or success; never a
traceback.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import captured_stream, text_of

from egparse.cli.app import main

COMMANDS = {
    "parse INPUT": ("parse", "{model}", "{}"),
    "parse MODEL": ("parse", "{}", "{corpus}"),
    "visualize INPUT": ("visualize", "{}"),
    "visualize MODEL": ("visualize", "{}", "{corpus}"),
    "evaluate GOLD": ("evaluate", "{model}", "{}", "--bootstrap", "0"),
    "evaluate MODEL": ("evaluate", "{}", "{corpus}"),
    "evaluate --predicted": ("evaluate", "--predicted", "{}", "{corpus}"),
    "evaluate --against": ("evaluate", "{model}", "{corpus}", "--against", "{}"),
    "train CORPUS": ("train", "{}", "-o", "{new}"),
    "train --dev": ("train", "{corpus}", "--dev", "{}", "-o", "{new}"),
    "train --config": ("train", "{corpus}", "--config", "{}", "-o", "{new}"),
    "train --base": ("train", "{corpus}", "--base", "{}", "-o", "{new}"),
    "tune CORPUS": ("tune", "{}", "--task", "upos"),
    "tune --config": ("tune", "{corpus}", "--task", "upos", "--config", "{}"),
    "classes INPUT": ("classes", "{}", "-o", "{new}"),
    "inspect MODEL": ("inspect", "{}"),
    "inspect --facts": ("inspect", "{model}", "--card", "--facts", "{}"),
    "package MODEL": ("package", "{}", "-o", "{folder}"),
    "package --facts": ("package", "{model}", "-o", "{folder}", "--facts", "{}"),
}


def missing(path: Path) -> None:
    """No such file."""


def folder(path: Path) -> None:
    path.mkdir()


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def empty(path: Path) -> None:
    path.touch()


def binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 20)


def pipe(path: Path) -> None:
    """A named pipe into which somebody writes nothing."""
    os.mkfifo(path)
    threading.Thread(target=lambda: path.open("wb").close(), daemon=True).start()


def without_permission(path: Path) -> None:
    path.touch()
    path.chmod(0)


FAULTS = [missing, folder, link_to_itself, empty, binary, pipe, without_permission]

NOTHING = (empty, pipe)
SUIT = ("--config", "--facts", "parse INPUT")
"""Where nothing to read is no fault."""


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unsuitable_file_is_one_line(
    command: str, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fault in FAULTS:
        if fault in NOTHING and command.endswith(SUIT):
            continue
        folder = tmp_path / fault.__name__
        folder.mkdir()
        path = folder / "unsuitable"
        fault(path)
        if fault is not without_permission or not os.access(path, os.R_OK):  # root reads all
            check_fault(COMMANDS[command], path, trained, monkeypatch)


def check_fault(
    command: tuple[str, ...], path: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run a command with an unsuitable file: it says so in one line and leaves nothing."""
    names = {
        "model": trained.model,
        "corpus": trained.dev,
        "new": path.with_name("new.msgpack"),
        "folder": path.with_name("folder"),
    }
    before = {one.name for one in path.parent.iterdir()}
    output, said = captured_stream(), captured_stream()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys, "stdout", output)
    with redirect_stderr(said), pytest.raises(SystemExit) as left:
        main([word.format(path, **names) for word in command])
    lines = text_of(said).splitlines()
    assert left.value.code == 2, lines
    faults = [line for line in lines if line.startswith("egparse: ")]
    assert len(faults) == 1
    assert faults == lines[-1:]
    assert str(path) in faults[0]
    assert text_of(output) == ""
    assert {one.name for one in path.parent.iterdir()} - before <= {"folder"}
