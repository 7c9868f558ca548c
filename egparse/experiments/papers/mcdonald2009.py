"""McDonald 2009, "Generalized linear classifiers in NLP": lectures. They have no figures of
experiments; what is said of learners and can fail is tested on data of ours, what is proved is
tested elsewhere. Places are titles of slides.
"""

from __future__ import annotations

from egparse.experiments.claims import Above, Better, Claim, Linear, NoDifference, Sooner, Within
from egparse.experiments.plans.lectures import NO_SLACK, SIZES
from egparse.experiments.quantities import BEST, Curves, Number, Quantity
from egparse.experiments.sections import Paper, Printed, Section

_PROBLEMS = {name: Curves("lectures", name) for name in ("digits", "names", "trees")}
_DIGITS, _NAMES = _PROBLEMS["digits"], _PROBLEMS["names"]
_ALONE = Curves("lectures", "words alone")
_SEPARABLE = {n: Curves("lectures", f"{n} digits") for n in SIZES}
_MOST = SIZES[-1]
_LOW = {"digits": 10.0, "names": 1.0, "trees": 10.0}
"""The lower C of the log-linear model of each problem."""

_ERROR_ASIDE = "Aside: Min error versus max log-likelihood"
_PRINTED = {
    "(-1, 0, 1, 0)": {"log-likelihood": -126.9, "errors": 0.0},
    "(-1, 7, 1, 0)": {"log-likelihood": -1.4, "errors": 1.0},
}


def _margin(label: str, n: int) -> Quantity:
    return Quantity(_SEPARABLE[n](label, NO_SLACK), "margin")


def _wider(first: str, second: str, factor: float) -> tuple[Above, ...]:
    name = f"the margin of {first} more than {factor:g} times that of {second}"
    return tuple(
        Above(f"{n} digits", _margin(first, n), _margin(second, n), factor, name) for n in SIZES
    )


def _of_training(label: str, name: str, c: float) -> Quantity:
    return Quantity(_PROBLEMS[name](label, c), "training error")


PAPER = Paper(
    "mcdonald-2009",
    "McDonald 2009: linear classifiers and structured prediction, lectures",
    (
        Section(
            _ERROR_ASIDE,
            "1,001 points",
            "Of two weight vectors, the one with the better log-likelihood has the worse error.",
            (
                Claim(
                    "w = (-1, 0, 1, 0) makes no error and has log-likelihood -126.9; w = (-1, 7, "
                    "1, 0) makes one and has -1.4.",
                    tuple(
                        Within(
                            f"w = {w}, {what}",
                            Number("lectures", ("1,001 points", w, what)),
                            value,
                            difference=0.05,
                            name="computed and printed value",
                        )
                        for w, row in _PRINTED.items()
                        for what, value in row.items()
                    ),
                ),
            ),
            printed=Printed(
                ("w", "log-likelihood, slide", "here", "errors, slide", "here"),
                tuple(
                    (
                        w,
                        tuple(
                            value
                            for what, printed in row.items()
                            for value in (printed, Number("lectures", ("1,001 points", w, what)))
                        ),
                    )
                    for w, row in _PRINTED.items()
                ),
            ),
            departs="The slide prints the correct features on both sides of one inequality; its "
            "-1 is the score of the wrong label.",
        ),
    ),
    (
        Claim(
            "The perceptron finds weights that separate the data, but does not pick those of the "
            "greatest margin.",
            _wider("SVM", "perceptron", 2.0),
            "Maximizing Margin",
        ),
        Claim(
            "The error on new data is proportional to R² / (γ² |T|).",
            (
                Linear(
                    f"SVM without slack, {SIZES[0]} to {_MOST} digits",
                    tuple(
                        (
                            Quantity(one("SVM", NO_SLACK), "R² / γ² n"),
                            Quantity(one("SVM", NO_SLACK), "score"),
                        )
                        for one in _SEPARABLE.values()
                    ),
                    name="the error as R² / (γ² |T|)",
                ),
            ),
            "Maximizing Margin",
            finding="The error on new data is not proportional to the bound R² / (γ² |T|) of "
            "classifiers without slack.",
        ),
        Claim(
            "Maximising the margin makes sense for new data: SVM and MIRA generalise better than "
            "the perceptron.",
            tuple(
                Better(
                    f"{name}, {label}", one(label, c), one("perceptron", NO_SLACK), as_they_end=True
                )
                for name, one in _PROBLEMS.items()
                for label, c in (("SVM", BEST), ("MIRA", NO_SLACK))
            ),
            "Maximizing Margin",
        ),
        Claim(
            "MIRA can be thought of as a max-margin perceptron: its margin is wider than the "
            "perceptron's.",
            _wider("MIRA", "perceptron", 2.0),
            "Margin Infused Relaxed Algorithm (MIRA)",
        ),
        Claim(
            "The cost of MIRA's small programs is a sub-optimal optimisation: its margin is not "
            "the greatest.",
            _wider("SVM", "MIRA", 1.01),
            "MIRA",
        ),
        Claim(
            "An SVM without slack classifies all training examples of separable data correctly; "
            "one with slack lets some be classified wrongly, for a wider margin on others.",
            (
                Within(
                    f"{_MOST} digits, C = {NO_SLACK:g}",
                    Quantity(_SEPARABLE[_MOST]("SVM", NO_SLACK), "training error"),
                    0.0,
                    name="the training error and 0",
                ),
                Above(
                    f"{_MOST} digits, C = 100",
                    Quantity(_SEPARABLE[_MOST]("SVM", 100.0), "training error"),
                    0.0,
                    name="the training error above 0",
                ),
            ),
            _ERROR_ASIDE,
        ),
        Claim(
            "The greatest likelihood is not the least error: even at the cost of mislabelling "
            "examples, it gives probability to the correct labels of others.",
            tuple(
                Above(
                    f"{name}, C = {c:g}",
                    _of_training("log-linear", name, c),
                    _of_training("SVM", name, c),
                    name="the training error of the log-linear model above that of the SVM",
                )
                for name, c in (
                    ("digits", 100.0),
                    ("digits", 10.0),
                    ("names", 10.0),
                    ("trees", 100.0),
                )
            ),
            _ERROR_ASIDE,
        ),
        Claim(
            "Maximum likelihood and minimum error, here by the SVM, are highly related.",
            tuple(
                NoDifference(
                    f"{name}, best C", one("log-linear", BEST), one("SVM", BEST), margin=1.0
                )
                for name, one in _PROBLEMS.items()
            ),
            _ERROR_ASIDE,
        ),
        Claim(
            "There is one global maximum of the likelihood, which conjugate gradients and L-BFGS "
            "find.",
            tuple(
                Within(
                    f"{name}, C = {_LOW[name]:g}, {label}",
                    Quantity(one(label, _LOW[name]), "primal"),
                    Quantity(one("log-linear", _LOW[name]), "primal"),
                    ratio=1.001,
                    name="objective at the end, and that of EG, whose gap is known,",
                )
                for name, one in _PROBLEMS.items()
                for label in ("L-BFGS", "CG")
            ),
            "Logistic Regression",
        ),
        Claim(
            "Stochastic gradient descent is fast in practice.",
            tuple(
                Sooner(
                    f"{name}, C = {_LOW[name]:g}",
                    one("SGD", _LOW[name]),
                    one("L-BFGS", _LOW[name]),
                    to=10.0,
                )
                for name, one in _PROBLEMS.items()
            ),
            "Online Logistic Regression??",
        ),
        Claim(
            "Stochastic gradient descent is guaranteed to converge.",
            tuple(
                Within(
                    f"{name}, C = {_LOW[name]:g}",
                    Quantity(one("SGD", _LOW[name]), "excess"),
                    0.0,
                    difference=1.0,
                    name="its end after at most 500 passes, and the optimum, in per cent,",
                )
                for name, one in _PROBLEMS.items()
            ),
            "Online Logistic Regression??",
        ),
        Claim(
            "A sequence is not a set of multi-class predictions: neighbouring tags interact.",
            (
                *(
                    Better(f"{label}, best C", _NAMES(label, BEST), _ALONE(label, BEST))
                    for label in ("log-linear", "SVM")
                ),
                Better(
                    "perceptron",
                    _NAMES("perceptron", NO_SLACK),
                    _ALONE("perceptron", NO_SLACK),
                    as_they_end=True,
                ),
            ),
            "Sequence Labeling - Output Interaction",
        ),
    ),
    departs="The lectures have no data. Here they are 50 to 4,000 of the MNIST test digits, the "
    "first 2,000 sentences of Spanish names (CoNLL-2002) and the first 400 Spanish trees "
    "(CoNLL-X). The hard margin is that of C = 0.1, and MIRA uses the ten worst constraints of "
    "an example. Kernels, grammars and training on several machines are left out, and so is what "
    "the slides prove.",
)
