"""The progress of each task, from the events of training, for displays and final tables."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from egparse.cli import tables
from egparse.layers import MORPHOLOGY, joined_titles

if TYPE_CHECKING:
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
    """A listener that keeps the progress of each task, in the order in which tasks begin."""

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
