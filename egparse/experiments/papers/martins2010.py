"""Martins, Gimpel, Smith, Xing, Aguiar and Figueiredo 2010, "Learning structured classifiers with
dual coordinate descent".
"""

from __future__ import annotations

from egparse.experiments.cases import Case, alike, at, better, more, sooner
from egparse.experiments.claims import Above, Better, Claim, Rule, Said, Within, placed
from egparse.experiments.plans.dca import NAMES_C, TREES, TREES_C, TREES_RATES
from egparse.experiments.plans.losses import CRF, LOSSES, SVM
from egparse.experiments.plans.second_order import CONSTANTS, ESTIMATES
from egparse.experiments.quantities import BEST, Curves, Number, Quantity, Value
from egparse.experiments.sections import Panel, Paper, Printed, Section

_NAMES = Curves("dca", "names")
_ARCS = {language: Curves("dca", language) for language in TREES}
_PAIRS = {language: Curves("second-order", language) for language in TREES}

_OF_NAMES = at(_NAMES, *NAMES_C, name="Names")
_OF_ARCS = [case for name in TREES for case in at(_ARCS[name], *TREES_C, name=name)]
_OF_PAIRS = [
    case for name in TREES for case in at(_PAIRS[name], *CONSTANTS, name=f"{name} with pairs")
]
_ENGLISH_PAIRS = [case for case in _OF_PAIRS if case.curves == _PAIRS["English"]]
_SHOWN = [
    Case(f"{name}, {kind}, C = 10", curves[name], 10.0)
    for kind, curves in (("arcs", _ARCS), ("pairs", _PAIRS))
    for name in TREES
]


def _faster(cases: list[Case], before: float = 0.0, share: float = 1.0) -> list[Rule]:
    """DCA is sooner within 0.2 points of the accuracy with which SGD ends."""
    return sooner(cases, "DCA", "SGD", 0.2, by="passes to its score", share=share, before=before)


_TEN = "SGD, rate of ten passes"

_EPOCHS = Section(
    "Section 4: Several epochs",
    [
        Claim(
            "Dual coordinate ascent makes progress in the dual of the learning problem with one "
            "pass over the data, and the analysis carries over to several epochs.",
            more(
                "per cent above the bound at the end: DCA at most twice as far as the same steps "
                "on dual variables that are remembered",
                [*_OF_NAMES, *(case for case in _OF_ARCS if case.c > 1)],
                *("excess", "SDCA", "DCA, last weights", 0.5),
            ),
            "section 4",
            "Several epochs of dual coordinate ascent do not ascend the dual that they name. Each "
            "visit adds a dual variable, so that K passes work on the problem with K times the "
            "loss: the primal that is named rises with the passes. The same steps on dual "
            "variables that are remembered (SDCA) converge to its optimum.",
        ),
    ],
    [
        Panel(case.name, [case(own) for own in ("DCA, last weights", "DCA", "SDCA")], "excess")
        for case in (*_OF_NAMES, *(case for case in _OF_ARCS if case.c == 10))
    ],
    departs="Primal of the last weights. Passes of SDCA gain less where there is little "
    "regularisation: it makes up to 100 for names, and 40 for trees, which is not enough at C = 1.",
)

_PRINTED_F1: dict[str, float | str] = {
    "L-BFGS": 85.31,
    "DCA": 85.48,
    "DCA, last weights": "",
    "SGD": "",
}
_BEST = {label: _NAMES(label, BEST) for label in _PRINTED_F1}
_END = Quantity(_BEST["L-BFGS"], "passes")

_FIGURE_3 = Section(
    "Figure 3: Named entity recognition",
    {
        "DCA reaches better-performing models than SGD and L-BFGS.": [
            Better("SGD, each at its best C", _BEST["DCA"], _BEST["SGD"], True),
            Better("L-BFGS, each at its best C", _BEST["DCA"], _BEST["L-BFGS"], "first"),
        ],
        "The SGD curve for the least regularisation is lower than the others because the "
        "validation after one pass chose a suboptimal learning rate.": [
            Better(f"C = {c:g}", _NAMES(label, c), _NAMES("SGD", 0.1), True)
            for label, c in (("SGD", 1.0), ("SGD", 10.0), (_TEN, 0.1))
        ],
        "L-BFGS ultimately converges, after 121 iterations.": [
            Within("at its best C", _END, 121.0, ratio=1.5, name="passes to 1 % and the paper's")
        ],
    },
    [
        Panel(f"C = {case.c:g}", [case(own) for own in labels], "score", (0.0, 50.0))
        for case in _OF_NAMES
        for labels in [("DCA", "SGD", "L-BFGS", *([_TEN] if case.c < 1 else []))]
    ],
    Printed(
        ("at the best C", "paper (English)", "here (Spanish)"),
        [
            ("L-BFGS: iterations, here to 1 %", (121.0, _END)),
            ("L-BFGS: F1, development data", (90.53, Quantity(_BEST["L-BFGS"], "score"))),
            *(
                (f"{label}: F1, test data", (printed, Quantity(_BEST[label], "test")))
                for label, printed in _PRINTED_F1.items()
            ),
        ],
    ),
    "Spanish names of CoNLL-2002 (8,323 sentences) instead of the English ones of CoNLL-2003 "
    "(14,041), without gazetteers. C is one over that of the paper; for the same regularisation of "
    "an example ours would have to be 0.6 of it.",
)

_FIGURE_4 = Section(
    "Figure 4: Dependency parsing",
    {
        "With arc-factored models DCA leads faster to an accurate model.": _faster(_OF_ARCS),
        "It is ahead by more if the four passes in which SGD tries its learning rates are "
        "counted.": _faster(_OF_ARCS, before=len(TREES_RATES)),
        "The curves of DCA and SGD are very close for all languages and configurations.": alike(
            _SHOWN, "DCA", "SGD", as_they_end=True
        ),
        "With second-order models of Danish and English DCA does not perform so well.": better(
            _ENGLISH_PAIRS, "SGD", "DCA", as_they_end=True
        ),
        "Training of second-order models is unstable because inference is approximate.": [
            Above(
                label,
                Quantity(_PAIRS["English"](label, 10.0), "fall"),
                Quantity(Curves("second-order", "English, exact")(label, 10.0), "fall"),
                rule="greatest fall of the score in a pass: approximate above exact inference",
            )
            for label in ("DCA", "SGD")
        ],
    },
    [
        Panel(case.name, [case(own) for own in labels], "score", (0.0, 10.0))
        for case in _SHOWN
        for labels in [("DCA", "SGD", *(["SGD, averaged"] if "arcs" in case.name else []))]
    ],
    Printed(
        ("UAS, C = 10", "DCA", "SGD"),
        [
            (
                f"{name}, {kind}",
                [Quantity(curves(own, 10.0), "without punctuation") for own in ("DCA", "SGD")],
            )
            for name in TREES
            for kind, curves in (
                ("arcs", _ARCS[name]),
                ("pairs", _PAIRS[name]),
                ("heads", Curves("second-order", f"{name}, heads")),
            )
        ],
    ),
    "English (UD EWT), Spanish (CoNLL-X) and Latin (UD Perseus, 41 % of the sentences are "
    "non-projective) instead of Arabic, Danish and English. Curves are of validation scores, the "
    "table of test scores without punctuation. Pairs are in the graph of Smith and Eisner, as in "
    "the paper; *heads* has a factor for each head, as the parser of this project. C is one over "
    "that of the paper. Whether DCA performs well with pairs is judged by the accuracy after ten "
    "passes, for the language that both have.",
)

_TABLES = Curves("losses", "names"), Curves("losses", "English")
_PRINTED: tuple[tuple[float, float | str, float, float], ...] = (
    (1.0, 85.48, 0.1, 90.76),
    (10.0, 85.54, 0.01, 90.95),
    (1.0, 85.65, 0.01, 91.04),
    (1.0, 85.72, 0.01, 91.01),
    (10.0, "", 0.01, 90.94),
    (10.0, "", 0.01, 90.91),
    (1.0, 85.41, 0.1, 90.75),
)
"""The columns of Table 1: C (one over ours) and F1 of names, C and UAS of parsing."""


def _between(runs: Curves) -> list[Rule]:
    return [
        Better(f"{label} against {end}", runs(label, BEST), runs(end, BEST), True)
        for label in LOSSES
        if label not in (CRF, SVM)
        for end in (CRF, SVM)
    ]


_TABLE_1 = Section(
    "Table 1: Losses between CRF and SVM",
    {
        "Names: scores are higher for losses between CRF and SVM.": _between(_TABLES[0]),
        "Parsing: scores are higher for losses between CRF and SVM.": _between(_TABLES[1]),
        "Arc marginals by the matrix-tree theorem are numerically unstable for large beta.": [
            Above(
                f"beta = {beta}",
                Number("dca", ("precision", beta, "inverse")),
                1e-3,
                rule="error of the sum of the marginals into a word above 0.001",
            )
            for beta in ("100", "1000")
        ],
    },
    printed=Printed(
        (
            *("Loss", "C, names: paper", "here", "F1: paper", "here"),
            *("C, parsing: paper", "here", "UAS: paper", "here"),
        ),
        [
            (
                label,
                [
                    *(1 / c, Quantity(names, "c"), f1, Quantity(names, "test")),
                    *(1 / c_trees, Quantity(trees, "c")),
                    *(uas, Quantity(trees, "without punctuation")),
                ],
            )
            for label, (c, f1, c_trees, uas) in zip(LOSSES, _PRINTED, strict=True)
            for names, trees in [[runs(label, BEST) for runs in _TABLES]]
        ],
    ),
    departs="Spanish names and trees of UD English, three seeds at the best C, by the last "
    "validation score of the first. The paper's C is inverted; for names it has 10, which is not "
    "among the values that its caption lists. For the SVM, Chu-Liu-Edmonds finds the best tree "
    "instead of a linear program. Our arc marginals do without subtractions, which keeps them "
    "precise; the errors are those of the inverse of the Laplacian in float64, at beta times the "
    "scores of a trained parser. Large is a beta far above 5, up to which the paper uses the "
    "theorem.",
)

_SHARES: dict[str, Value] = {
    own.name: Quantity(own("DCA"), "negative", per_cent=True) for own in _OF_PAIRS
}
for _schedule in ("settled", "two sweeps"):
    _keys = ("ten heads", _schedule, "above one", "10")
    _SHARES[f"Latin, ten heads a word, C = 10, {_schedule}"] = Number("second-order", _keys)

_ABOVE_ONE = Claim(
    "For about 15 % of the training instances loopy belief propagation estimates a probability "
    "above one.",
    [
        Within(case, share, 15.0, ratio=2.0, name="per cent of the last pass and 15")
        for case, share in _SHARES.items()
    ],
    "footnote 17",
    "In the factor graph of Smith and Eisner loopy belief propagation estimates a probability "
    "above one for few training instances, also where words keep ten heads and it is cut off "
    "after two sweeps.",
)

_SAID: dict[str, Said] = {
    "abstract": {
        "DCA is faster to converge to an accurate model than SGD on two problems, at least when "
        "inference is exact: names here, arcs in Figure 4.": _faster(_OF_NAMES)
    },
    "footnote 17": {
        "No update is made for these instances, which explains the slower convergence.": better(
            _ENGLISH_PAIRS, ESTIMATES.label, "DCA", as_they_end=True
        )
    },
    "section 6": {
        "DCA converges to accurate models at least as fast as SGD.": _faster(
            [*_OF_NAMES, *_OF_ARCS, *_OF_PAIRS], share=1.01
        )
    },
}

PAPER = Paper(
    "martins-2010",
    "Martins et al. 2010: learning structured classifiers with dual coordinate descent",
    (_EPOCHS, _FIGURE_3, _FIGURE_4, _TABLE_1),
    [_ABOVE_ONE, *placed(_SAID)],
)
