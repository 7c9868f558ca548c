"""A max-margin dependency parser: EG against cutting planes over CPU time, for several C (Collins
et al. 2008, Fig. 13).

We differ in the treebank, templates and split, which are those of the parsing experiment; in the
cutting planes, which are ours instead of SVM-Struct; and in the unit of time, seconds. Only
learning is timed, without certificates and scores, and after all kernels have been compiled.
"""

from __future__ import annotations

import math

from egparse.experiments.comparisons import comparison
from egparse.experiments.comparisons.comparison import (
    EG,
    SECONDS,
    Comparison,
    Contender,
    Plan,
    compare,
)
from egparse.experiments.comparisons.parsing_curves import BITS, QUICK_BITS, QUICK_SENTENCES
from egparse.experiments.data.problems import parser
from egparse.experiments.data.samples import SPANISH_TREES, sample
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel
from egparse.experiments.report.record import Curve
from egparse.experiments.report.request import Request

NAME = "max-margin"
SOURCE = "Collins et al. 2008, Fig. 13"

CUTTING_PLANE = Contender("cutting plane", "cutting-plane")

_CONTENDERS = (EG, CUTTING_PLANE)
_LOSS = (math.inf, 1.0)
_CONSTANTS = (1000.0, 100.0, 10.0, 1.0)
_QUICK_CONSTANTS = (100.0, 10.0)
_SECONDS, _QUICK_SECONDS = 120.0, 2.0


def run(request: Request) -> Outcome:
    """The comparison."""
    found = sample(request, SPANISH_TREES, QUICK_SENTENCES)
    bits = QUICK_BITS if request.quick else BITS
    setup = parser(found, trees="projective", bits=bits)
    budget = Budget(request.budget(1000, 40), _QUICK_SECONDS if request.quick else _SECONDS, 1e-4)
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    compared = compare(Plan(NAME, setup, _CONTENDERS, constants, budget, _LOSS), request)
    table = comparison.summary_table("Learners", compared)
    notes = (
        *compared.notes,
        "The steps of EG and of cutting planes differ in cost, so the curves are over CPU time.",
    )
    return Outcome(
        "Dependency parsing, max-margin",
        SOURCE,
        setup.facts,
        compared.curves,
        [table],
        panels(compared),
        notes,
    )


def panels(found: Comparison) -> list[Panel]:
    """Primal and dual for each C; the primal's distance from the best bound; validation
    accuracy.
    """
    scored = [
        curve
        for label in found.labels
        for curve in found.of(label)
        if label != EG.label or curve.c == found.best_c(label)
    ]

    def name(curve: Curve) -> str:
        return f"{curve.label}, C = {curve.c:g}"

    return [
        *(
            comparison.objective_panel(
                f"Primal and dual, C = {c:g}",
                found.at(c),
                found.setup.n,
                lambda curve: curve.label,
                x=SECONDS,
                unit="cost",
            )._replace(log_x=True)
            for c in found.constants
        ),
        *(
            comparison.excess_panel(found, c, x=SECONDS)._replace(log_x=True)
            for c in found.constants
        ),
        comparison.score_panel(
            "EG at its best C, and the cutting plane", found, scored, name, x=SECONDS
        )._replace(log_x=True),
    ]
