"""The dependency parsers of Globerson et al. 2007: Figure 4."""

from __future__ import annotations

from collections.abc import Sequence

from egparse.experiments.claims import Above, Claim, Within
from egparse.experiments.plans.parsing import RATES_2007, SLOVENE, eg_2007
from egparse.experiments.quantities import Combined, Curves, Quantity
from egparse.experiments.sections import Panel, Printed, Section

_RUNS = Curves("parsing", "2007")
_CONSTANTS = (1000.0, 100.0, 10.0, 1.0)
_LABELS = tuple(eg_2007(rate, start).label for start in ("gold", "uniform") for rate in RATES_2007)
_BEST = _LABELS[1]  # near gold, first rate 0.1
_RIVALS = ("L-BFGS", "CG")
_SCORE = 78.0  # per cent of heads


_GOALS = (10.0, 1.0, 0.1)
_AT_BEST = "at its best rate and start"


def _least(labels: Sequence[str], c: float, what: str, to: float = 1.0) -> Combined:
    return Combined("least", tuple(Quantity(_RUNS(label, c), what, to) for label in labels))


TREE_SECTIONS: tuple[Section, ...] = (
    Section(
        "Figure 4",
        "Parsers: EG, L-BFGS and CG",
        "On dependency parsing, EG converges faster than CG and L-BFGS, in objective and error; "
        "its primal and dual meet.",
        (
            Claim(
                "The primal of EG converges faster than those of L-BFGS and CG.",
                tuple(
                    Above(
                        f"C = {c:g}, to {to:g} %",
                        _least(_RIVALS, c, "passes", to),
                        _least(_LABELS, c, "passes", to),
                        name=f"passes: the faster rival more than EG {_AT_BEST}",
                    )
                    for to in _GOALS
                    for c in _CONSTANTS
                ),
            ),
            Claim(
                "So does the accuracy.",
                tuple(
                    Above(
                        f"C = {c:g}",
                        _least(_RIVALS, c, "passes to score", _SCORE),
                        _least(_LABELS, c, "passes to score", _SCORE),
                        name=f"passes to {_SCORE:g} %: the faster rival more than EG {_AT_BEST}",
                    )
                    for c in _CONSTANTS[1:]
                ),
            ),
            Claim(
                "Primal and dual of EG converge to the same value.",
                tuple(
                    Within(
                        f"C = {c:g}",
                        _least(_LABELS, c, "gap"),
                        0.0,
                        1.0,
                        name="the least gap at the end (%) and 0",
                    )
                    for c in _CONSTANTS
                ),
            ),
        ),
        (
            *(
                Panel(
                    f"Primal, C = {c:g}",
                    tuple(_RUNS(label, c) for label in (*_LABELS[:4], *_RIVALS)),
                    "excess",
                )
                for c in _CONSTANTS
            ),
            Panel("EG near gold, rate 0.1: primal and dual", (_RUNS(_BEST, 10.0),), "objective"),
            Panel(
                "Accuracy, C = 10",
                tuple(_RUNS(label, 10.0) for label in (*_LABELS[:4], *_RIVALS)),
                "score",
            ),
        ),
        Printed(
            (
                "Passes of",
                *(f"C = {c:g}, to {to:g} %" for c in _CONSTANTS for to in _GOALS),
            ),
            tuple(
                (
                    label,
                    tuple(
                        Quantity(_RUNS(label, c), "passes", to) for c in _CONSTANTS for to in _GOALS
                    ),
                )
                for label in (*_LABELS, "EG", *_RIVALS)
            ),
            ".3g",
        ),
        f"Other data: {SLOVENE[0]:,} Spanish sentences of CoNLL-X in place of as many Slovene "
        f"ones, and {SLOVENE[1]} for validation. The paper gives neither the first learning rate "
        "nor the start of EG, nor C, which it chose on the validation part: we try three rates "
        "from two starts at four values of C, and judge at the best of them for each goal. The row "
        "EG is the algorithm of 2008.",
    ),
)

TREE_FURTHER: tuple[Claim, ...] = ()
