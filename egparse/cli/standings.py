"""How far each task has come: what training tells, kept task by task for the progress display and the final table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from egparse.cli import tables

if TYPE_CHECKING:
    from egparse.tasks.progress import Iteration, Step

HEADINGS = ("task", "passes", "primal", "dual", "gap %", "dev", "time")
ALIGN = "lrrrrrr"


@dataclass
class Standing:
    """One task: ``best`` is the pass whose model is kept, ``last`` the one that has been reported last.

    ``seconds`` is CPU time.
    """

    task: str
    limit: int
    detail: str = ""
    passes: int = 0
    seconds: float = 0.0
    best: Iteration | None = None
    last: Iteration | None = None

    def add(self, event: Iteration) -> None:
        """Count a pass."""
        self.passes += 1
        self.seconds += event.seconds
        self.last = event
        if event.best or self.best is None:
            self.best = event

    def row(self, event: Iteration | None) -> tuple[str, ...]:
        """The cells under ``HEADINGS`` with the figures of a pass."""
        passes = f"{self.passes}/{self.limit}" if self.limit else str(self.passes)
        if event is None:
            return (self.task, passes, *[tables.NOTHING] * 4, tables.seconds(self.seconds))
        return (
            self.task,
            passes,
            tables.nats(event.primal),
            tables.nats(event.dual),
            tables.gap(event.relative_gap),
            tables.per_cent(event.score),
            tables.seconds(self.seconds),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        kept = self.best
        return {
            "task": self.task,
            "passes": self.passes,
            "kept": kept and kept.iteration,
            "score": kept and kept.score,
            "primal": kept and kept.primal,
            "dual": kept and kept.dual,
            "relative_gap": kept and kept.relative_gap,
            "seconds": self.seconds,
            "stopped": self.detail,
        }


class Standings:
    """A listener: the standing of each task, in the order in which they began."""

    def __init__(self) -> None:
        self.tasks: dict[str, Standing] = {}

    def __call__(self, event: Iteration | Step) -> None:
        """Take note of an event."""
        self.update(event)

    def update(self, event: Iteration | Step) -> Standing:
        """Take note of an event; the standing of its task after it."""
        fields = event._asdict()
        standing = self.tasks.setdefault(event.task, Standing(event.task, fields.get("iterations", 0)))
        if "iterations" in fields:
            standing.limit = fields["iterations"] or standing.limit
            standing.detail = fields["detail"] or standing.detail
        else:
            standing.add(event)  # type: ignore[arg-type]
        return standing

    def trained(self) -> list[Standing]:
        """The tasks of which at least one pass is over."""
        return [standing for standing in self.tasks.values() if standing.passes]
