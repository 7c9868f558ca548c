"""Max-margin models: EG against the structured SVMs of its time, and against what came after, over
CPU time and over passes (Collins et al. 2008, section 8, Fig. 13, and section 9).

The opponent of the paper, SVM-Struct with a slack for each example, is here the learner ``n-slack``
(Tsochantaridis et al. 2004). Beside it is block-coordinate Frank-Wolfe (Lacoste-Julien et
al. 2013; Osokin et al. 2016).

We differ in the treebank, templates and split, which are those of the parsing experiment, and in
the unit of time, seconds. Only learning is timed, without certificates and scores, and after all
kernels have been compiled. Scores are of weights in full, not rounded as in model files.

The order of convergence is measured on the first sentences of the treebank, for many passes, with
both losses. Label sequences, the M3N of the paper's title, are entities of CoNLL-2002 in Spanish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from egparse.experiments.claims.max_margin import (
    CHAINS,
    LABELS,
    MARGIN,
    PROBABILITIES,
    TREES,
    claims,
)
from egparse.experiments.comparisons.comparison import Contender, Plan, compare
from egparse.experiments.comparisons.parsing_curves import BITS, QUICK_BITS, QUICK_SENTENCES
from egparse.experiments.data.problems import Setup, entities, parser
from egparse.experiments.data.samples import SPANISH_NAMES, SPANISH_TREES, files_of, sample
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel
from egparse.experiments.report.panels import (
    EFFORT,
    SECONDS,
    excess_panel,
    gap_panel,
    objective_panel,
    score_panel,
)
from egparse.experiments.report.record import Curve
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import summary_table

NAME = "max-margin"
NEEDS = (*files_of(SPANISH_TREES), *files_of(SPANISH_NAMES))
SOURCE = "Collins et al. 2008, section 8, Fig. 13, and section 9"

_PUBLISHED = {"published": True, "calibrate": 0.1}
_FIXED_AT = (1000.0, 100.0)
_ACCUMULATE = 500  # new structures before a program: fewer take longer (SVM-Struct: 100)

EG = Contender(LABELS.eg, "eg-online", _PUBLISHED)
EG_FIXED = Contender(LABELS.eg_fixed, "eg-online", {"published": True}, only=_FIXED_AT)
EG_PERMUTED = Contender(
    LABELS.eg_permuted, "eg-online", {**_PUBLISHED, "order": "random", "start": "gold"}
)
EG_SEARCH = Contender(LABELS.eg_search, "eg-online", {**_PUBLISHED, "search": "quadratic"})
EG_BATCH = Contender(LABELS.eg_batch, "eg-batch", random=False)
N_SLACK = Contender(LABELS.n_slack, "n-slack", {"accumulate": _ACCUMULATE}, random=False)
FW_UNIFORM = Contender(LABELS.fw_uniform, "frank-wolfe")
FW_GAP = Contender(LABELS.fw_gap, "frank-wolfe", {"sampling": "gap"})
FW_PAIRWISE = Contender(LABELS.fw_pairwise, "frank-wolfe", {"sampling": "gap", "steps": "pairwise"})

_CONTENDERS = (EG, EG_FIXED, EG_PERMUTED, N_SLACK, FW_UNIFORM, FW_GAP)
_ORDERED = (EG, EG_SEARCH, EG_BATCH, FW_UNIFORM, FW_PAIRWISE)
_CHAINED = (EG, EG_PERMUTED, N_SLACK, FW_GAP)

_HINGE, _LOG_LINEAR = (math.inf, 1.0), (1.0, 0.0)
_CONSTANTS = (10_000.0, 1000.0, 100.0, 10.0, 1.0)
_QUICK_CONSTANTS = (100.0, 10.0)
_ORDER_AT = (100.0,)
_CHAIN_CONSTANTS = (100.0, 10.0)
_SECONDS, _QUICK_SECONDS = 25.0, 0.2
_ORDER_SECONDS, _CHAIN_SECONDS = 20.0, 8.0
_PASSES, _ORDER_PASSES = 1000, 1000
_QUICK_PASSES = 30
_SPACING = 1.15  # passes between two points, later
_GAP, _ORDER_GAP = 1e-4, 1e-6
_SLICE = (100, 100)  # sentences of the treebank for many passes
_NAMES = (1000, 500)
_QUICK_NAMES = (60, 30)


def measure(request: Request) -> Results:
    """The learners on trees, the order of convergence, and chains."""
    seconds = request.seconds_of(_SECONDS, _QUICK_SECONDS)
    budget = Budget(request.budget(_PASSES, _QUICK_PASSES), seconds, _GAP, _SPACING)
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    trees = compare(Plan(NAME, _parser(request), _CONTENDERS, constants, budget, _HINGE), request)
    longer = budget._replace(
        effective_iterations=request.budget(_ORDER_PASSES, _QUICK_PASSES),
        cpu_seconds=request.seconds_of(_ORDER_SECONDS, _QUICK_SECONDS),
        gap=_ORDER_GAP,
    )
    few = _parser(request, *_SLICE)
    margin = compare(Plan(NAME, few, _ORDERED, _ORDER_AT, longer, _HINGE), request)
    log_linear = compare(Plan(NAME, few, (EG,), _ORDER_AT, longer, _LOG_LINEAR), request)
    short = budget._replace(cpu_seconds=request.seconds_of(_CHAIN_SECONDS, _QUICK_SECONDS))
    chains = compare(
        Plan(NAME, _names(request), _CHAINED, _CHAIN_CONSTANTS, short, _HINGE), request
    )
    found = {TREES: trees, MARGIN: margin, PROBABILITIES: log_linear, CHAINS: chains}
    notes = (
        *dict.fromkeys(note for each in found.values() for note in each.notes),
        f"Every learner has {seconds:g} CPU seconds at each C, or ends at a relative gap of "
        f"{_GAP:g}; the paper's figures go to 30 hours. One seed.",
        "A pass of EG and of Frank-Wolfe makes one inference for each sentence, n "
        f"slacks solve a quadratic program after every {_ACCUMULATE} new trees besides: curves are "
        "over CPU time and, in second panels, over passes.",
        f"Certificates and scores are taken after each pass at first, then after {_SPACING:g} "
        "times the passes of the last.",
        f"{LABELS.eg} is as published, with the first learning rate calibrated on 10 % of the "
        f"sentences; {LABELS.eg_fixed} starts at 0.5 instead, the paper's rate for digits; "
        f"{LABELS.eg_permuted} visits every sentence once a pass and starts near the correct "
        "trees. The time of calibration counts.",
        "On label sequences the passes of EG are compiled loops, those of the others go from "
        "sentence to sentence in Python: seconds there are in favour of EG.",
        "Accuracy is over all words, punctuation included, of weights that are not rounded.",
    )
    return Results(found, notes=notes, quick=request.quick)


def report(results: Results) -> Outcome:
    """Claims, tables and the figure of the paper."""
    titles = {
        TREES: "Trees",
        MARGIN: "Many passes over few trees, max-margin",
        PROBABILITIES: "Many passes over few trees, log-linear",
        CHAINS: "Label sequences",
    }
    return Outcome(
        "Max-margin parsers and taggers",
        SOURCE,
        results.facts,
        claims(results),
        [summary_table(title, results.comparisons[key]) for key, title in titles.items()],
        panels(results),
        results.notes,
    )


def panels(results: Results) -> list[Panel]:
    """On trees, for each C: primal and dual, the primal's distance from the best bound over seconds
    and over passes, and validation accuracy; then the gap of many passes, and chains.
    """
    found, chains = results.comparisons[TREES], results.comparisons[CHAINS]
    rivals = (LABELS.eg, LABELS.n_slack, LABELS.fw_gap)
    scored = [
        curve
        for label in rivals[:2]
        for curve in found.of(label)
        if label != LABELS.eg or curve.c == found.best_c(label)
    ]

    def name(curve: Curve) -> str:
        return f"{curve.label}, C = {curve.c:g}"

    def loss(curve: Curve) -> str:
        return f"{curve.label}, {'log-linear' if curve.beta == 1 else 'max-margin'}"

    ordered = [*results.comparisons[MARGIN].curves, *results.comparisons[PROBABILITIES].curves]
    return [
        *(
            objective_panel(
                f"Primal and dual, C = {c:g}",
                [curve for curve in found.at(c) if curve.label in rivals],
                found.task.n,
                lambda curve: curve.label,
                x=SECONDS,
                unit="cost",
            )._replace(log_x=True)
            for c in found.constants
        ),
        *(
            excess_panel(found, c, x=x)._replace(log_x=True)
            for x in (SECONDS, EFFORT)
            for c in found.constants
        ),
        score_panel("EG at its best C, and n slacks", found, scored, name, x=SECONDS)._replace(
            log_x=True
        ),
        _order_panel(ordered, loss),
        *(
            excess_panel(chains, c, x=SECONDS)._replace(
                title=f"Names: primal, C = {c:g}", log_x=True
            )
            for c in chains.constants
        ),
    ]


def _order_panel(curves: Sequence[Curve], name: Callable[[Curve], str]) -> Panel:
    """The duality gap over passes, both axes in logarithms; bounds of each loss are its own."""
    lines = []
    for place, curve in enumerate(curves):
        panel = gap_panel("Duality gap", [curve], name)
        lines += [line._replace(colour=place) for line in panel.lines]
    c = curves[0].c if curves else math.nan
    return Panel(
        f"Order of convergence, C = {c:g}", EFFORT, "duality gap (%)", lines, log_x=True, log_y=True
    )


def _parser(request: Request, n_train: int = 0, n_dev: int = 0) -> Setup:
    """The parser; of so many sentences, where they are given (0: all)."""
    part = sample(request, SPANISH_TREES, QUICK_SENTENCES)
    if n_train:
        part = part._replace(train=part.train[:n_train], dev=part.dev[:n_dev])
    bits = QUICK_BITS if request.quick else BITS
    return parser(part, trees="projective", bits=bits, in_full=True)


def _names(request: Request) -> Setup:
    """The tagger of entities, on a part of the corpus."""
    part = sample(request, SPANISH_NAMES, _QUICK_NAMES)
    train, dev = part.train[: _NAMES[0]], part.dev[: _NAMES[1]]
    return entities(part._replace(train=train, dev=dev, test=()))
