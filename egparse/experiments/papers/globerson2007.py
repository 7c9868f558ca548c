"""Globerson, Koo, Carreras and Collins 2007, "Exponentiated gradient algorithms for log-linear
structured prediction": digits here, trees in ``globerson2007_trees``.
"""

from __future__ import annotations

from collections.abc import Sequence

from egparse.experiments.claims import Above, Claim, Rule
from egparse.experiments.papers.globerson2007_trees import TREE_FURTHER, TREE_SECTIONS
from egparse.experiments.plans.bounds import LOSSES, SIZES
from egparse.experiments.plans.multiclass import ETAS, OF_2007
from egparse.experiments.quantities import Combined, Curves, Number, Quantity
from egparse.experiments.sections import Height, Panel, Paper, Section

_RUN = Curves("multiclass", "2007")
_EG = [f"EG 2007, {eta:g}" for eta in ETAS]
_UNIFORM = [f"{label}, uniform start" for label in _EG]
_RIVALS = ("L-BFGS", "CG")


def _least(what: str, c: float, to: float = 1.0) -> Combined:
    """The least of any eta_0, as the paper does not tell which it has."""
    return Combined("least", [Quantity(_RUN(label, c), what, to) for label in _EG])


def _before(what: str, to: float, factor: float, name: str) -> list[Rule]:
    """EG at its best eta_0 needs fewer passes than its rivals, by a factor."""
    return [
        Above(
            f"{rival}, C = {c:g}",
            Quantity(_RUN(rival, c), what, to),
            _least(what, c, to),
            factor,
            f"{name}: rival > {factor:g} times EG at its best η₀",
        )
        for rival in _RIVALS
        for c in OF_2007
    ]


_SHOWN = (*_EG[:2], *_RIVALS)
_PANELS: tuple[tuple[str, Height, Sequence[str], float, Sequence[tuple[float, float]]], ...] = (
    ("Primal", "objective", _SHOWN, 60, [(0, 1.0), (0, 0.8), (0, 0.6)]),
    ("Error", "score", _SHOWN, 60, [(8, 14)] * 3),
    ("All η₀ and starts", "excess", (*_EG, *_UNIFORM, *_RIVALS, "EG"), 150, [(0.01, 300)] * 3),
)

_FIGURE_3 = Section(
    "Figure 3",
    "EG, conjugate gradient and L-BFGS on digits",
    "The primal of EG converges considerably faster than those of conjugate gradient and L-BFGS, "
    "and so does its error; primal and dual of EG converge to the same value.",
    [
        Claim(
            "The primal of EG converges considerably faster than those of CG and L-BFGS.",
            _before("passes", 1.0, 1.25, "passes to 1 %"),
        ),
        Claim(
            "The primal of EG decreases much faster in early iterations than those of CG and "
            "L-BFGS.",
            _before("passes", 10.0, 2.0, "passes to 10 %"),
        ),
        Claim(
            "The validation error of EG converges considerably faster, too.",
            _before("settled", 0.3, 1.25, "passes until the error stays within 0.3 points"),
        ),
        Claim(
            "Primal and dual of EG converge to the same value.",
            [
                Above(f"C = {c:g}", 1.0, _least("gap", c), name="last gap below 1 % at its best η₀")
                for c in OF_2007
            ],
        ),
    ],
    [
        Panel(
            f"{title}, C = {c:g}", runs, y, x_range=(0, most), y_range=limits, primal_alone=_RIVALS
        )
        for title, y, labels, most, each in _PANELS
        for c, limits in zip(OF_2007, each, strict=True)
        for runs in [[_RUN(label, c) for label in labels]]
    ],
    departs="The paper gives neither its η₀ nor its C, which it chose on the development set: EG, "
    "started near the correct classes, is judged at the best of three η₀ and at three values of C "
    "around the best one. We have the 10,000 test digits of MNIST, of which 7,000 are for "
    "training, as there; *EG* is the algorithm of 2008.",
)

_FURTHER = [
    Claim(
        "It is beneficial to use an adaptive learning rate.",
        [
            Above(
                f"C = {c:g}",
                Quantity(_RUN("EG 2007, fixed rate", c), "passes"),
                _least("passes", c),
                name="passes to 1 %: proven fixed rate > restarted and halved, at the best η₀",
            )
            for c in OF_2007[:2]
        ],
        "section 7",
    ),
    Claim(
        "To get within ε of the optimum the batch algorithm needs O(1/(ηε)) iterations.",
        [
            Above(
                f"{loss}, n = {n}",
                Number("multiclass", ("table 1", loss, str(n), "batch, bound of 2007")),
                Number("multiclass", ("table 1", loss, str(n), "batch")),
                name="passes to 1 % of the dual: D / (ηε) > needed",
            )
            for loss in LOSSES
            for n in SIZES
        ],
        "sections 4.4 and 4.5",
    ),
]

PAPER = Paper(
    "globerson-2007",
    "Globerson et al. 2007: exponentiated gradient for log-linear structured prediction",
    [_FIGURE_3, *TREE_SECTIONS],
    [*_FURTHER, *TREE_FURTHER],
    "The algorithm visits the examples in the order of the corpus, and each visit begins with the "
    "learning rate η₀ again, which is halved until the dual rises.",
)
"""Digits and trees."""
