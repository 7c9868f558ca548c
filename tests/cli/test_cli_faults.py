"""Faults become one line and an exit code, and saving is not interrupted."""

from __future__ import annotations

import os
import signal

import pytest
import typer

from egparse.cli.notices import reported
from egparse.cli.process import uninterrupted
from egparse.errors import EgparseError


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (EgparseError("expected this, got that"), 2, "egparse: expected this, got that\n"),
        (
            FileNotFoundError(2, "No such file or directory", "a.txt"),
            2,
            "egparse: a.txt: No such file or directory\n",
        ),
        (OSError(28, "No space left on device"), 2, "egparse: No space left on device\n"),
        (MemoryError(), 2, "egparse: not enough memory\n"),
        (KeyboardInterrupt(), 130, "egparse: interrupted\n"),
    ],
)
def test_what_a_user_can_cause(
    error: BaseException, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as left, reported():
        raise error
    assert left.value.exit_code == status
    assert capsys.readouterr().err == line


def test_messages_are_one_line_whatever_files_are_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.Exit), reported():
        raise FileNotFoundError(2, "No such file or directory", "a\n\x1b[2Jb.txt")
    expected = "egparse: a\\n\\x1b[2Jb.txt: No such file or directory\n"
    assert capsys.readouterr().err == expected


def test_faults_of_the_program_pass() -> None:
    with pytest.raises(ValueError, match="a bug"), reported():
        raise ValueError("a bug")


def test_characters_that_cannot_be_shown_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), reported():
        raise EgparseError("a lone surrogate: \udc80")
    assert capsys.readouterr().err == "egparse: a lone surrogate: \\udc80\n"


def test_an_interruption_waits_until_the_end_of_the_block() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        finished = False
        with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012
            os.kill(os.getpid(), signal.SIGINT)
            finished = True
        assert finished
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
