"""Rules that are the same for several values of C, or for several comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from egparse.experiments.claims import Above, Better, Goal, NoDifference, Rule, Sooner, Within
from egparse.experiments.quantities import Combined, Curves, Quantity, Runs, Value


class Case(NamedTuple):
    """A comparison at one C, and its name; ``case("EG")`` are the runs of a contender there."""

    name: str
    curves: Curves
    c: float

    def __call__(self, label: str) -> Runs:
        return self.curves(label, self.c)


def at(curves: Curves, *constants: float, name: str = "") -> list[Case]:
    """A comparison at several values of C."""
    return [Case(f"{name}, C = {c:g}" if name else f"C = {c:g}", curves, c) for c in constants]


ValueAt = Value | Callable[[Case], Value]
"""A number, or one for each case."""


def of(label: str, what: str, to: float = 1.0, **more: Any) -> ValueAt:
    """A number of the runs of a contender in each case; ``more`` are fields of ``Quantity``."""
    return lambda case: Quantity(case(label), what, to, **more)


def least(labels: Sequence[str], what: str, to: float = 1.0) -> ValueAt:
    """The least number of several contenders in each case."""
    return lambda case: Combined("least", [Quantity(case(one), what, to) for one in labels])


def _in(case: Case, value: ValueAt) -> Value:
    return value(case) if callable(value) else value


def sooner(
    cases: Iterable[Case],
    first: str,
    second: str,
    *goals: float,
    by: Goal = "passes",
    share: float = 1.0,
    before: float = 0.0,
) -> list[Rule]:
    """One contender before another, to 1 % or to each of ``goals``, which cases then name."""
    return [
        Sooner(
            f"{case.name} ({to:g} %)" if len(goals) > 1 else case.name,
            *(case(first), case(second), to, by, share, before),
        )
        for to in goals or (1.0,)
        for case in cases
    ]


def better(cases: Iterable[Case], first: str, second: str, as_they_end: bool = False) -> list[Rule]:
    """One contender better than another."""
    return [Better(own.name, own(first), own(second), as_they_end) for own in cases]


def alike(
    cases: Iterable[Case], first: str, second: str, margin: float = 0.5, as_they_end: bool = False
) -> list[Rule]:
    """Two contenders whose scores hardly differ."""
    return [NoDifference(own.name, own(first), own(second), margin, as_they_end) for own in cases]


def above(
    name: str, cases: Iterable[Case], first: ValueAt, second: ValueAt, factor: float = 1.0
) -> list[Rule]:
    """One number above another."""
    return [Above(own.name, _in(own, first), _in(own, second), factor, name) for own in cases]


def more(
    name: str,
    cases: Iterable[Case],
    what: str,
    first: str,
    second: str,
    factor: float = 1.0,
    to: float = 1.0,
) -> list[Rule]:
    """The same number of two contenders, above that of the second."""
    return above(name, cases, of(first, what, to), of(second, what, to), factor)


def within(
    name: str,
    cases: Iterable[Case],
    first: ValueAt,
    second: ValueAt,
    difference: float = 0.0,
    ratio: float = 1.0,
) -> list[Rule]:
    """Two numbers that agree."""
    return [
        Within(own.name, _in(own, first), _in(own, second), difference, ratio, name)
        for own in cases
    ]
