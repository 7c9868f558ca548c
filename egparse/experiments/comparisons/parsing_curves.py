"""A log-linear dependency parser: EG against L-BFGS, conjugate gradient and SGD, for several C.

Globerson et al. 2007, Fig. 4; Collins et al. 2008, Fig. 12 and Tab. 3. We differ in the treebank,
Cast3LB as NLTK packs it, instead of the Spanish part of CoNLL-X, with its first 2,306 sentences for
training and the other 643 for validation; in the arc templates, which are this project's, hashed;
and we draw the distance of the primal from the best lower bound. As in the papers, all pairs of
words are arcs. Sentences whose tree is not projective are not trained on: no projective tree has a
loss of 0 there.

The algorithm of 2007 is compared on as many sentences as the Slovene treebank of that paper has:
1,034 for training, 200 for validation; so are first learning rates of SGD.
"""

from __future__ import annotations

from dataclasses import replace

from egparse.experiments.claims.parsing import (
    AS_2007,
    MAIN,
    PATH,
    PERMUTED_PATH,
    RATES,
    SEEDS,
    claims,
)
from egparse.experiments.comparisons.c_path import path_table, trace_path
from egparse.experiments.comparisons.comparison import (
    CG,
    EG,
    EG_2007,
    EG_OWN,
    EG_PERMUTED,
    LBFGS,
    RATES_NOTE,
    SGD,
    Contender,
    Plan,
    compare,
)
from egparse.experiments.data.problems import Setup, parser
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

QUICK_SENTENCES = (80, 40)
BITS, QUICK_BITS = 20, 14

_CONSTANTS = (1000.0, 100.0, 10.0, 1.0)
_QUICK_CONSTANTS = (10.0, 1.0)
_LOW = (10.0, 1.0)
_SLOVENE = (1034, 200)  # sentences for training and validation in 2007
_PASSES, _QUICK_PASSES = 60, 10
_SECONDS, _QUICK_SECONDS = 35.0, 0.5  # of CPU time, the same for every learner
_SEEDS = 3
_GAP = 1e-5


def _at_rate(eta0: float) -> Contender:
    return Contender(f"SGD, rate {eta0:g}", "sgd", {"eta0": eta0})


def measure(request: Request) -> Results:
    """The comparison, the path over C, seeds, and the smaller treebank."""
    setup = _setup(request)
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    budget = Budget(
        request.budget(_PASSES, _QUICK_PASSES),
        request.seconds_of(_SECONDS, _QUICK_SECONDS),
        _GAP,
    )
    low = tuple(c for c in constants if c in _LOW)
    own = (EG_OWN._replace(only=low),) if low else ()
    contenders = (EG, EG_PERMUTED, *own, LBFGS, CG, SGD)
    found = compare(Plan(NAME, setup, contenders, constants, budget), request)
    path = PathConfig(
        c_from=max(constants),
        c_to=min(constants),
        decay=0.5 if request.quick else 0.7,
        rates="restarted",
        gap_of="primal",
    )
    scaled = replace(path, rates="scaled")
    best = found.best_c(EG.label)
    few = budget._replace(effective_iterations=min(12, budget.effective_iterations))
    seeds = compare(
        Plan(NAME, setup, (EG, SGD, LBFGS), (best,), few, seeds=request.seeds_of(_SEEDS)), request
    )
    small = _setup(request, *_SLOVENE)
    as_2007 = compare(Plan(NAME, small, (EG_2007, EG, LBFGS, CG), constants, budget), request)
    rates = tuple(_at_rate(eta0) for eta0 in (10.0, 1.0, 0.1, 0.01))
    longer = budget._replace(effective_iterations=min(30, budget.effective_iterations))
    rated = compare(Plan(NAME, small, (EG, *rates), _LOW, longer), request)
    comparisons = {
        MAIN: found,
        SEEDS: seeds,
        AS_2007: as_2007,
        RATES: rated,
        PATH: trace_path(NAME, setup, path, request, {"start": "gold"}),
        PERMUTED_PATH: trace_path(
            NAME, setup, scaled, request, {"start": "gold", "order": "random"}
        ),
    }
    notes = (
        *dict.fromkeys(note for each in comparisons.values() for note in each.notes),
        RATES_NOTE,
        "The paths over C start near the correct trees; the table of learners has what the uniform "
        "start costs EG at low C.",
        f"Every learner has {budget.cpu_seconds:g} CPU seconds, or {budget.effective_iterations:g} "
        f"effective iterations, at each C, and ends at a relative gap of {_GAP:g}.",
        "Accuracy is over all words, punctuation included.",
    )
    return Results(comparisons, notes=notes, quick=request.quick)


def report(results: Results) -> Outcome:
    """Claims, tables and figures of the papers."""
    found, path = results.comparisons[MAIN], results.comparisons[PATH]
    titles = {
        MAIN: "Learners",
        SEEDS: "Seeds, at EG's best C",
        AS_2007: "The algorithm of 2007, on 1,034 sentences",
        RATES: "First learning rates of SGD, on 1,034 sentences",
    }
    return Outcome(
        "Dependency parsing, log-linear",
        SOURCE,
        found.task.facts,
        claims(results),
        [
            *(summary_table(title, results.comparisons[key]) for key, title in titles.items()),
            path_table("A path over C, learning rates restarted at each", path),
            path_table(
                "The same, permuted, learning rates scaled", results.comparisons[PERMUTED_PATH]
            ),
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

    rivals = [own.label for own in (LBFGS, CG, SGD)]
    return [
        *(excess_panel(found, c) for c in found.constants),
        gap_panel("EG: duality gap", found.of(EG.label), by_c),
        objective_panel("EG: primal and dual", found.of(EG.label), found.task.n, by_c),
        *(
            score_panel(f"EG at its best C, and {label}", found, [*eg, *found.of(label)], name)
            for label in rivals
        ),
    ]


def _setup(request: Request, n_train: int = 0, n_dev: int = 0) -> Setup:
    """The parser; of so many sentences, where they are given (0: all)."""
    part = sample(request, SPANISH_TREES, QUICK_SENTENCES)
    if n_train:
        part = part._replace(train=part.train[:n_train], dev=part.dev[:n_dev])
    return parser(part, trees="projective", bits=QUICK_BITS if request.quick else BITS)
