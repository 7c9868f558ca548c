"""McDonald 2009, "Generalized linear classifiers in NLP": lectures. They have no figures of
experiments; what is said of learners and can fail is tested on data of ours, what is proved is
tested elsewhere. Places are titles of slides.
"""

from __future__ import annotations

from egparse.experiments.cases import Case, above, alike, at, better, more, of, sooner, within
from egparse.experiments.claims import Better, Linear, Rule, Said, Within, placed
from egparse.experiments.plans.lectures import NO_SLACK, SIZES
from egparse.experiments.quantities import BEST, Curves, Number, Quantity
from egparse.experiments.sections import Paper, Printed, Section

_PROBLEMS = {name: Curves("lectures", name) for name in ("digits", "names", "trees")}
_BESTS = [Case(f"{name}, best C", curves, BEST) for name, curves in _PROBLEMS.items()]
_ALONE = Curves("lectures", "words alone")
_HARD = [Case(name, curves, NO_SLACK) for name, curves in _PROBLEMS.items()]
_SEPARABLE = [Case(f"{n} digits", Curves("lectures", f"{n} digits"), NO_SLACK) for n in SIZES]
_LOG_LINEAR = [
    case
    for name, c in (("digits", 10.0), ("names", 1.0), ("trees", 10.0))
    for case in at(_PROBLEMS[name], c, name=name)
]
"""The lower C of the log-linear model of each problem."""

_SHARED = [
    case
    for name, constants in (("digits", (100.0, 10.0)), ("names", (10.0,)), ("trees", (100.0,)))
    for case in at(_PROBLEMS[name], *constants, name=name)
]
"""Values of C of both models."""

_PRINTED = (
    ("(-1, 0, 1, 0)", "log-likelihood", -126.9),
    ("(-1, 0, 1, 0)", "errors", 0.0),
    ("(-1, 7, 1, 0)", "log-likelihood", -1.4),
    ("(-1, 7, 1, 0)", "errors", 1.0),
)


def _computed(w: str, what: str) -> Number:
    return Number("lectures", ("1,001 points", w, what))


def _wider(first: str, second: str, factor: float) -> list[Rule]:
    name = f"the margin of {first} more than {factor:g} times that of {second}"
    return more(name, _SEPARABLE, "margin", first, second, factor)


_SECTION = Section(
    "Min error versus max log-likelihood: 1,001 points",
    {
        "w = (-1, 0, 1, 0) makes no error and has log-likelihood -126.9; w = (-1, 7, 1, 0) makes "
        "one and has -1.4.": [
            Within(f"w = {w}, {what}", _computed(w, what), printed, 0.05, name="here and printed")
            for w, what, printed in _PRINTED
        ]
    },
    printed=Printed(
        ("w", "", "slide", "here"),
        [(w, [what, printed, _computed(w, what)]) for w, what, printed in _PRINTED],
    ),
    says="Of two weight vectors, the one with the better log-likelihood has the worse error.",
    departs="The slide prints the correct features on both sides of one inequality; its -1 is the "
    "score of the wrong label.",
)

_SLIDES: dict[str, Said] = {
    "Maximizing Margin": {
        "The perceptron finds weights that separate the data, but does not pick those of the "
        "greatest margin.": [
            *above(
                "the margin of the perceptron above 0", _SEPARABLE, of("perceptron", "margin"), 0.0
            ),
            *_wider("SVM", "perceptron", 2.0),
        ],
        "The error on unseen data is proportional to the inverse of the margin, R² / (γ² |T|).": [
            Linear(
                f"SVM without slack, {SIZES[0]} to {SIZES[-1]} digits",
                [
                    (Quantity(own("SVM"), "R² / γ² n"), Quantity(own("SVM"), "score"))
                    for own in _SEPARABLE
                ],
                name="the error as R² / (γ² |T|)",
            )
        ],
        "Maximising the margin makes sense for new data: SVM and MIRA generalise better than the "
        "perceptron.": [
            *(
                Better(f"{own.name}, SVM", own("SVM"), hard("perceptron"), as_they_end=True)
                for own, hard in zip(_BESTS, _HARD, strict=True)
            ),
            *better(_HARD, "MIRA", "perceptron", as_they_end=True),
        ],
    },
    "Margin Infused Relaxed Algorithm (MIRA)": {
        "MIRA can be thought of as a max-margin perceptron: its margin is wider than the "
        "perceptron's.": _wider("MIRA", "perceptron", 2.0),
        "The cost of MIRA's small programs is a sub-optimal optimisation: its margin is not the "
        "greatest.": _wider("SVM", "MIRA", 1.01),
    },
    "Min error versus max log-likelihood": {
        "The greatest likelihood is not the least error: even at the cost of mislabelling a few "
        "examples, it gives probability to the correct labels of others.": more(
            "the training error of the log-linear model above that of the SVM",
            *(_SHARED, "training error", "log-linear", "SVM"),
        ),
        "Maximum likelihood and minimum error, here by the SVM, are highly related.": alike(
            _BESTS, "log-linear", "SVM", 1.0
        ),
    },
    "Logistic Regression": {
        "There is one global maximum of the likelihood, which conjugate gradients and limited-"
        "memory quasi-Newton methods find.": [
            rule
            for label in ("L-BFGS", "CG")
            for rule in within(
                f"last objectives of {label}, and of EG, whose gap is known,",
                *(_LOG_LINEAR, of(label, "primal"), of("log-linear", "primal")),
                ratio=1.001,
            )
        ],
    },
    "Online Logistic Regression??": {
        "Stochastic gradient descent is fast in practice.": sooner(
            _LOG_LINEAR, "SGD", "L-BFGS", 10.0
        ),
        "Stochastic gradient descent is guaranteed to converge.": within(
            "its end after at most 500 passes, and the optimum, in per cent,",
            *(_LOG_LINEAR, of("SGD", "excess"), 0.0, 1.0),
        ),
    },
    "Sequence Labeling - Output Interaction": {
        "A sequence is not a set of multi-class predictions: neighbouring tags interact.": [
            Better(label, _PROBLEMS["names"](label, c), _ALONE(label, c), as_they_end=c != BEST)
            for label, c in (("log-linear", BEST), ("SVM", BEST), ("perceptron", NO_SLACK))
        ]
    },
}

PAPER = Paper(
    "mcdonald-2009",
    "McDonald 2009: linear classifiers and structured prediction, lectures",
    [_SECTION],
    placed(_SLIDES),
    departs="The lectures have no data. Here they are 50 to 4,000 of the MNIST test digits, the "
    "first 2,000 sentences of Spanish names (CoNLL-2002) and the first 400 Spanish trees "
    "(CoNLL-X). The hard margin is that of C = 0.1, and MIRA uses the ten worst constraints of an "
    "example. Kernels, grammars and training on several machines are left out, and so is what the "
    "slides prove, such as the bound on the error of which the slide makes a proportion.",
)
