"""The events that training reports to a listener while it runs, such as one record a pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Iteration(NamedTuple):
    """One pass of a learner. Objective values are in nats, summed over sentences; ``score`` is in
    per cent of words or F1.

    ``c`` is the regularisation constant during the pass, ``primal`` and ``dual`` are for the target
    constant. Far from the optimum the primal is not computed: it is inf, and so is the gap.
    ``seconds`` is the CPU time of the pass, its certificate included. ``score`` is None without
    development data; ``best`` marks the best score so far.
    """

    task: str
    iteration: int
    effective_iterations: float
    c: float
    primal: float
    dual: float
    gap: float
    relative_gap: float
    score: float | None
    best: bool
    seconds: float


class Step(NamedTuple):
    """A task begins (``done`` is 0) or has done some of its steps; ``total`` is the greatest number
    of passes, or the number of folds of jackknifing.
    """

    task: str
    total: int
    done: int


Listener = Callable[[Iteration | Step], None]


def silent(event: Iteration | Step) -> None:
    """Ignores every event."""
