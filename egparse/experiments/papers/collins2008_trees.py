"""The dependency parsers of Collins et al. 2008: Figure 12, Table 3, Figure 13, and what sections
7.2 and 9 say of them besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from egparse.experiments.cases import Case, above, at, least, of, sooner, within
from egparse.experiments.claims import Above, Better, Linear, NoDifference, Sooner, Within, placed
from egparse.experiments.plans import max_margin
from egparse.experiments.plans.parsing import COLD_CONSTANTS, CONSTANTS, PATH_CONSTANTS, SGD_AT
from egparse.experiments.quantities import BEST, Combined, Curves, Quantity
from egparse.experiments.sections import Panel, Printed, Section

_TREES, _PATH = (Curves("parsing", name) for name in ("trees", "path"))
_MARGIN, _ORDER = (Curves("max-margin", name) for name in ("trees", "order"))
_LOSSES = ("EG", "L-BFGS", "SGD")
_HIGH, _LOW = at(_TREES, *CONSTANTS[:4]), at(_TREES, 10.0, 1.0)
_EG = _TREES("EG", 10.0)
_SCORE = 80.0  # per cent of heads: what EG reaches in both figures, one tick below the highest
_AXES = {
    1000.0: ((0.0, 60.0), (18.2, 19.5)),
    100.0: ((0.0, 60.0), (10.5, 14.5)),
    10.0: ((0.0, 200.0), (4.0, 14.0)),
    1.0: ((0.0, 200.0), (0.0, 25.0)),
}
"""The passes of the paper's panels, and heights as in them, around our optimum."""
_FEATURES = (
    "The sentences are those of the paper, to the token; of the 2,306 for training 2,267 are "
    "projective, and the others are left out. Features are this project's, hashed to 1,048,576 "
    "weights, where the paper has 2,500,554, so that objectives are on another scale."
)


def _ends(cases: Sequence[Case], labels: Sequence[str]) -> Printed:
    """Accuracy and distance from the optimum at the end, ours."""
    names = {"score": "accuracy (%)", "excess": "above the bound (%)"}
    return Printed(
        ("C", *(f"{label}: {name}" for name in names.values() for label in labels)),
        [
            (f"{own.c:g}", [Quantity(own(one), what) for what in names for one in labels])
            for own in cases
        ],
    )


_FIGURE_12 = Section(
    "Figure 12: Log-linear parsers: EG, L-BFGS and SGD",
    {
        "EG is significantly faster than L-BFGS.": sooner(
            _HIGH, "EG", "L-BFGS", 1.0, 0.1, share=0.8
        ),
        "L-BFGS and EG both converge to the optimal value.": [
            rule
            for label in ("EG", "L-BFGS")
            for own in [at(_TREES, *CONSTANTS[:4], name=label)]
            for rule in within("the excess (%) and 0", own, of(label, "excess"), 0.0, 1.0)
        ],
        "SGD does not converge to the optimum for C = 10 and 1.": above(
            "SGD ends more than 1 % above the bound", _LOW, of("SGD", "excess"), 1.0
        ),
        "Where SGD converges to the optimum, it is slower than EG.": sooner(
            _HIGH[:2], "EG", "SGD", 1.0, 0.1
        ),
        "In accuracy, EG at its best C (10) significantly outperforms L-BFGS at any C.": [
            Sooner(f"C = {c:g}", _EG, _TREES("L-BFGS", c), _SCORE, "passes to score", 0.8)
            for c in CONSTANTS[1:]
        ],
        "In accuracy, SGD is comparable to EG.": [
            NoDifference("each at its best C", _EG, _TREES("SGD", BEST), as_they_end=True)
        ],
        "Of C = 0.1, 1, 10, 100 and 1000, C = 10 has the best accuracy.": [
            Better(f"10 and {c:g}", _EG, _TREES("EG", c)) for c in CONSTANTS if c != 10
        ],
    },
    [
        *(
            Panel(f"Primal, {own.name}", [own(one) for one in _LOSSES], "primal", *_AXES[own.c])
            for own in _HIGH
        ),
        *(
            Panel(f"Accuracy, EG and {rival}", [_EG, *runs], "score", (0.0, most), (72.0, 82.0))
            for rival, runs, most in (
                ("L-BFGS", [_TREES("L-BFGS", c) for c in CONSTANTS[1:]], 200.0),
                ("SGD", [_TREES("SGD", c) for c in (1.0, 10.0, 100.0)], 100.0),
            )
        ),
    ],
    _ends(_HIGH, _LOSSES),
    f"{_FEATURES} The axes of passes and of accuracy are the paper's. L-BFGS is not run at "
    "C = 0.01. The paper tries the rates 1, 0.1, 0.001 and 0.0001 for SGD; we try 0.01 as well.",
)

_PRINTED_PASSES = (
    8, 3.01, 4.76, 4.9, 4.91, 6.1, 6.06, 6.08, 7.23, 7.23, 8.33, 9.4, 12.6, 13.71, 19.03, 23.33,
    30.82, 37.22, 45.8, 57.53, 73.6,
)  # fmt: skip
_PRINTED_ACCURACIES = (
    72.44, 73.42, 74.35, 75.29, 76.13, 77.13, 77.82, 78.74, 79.41, 79.99, 80.38, 80.60, 80.77,
    80.72, 80.67, 80.61, 80.31, 80.18, 79.98, 79.63, 79.36,
)  # fmt: skip
_BEST_ON_PATH = PATH_CONSTANTS[12]
_WARM, _COLD = (
    {c: Quantity(_PATH(label, c), "last passes") for c in constants}
    for label, constants in (("EG, warm", PATH_CONSTANTS), ("EG", COLD_CONSTANTS))
)
_TOTALS = [Combined("sum", list(_WARM.values())[: k + 1]) for k in range(len(PATH_CONSTANTS))]
_COLUMNS = (
    *(PATH_CONSTANTS, _PRINTED_PASSES, list(accumulate(_PRINTED_PASSES))),
    *(_TOTALS, _PRINTED_ACCURACIES),
)

_TABLE_3 = Section(
    "Table 3: A path over C, each model started from the last",
    {
        "With the last dual variables as the start, a whole sequence of constants is optimised "
        "efficiently: fewer passes at each C than from the first start.": [
            Above(
                f"C = {c:g}",
                *(_COLD[c], _WARM[c]),
                rule="passes to a gap of 0.1 %: more from the first start than warm",
            )
            for c in COLD_CONSTANTS[1:]
        ],
        "389.65 passes optimise all 21 values of C.": [
            Within("all", _TOTALS[-1], 389.65, ratio=1.5, name="all passes, ours and the paper's,")
        ],
        "The best accuracy is reached at C = 13.841.": [
            Better(f"13.84 and {c:.4g}", _PATH("EG, warm", _BEST_ON_PATH), _PATH("EG, warm", c))
            for c in PATH_CONSTANTS[::4]
            if c != _BEST_ON_PATH
        ],
    },
    printed=Printed(
        (
            *("C", "Passes: paper", "EG, warm", "EG, from the first start"),
            *("Total: paper", "EG, warm", "Accuracy (%): paper", "EG, warm"),
        ),
        [
            (
                f"{c:.6g}",
                [
                    *(passes, _WARM[c], _COLD.get(c, "")),
                    *(total, ours, accuracy, Quantity(_PATH("EG, warm", c), "score")),
                ],
            )
            for c, passes, total, ours, accuracy in zip(*_COLUMNS, strict=True)
        ],
    ),
    departs=f"{_FEATURES} Learning rates are kept from one C to the next, of which the paper says "
    "nothing.",
)

_RIVALS = ("EG", "SVM-Struct")
_SLOW = {label: Quantity(_MARGIN(label, 1.0), "excess") for label in _RIVALS}

_FIGURE_13 = Section(
    "Figure 13: Max-margin parsers: EG and SVM-Struct",
    {
        "EG is considerably faster than SVM-Struct for most C values.": sooner(
            at(_MARGIN, *max_margin.CONSTANTS[1:4]), *_RIVALS, 10.0, 1.0, by="seconds", share=0.8
        ),
        "For C = 1 convergence is slow for both, and performance comparable.": [
            *(
                Above(f"{label}, C = 1", own, 10.0, rule="still more than 10 % above the bound")
                for label, own in _SLOW.items()
            ),
            Within("C = 1", _SLOW["EG"], _SLOW["SVM-Struct"], ratio=2.0, name="last excesses"),
        ],
        "In accuracy, EG at C = 100 is faster than SVM-Struct at C = 100 and 10.": [
            Sooner(
                f"SVM-Struct, C = {c:g}",
                *(_MARGIN("EG", 100.0), _MARGIN("SVM-Struct", c), _SCORE, "seconds to score"),
            )
            for c in (100.0, 10.0)
        ],
        "Of C = 1, 10, 100, 1000 and 10000, C = 100 has the best accuracy.": [
            Better(
                f"100 and {c:g}" + " (as the runs end)" * (c < 100),
                *(_MARGIN("EG", 100.0), _MARGIN("EG", c)),
                as_they_end=c < 100,
            )
            for c in max_margin.CONSTANTS
            if c != 100
        ],
    },
    [
        *(
            Panel(
                f"Primal and dual, {own.name}",
                [own(label) for label in _RIVALS],
                *("objective", None, (0.0, 45.0 if own.c >= 100 else 25.0), "seconds"),
            )
            for own in at(_MARGIN, *max_margin.CONSTANTS[1:])
        ),
        Panel(
            "Accuracy",
            (_MARGIN("EG", 100.0), _MARGIN("SVM-Struct", 100.0), _MARGIN("SVM-Struct", 10.0)),
            *("score", None, (74.0, 82.0), "seconds"),
        ),
    ],
    _ends(at(_MARGIN, *max_margin.CONSTANTS), (*_RIVALS, "Frank-Wolfe")),
    f"{_FEATURES} SVM-Struct is the algorithm of that program (Tsochantaridis et al. 2004), with a "
    "program after every 100 new trees, and not the program; the paper's axes of time go from 10 "
    "to 30 hours. First learning rates are 0.5, where the paper calibrates them on a tenth of the "
    "data. Runs at C = 10 and 1 end before the optimum, as in the paper. Frank-Wolfe, a later "
    "rival, gives the bound.",
)

TREE_SECTIONS = (_FIGURE_12, _TABLE_3, _FIGURE_13)

_RATES = at(Curves("parsing", "rates"), 10.0, 1.0)
_BEST_RATE = least([one.label for one in SGD_AT], "excess")


def _at_most(what: str, power: float, name: str) -> list[Linear]:
    """The passes of max-margin EG grow no faster than a power of 1 / epsilon."""
    run = _ORDER("EG", 100.0)
    points = [(1 / to, Quantity(run, what, to)) for to in (10.0, 3.0, 1.0, 0.3, 0.1)]
    return [Linear("C = 100", points, 0.0, 1.1 * power, f"passes grow as 1/ε of the {name}")]


TREE_FURTHER = placed(
    {
        "section 7.2": {
            "There are rates with which SGD converges to the optimum for C = 1 and 10.": above(
                "the best of four rates ends less than 1 % above the bound", _RATES, 1.0, _BEST_RATE
            ),
            "These are not evident after one pass: the rate chosen then is not the best.": above(
                "SGD as chosen ends twice as far above the bound as the best rate",
                *(_RATES, lambda own: Quantity(_TREES("SGD", own.c), "excess"), _BEST_RATE, 2.0),
            ),
        },
        "section 5.1": {
            "For max-margin models O(1/ε) updates bring the dual within ε.": _at_most(
                "dual passes", 1.0, "dual"
            ),
            "For log-linear models O(log 1/ε) updates do.": [
                Linear("C = 100", _ORDER("EG, log-linear", 100.0), 0.95)
            ],
        },
        "section 9": {
            "For max-margin models the primal converges in O(1/ε²) updates.": _at_most(
                "passes", 2.0, "primal"
            ),
            "It is possible that O(1/ε) updates do for that primal, too.": _at_most(
                "passes", 1.0, "primal"
            ),
            "If the bounds are tight, log-linear models are trained in fewer passes.": [
                Above(
                    f"to {to:g} %",
                    Quantity(_ORDER("EG", 100.0), "passes", to),
                    Quantity(_ORDER("EG, log-linear", 100.0), "passes", to),
                    rule="passes of EG: more for max-margin than log-linear",
                )
                for to in (10.0, 1.0)
            ],
            "It is possible that a more careful line search improves convergence.": sooner(
                at(_ORDER, 100.0), "EG, line search", "EG", 10.0, 1.0
            ),
        },
    }
)
