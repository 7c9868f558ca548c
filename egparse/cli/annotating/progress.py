"""How far ``parse`` is: one line on a terminal, and the speed at the end.

Time counts from the first sentence that is read, without loading and without waiting for input.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

from egparse.cli import tables
from egparse.cli.annotating.inputs import Input, InputFile, size_of
from egparse.cli.annotating.work import Amount
from egparse.cli.files import STANDARD
from egparse.errors import one_line

_DELAY = 0.5
"""Seconds before progress is shown: what takes less needs none."""

_INTERVAL = 0.2
"""Seconds between two states that are shown."""

_MIN_NAME = 8


class Progress:
    """Counts what is annotated; with a ``stream``, a terminal, it shows it there."""

    def __init__(self, files: Sequence[InputFile], stream: TextIO | None) -> None:
        self.documents = 0
        self.amount = Amount()
        self._stream = stream
        sizes = [size_of(file.path) for file in files] if stream is not None else [None]
        self._bytes = sum(size or 0 for size in sizes) if None not in sizes else 0
        self._files = files
        self._taken = self._first_bytes = 0
        self._first = self.amount
        self._source: Input | None = None
        self._begun: float | None = None
        self._waited = 0.0
        self._shown_at = 0.0
        self._shown = ""

    def go_on(self, amount: Amount, taken: int) -> None:
        """Begin where an interrupted run was: after so much, and so many bytes of all inputs."""
        self.amount = self._first = amount
        self._taken = self._first_bytes = taken

    def open(self, source: Input) -> None:
        """Go on to the next input."""
        self._source = source

    def close(self) -> None:
        """Leave an input that has been read."""
        if self._source is not None:
            self._waited += self._source.waited
            self._source = None

    def reach(self, document: int, taken: int) -> None:
        """What is written next reaches to an input, by its place in the list, and to so many bytes
        of all inputs.
        """
        self.documents = document + 1
        self._taken = taken

    def begin(self) -> None:
        """Start the clock, once: loading is over."""
        if self._begun is None:
            self._begun = time.perf_counter()
            self._waited = -self._source.waited if self._source is not None else 0.0

    def add(self, amount: Amount) -> None:
        """Count what has been written, and show it if it is time."""
        self.amount = Amount(
            self.amount.sentences + amount.sentences, self.amount.words + amount.words
        )
        now = time.perf_counter()
        if self._stream is None or self._begun is None:
            return
        if now - self._begun >= _DELAY and now - self._shown_at >= _INTERVAL:
            self._shown_at = now
            self._show(self._line(self._width() - 1))

    def clear(self) -> None:
        """Take the line off the terminal, for another one."""
        if self._shown:
            self._show("")

    @property
    def seconds(self) -> float:
        """The time since ``begin`` that was not spent waiting for input."""
        if self._begun is None:
            return 0.0
        waited = self._waited + (self._source.waited if self._source is not None else 0.0)
        return time.perf_counter() - self._begun - waited

    def result(self) -> str:
        """The amount and the speed, in words."""
        sentences, words = self.amount
        seconds = self.seconds
        files = [tables.things(self.documents, "file")] if len(self._files) > 1 else []
        amounts = [*files, tables.things(sentences, "sentence"), tables.things(words, "word")]
        shown = f"{seconds:.2f} s" if seconds < 1 else tables.seconds(seconds)
        before = f" ({self._first.words:,} before the interruption)" if self._first.words else ""
        return f"{', '.join(amounts)}{before} in {shown}: {self._speed()}"

    def _speed(self) -> str:
        words = self.amount.words - self._first.words
        return f"{words / max(self.seconds, 1e-9):,.0f} words/s"

    def _line(self, width: int) -> str:
        """The state in at most ``width`` characters: what is less important is left out first."""
        parts = [tables.things(self.amount.words, "word"), self._speed()]
        taken = self._taken
        if self._bytes and taken > self._first_bytes:
            share = min(1.0, taken / self._bytes)
            left = self.seconds * (self._bytes - taken) / (taken - self._first_bytes)
            parts = [f"{100 * share:.0f} %", *parts, f"{tables.seconds(max(0.0, left))} left"]
        while len(parts) > 1 and len(" | ".join(parts)) > width:
            parts.pop(-2)
        line = " | ".join(parts)
        room = width - len(line) - 3
        if name := _shortened(one_line(self._name()), room):
            line = f"{name} | {line}"
        return line[:width]

    def _width(self) -> int:
        from rich.console import Console

        return Console(file=self._stream).width  # COLUMNS, or else that of the terminal

    def _name(self) -> str:
        file = self._files[self.documents - 1]
        if len(self._files) == 1:
            return "" if file.path == STANDARD else file.path.name
        return f"{self.documents}/{len(self._files)} {file.relative}"

    def _show(self, line: str) -> None:
        """Replace the line; the cursor stands at its beginning, so that a message overwrites it."""
        if self._stream is None:
            return
        blanks = " " * max(0, len(self._shown) - len(line))
        self._stream.write(f"\r{line}{blanks}\r")
        self._stream.flush()
        self._shown = line


def _shortened(name: str, width: int) -> str:
    """The end of a name that fits; nothing where there is hardly any room."""
    from rich.cells import cell_len

    if width < _MIN_NAME:
        return ""
    if cell_len(name) <= width:
        return name
    while cell_len(name) > width - 3:
        name = name[1:]
    return f"...{name}"


def terminal(files: Sequence[InputFile], quiet: bool, to_file: bool) -> TextIO | None:
    """The terminal that shows progress: standard error, unless it is none, or the same terminal
    shows the output or takes the input.
    """
    reads_terminal = any(file.path == STANDARD for file in files) and sys.stdin.isatty()
    if quiet or reads_terminal or not sys.stderr.isatty() or (sys.stdout.isatty() and not to_file):
        return None
    return sys.stderr
