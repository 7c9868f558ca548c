"""Shards without variables of their own: a function of a problem is called for the examples of
each, wherever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from egparse.learners.problem import VectorProblem
from egparse.learners.sgd import Arrays, restore


class Calls(Protocol):
    """How methods of ``Examples`` are called for all shards at once."""

    def call(self, method: str, arguments: tuple[Any, ...]) -> list[Any]:
        """What the method returns for each shard, with equal arguments."""

    def call_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What it returns with the arguments of each shard."""


Gather = Callable[[VectorProblem, int], Calls]
"""Divides a problem into so many shards."""


class Examples:
    """The examples of a shard."""

    def __init__(self, problem: VectorProblem) -> None:
        self.problem = problem

    def run(self, function: Callable[..., Any], v: Arrays, *arguments: Any) -> Any:
        """``function(problem, *arguments)`` at v."""
        restore(self.problem, v)
        return function(self.problem, *arguments)
