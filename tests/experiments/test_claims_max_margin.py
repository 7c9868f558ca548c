"""Claims about max-margin models follow from the curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pytest
from egparse.experiments.claims.max_margin import (
    CHAINS,
    LABELS,
    MARGIN,
    PROBABILITIES,
    TREES,
    claims,
    exponent,
    is_linear,
)
from egparse.experiments.comparisons.max_margin_curves import panels
from egparse.experiments.report.record import Comparison, Curve, Paired, Point, Task
from egparse.experiments.report.results import Results

Distance = Callable[[float], float]
"""A function of the seconds: how far the primal is above the optimum, relative to it."""

OPTIMUM = 100.0


def fast(k: float) -> float:
    return 0.1 / k


def curve(label: str, c: float, distance: Distance, beta: float = math.inf) -> Curve:
    """A pass a second, 40 of them."""
    points = tuple(
        Point(k, k, k, OPTIMUM * (1 + distance(k)), OPTIMUM * (1 - distance(k)), 80 - 1 / k)
        for k in range(1, 41)
    )
    return Curve("max-margin", "trees", label, label, {}, beta, 1.0, c, 1, points, "the end")


def comparison(
    curves: list[Curve], tests: tuple[Paired, ...] = (), optimum: float = OPTIMUM
) -> Comparison:
    ideal = curves[0].points[-1]._replace(primal=optimum * 2, dual=optimum)
    ends = [
        own._replace(label="known", points=(ideal,))
        for own in {own.c: own for own in curves}.values()
    ]
    task = Task("trees", 20, "accuracy", 1, {}, False)
    return Comparison(task, (*curves, *ends), (), tests)


def results(
    trees: Mapping[str, Distance] | None = None, margin: Distance = lambda k: 1 / k
) -> Results:
    """Every contender converges as 1/k, unless ``trees`` says otherwise."""

    def of(labels: tuple[str, ...], constants: tuple[float, ...]) -> list[Curve]:
        return [
            curve(label, c, (trees or {}).get(label, lambda k: 1 / k))
            for c in constants
            for label in labels
        ]

    many = (LABELS.eg, LABELS.eg_search, LABELS.eg_batch, LABELS.fw_uniform, LABELS.fw_pairwise)
    on_trees = tuple(label for label in LABELS if label not in many[1:3] + many[4:])
    return Results(
        {
            TREES: comparison(of(on_trees, (100.0, 10.0, 1.0))),
            MARGIN: comparison([curve(label, 100.0, margin) for label in many]),
            PROBABILITIES: comparison([curve(LABELS.eg, 100.0, lambda k: 0.5**k, beta=1.0)]),
            CHAINS: comparison(
                of(
                    (
                        LABELS.eg,
                        LABELS.eg_permuted,
                        LABELS.n_slack,
                        LABELS.one_slack,
                        LABELS.fw_gap,
                    ),
                    (10.0, 1.0),
                )
            ),
        }
    )


def verdict(found: Results, text: str) -> str:
    [own] = [claim for claim in claims(found) if text in claim.text]
    return own.verdict


def test_speed_is_judged_by_seconds_from_either_start() -> None:
    text = "considerably faster"
    assert verdict(results(), text) == "not reproduced"
    assert verdict(results({LABELS.eg: fast}), text) == "in part"
    assert verdict(results({LABELS.eg: fast, LABELS.eg_permuted: fast}), text) == "reproduced"


def test_a_dual_that_falls_is_seen() -> None:
    text = "raise the dual at each step"
    assert verdict(results(), text) == "reproduced"
    falling = results({LABELS.n_slack: lambda k: 1 / k + 0.1 * (k == 20)})
    assert verdict(falling, text) == "in part"


def test_the_orders_of_convergence() -> None:
    for text in ("O(1/eps) updates", "O(log 1/eps) updates", "trained in less time"):
        assert verdict(results(), text) == "reproduced"
    slow = results(margin=lambda k: k**-0.5)
    assert verdict(slow, "O(1/eps) updates") == "not reproduced"
    assert verdict(slow, "O(1/eps) may be possible") == "in part"


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_a_power(power: float) -> None:
    own = curve("EG", 1.0, lambda k: k**-power)
    assert exponent(own, lambda point: point.primal / OPTIMUM - 1) == pytest.approx(power)


def test_equal_passes_for_each_digit_are_linear_convergence() -> None:
    assert is_linear({0.1: 4.0, 0.01: 8.0, 0.001: 13.0})
    assert not is_linear({0.1: 10.0, 0.01: 100.0, 0.001: 1000.0})
    assert not is_linear({0.1: 4.0, 0.01: math.inf, 0.001: math.inf})


def test_successors_are_judged_at_the_end_of_equal_time() -> None:
    text = "outperforms other solvers"
    assert verdict(results(), text) == "not reproduced"
    assert verdict(results({LABELS.fw_uniform: fast}), text) == "reproduced"
    assert verdict(results({LABELS.fw_gap: fast}), "Draws by gap") == "reproduced"


def test_a_difference_of_accuracy_needs_a_test() -> None:
    found = results()
    trees = found.comparisons[TREES]
    better = trees._replace(
        curves=tuple(
            own._replace(points=tuple(point._replace(score=90.0) for point in own.points))
            if (own.label, own.c) == (LABELS.eg, 100.0)
            else own
            for own in trees.curves
        )
    )
    text = "C = 100 has the best"
    untested = found._replace(comparisons={**found.comparisons, TREES: better})
    assert verdict(untested, text) == "in part"
    tests = tuple(Paired(LABELS.eg, 100.0, LABELS.eg, c, 10.0, 0.001) for c in (10.0, 1.0))
    tested = better._replace(tests=tests)
    assert verdict(found._replace(comparisons={**found.comparisons, TREES: tested}), text) == (
        "reproduced"
    )


def test_panels_are_over_seconds_and_over_passes() -> None:
    labels = [(panel.title, panel.x_label) for panel in panels(results())]
    for c in ("100", "10", "1"):
        assert (f"Primal, C = {c}", "CPU seconds") in labels
        assert (f"Primal, C = {c}", "effective iterations") in labels
