"""Papers that came after the five, whose learners solve the same problems. What their abstracts say
of passes, seconds and rates is judged; their data are not here.
"""

from __future__ import annotations

from egparse.experiments.claims import Claim, Linear, NoDifference, Sooner
from egparse.experiments.quantities import Curves
from egparse.experiments.sections import Paper

_DIGITS, _NAMES = Curves("successors", "digits"), Curves("successors", "names")
_TREES, _MARGIN = Curves("successors", "trees"), Curves("successors", "max-margin trees")
_LOG_LINEAR = (
    ("digits, C = 10", _DIGITS, 10.0),
    ("digits, C = 1", _DIGITS, 1.0),
    ("names, C = 1", _NAMES, 1.0),
    ("trees, C = 10", _TREES, 10.0),
)
_SPARSE = _LOG_LINEAR[2:]
_HINGE = (("C = 100", _MARGIN, 100.0), ("C = 10", _MARGIN, 10.0))

_SCHMIDT = "Schmidt et al. 2015, abstract"


def _sooner(
    first: str,
    second: str,
    problems: tuple[tuple[str, Curves, float], ...] = _LOG_LINEAR,
    share: float = 1.0,
    goals: tuple[float, ...] = (1.0, 0.1),
    steps: str = "",
) -> tuple[Sooner, ...]:
    """By passes, to each of the goals."""
    return tuple(
        Sooner(f"{steps}{name}, {to:g} %", one(first, c), one(second, c), to, share=share)
        for name, one, c in problems
        for to in goals
    )


def _linear(label: str) -> tuple[Linear, ...]:
    return tuple(
        Linear(f"{name}, {label}", one(label, c), low=0.95, high=1.0)
        for name, one, c in _LOG_LINEAR
    )


PAPER = Paper(
    "successors",
    "Later papers",
    (),
    (
        *(
            Claim(
                "SAG with non-uniform sampling often significantly outperforms existing methods "
                f"in the training objective: here {named}.",
                _sooner("SAG", rival),
                _SCHMIDT,
            )
            for named, rival in (
                ("exponentiated gradient", "EG"),
                ("exponentiated gradient as egparse trains", "EG, egparse"),
                ("L-BFGS", "L-BFGS"),
                ("tuned stochastic gradient descent", "SGD"),
            )
        ),
        Claim(
            "Non-uniform sampling substantially improves the performance of SAG.",
            _sooner("SAG", "SAG, uniform", share=0.8),
            _SCHMIDT,
        ),
        Claim(
            "SAG converges linearly.",
            (*_linear("SAG"), *_linear("SAG, uniform")),
            _SCHMIDT,
        ),
        Claim(
            "SAG performs as well as tuned stochastic gradient methods in terms of test error.",
            tuple(
                NoDifference(name, one("SAG", c), one("SGD", c), margin=1.0)
                for name, one, c in _LOG_LINEAR
            ),
            _SCHMIDT,
        ),
        Claim(
            "Dual coordinate ascent converges linearly on smooth losses.",
            _linear("SDCA"),
            "Shalev-Shwartz and Zhang 2013, section 3",
        ),
        Claim(
            "The guarantees of dual coordinate ascent are comparable to those of stochastic "
            "gradient descent or better: here it comes near the optimum sooner.",
            _sooner("SDCA", "SGD", goals=(0.1,)),
            "Shalev-Shwartz and Zhang 2013, abstract",
        ),
        Claim(
            "Adaptive subgradient methods outperform non-adaptive ones.",
            _sooner("AdaGrad", "SGD", goals=(10.0, 1.0)),
            "Duchi et al. 2011, abstract",
        ),
        *(
            Claim(
                "Block-coordinate Frank-Wolfe outperforms competing solvers of the structured "
                f"SVM: here {named}.",
                _sooner("Frank-Wolfe", rival, _HINGE, goals=(10.0, 1.0)),
                "Lacoste-Julien et al. 2013, abstract",
            )
            for named, rival in (
                ("exponentiated gradient", "EG"),
                ("the working sets of SVM-Struct", "SVM-Struct"),
            )
        ),
        Claim(
            "Sampling examples by their gaps improves block-coordinate Frank-Wolfe.",
            (
                *_sooner("Frank-Wolfe, gaps", "Frank-Wolfe", _HINGE, goals=(10.0, 1.0)),
                *_sooner(
                    "Frank-Wolfe, pairwise, gaps",
                    "Frank-Wolfe, pairwise",
                    _HINGE,
                    goals=(10.0, 1.0),
                    steps="pairwise, ",
                ),
            ),
            "Osokin et al. 2016, section 3.1",
        ),
        Claim(
            "Pairwise steps improve block-coordinate Frank-Wolfe.",
            _sooner("Frank-Wolfe, pairwise", "Frank-Wolfe", _HINGE, goals=(10.0, 1.0)),
            "Osokin et al. 2016, section 3.2",
        ),
        Claim(
            "Dual coordinate ascent that remembers its variables is on par with the state of the "
            "art of conditional random fields, SAG: here it needs at most a quarter more passes.",
            _sooner("SDCA", "SAG", share=1.25),
            "Le Priol et al. 2018, abstract",
        ),
        Claim(
            "It improves over the state of the art where features are sparse.",
            _sooner("SDCA", "SAG", _SPARSE),
            "Le Priol et al. 2018, abstract",
        ),
        Claim(
            "Dual coordinate descent is faster than most methods for maximum entropy, here L-BFGS "
            "and TRON by CPU seconds.",
            tuple(
                Sooner(
                    f"{name}, {to:g} %, {rival}", one("dual CD", c), one(rival, c), to, "seconds"
                )
                for name, one, c in _LOG_LINEAR[:2]
                for rival in ("L-BFGS", "TRON")
                for to in (1.0, 0.1)
            ),
            "Yu et al. 2011, abstract",
        ),
    ),
    departs="Data are 7,000 of the MNIST test digits, the first 2,000 sentences of Spanish names "
    "(CoNLL-2002) and the first 400 (max-margin: 200) training sentences of the Spanish treebank. "
    "EG starts near the correct structures. SDCA has no gap sampling and keeps a bound of the "
    "entropy in place of that of cliques; SVM-Struct's working sets take 100 structures at once.",
)
