"""Counts what a learner asks of its problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

COUNTED = ("scores", "marginals", "argmax", "k_best", "add")


def count_calls(problem: Any) -> Counter[str]:
    """A counter of the calls of each counted method of ``problem``, and of every problem that is
    made of it, from now on.
    """
    counter: Counter[str] = Counter()
    _count(problem, counter)
    return counter


def _count(problem: Any, counter: Counter[str]) -> None:
    for name in COUNTED:
        if hasattr(problem, name):
            setattr(problem, name, _counted(getattr(problem, name), name, counter))
    make = problem.with_own_weights

    def with_own_weights() -> Any:
        other = make()
        for name in COUNTED:  # a shallow copy has the methods that count for the first problem
            vars(other).pop(name, None)
        vars(other).pop("with_own_weights", None)
        _count(other, counter)
        return other

    problem.with_own_weights = with_own_weights


def _counted(call: Callable[..., Any], name: str, counter: Counter[str]) -> Callable[..., Any]:
    def counting(*arguments: Any) -> Any:
        counter[name] += 1
        return call(*arguments)

    return counting
