"""Progress of each task of training: for final tables, and on standard error as a bar on a
terminal, else as a line for each pass.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from egparse.cli import tables
from egparse.layers import MORPHOLOGY, joined_titles

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from egparse.fitting.progress import Iteration, Step

HEADINGS = ("task", "passes", "primal", "dual", "gap %", "dev", "time")
ALIGN = "lrrrrrr"
FINAL_HEADINGS = (*HEADINGS[:2], "kept", *HEADINGS[2:])
WIDTHS = (15, 6, 10, 10, 7, 6, 11)
"""Widths of columns, for displays that do not know all rows in advance."""


@dataclass
class Standing:
    """The progress of one task: ``best`` is the pass whose model is kept, ``last`` the latest pass.

    Tasks without passes (jackknifing) count ``steps`` instead. ``seconds`` is CPU time.
    """

    task: str
    limit: int
    begun: float
    passes: int = 0
    steps: int = 0
    seconds: float = 0.0
    best: Iteration | None = None
    last: Iteration | None = None

    @property
    def done(self) -> int:
        """Passes or steps, of ``limit`` at most."""
        return self.passes or self.steps

    def add(self, event: Iteration) -> None:
        """Count a pass."""
        self.passes += 1
        self.seconds += event.seconds
        self.last = event
        if event.best or self.best is None:
            self.best = event

    def add_step(self, event: Step) -> None:
        """Count the steps of a task without passes, or begin with passes."""
        self.limit, self.steps = self.passes + event.total, event.done
        self.seconds = time.process_time() - self.begun

    def row(self, event: Iteration | None) -> tuple[str, ...]:
        """The cells under ``HEADINGS``, with the figures of a pass if there is one."""
        figures = event and (
            *tables.nats(event.primal, event.dual),
            tables.gap(event.relative_gap),
            tables.per_cent(event.score),
        )
        done = f"{self.done}/{self.limit}"
        return (self.task, done, *(figures or [tables.NOTHING] * 4), tables.seconds(self.seconds))

    def final_row(self) -> tuple[str, ...]:
        """The cells under ``FINAL_HEADINGS``: number and figures of the pass that is kept."""
        task, done, *figures = self.row(self.best)
        kept = tables.NOTHING if self.best is None else str(self.best.iteration)
        return (task, done, kept, *figures)

    def as_json(self) -> dict[str, Any]:
        """Plain data: the figures are those of the pass that was kept."""
        kept = self.best
        return {
            "passes": self.passes,
            "kept": kept and kept.iteration,
            "score": kept and kept.score,
            "primal": kept and kept.primal,
            "dual": kept and kept.dual,
            "relative_gap": kept and kept.relative_gap,
            "cpu_seconds": round(self.seconds, 3),
        }


def scored_together(layers: Sequence[str]) -> str:
    """What the score of the task of several layers means: a line, or nothing without layers."""
    return f"dev of {MORPHOLOGY}: words with {joined_titles(layers)} all right" if layers else ""


def without_bound(tasks: Mapping[str, str]) -> str:
    """Why ``-`` stands for dual and gap of these tasks, learner by task: a line, or nothing."""
    if not tasks:
        return ""
    listed = ", ".join(f"{task} ({learner})" for task, learner in tasks.items())
    return f"No dual and gap for {listed}: no lower bound of the objective is known."


class Standings:
    """A listener that knows the progress of each task, in the order in which tasks begin, and shows
    none.
    """

    def __init__(self) -> None:
        self.tasks: dict[str, Standing] = {}

    def __call__(self, event: Iteration | Step) -> None:
        """Count an event."""
        self.update(event)

    def update(self, event: Iteration | Step) -> Standing:
        """Count an event; returns the progress of its task."""
        from egparse.fitting.progress import Iteration

        standing = self.tasks.get(event.task)
        if standing is None:
            standing = self.tasks[event.task] = Standing(event.task, 0, time.process_time())
        if isinstance(event, Iteration):
            standing.add(event)
        else:
            standing.add_step(event)
        return standing

    def close(self) -> None:
        """Stop showing."""

    def without_bound(self) -> list[str]:
        """The tasks whose learner has no dual."""
        return [
            standing.task
            for standing in self.trained()
            if standing.best is not None and not math.isfinite(standing.best.dual)
        ]

    def trained(self) -> list[Standing]:
        """The tasks with at least one finished pass."""
        return [standing for standing in self.tasks.values() if standing.passes]


class Lines(Standings):
    """Writes one line for each pass, for logs."""

    def __call__(self, event: Iteration | Step) -> None:
        standing = self.update(event)
        if getattr(event, "done", True):  # not where a task begins
            sys.stderr.write(f"{line_of(standing)}\n")
            sys.stderr.flush()


_BAR_WIDTH = 8
_REFRESHES = 4
"""Refreshes per second; each interrupts training for a moment."""


class Bars(Standings):
    """Draws a row with a bar for each task that has begun; rows of finished tasks stay."""

    def __init__(self) -> None:
        super().__init__()
        self._progress = _bars()
        self._rows: dict[str, TaskID] = {}

    def __call__(self, event: Iteration | Step) -> None:
        if not self._rows:
            self._progress.console.print(heading(), style="bold", no_wrap=True, crop=True)
            self._progress.start()
        standing = self.update(event)
        row = standing.row(standing.last)
        cells: dict[str, Any] = {f"cell{k}": _placed(cell, k) for k, cell in enumerate(row)}
        if standing.task not in self._rows:
            self._finish_others()
            total = standing.limit or None
            self._rows[standing.task] = self._progress.add_task(standing.task, total=total, **cells)
        self._progress.update(self._rows[standing.task], completed=standing.done, **cells)

    def close(self) -> None:
        if self._rows:
            self._finish_others()
            self._progress.stop()

    def _finish_others(self) -> None:
        """Fill the bars of finished tasks, which may have stopped before their last pass."""
        for name, row in self._rows.items():
            done = max(1, self.tasks[name].done)
            self._progress.update(row, total=done, completed=done)


@contextmanager
def shown(quiet: bool) -> Iterator[Standings]:
    """A listener that shows progress on standard error, as bars or lines; none if ``quiet``."""
    listener = Standings() if quiet else Bars() if sys.stderr.isatty() else Lines()
    try:
        yield listener
    finally:
        listener.close()


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
