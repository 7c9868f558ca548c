"""The rules by which claims about the successors are judged, on curves whose outcome is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from egparse.experiments.claims.successors import SAG, SDCA, SGD, TREES, claims
from egparse.experiments.report.claims import Claim
from egparse.experiments.report.record import Comparison, Curve, Point, Task
from egparse.experiments.report.results import Results

OPTIMUM = 100.0


def found(gaps: Mapping[str, Sequence[float]], stopped: str = "") -> Results:
    """Curves whose gap after each pass is given, in per cent of the optimum; SGD has no dual."""
    curves = []
    for label, own in gaps.items():
        points = tuple(
            Point(
                k,
                float(k),
                k / 10,
                OPTIMUM * (1 + gap / 100),
                -math.inf if label == SGD else OPTIMUM,
                50.0,
            )
            for k, gap in enumerate(own, 1)
        )
        curves.append(Curve("x", "x", label, "x", {}, 1.0, 0.0, 10.0, 1, points, stopped))
    task = Task("x", 10, "accuracy", 1, {}, False)
    return Results({TREES: Comparison(task, tuple(curves))})


def about(results: Results, text: str) -> Claim:
    return next(own for own in claims(results) if text in own.text)


def test_who_is_sooner_near_the_optimum() -> None:
    fast, slow = [10.0, 0.5, 0.05], [10.0, 5.0, 0.5, 0.05]
    assert about(found({SAG: fast, SGD: slow}), "here stochastic").verdict == "reproduced"
    claim = about(found({SAG: slow, SGD: fast}), "here stochastic")
    assert claim.verdict == "not reproduced"
    assert "3 / 4 against 2 / 3" in claim.evidence
    mixed = about(found({SAG: [10.0, 0.5, 0.5], SGD: slow}), "here stochastic")
    assert mixed.verdict == "in part"
    assert "2 / never against 3 / 4" in mixed.evidence


def test_far_from_the_optimum_the_end_decides() -> None:
    claim = about(found({SAG: [20.0, 8.0], SDCA: [20.0, 3.0], SGD: [9.0]}), "here stochastic")
    assert claim.verdict == "reproduced"
    assert "8 against 9 % above at the end" in claim.evidence


def test_a_rate_is_linear_where_decades_take_as_long() -> None:
    straight = [10 ** (-k / 3) * 10 for k in range(20)]
    assert about(found({SDCA: straight}), "linearly on smooth").verdict == "reproduced"
    bent = [10.0 / k**2 for k in range(1, 400)]
    assert about(found({SDCA: bent}), "linearly on smooth").verdict == "not reproduced"
    assert about(found({SDCA: [10.0, 5.0]}), "linearly on smooth").verdict == "not possible"


def test_runs_that_failed_say_nothing() -> None:
    results = found({SAG: [10.0], SGD: [5.0]}, "failed: x")
    assert about(results, "here stochastic").verdict == "not possible"
