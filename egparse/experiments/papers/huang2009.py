"""Huang, Hsieh, Chang & Lin 2009, "Iterative scaling and coordinate descent methods for maximum
entropy".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from egparse.experiments.cases import Case, ValueAt, above, of, sooner, within
from egparse.experiments.claims import Above, Linear, Rule, placed
from egparse.experiments.learners.maxent.probes import BINS, METHODS
from egparse.experiments.plans.maxent import TAGGED_WORDS, C
from egparse.experiments.quantities import Combined, Curves, Number, Quantity, Value
from egparse.experiments.sections import Height, Panel, Paper, Printed, Section

_DATA = [Case(name, Curves("maxent", name), C) for name in ("Brown", "CoNLL2000")]
_BROWN, _CHUNKS = ([own] for own in _DATA)
_COMPARED = ("CD", "SCGIS", "GIS", "L-BFGS")

_GOALS = (1000.0, 100.0, 10.0, 1.0)
"""Per cent: the powers of ten from 10 to 1e-2 of Figure 2 (a) and (b)."""

_IIS_GOALS = (1000.0, 300.0)
"""Those that IIS reaches, whose passes take ten times as long as those of GIS."""

_PANELS: Sequence[tuple[str, Case, Height, tuple[float, float]]] = (
    ("a", _DATA[0], "excess", (1.0, 1e3)),
    ("b", _DATA[1], "excess", (1.0, 1e4)),
    ("c", _DATA[0], "score", (94.0, 97.0)),
    ("d", _DATA[1], "score", (90.0, 93.5)),
)
"""With the paper's axes of heights."""


def _by_time(first: str, second: str, *goals: float) -> list[Rule]:
    return sooner(_DATA, first, second, *(goals or _GOALS), by="seconds")


def _by_score(first: str, second: str) -> list[Rule]:
    """To scores of the validation part within the axes of Figure 2 (c) and (d)."""
    return sooner(_BROWN, first, second, 94.0, 95.0, by="seconds to score") + sooner(
        _CHUNKS, first, second, 91.0, 92.0, by="seconds to score"
    )


def _final(label: str) -> ValueAt:
    """The seconds from (17) = 0.1 to 0.01."""
    return lambda case: Combined(
        "difference", [Quantity(case(label), "seconds", goal) for goal in (1.0, 10.0)]
    )


def _probed(*keys: str) -> Number:
    return Number("maxent", keys)


_LENGTHS = {n: _probed("newton costs", "length", n) for n in BINS}


def _proportional(which: str, power: float, *methods: str) -> list[Rule]:
    name = f"time of the {which} direction as the number of non-zeros"
    return [
        Linear(
            method.upper(),
            [(_LENGTHS[n], _probed("newton costs", f"{method} {which}", n)) for n in BINS],
            *(power - 0.25, power + 0.25, name),
        )
        for method in methods
    ]


_ORDERS = {"first": ("O(l)",) * 4, "further": ("O(l)", "O(1)", "O(1)", "O(l)")}
"""Printed in the paper, for CD, GIS, SCGIS and IIS."""


def _cost_rows(which: str, name: str) -> Iterator[tuple[str, Sequence[Value | str]]]:
    yield f"{name}, the paper", ("l", *_ORDERS[which])
    for n in BINS:
        costs = [_probed("newton costs", f"{method} {which}", n) for method in METHODS]
        yield name, (_LENGTHS[n], *costs)


_TABLE = Section(
    "Table 1: The cost of Newton directions",
    {
        "The first Newton direction costs O(l), the number of non-zeros, for all methods.": (
            _proportional("first", 1.0, *METHODS)
        ),
        "Each subsequent direction costs O(l) for CD and IIS.": (
            _proportional("further", 1.0, "cd", "iis")
        ),
        "Each subsequent direction costs O(1) for GIS and SCGIS.": (
            _proportional("further", 0.0, "gis", "scgis")
        ),
    },
    printed=Printed(
        ("Nanoseconds of", "Non-zeros", *(method.upper() for method in METHODS)),
        (*_cost_rows("first", "1st direction"), *_cost_rows("further", "each subsequent one")),
        ".3g",
    ),
    departs="Times for features of CoNLL2000 with at least 16 non-zeros, after three passes of CD, "
    "the mean of up to 5,000 features of similar length.",
)

_FIGURE = Section(
    "Figure 2: CD, SCGIS, GIS and L-BFGS",
    {
        "Of CD, SCGIS and GIS, CD is the fastest by the difference to the optimum (17).": (
            _by_time("CD", "SCGIS") + _by_time("CD", "GIS")
        ),
        "SCGIS is second and GIS last.": _by_time("SCGIS", "GIS"),
        "CD is also the fastest of the three by accuracy and F1.": (
            _by_score("CD", "SCGIS") + _by_score("CD", "GIS")
        ),
        "By these, too, SCGIS is second and GIS last.": _by_score("SCGIS", "GIS"),
        "This is consistent with the tightness of their approximations (14).": (
            sooner(_DATA, "CD", "SCGIS", *_GOALS) + sooner(_DATA, "SCGIS", "GIS", *_GOALS)
        ),
        "L-BFGS does not perform well in the beginning.": [
            rule for label in _COMPARED[:3] for rule in _by_time(label, "L-BFGS", _GOALS[0])
        ],
        "L-BFGS has fast final convergence.": [
            rule
            for own in _COMPARED[:3]
            for rule in above(
                f"seconds from 10 % to 1 %: {own} > L-BFGS", _DATA, _final(own), _final("L-BFGS")
            )
        ],
    },
    [
        Panel(
            f"({letter}) {own.name}",
            [own(label) for label in _COMPARED],
            *(y, None, limits, "seconds"),
        )
        for letter, own, y, limits in _PANELS
    ],
    Printed(
        (
            "CPU seconds until (17) is",
            *(f"{own.name}: {goal / 100:g}" for own in _DATA for goal in _GOALS),
            *(f"{own.name}: test score" for own in _DATA),
        ),
        [
            ("the paper, ends of the axes", (*["2,000"] * 4, *["200"] * 4, "97", "93.5")),
            *(
                (
                    label,
                    [
                        *(
                            Quantity(own(label), "seconds", goal)
                            for own in _DATA
                            for goal in _GOALS
                        ),
                        *(Quantity(own(label), "test") for own in _DATA),
                    ],
                )
                for label in _COMPARED
            ),
        ],
        ".4g",
    ),
    "CD approaches the optimum, and a good model, sooner than SCGIS, and SCGIS sooner than GIS; "
    "L-BFGS begins badly and converges fast in the end.",
    f"{TAGGED_WORDS:,} words of Brown with 92 tags in place of 1,161,192 words with 472; the paper "
    "does not list its features. The relative difference (17) is drawn in per cent, so 100 is 1; "
    "its L(w*) is computed before the runs, to a certified gap of 0.001 %. Curves of scores are of "
    "the validation part, a tenth of the training data; the test score is that of the last model. "
    "Goals of scores are within the paper's axes, and such as models of fewer words can reach. An "
    "example (n) is a run of 500 words.",
)

_FURTHER = placed(
    {
        "section 2.1": {
            "Parallel updates usually converge more slowly than sequential ones.": (
                sooner(_CHUNKS, "CD", "IIS", *_IIS_GOALS)
                + sooner(_CHUNKS, "SCGIS", "IIS", *_IIS_GOALS)
            )
        },
        "section 3.1": {
            "A tighter bound (IIS beside GIS) gives faster convergence by handling fewer "
            "sub-problems, but the total time need not be less.": (
                sooner(_CHUNKS, "IIS", "GIS", *_IIS_GOALS)
                + sooner(_CHUNKS, "GIS", "IIS", *_IIS_GOALS, by="seconds")
            )
        },
        "section 3.2": {
            "Near the optimum the Newton direction satisfies (16) with lambda = 1.": within(
                "the share of full steps in the last pass of CD and 1",
                *(_DATA, of("CD", "full_steps"), 1.0, 0.001),
            ),
            "Near the optimum one Newton step on the tighter function reduces L more than exact "
            "minima of the loose ones.": [
                Above(
                    f"{method.upper()}, after {passes} passes of CD",
                    _probed("step reductions", "cd", passes),
                    _probed("step reductions", method, passes),
                    rule="sum of falls over features: of CD above that of the other",
                )
                for method in METHODS
                if method != "cd"
                for passes in ("5", "20")
            ],
            "The new CD improves on the traditional one, which solves sub-problems exactly.": (
                sooner(_CHUNKS, "CD", "CD, exact", *_GOALS, by="seconds")
            ),
        },
        "section 4": {
            "L-BFGS is better than GIS and IIS (Malouf 2002).": (
                _by_time("L-BFGS", "GIS", *_GOALS[1:])
                + sooner(_CHUNKS, "L-BFGS", "IIS", 300.0, 100.0, by="seconds")
            )
        },
    }
)

PAPER = Paper(
    "huang-2009",
    "Huang et al. 2009: iterative scaling and coordinate descent for maximum entropy",
    (_TABLE, _FIGURE),
    _FURTHER,
    "C = 1 / sigma² = 0.1. All methods use the same sparse features, in compiled loops; the paper "
    "extends OpenNLP. IIS, which the paper does not run, is judged at 1000 and 300 %, which it "
    "reaches in its time.",
)
