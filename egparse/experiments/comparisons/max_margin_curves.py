"""A max-margin dependency parser: EG against cutting planes over CPU time, for several C (Collins
et al. 2008, Fig. 13).

We differ in the treebank, templates and split, which are those of the parsing experiment; in the
cutting planes, which are ours instead of SVM-Struct; and in the unit of time, seconds. Only
learning is timed, without certificates and scores, and after all kernels have been compiled.
"""

from __future__ import annotations

import math

from egparse.experiments.comparisons.comparison import EG, Contender, Plan, compare
from egparse.experiments.comparisons.parsing_curves import BITS, QUICK_BITS, QUICK_SENTENCES
from egparse.experiments.data.problems import parser
from egparse.experiments.data.samples import SPANISH_TREES, files_of, sample
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel
from egparse.experiments.report.panels import (
    SECONDS,
    excess_panel,
    objective_panel,
    score_panel,
)
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import summary_table

NAME = "max-margin"
NEEDS = files_of(SPANISH_TREES)
SOURCE = "Collins et al. 2008, Fig. 13"

CUTTING_PLANE = Contender("cutting plane", "cutting-plane")

_CONTENDERS = (EG, CUTTING_PLANE)
_LOSS = (math.inf, 1.0)
_CONSTANTS = (1000.0, 100.0, 10.0, 1.0)
_QUICK_CONSTANTS = (100.0, 10.0)
_SECONDS, _QUICK_SECONDS = 120.0, 2.0


_MAIN = "trees"


def measure(request: Request) -> Results:
    """The comparison."""
    found = sample(request, SPANISH_TREES, QUICK_SENTENCES)
    bits = QUICK_BITS if request.quick else BITS
    setup = parser(found, trees="projective", bits=bits)
    budget = Budget(request.budget(1000, 40), request.seconds_of(_SECONDS, _QUICK_SECONDS), 1e-4)
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    compared = compare(Plan(NAME, setup, _CONTENDERS, constants, budget, _LOSS), request)
    notes = (
        *compared.notes,
        "The steps of EG and of cutting planes differ in cost, so the curves are over CPU time.",
    )
    return Results({_MAIN: compared}, notes=notes, quick=request.quick)


def report(results: Results) -> Outcome:
    """The table and the figure of the paper."""
    found = results.comparisons[_MAIN]
    return Outcome(
        "Dependency parsing, max-margin",
        SOURCE,
        found.task.facts,
        (),
        [summary_table("Learners", found)],
        panels(found.first_seed),
        results.notes,
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
            objective_panel(
                f"Primal and dual, C = {c:g}",
                found.at(c),
                found.task.n,
                lambda curve: curve.label,
                x=SECONDS,
                unit="cost",
            )._replace(log_x=True)
            for c in found.constants
        ),
        *(excess_panel(found, c, x=SECONDS)._replace(log_x=True) for c in found.constants),
        score_panel(
            "EG at its best C, and the cutting plane", found, scored, name, x=SECONDS
        )._replace(log_x=True),
    ]
