"""Huang, Hsieh, Chang & Lin 2009, "Iterative scaling and coordinate descent methods for maximum
entropy".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from egparse.experiments.claims import Above, Claim, Linear, Sooner, Within
from egparse.experiments.learners.maxent.probes import BINS, METHODS
from egparse.experiments.plans.maxent import TAGGED_WORDS, C
from egparse.experiments.quantities import Combined, Curves, Number, Quantity, Runs, Value
from egparse.experiments.sections import Height, Panel, Paper, Printed, Section

_BROWN, _CHUNKS = (Curves("maxent", name) for name in ("Brown", "CoNLL2000"))
_DATA = (_BROWN, _CHUNKS)
_COMPARED = ("CD", "SCGIS", "GIS", "L-BFGS")

_GOALS = (1000.0, 100.0, 10.0, 1.0)
"""Per cent: the powers of ten from 10 to 1e-2 of Figure 2 (a) and (b)."""

_IIS_GOALS = (1000.0, 300.0)
"""Those that IIS reaches, whose passes take ten times as long as those of GIS."""

_PANELS: tuple[tuple[str, Curves, Height, tuple[float, float]], ...] = (
    ("a", _BROWN, "excess", (1.0, 1e3)),
    ("b", _CHUNKS, "excess", (1.0, 1e4)),
    ("c", _BROWN, "score", (94.0, 97.0)),
    ("d", _CHUNKS, "score", (90.0, 93.5)),
)
"""With the paper's axes of heights."""

_SCORES = ((_BROWN, (94.0, 95.0)), (_CHUNKS, (91.0, 92.0)))
"""Of the validation part, within the axes of Figure 2 (c) and (d)."""


def _run(curves: Curves, label: str) -> Runs:
    return curves(label, C)


def _sooner(
    first: str,
    second: str,
    by: Literal["passes", "seconds"],
    goals: Sequence[float] = _GOALS,
    data: Sequence[Curves] = _DATA,
) -> tuple[Sooner, ...]:
    return tuple(
        Sooner(curves.comparison, _run(curves, first), _run(curves, second), goal, by)
        for curves in data
        for goal in goals
    )


def _final_seconds(run: Runs) -> Combined:
    """From (17) = 0.1 to 0.01."""
    return Combined("difference", [Quantity(run, "seconds", goal) for goal in _GOALS[:-3:-1]])


def _cost(method: str, which: str, low: str) -> Number:
    return Number("maxent", ("newton costs", f"{method} {which}", low))


_LENGTHS = {n: Number("maxent", ("newton costs", "length", n)) for n in BINS}


def _proportional(method: str, which: str, power: float) -> Linear:
    points = [(_LENGTHS[n], _cost(method, which, n)) for n in BINS]
    name = f"time of the {which} direction as the number of non-zeros"
    return Linear(method.upper(), points, power - 0.25, power + 0.25, name)


_ORDERS = {"first": ("O(l)",) * 4, "further": ("O(l)", "O(1)", "O(1)", "O(l)")}
"""Printed in the paper, for CD, GIS, SCGIS and IIS."""


def _cost_rows(which: str, name: str) -> Iterator[tuple[str, Sequence[Value | str]]]:
    yield f"{name}, the paper", ("l", *_ORDERS[which])
    for low in BINS:
        yield name, (_LENGTHS[low], *(_cost(method, which, low) for method in METHODS))


_TABLE = Section(
    "Table 1",
    "The cost of Newton directions",
    "The first Newton direction of a sub-problem costs as much as the feature has non-zeros for "
    "every method; each subsequent one costs as much for CD and IIS, and O(1) for GIS and SCGIS.",
    (
        Claim(
            "The first Newton direction costs O(l), the number of non-zeros, for all methods.",
            tuple(_proportional(method, "first", 1.0) for method in METHODS),
        ),
        Claim(
            "Each subsequent direction costs O(l) for CD and IIS.",
            tuple(_proportional(method, "further", 1.0) for method in ("cd", "iis")),
        ),
        Claim(
            "Each subsequent direction costs O(1) for GIS and SCGIS.",
            tuple(_proportional(method, "further", 0.0) for method in ("gis", "scgis")),
        ),
    ),
    printed=Printed(
        ("Nanoseconds of", "Non-zeros", *(method.upper() for method in METHODS)),
        (*_cost_rows("first", "1st direction"), *_cost_rows("further", "each subsequent one")),
        ".3g",
    ),
    departs="Times for features of CoNLL2000 with at least 16 non-zeros, after three passes of CD, "
    "the mean of up to 5,000 features of similar length.",
)

_FIGURE = Section(
    "Figure 2",
    "CD, SCGIS, GIS and L-BFGS",
    "CD approaches the optimum, and a good model, sooner than SCGIS, and SCGIS sooner than GIS; "
    "L-BFGS begins badly and converges fast in the end.",
    (
        Claim(
            "Of CD, SCGIS and GIS, CD is the fastest by the difference to the optimum (17).",
            (*_sooner("CD", "SCGIS", "seconds"), *_sooner("CD", "GIS", "seconds")),
        ),
        Claim("SCGIS is second and GIS last.", _sooner("SCGIS", "GIS", "seconds")),
        *(
            Claim(
                says,
                tuple(
                    Sooner(
                        curves.comparison,
                        _run(curves, first),
                        _run(curves, second),
                        score,
                        "seconds to score",
                    )
                    for curves, scores in _SCORES
                    for score in scores
                ),
            )
            for says, first, second in (
                ("CD is also the fastest of the three by accuracy and F1.", "CD", "SCGIS"),
                ("By these, too, SCGIS is second and GIS last.", "SCGIS", "GIS"),
            )
        ),
        Claim(
            "This is consistent with the tightness of their approximations (14).",
            (*_sooner("CD", "SCGIS", "passes"), *_sooner("SCGIS", "GIS", "passes")),
        ),
        Claim(
            "L-BFGS does not perform well in the beginning.",
            tuple(
                rule
                for label in ("CD", "SCGIS", "GIS")
                for rule in _sooner(label, "L-BFGS", "seconds", _GOALS[:1])
            ),
        ),
        Claim(
            "L-BFGS has fast final convergence.",
            tuple(
                Above(
                    f"{curves.comparison}, {label}",
                    _final_seconds(_run(curves, label)),
                    _final_seconds(_run(curves, "L-BFGS")),
                    name="seconds from 10 % to 1 %: more than L-BFGS",
                )
                for curves in _DATA
                for label in ("CD", "SCGIS", "GIS")
            ),
        ),
    ),
    tuple(
        Panel(
            f"({letter}) {curves.comparison}",
            tuple(_run(curves, label) for label in _COMPARED),
            y,
            "seconds",
            y_range=y_range,
        )
        for letter, curves, y, y_range in _PANELS
    ),
    Printed(
        (
            "CPU seconds until (17) is",
            *(f"{curves.comparison}: {goal / 100:g}" for curves in _DATA for goal in _GOALS),
            *(f"{curves.comparison}: test score" for curves in _DATA),
        ),
        (
            (
                "the paper, ends of the axes",
                (*(["2,000"] * 4), *(["200"] * 4), "97", "93.5"),
            ),
            *(
                (
                    label,
                    (
                        *(
                            Quantity(_run(curves, label), "seconds", goal)
                            for curves in _DATA
                            for goal in _GOALS
                        ),
                        *(Quantity(_run(curves, label), "test") for curves in _DATA),
                    ),
                )
                for label in _COMPARED
            ),
        ),
        ".4g",
    ),
    f"{TAGGED_WORDS:,} words of Brown with 92 tags in place of 1,161,192 words with 472; the paper "
    "does not list its features. The relative difference (17) is drawn in per cent, so 100 is 1; "
    "its L(w*) is computed before the runs, to a certified gap of 0.001 %. Curves of scores are of "
    "the validation part, a tenth of the training data; the test score is that of the last model. "
    "Goals of scores are within the paper's axes, and such as models of fewer words can reach. "
    "An example (n) is a run of 500 words.",
)

_SMALLER = (
    Claim(
        "Parallel updates usually converge more slowly than sequential ones.",
        (
            *_sooner("SCGIS", "GIS", "passes", _GOALS[:2]),
            *_sooner("CD", "IIS", "passes", _IIS_GOALS, (_CHUNKS,)),
        ),
        "section 2.1",
    ),
    Claim(
        "A tighter bound (IIS beside GIS) gives faster convergence by handling fewer sub-problems, "
        "but the total time need not be less.",
        (
            *_sooner("IIS", "GIS", "passes", _IIS_GOALS, (_CHUNKS,)),
            *_sooner("GIS", "IIS", "seconds", _IIS_GOALS, (_CHUNKS,)),
        ),
        "section 3.1",
    ),
    Claim(
        "Near the optimum the Newton direction satisfies (16) with lambda = 1.",
        tuple(
            Within(
                curves.comparison,
                Quantity(_run(curves, "CD"), "full_steps"),
                1.0,
                0.001,
                name="the share of full steps in the last pass of CD and 1",
            )
            for curves in _DATA
        ),
        "section 3.2",
    ),
    Claim(
        "Near the optimum one Newton step on the tighter function reduces L more than exact minima "
        "of the loose ones.",
        tuple(
            Above(
                f"{method.upper()}, after {passes} passes of CD",
                Number("maxent", ("step reductions", "cd", passes)),
                Number("maxent", ("step reductions", method, passes)),
                name="sum of falls over features: of CD above that of the other",
            )
            for method in METHODS
            if method != "cd"
            for passes in ("5", "20")
        ),
        "section 3.2",
    ),
    Claim(
        "The new CD improves on the traditional one, which solves sub-problems exactly.",
        _sooner("CD", "CD, exact", "seconds", data=(_CHUNKS,)),
        "section 3.2",
    ),
    Claim(
        "L-BFGS is better than GIS and IIS (Malouf 2002).",
        tuple(
            rule
            for label, goals, data in (
                ("GIS", _GOALS[1:], _DATA),
                ("IIS", (*_IIS_GOALS[1:], 100.0), (_CHUNKS,)),
            )
            for rule in _sooner("L-BFGS", label, "seconds", goals, data)
        ),
        "section 4",
    ),
)

PAPER = Paper(
    "huang-2009",
    "Huang et al. 2009: iterative scaling and coordinate descent for maximum entropy",
    (_TABLE, _FIGURE),
    _SMALLER,
    "C = 1 / sigma² = 0.1. All methods use the same sparse features, in compiled loops; the paper "
    "extends OpenNLP. IIS, which the paper does not run, is judged at 1000 and 300 %, which it "
    "reaches in its time.",
)
