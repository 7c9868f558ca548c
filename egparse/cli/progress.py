"""Progress of training on standard error: a bar for each task on a terminal, else a line for each
pass.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from egparse.cli.task_progress import ALIGN, HEADINGS, WIDTHS, Standing, Standings

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from egparse.fitting.progress import Iteration, Listener, Step

_BAR_WIDTH = 8
_REFRESHES = 4
"""Refreshes per second; each interrupts training for a moment."""


@contextmanager
def shown(quiet: bool) -> Iterator[Listener]:
    """A listener that shows progress on standard error, as bars or lines; none if ``quiet``."""
    if quiet:
        from egparse.fitting.progress import silent

        yield silent
    elif sys.stderr.isatty():
        bars = Bars(_bars())
        try:
            yield bars
        finally:
            bars.close()
    else:
        yield Lines(sys.stderr)


class Lines:
    """Writes one line for each pass, for logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._standings = Standings()

    def __call__(self, event: Iteration | Step) -> None:
        """Write the line of a pass."""
        standing = self._standings.update(event)
        if getattr(event, "done", True):  # not where a task begins
            self._stream.write(f"{line_of(standing)}\n")
            self._stream.flush()


class Bars:
    """Draws a row with a bar for each task that has begun; rows of finished tasks stay."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._standings = Standings()
        self._rows: dict[str, TaskID] = {}

    def __call__(self, event: Iteration | Step) -> None:
        """Redraw the row of the task."""
        if not self._rows:
            self._progress.console.print(heading(), style="bold", no_wrap=True, crop=True)
            self._progress.start()
        standing = self._standings.update(event)
        cells = _fields(standing)
        if standing.task not in self._rows:
            self._finish_others()
            total = standing.limit or None
            self._rows[standing.task] = self._progress.add_task(standing.task, total=total, **cells)
        self._progress.update(self._rows[standing.task], completed=standing.done, **cells)

    def close(self) -> None:
        """Stop drawing; the rows stay on the screen."""
        if self._rows:
            self._finish_others()
            self._progress.stop()

    def _finish_others(self) -> None:
        """Fill the bars of finished tasks, which may have stopped before their last pass."""
        for name, row in self._rows.items():
            done = self._standings.tasks[name].done
            self._progress.update(row, total=max(1, done), completed=max(1, done))


def line_of(standing: Standing) -> str:
    """The last pass or step of a task as a line."""
    task, done, primal, dual, gap, score, time = standing.row(standing.last)
    if standing.last is None:
        return f"{task}  step {done}  {time}"
    kept = "  best" if standing.last.best and standing.last.score is not None else ""
    return (
        f"{task}  pass {done}  primal {primal}  dual {dual}  gap {gap} %  dev {score}  {time}{kept}"
    )


def heading() -> str:
    """The line above the bars."""
    cells = [_placed(name, k) for k, name in enumerate(HEADINGS)]
    return " ".join([cells[0], " " * _BAR_WIDTH, *cells[1:]]).rstrip()


def _fields(standing: Standing) -> dict[str, Any]:
    return {f"cell{k}": _placed(cell, k) for k, cell in enumerate(standing.row(standing.last))}


def _placed(cell: str, column: int) -> str:
    return cell.ljust(WIDTHS[column]) if ALIGN[column] == "l" else cell.rjust(WIDTHS[column])


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True, highlight=False)
    cells = [TextColumn(f"{{task.fields[cell{k}]}}", markup=False) for k in range(len(HEADINGS))]
    return Progress(
        cells[0],
        BarColumn(_BAR_WIDTH, complete_style="default", finished_style="default"),
        *cells[1:],
        console=console,
        refresh_per_second=_REFRESHES,
    )
