"""A log-linear dependency parser: EG against L-BFGS and SGD, for several C.

Globerson et al. 2007, Fig. 4; Collins et al. 2008, Fig. 12 and Tab. 3. We differ in the treebank,
the Spanish one of CoNLL-2007 instead of 2006, with its first 2,306 sentences for training and the
other 643 for validation; in the arc templates, which are this project's, hashed; and we draw the
distance of the primal from the best lower bound. As in the papers, all pairs of words are arcs.
"""

from __future__ import annotations

from egparse.experiments.comparisons.c_path import path_table, trace_path
from egparse.experiments.comparisons.comparison import (
    CG,
    EG,
    LBFGS,
    RATES_NOTE,
    SGD,
    Plan,
    compare,
)
from egparse.experiments.data.problems import parser
from egparse.experiments.data.samples import SPANISH_TREES, files_of, sample
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel
from egparse.experiments.report.panels import (
    by_c,
    excess_panel,
    gap_panel,
    objective_panel,
    score_panel,
)
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import summary_table
from egparse.learners.eg.path import PathConfig

NAME = "parsing"
NEEDS = files_of(SPANISH_TREES)
SOURCE = "Globerson et al. 2007, Fig. 4; Collins et al. 2008, Fig. 12 and Tab. 3"

_CONSTANTS = (1000.0, 100.0, 10.0, 1.0)
_QUICK_CONSTANTS = (10.0, 1.0)
QUICK_SENTENCES = (80, 40)
BITS, QUICK_BITS = 20, 14


_MAIN, _PATH = "trees", "path"


def measure(request: Request) -> Results:
    """The comparison, and the path over C."""
    setup = parser(
        sample(request, SPANISH_TREES, QUICK_SENTENCES),
        trees="projective",
        bits=QUICK_BITS if request.quick else BITS,
    )
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    contenders = (EG, LBFGS, SGD) if request.quick else (EG, LBFGS, CG, SGD)
    found = compare(
        Plan(NAME, setup, contenders, constants, Budget(request.budget(40, 10))), request
    )
    path = PathConfig(
        c_from=max(constants), c_to=min(constants), decay=0.5 if request.quick else 0.7
    )
    path_curves = trace_path(NAME, setup, path, request)
    return Results(
        {_MAIN: found, _PATH: path_curves},
        notes=(*found.notes, RATES_NOTE),
        quick=request.quick,
    )


def report(results: Results) -> Outcome:
    """Tables and figures of the papers."""
    found, path = results.comparisons[_MAIN], results.comparisons[_PATH]
    return Outcome(
        "Dependency parsing, log-linear",
        SOURCE,
        found.task.facts,
        (),
        [
            summary_table("Learners", found),
            path_table("A path over C, each started from the last", path),
        ],
        panels(found.first_seed),
        results.notes,
    )


def panels(found: Comparison) -> list[Panel]:
    """The primal for each C, then validation accuracy: EG at its best C against each other learner
    at every C.
    """
    eg = [curve for curve in found.of(EG.label) if curve.c == found.best_c(EG.label)]

    def name(curve: Curve) -> str:
        return f"{curve.label}, C = {curve.c:g}"

    rivals = [label for label in found.labels if label != EG.label]
    return [
        *(excess_panel(found, c) for c in found.constants),
        gap_panel("EG: duality gap", found.of(EG.label), by_c),
        objective_panel("EG: primal and dual", found.of(EG.label), found.task.n, by_c),
        *(
            score_panel(f"EG at its best C, and {label}", found, [*eg, *found.of(label)], name)
            for label in rivals
        ),
    ]
