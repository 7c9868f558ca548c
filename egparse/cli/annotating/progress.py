"""How far ``parse`` is: one line on a terminal, and the speed at the end.

Time counts from the first sentence that is read, without loading and without waiting for input.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from egparse.cli import tables
from egparse.cli.annotating.inputs import Input, InputFile, size_of
from egparse.cli.annotating.work import Amount
from egparse.cli.files import STANDARD
from egparse.errors import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Line

_DELAY = 0.5
"""Seconds before progress is shown: what takes less needs none."""

_INTERVAL = 0.2
"""Seconds between two states that are shown."""


class Progress:
    """Counts what is annotated, and shows it if ``is_shown``. ``source`` is the input that is being
    read, ``document`` the number of the one that is being written.
    """

    def __init__(self, files: Sequence[InputFile], is_shown: bool) -> None:
        self.amount = Amount()
        self.source: Input | None = None
        self.document = 0
        self._files, self._is_shown = files, is_shown
        sizes = [size_of(file.path) for file in files] if is_shown else [None]
        self._bytes = None if None in sizes else sum(size or 0 for size in sizes)
        self._first, self._first_bytes = self.amount, 0
        self._begun: float | None = None
        self._waited = 0.0
        self._shown_at = 0.0
        self._line: Line | None = None

    def go_on(self, amount: Amount, taken: int) -> None:
        """Begin where an interrupted run was: after so much, and so many bytes of all inputs."""
        self.amount = self._first = amount
        self._first_bytes = taken

    def begin(self) -> None:
        """Start the clock, once: loading is over."""
        if self._begun is None:
            self._begun = time.perf_counter()
            self._waited = -self.source.waited if self.source is not None else 0.0

    def close(self) -> None:
        """Leave an input that has been read."""
        if self.source is not None:
            self._waited += self.source.waited
            self.source = None

    def add(self, amount: Amount, taken: int) -> None:
        """Count what has been written, up to so many bytes of all inputs, and show it if it is
        time.
        """
        self.amount = Amount(
            *(before + new for before, new in zip(self.amount, amount, strict=True))
        )
        now = time.perf_counter()
        if not self._is_shown or self._begun is None or now - self._begun < _DELAY:
            return
        if now - self._shown_at >= _INTERVAL:
            self._shown_at = now
            self._show(taken)

    def clear(self) -> None:
        """Take the line off the terminal."""
        if self._line is not None:
            self._line.stop()
            self._line = None

    @property
    def seconds(self) -> float:
        """The time since ``begin`` that was not spent waiting for input."""
        if self._begun is None:
            return 0.0
        waited = self._waited + (self.source.waited if self.source is not None else 0.0)
        return time.perf_counter() - self._begun - waited

    def result(self) -> str:
        """The amount and the speed, in words."""
        seconds = self.seconds
        several = len(self._files) > 1
        files = f"{tables.things(self.document + 1, 'file')}, " if several else ""
        shown = f"{seconds:.2f} s" if seconds < 1 else tables.seconds(seconds)
        before = f" ({self._first.words:,} before the interruption)" if self._first.words else ""
        return f"{files}{tables.amount(*self.amount)}{before} in {shown}: {self._speed()}"

    def _speed(self) -> str:
        words = self.amount.words - self._first.words
        return f"{words / max(self.seconds, 1e-9):,.0f} words/s"

    def _show(self, taken: int) -> None:
        file = self._files[self.document]
        name = "" if file.path == STANDARD else file.path.name
        if len(self._files) > 1:
            name = f"{self.document + 1}/{len(self._files)} {file.relative}"
        done = f"{tables.things(self.amount.words, 'word')}  {self._speed()}"
        if self._line is None:
            self._line = _line()
            self._line.add_task("", total=self._bytes, completed=self._first_bytes, done="")
        task = self._line.task_ids[0]
        self._line.update(task, completed=taken, description=one_line(name), done=done)
        self._line.start()
        self._line.refresh()


def _line() -> Line:
    from rich.console import Console
    from rich.progress import Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]}", markup=False, table_column=Column(no_wrap=True)),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        auto_refresh=False,
        transient=True,
        expand=True,
    )


def on_terminal(files: Sequence[InputFile], quiet: bool, to_file: bool) -> bool:
    """Whether standard error shows progress: it is a terminal, which neither shows the output nor
    takes the input.
    """
    reads_terminal = any(file.path == STANDARD for file in files) and sys.stdin.isatty()
    shows_output = sys.stdout.isatty() and not to_file
    return not (quiet or reads_terminal or shows_output) and sys.stderr.isatty()
