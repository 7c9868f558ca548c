"""Claims about classifiers of digits follow from the curves."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from egparse.experiments.claims.multiclass import PATH, RESTARTED, SEEDS, claims, scaled_to
from egparse.experiments.claims.multiclass_bounds import MAIN, REPEATS, bounds, dual_effort
from egparse.experiments.report.claims import Claim
from egparse.experiments.report.record import Comparison, Curve, Point, Task
from egparse.experiments.report.results import Results

OPTIMUM, N = 2000.0, 7000
CONSTANTS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
VARIANTS = ("EG, each once", "EG, near gold", "EG, cyclic", "EG batch", "EG, proven rate")
LABELS = ("EG", "EG 2007", *VARIANTS, "EG, annealed", "L-BFGS", "CG", "SGD", "SGD, rate 0.1")
TASK = Task("classes", N, "validation error (%)", -1, {"validation examples": 1500}, False)


def curve(label: str, c: float, rate: float, seed: int = 1, error: float = 8.0) -> Curve:
    """60 passes, in each of which the distance from the optimum shrinks by exp(-rate)."""
    away = [5.0 * math.exp(-rate * k) for k in range(1, 61)]
    points = tuple(
        Point(k, k, k, OPTIMUM * (1 + own), OPTIMUM * (1 - own), error + 5.0 / k)
        for k, own in enumerate(away, 1)
    )
    options = {"eta0": 0.01, "eta": 0.05}
    return Curve("multiclass", "classes", label, label, options, 1.0, 0.0, c, seed, points, "gap")


def results(rates: Mapping[str, float] | None = None) -> Results:
    """EG closes in by a factor of e a pass, all others by the rates given, or 0.3."""
    given = {"EG": 1.0, **(rates or {})}

    def of(constants: tuple[float, ...], seeds: tuple[int, ...] = (1,)) -> Comparison:
        curves = [
            curve(label, c, given.get(label, 0.3), seed, 8.0 + 0.01 * seed)
            for c in constants
            for label in LABELS
            for seed in seeds
        ]
        return Comparison(TASK, tuple(curves), (), (), len(seeds) > 1)

    path = tuple(1000.0 * 0.7**k for k in range(24))
    splits = (100.0, 10.0, 1.0, scaled_to(N, 10.0), scaled_to(N, 1.0))
    known = {"n": N, "classes": 10, "max_square": 240.0, "start_square": 1e6}
    return Results(
        {
            MAIN: of(CONSTANTS),
            SEEDS: of(splits, (1, 2, 3)),
            REPEATS: of((10.0,), (1, 2, 3)),
            PATH: Comparison(TASK, tuple(curve("path", c, 1.0) for c in path)),
            RESTARTED: Comparison(TASK, tuple(curve("path", c, 1.0) for c in path)),
        },
        {"bounds": known},
    )


def claim(found: list[Claim], words: str) -> Claim:
    (own,) = [each for each in found if words in each.text]
    return own


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("EG converges considerably faster than those of L-BFGS and CG", "EG 2007"),
        ("EG converges considerably faster than that of L-BFGS", "EG"),
        ("randomised algorithm is clearly much faster", "EG"),
        ("Batch EG converges much more slowly", "EG"),
    ],
)
def test_the_faster_learner_decides(words: str, label: str) -> None:
    assert claim(claims(results({label: 2.0})), words).verdict == "reproduced"
    assert claim(claims(results({label: 0.01})), words).verdict == "not reproduced"


def test_2007_is_judged_by_its_own_algorithm() -> None:
    found = claims(results({"EG": 3.0, "EG 2007": 0.1}))
    own = claim(found, "faster than those of L-BFGS and CG, at the C chosen")
    assert (own.source, own.verdict) == ("Globerson et al. 2007, Fig. 3", "not reproduced")


def test_a_gap_that_shrinks_by_a_factor_is_straight() -> None:
    own = claim(claims(results()), "log of the duality gap decreases")
    assert own.verdict == "reproduced"
    assert "1.000, 1;" in own.evidence  # squared correlation, and the rate given


def test_all_numbers_of_the_evidence_are_there() -> None:
    found = claims(results())
    assert len({(own.source, own.text) for own in found}) == len(found) > 30
    assert not any("nan" in own.evidence for own in found)


def test_bounds_are_those_of_table_1() -> None:
    """The number of passes that is proven grows with 1 / C, and for batch n times as fast."""
    rows = {row.c: row for row in bounds(results())}
    for row in rows.values():
        assert row.greatest == pytest.approx(480.0 / row.c)
        divergence = N * math.log(10)
        each = 1 + N * row.greatest
        assert row.batch == pytest.approx(each * math.log(each * divergence / (0.001 * OPTIMUM)))
        c2 = (1 + row.greatest) * divergence + OPTIMUM - (divergence - 1e6 / (2 * row.c))
        # the optimum is known as the best dual, which is within 1e-6
        expected = (1 + row.greatest) * math.log(c2 / (0.001 * OPTIMUM))
        assert row.online == pytest.approx(expected, rel=1e-4)
        assert row.batch > 100 * row.online


def test_the_effort_of_the_dual_is_its_first_pass_within_the_share() -> None:
    found = results().comparisons[MAIN]
    # 5 exp(-k) <= 0.001 for k >= ln 5000
    assert dual_effort(found, "EG", 10.0) == math.ceil(math.log(5000))
    assert dual_effort(found, "no such learner", 10.0) == math.inf


def test_equal_weights_of_the_regularisation_for_each_example() -> None:
    assert scaled_to(59_000, 10.0) == 10.0
    assert scaled_to(5_900, 10.0) == 1.0
