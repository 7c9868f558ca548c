"""A log-linear classifier of digits: EG against L-BFGS, conjugate gradient and SGD, for several C.

Globerson et al. 2007, Fig. 3; Collins et al. 2008, Fig. 4-11 and Tab. 2. We differ in the data: the
10,000 MNIST test digits, 7,000 of them for training (as in 2007; 59,000 in 2008), with pixels
between 0 and 1. We draw the distance of the primal from the best lower bound, which separates
learners where the primal itself does not.
"""

from __future__ import annotations

from egparse.experiments.comparisons.c_path import path_table, trace_path
from egparse.experiments.comparisons.comparison import (
    CG,
    EG,
    LBFGS,
    RATES_NOTE,
    SGD,
    Contender,
    Plan,
    compare,
)
from egparse.experiments.data.digits import read_digits
from egparse.experiments.data.generated import classes_of_points
from egparse.experiments.data.problems import Setup, classifier
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel
from egparse.experiments.report.panels import (
    by_c,
    excess_panel,
    gap_panel,
    objective_panel,
    score_panel,
)
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import summary_table
from egparse.learners.eg.path import PathConfig

NAME = "multiclass"
IMAGES, LABELS = "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"
NEEDS = (IMAGES, LABELS)
SOURCE = "Globerson et al. 2007, Fig. 3; Collins et al. 2008, Fig. 4-11 and Tab. 2"

_CONSTANTS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
_QUICK_CONSTANTS = (10.0, 1.0)
_TRAIN, _DEV = 7000, 1500
_QUICK_TRAIN, _QUICK_DEV = 300, 150

CYCLIC = Contender("EG, cyclic", "eg-cyclic")
BATCH = Contender("EG, batch", "eg-batch")


def annealed(c: float) -> Contender:
    """C starts at 10 times its value for five passes, then is multiplied by 0.7 after each pass
    (Collins et al. 2008, section 7.1.1, for C = 1).
    """
    options = {"published": True, "anneal_from": 10.0 * c, "anneal_hold": 6, "anneal_decay": 0.7}
    return Contender("EG, annealed", "eg-online", options, only=(c,))


_MAIN, _PATH = "digits", "path"


def measure(request: Request) -> Results:
    """The comparison, and the path over C."""
    setup = _setup(request)
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    contenders = (EG, CYCLIC, BATCH, *(annealed(c) for c in constants if c <= 1.0), LBFGS, CG, SGD)
    plan = Plan(NAME, setup, contenders, constants, Budget(request.budget(100, 15)))
    found = compare(plan, request)
    path = PathConfig(c_from=max(constants), c_to=max(min(constants), 0.25), iterations=100)
    path_curves = trace_path(NAME, setup, path, request)
    notes = (
        *found.notes,
        RATES_NOTE,
        "EG starts near the correct classes (theta 5 + ln K), with a learning rate of 0.5; the "
        "test part is not used.",
    )
    return Results({_MAIN: found, _PATH: path_curves}, notes=notes, quick=request.quick)


def report(results: Results) -> Outcome:
    """Tables and figures of the papers."""
    found, path = results.comparisons[_MAIN], results.comparisons[_PATH]
    return Outcome(
        "Multi-class classification",
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
    """The figures of the papers, in their order. Those that compare variants of EG are drawn for
    C = 1, or for the least C.
    """
    n, eg = found.task.n, found.of(EG.label)
    low = 1.0 if 1.0 in found.constants else min(found.constants)
    ways = [curve for curve in found.at(low) if curve.label.startswith("EG")]
    random_or_not = [curve for curve in ways if curve.label in (EG.label, CYCLIC.label)]
    shown = [curve for curve in eg if curve.points]
    best = found.best_c(EG.label)
    others = [
        curve
        for curve in found.at(best)
        if curve.label in (EG.label, LBFGS.label, CG.label, SGD.label)
    ]
    return [
        score_panel("EG: validation error (2008, Fig. 4)", found, shown, by_c),
        objective_panel("EG: primal and dual (Fig. 5)", shown, n, by_c),
        gap_panel("EG: duality gap (Fig. 6)", shown, by_c),
        objective_panel(
            f"Random and fixed order, C = {low:g} (Fig. 7)",
            random_or_not,
            n,
            lambda curve: curve.label,
            colours=found.labels,
        ),
        gap_panel(
            f"EG's variants, C = {low:g} (Fig. 7-8)",
            ways,
            lambda curve: curve.label,
            colours=found.labels,
        ),
        score_panel(
            f"Learners at EG's best C = {best:g} (2007, Fig. 3)",
            found,
            others,
            colours=found.labels,
        ),
        *(excess_panel(found, c) for c in found.constants),
    ]


def _setup(request: Request) -> Setup:
    images, labels = request.file(IMAGES), request.file(LABELS)
    n_train, n_dev = (_QUICK_TRAIN, _QUICK_DEV) if request.quick else (_TRAIN, _DEV)
    if images is None or labels is None:
        name, (x, y) = (
            "points around the centres of classes, generated",
            classes_of_points(n_train + n_dev, request.seed),
        )
    else:
        name, (x, y) = "MNIST test digits", read_digits(images, labels)
    train, dev = slice(n_train), slice(n_train, n_train + n_dev)
    return classifier(name, (x[train], y[train]), (x[dev], y[dev]))
