"""The rules of claims, each with comparisons made by hand: it holds, does not hold, or is
undecided; and the verdict of a claim from its cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from egparse.experiments.cases import above, at, of, sooner
from egparse.experiments.claims import (
    NOISE,
    NOT_RUN,
    Above,
    Better,
    Claim,
    Linear,
    NoDifference,
    Rule,
    Sooner,
    Within,
    judge,
)
from egparse.experiments.quantities import (
    BEST,
    Combined,
    Curves,
    Number,
    Overtaking,
    Quantity,
    Value,
    value_of,
)
from egparse.experiments.record import Comparison, Curve, Point
from egparse.experiments.store import Results

OF = Curves("e", "c")
OPTIMUM = 100.0


def curve(label: str, excesses: Sequence[float], seed: int = 1, **fields: Any) -> Curve:
    """A point after each pass, whose primal is so many per cent above the optimum. The dual is as
    far below it, unless ``fields`` say otherwise.
    """
    dual = fields.pop("dual", None)
    scores = fields.pop("scores", [50.0 + k for k in range(len(excesses))])
    points = tuple(
        Point(k, 0.5 * k, OPTIMUM + excess, OPTIMUM - excess if dual is None else dual, score)
        for k, (excess, score) in enumerate(zip(excesses, scores, strict=True), 1)
    )
    settings = {"beta": 1.0, "gamma": 0.0, "c": 1.0, **fields}
    return Curve(label, "x", {}, seed=seed, points=points, stopped="end", **settings)


def found(*curves: Curve, sign: int = 1, numbers: Any = None) -> dict[str, Results]:
    known = curve("bound", [0.0])
    comparison = Comparison(10, "score", sign, {}, (known, *curves))
    return {"e": Results({"quick": False}, {"c": comparison}, numbers or {})}


def right(correct: Sequence[int], words: int = 10) -> Any:
    """Outcomes of sentences of ten words."""
    own = np.array(correct)
    return np.stack([own, np.full(len(own), words), np.full(len(own), words)], axis=1)


FAST, SLOW = curve("fast", [5.0, 0.5, 0.05]), curve("slow", [50.0, 20.0, 5.0, 0.5])
NEVER = curve("never", [50.0, 40.0])


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (Sooner("", OF("fast", 1), OF("slow", 1)), True),
        (Sooner("", OF("slow", 1), OF("fast", 1)), False),
        (Sooner("", OF("fast", 1), OF("slow", 1), share=0.4), False),
        (Sooner("", OF("fast", 1), OF("slow", 1), by="seconds", share=0.6), True),
        (Sooner("", OF("fast", 1), OF("never", 1)), True),
        (Sooner("", OF("never", 1), OF("fast", 1)), False),
        (Sooner("", OF("never", 1), OF("slow", 1), to=0.1), None),
        (Sooner("", OF("fast", 1), OF("none", 1)), None),
        (Sooner("", OF("fast", 1), OF("slow", 1), to=52.0, by="passes to score"), False),
        (Sooner("", OF("fast", 1), OF("slow", 1), by="passes to its score"), False),
        (Sooner("", OF("fast", 1), OF("slow", 1), by="passes to its score", before=1.0), True),
        (Sooner("", OF("fast", 1), OF("slow", 1), 0.0, "passes to its score"), False),
        (Sooner("", OF("slow", 1), OF("fast", 1), before=3.0), True),
    ],
)
def test_sooner(rule: Sooner, holds: bool | None) -> None:
    assert rule.judge(found(FAST, SLOW, NEVER)).holds is holds


def test_a_rule_is_made_for_each_case_and_goal() -> None:
    cases = at(Curves("e", "c", {10.0: 1.0}), 10.0, 2.0, name="digits")
    runs = [(OF("fast", c), OF("slow", c)) for c in (1.0, 2.0)]
    names = ["digits, C = 10", "digits, C = 2"]
    assert sooner(cases, "fast", "slow", 1.0, 0.1, share=0.5) == [
        Sooner(f"{name} ({to:g} %)", *pair, to, share=0.5)
        for to in (1.0, 0.1)
        for name, pair in zip(names, runs, strict=True)
    ]
    assert above("it is", cases, of("fast", "gap"), 2.0, 3.0) == [
        Above(name, Quantity(fast, "gap"), 2.0, 3.0, "it is")
        for name, (fast, _) in zip(names, runs, strict=True)
    ]


def test_the_best_bound_is_that_of_the_same_problem() -> None:
    others = (
        curve("other C", [0.0], dual=130.0, c=2.0),
        curve("other loss", [0.0], dual=130.0, beta=math.inf),
    )
    assert value_of(Quantity(OF("fast", 1), "excess"), found(FAST, *others)) == pytest.approx(0.05)
    nearer = curve("rival", [0.0], dual=OPTIMUM + 0.05)
    assert value_of(Quantity(OF("fast", 1), "excess"), found(FAST, nearer)) == pytest.approx(0.0)
    before = curve("fast", [5.0], details={"optimum": OPTIMUM + 2.5})
    assert value_of(Quantity(OF("fast", 1), "passes", 2.5), found(before)) == 1.0


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (Within("", 5.0, 5.4, difference=0.5), True),
        (Within("", 5.0, 5.6, difference=0.5), False),
        (Within("", 2.0, 5.9, ratio=3.0), True),
        (Within("", 6.1, 2.0, ratio=3.0), False),
        (Within("", Quantity(OF("fast", 1), "passes"), 2.0), True),
        (Within("", Quantity(OF("none", 1), "passes"), 2.0), None),
        (Within("", Number("e", ("probe", "a")), 7.0), True),
        (Within("", Number("e", ("probe", "b")), 7.0), None),
        (Within("", Number("f", ("probe", "a")), 7.0), None),
        (Within("", Quantity(OF("never", 1), "passes"), math.inf, ratio=3.0), None),
        (Above("", 5.0, 4.0), True),
        (Above("", 5.0, 4.0, factor=2.0), False),
        (Above("", 5.0, 5.0), False),
        (Above("", Quantity(OF("slow", 1), "passes"), Quantity(OF("fast", 1), "passes")), True),
        (Above("", Quantity(OF("never", 1), "passes"), 1e9), True),
        (Above("", Quantity(OF("none", 1), "passes"), 1.0), None),
    ],
)
def test_within_and_above(rule: Within | Above, holds: bool | None) -> None:
    runs = found(FAST, SLOW, NEVER, numbers={"probe": {"a": 7}})
    assert rule.judge(runs).holds is holds


MANY = right([9, 8, 9, 7, 9, 8] * 20)
FEW = right([6, 5, 7, 6, 6, 4] * 20)
MIXED = right([8, 9, 8, 8, 8, 9] * 20)
A, B = OF("A", 1), OF("B", 1)


def pair(first: Any, second: Any, excess: float = 1.0) -> dict[str, Results]:
    """Runs whose score is an error, of which less is better: what counts is what is right."""
    one, other = curve("A", [excess], outcomes=first), curve("B", [1.0], outcomes=second)
    return found(one, other, sign=-1)


@pytest.mark.parametrize(
    ("rule", "first", "second", "holds", "why"),
    [
        (Better("", A, B), MANY, FEW, True, ""),
        (Better("", A, B), FEW, MANY, False, ""),
        (Better("", A, B), MANY, MIXED, None, NOISE),
        (Better("", A, B), MANY, None, None, NOT_RUN),
        (NoDifference("", A, B, 3.0), MANY, MIXED, True, ""),
        (NoDifference("", A, B, 0.1), MANY, MIXED, None, NOISE),
        (NoDifference("", A, B, 3.0), MANY, FEW, False, ""),
        (NoDifference("", A, B, 3.0), FEW, MANY, False, ""),
    ],
)
def test_paired(
    rule: Better | NoDifference, first: Any, second: Any, holds: bool | None, why: str
) -> None:
    judged = rule.judge(pair(first, second))
    assert (judged.holds, judged.why) == (holds, why)
    if second is not None:
        far = rule.judge(pair(first, second, excess=12.0))
        assert (far.holds, far.why) == (None, "A ends 12 % above the bound")
        ended = rule._replace(as_they_end=True).judge(pair(first, second, excess=12.0))
        assert ended == judged


def test_seeds_weigh_alike_and_comparisons_may_differ() -> None:
    runs = found(*(curve("A", [1.0], seed, outcomes=MANY) for seed in (1, 2)))
    other = pair(None, FEW)["e"].comparisons["c"]
    both = {"e": runs["e"]._replace(comparisons={**runs["e"].comparisons, "d": other})}
    judged = Better("", A, Curves("e", "d")("B", 1)).judge(both)
    assert judged.holds is True
    assert judged.found.startswith("83.33 / 56.67")


@pytest.mark.parametrize(
    ("power", "holds"), [(1.0, True), (2.0, False), (-1.0, False), (0.85, True)]
)
def test_linear_in_pairs(power: float, holds: bool) -> None:
    assert Linear("", [(x, 3.0 * x**power) for x in (1.0, 2.0, 4.0)]).judge({}).holds is holds


def test_linear_over_passes() -> None:
    steady = curve("A", [2.0**-k for k in range(12)])
    bent = curve("B", [1.0 / k**3 for k in range(1, 30)])
    runs = found(steady, bent, curve("C", [1.0, 0.5]), curve("D", [2.0**k for k in range(5)]))
    judged = {who: Linear("", OF(who, 1), 0.95, 1.0).judge(runs).holds for who in "ABCD"}
    assert judged == {"A": True, "B": False, "C": None, "D": False}


def test_other_numbers() -> None:
    late = curve("late", [80.0, 30.0, 0.1], scores=[40.0, 60.0, 55.0])
    second = curve("fast", [5.0, 5.0, 5.0, 0.5], 2, details={"steps": 30.0})
    first = FAST._replace(details={"steps": 10.0})
    other = curve("fast", [1.0], c=2.0, scores=[99.0])
    runs = found(first, second, other, SLOW, late)
    fast = OF("fast", 1)
    values: dict[Value, float] = {
        Quantity(fast, "passes"): 3.0,
        Quantity(fast, "passes", over="greatest"): 4.0,
        Quantity(fast, "passes", over="least"): 2.0,
        Quantity(fast, "steps", per_cent=True): 200.0,
        Quantity(fast, "last passes"): 3.5,
        Quantity(OF("late", 1), "best score"): 60.0,
        Quantity(OF("late", 1), "fall"): 5.0,
        Quantity(OF("late", 1), "primal"): 10.01,
        Quantity(OF("late", 1), "gap"): 0.2,
        Quantity(OF("late", 1), "c"): 1.0,
        Quantity(OF("fast", BEST), "c"): 2.0,
        Overtaking(OF("late", 1), OF("slow", 1)): 3.0,
        Combined("sum", (2.0, Quantity(fast, "passes"))): 5.0,
        Combined("difference", (5.0, Quantity(fast, "passes"))): 2.0,
        Combined("difference", (math.inf, math.inf)): math.inf,
        Combined("least", (2.0, Quantity(OF("none", 1), "passes"))): 2.0,
    }
    assert {value: value_of(value, runs) for value in values} == pytest.approx(values)


MISSING = Above("", Number("e", ("none",)), 1.0)
YES, NO = Above("", 2.0, 1.0), Above("", 1.0, 2.0)
NOISY = Better("", A, B)


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ([YES, YES], "reproduced"),
        ([YES, NOISY, MISSING], "reproduced"),
        ([YES, NO], "in part"),
        ([NO, NO, NOISY], "not reproduced"),
        ([NOISY, MISSING], "within the noise"),
        ([MISSING], "not tested"),
    ],
)
def test_verdicts(rules: list[Rule], verdict: str) -> None:
    assert judge(Claim("it is said", rules), pair(MANY, MIXED)).verdict == verdict
