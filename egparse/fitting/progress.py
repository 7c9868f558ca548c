"""What training reports while it runs: one record an iteration, to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Iteration(NamedTuple):
    """One pass of a learner. Objective values are in nats, summed over sentences; ``score`` is in
    per cent of words or F1.

    ``c`` is the regularisation constant during the pass, ``primal`` and ``dual`` are for the target
    constant. ``seconds`` is the CPU time of the pass, its certificate included. ``score`` is None
    without development data; ``best`` says that it is the best so far.
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
    """A task of ``total`` steps begins (``done`` is 0) or has come so far: passes at most, or folds
    of jackknifing.
    """

    task: str
    total: int
    done: int


Listener = Callable[[Iteration | Step], None]


def silent(event: Iteration | Step) -> None:
    """The listener of those who do not listen."""
