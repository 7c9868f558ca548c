"""``egparse parse`` on pipes and terminals: answers as they are due, and progress."""

from __future__ import annotations

import os
import queue
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import COMMAND, ENVIRONMENT, on_terminal

from egparse.cli.annotating.inputs import Input, InputFile
from egparse.cli.annotating.outputs import Document, Joined, Request
from egparse.cli.annotating.progress import Progress
from egparse.cli.annotating.run import Run
from egparse.pipeline.model import Model

LONG = 60.0
"""Seconds after which a test has failed: no answer takes so long, on whatever machine."""

UNHURRIED = "from egparse.cli.annotating import progress; progress._DELAY = progress._INTERVAL = 0"
"""Progress is shown at every change."""

ROWS = "1\tMary\t_\t_\t_\t_\t_\t_\t_\t_\n2\tlives\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


class Answers(Joined):
    """Keeps what has been handed over."""

    def __init__(self) -> None:
        super().__init__(BytesIO(), [])
        self.handed_over: queue.Queue[str] = queue.Queue()
        self._written: list[str] = []

    def write(self, document: Document, data: bytes) -> None:
        self._written.append(data.decode())

    def flush(self) -> None:
        if self._written:
            self.handed_over.put("".join(self._written))
            self._written = []


@contextmanager
def conversation(model: Model) -> Iterator[tuple[int, Answers]]:
    """A pipe that is parsed, and what comes out."""
    reader, writer = os.pipe()
    file = InputFile(Path(f"/dev/fd/{reader}"), Path("pipe"))
    answers = Answers()
    request = Request(Path("model.msgpack"), [file])
    run = Run(model, request, answers, Progress([file], False), lambda _: None)
    thread = threading.Thread(target=run.annotate, daemon=True)
    thread.start()
    try:
        yield writer, answers
    finally:
        os.close(writer)
        thread.join(LONG)
        os.close(reader)


@pytest.mark.parametrize(
    ("pieces", "forms"),
    [
        ([b"So.\n\n"], ["So", "."]),
        ([b"S", b"o", b".\r\n", b"\r\n"], ["So", "."]),
        ([b"So.\n\nB"], ["So", "."]),  # of B more may come
        ([ROWS.encode()], ["Mary", "lives"]),
        ([b"# newdoc\n", *(bytes([byte]) for byte in ROWS.encode())], ["Mary", "lives"]),
    ],
)
def test_what_is_complete_is_answered_at_once(
    trained: Trained, pieces: list[bytes], forms: list[str]
) -> None:
    with conversation(Model.load(trained.model)) as (writer, answers):
        for piece in pieces:
            os.write(writer, piece)
        first = answers.handed_over.get(timeout=LONG)
        rows = [line.split("\t") for line in first.splitlines() if line[:1].isdigit()]
        assert [row[1] for row in rows] == forms


def test_each_paragraph_has_its_answer(trained: Trained) -> None:
    with conversation(Model.load(trained.model)) as (writer, answers):
        for number in (1, 2, 3):
            os.write(writer, b"It left.\n\n")
            assert f"# newpar\n# sent_id = {number}\n" in answers.handed_over.get(timeout=LONG)
            assert answers.handed_over.empty()


def test_it_is_a_coprocess(trained: Trained) -> None:
    command = [*COMMAND, "parse", str(trained.model), "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in (b"Hi there.\n\n", b"Bye.\n\n"):
            process.stdin.write(text)
            process.stdin.flush()
            lines = iter(process.stdout.readline, b"\n")  # up to the blank line
            assert b"# text = " + text.rstrip() + b"\n" in list(lines)
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_waiting_is_not_counted_as_work(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    waiting = threading.Event()
    with Input(Path(f"/dev/fd/{reader}"), before_waiting=waiting.set) as source:
        thread = threading.Thread(target=lambda: (waiting.wait(LONG), os.write(writer, b"x")))
        thread.start()
        assert source.read() == b"x"
        thread.join(LONG)
        os.close(writer)
        assert source.read() == b""
        assert source.waited > 0
        assert source.taken == 1
    os.close(reader)
    path = tmp_path / "a.txt"
    path.write_bytes(b"xyz")
    with Input(path, before_waiting=pytest.fail) as source:
        assert source.read() == b"xyz"
        assert source.waited == 0


@pytest.mark.parametrize("columns", [20, 40, 60, 100])
def test_progress_says_how_far_it_is_and_fits_the_terminal(
    trained: Trained, tmp_path: Path, columns: int
) -> None:
    names = ["a.txt", "b" * 90 + ".txt", "語" * 60 + ".txt", "\x1b[31m.txt"]
    for name in names:
        (tmp_path / name).write_text("It left.\n")
    arguments = ("parse", trained.model, tmp_path, "-o", tmp_path / "out")
    shown = on_terminal(*arguments, columns=columns, before=UNHURRIED)
    result = shown.split("\r\n")[-2].rpartition("\x1b[2K")[2]
    assert re.fullmatch(r"4 files, 4 sentences, 12 words in [\d.]+ s: [\d,]+ words/s", result)
    states = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", shown)]
    states = [line for line in states if "%" in line or "…" in line]
    assert len(states) >= 4
    for line in states:
        assert sum(1 if letter.isascii() or letter == "…" else 2 for letter in line) <= columns
        assert line.isprintable()
    if columns == 100:  # four small files are one piece of work
        assert states[0].startswith("4/4 ")
        assert " 3 words " in states[0]
