"""What came after the papers, and beside it what they had: the stochastic average gradient, dual
coordinate ascent with a memory, averaged SGD, AdaGrad, trust region Newton, dual coordinate
descent, block-coordinate Frank-Wolfe, and this project's faster exponentiated gradient.

One problem of each kind: log-linear classes of digits, log-linear chains of names, projective trees
with the log-linear, the softmax-margin and the max-margin loss. Every learner has the same CPU
seconds and passes. A figure shows the primal above the best lower bound and the duality gap,
against passes and against seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from egparse.experiments.claims.successors import (
    CHAINS,
    DIGITS,
    MARGIN,
    SOFTMAX,
    TREES,
    claims,
)
from egparse.experiments.comparisons.comparison import (
    EG,
    EG_OWN,
    LBFGS,
    RATES_NOTE,
    SGD,
    Contender,
    Plan,
    compare,
)
from egparse.experiments.data.digits import IMAGES, LABELS, digits_or_points
from egparse.experiments.data.problems import Setup, classifier, entities, parser
from egparse.experiments.data.samples import SPANISH_NAMES, SPANISH_TREES, files_of, sample
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel
from egparse.experiments.report.panels import EFFORT, SECONDS, excess_panel, gap_panel
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import summary_table

NAME = "successors"
NEEDS = (IMAGES, LABELS, *files_of(SPANISH_TREES), *files_of(SPANISH_NAMES))
SOURCE = (
    "Schmidt et al. 2015; Duchi et al. 2011; Shalev-Shwartz and Zhang 2013; Lacoste-Julien et al. "
    "2013; Osokin et al. 2016; Le Priol et al. 2018; Lin et al. 2008; Yu et al. 2011"
)

_ETA = (1.0, 0.3, 0.1, 0.03, 0.01)

SAG = Contender("SAG", "sag")
SAG_UNIFORM = Contender("SAG, uniform", "sag", {"sampling": "uniform"})
SAGA = Contender("SAGA", "sag", {"saga": True})
SDCA = Contender("SDCA", "sdca")
SGD_AVERAGED = Contender("SGD, averaged", "sgd", {"averaged": True}, tuned=SGD.tuned)
ADAGRAD = Contender("AdaGrad", "adagrad", tuned=("eta", _ETA))
ADAGRAD_BATCH = Contender("AdaGrad", "adagrad", {"batch": 4}, tuned=("eta", _ETA))
"""Where weights are many, a step takes longer than the visits for it."""

EG_VISITS = Contender("EG, egparse", "eg-online")
"""As this project trains taggers: more visits to the examples that gain."""

EG_CALIBRATED = Contender("EG, calibrated", "eg-online", {"published": True, "calibrate": 0.1})
EG_GOLD = Contender("EG, from gold", "eg-online", {"published": True, "start": "gold"})
FRANK_WOLFE = Contender("Frank-Wolfe", "frank-wolfe", {"sampling": "uniform"})
FRANK_WOLFE_GAP = Contender("Frank-Wolfe, gaps", "frank-wolfe", {"sampling": "gap"})
PAIRWISE = Contender("Frank-Wolfe, pairwise", "frank-wolfe", {"steps": "pairwise"})
N_SLACK = Contender("n slacks", "n-slack", random=False)
TRON = Contender("TRON", "tron", random=False)
DUAL_CD = Contender("dual CD", "dual-cd", random=False)

_PRIMAL = (SAG, SAG_UNIFORM, SAGA, SGD, SGD_AVERAGED)


class Problem(NamedTuple):
    """A problem of the experiment: how it is made, and who solves it at which C, with how many
    passes, CPU seconds (quick: 1) and seeds.
    """

    setup: Callable[[Request], Setup]
    contenders: Sequence[Contender]
    constants: tuple[float, ...]
    passes: int
    seconds: float
    seeds: int
    loss: tuple[float, float] = (1.0, 0.0)


def _digits(request: Request) -> Setup:
    n_train, n_dev = (300, 150) if request.quick else (7000, 1500)
    name, x, y = digits_or_points(request, n_train + n_dev, request.seed)
    train, dev = slice(n_train), slice(n_train, n_train + n_dev)
    return classifier(name, (x[train], y[train]), (x[dev], y[dev]))


def _names(request: Request) -> Setup:
    part = sample(request, SPANISH_NAMES, (80, 40))
    return entities(part._replace(train=part.train[:2000], dev=part.dev[:300], test=()))


def _trees_of(sentences: int) -> Callable[[Request], Setup]:
    def made(request: Request) -> Setup:
        part = sample(request, SPANISH_TREES, (60, 30))
        part = part._replace(train=part.train[:sentences], dev=part.dev[:150])
        return parser(part, trees="projective", bits=14 if request.quick else 20)

    return made


PROBLEMS = {
    DIGITS: Problem(
        _digits,
        (EG, EG_OWN, *_PRIMAL, ADAGRAD, LBFGS, SDCA, TRON, DUAL_CD),
        (10.0, 1.0),
        passes=60,
        seconds=10.0,
        seeds=1,
    ),
    CHAINS: Problem(
        _names,
        (EG, EG_VISITS, *_PRIMAL, ADAGRAD_BATCH, LBFGS, SDCA),
        (1.0,),
        passes=30,
        seconds=5.0,
        seeds=3,
    ),
    TREES: Problem(
        _trees_of(400),
        (EG, EG_OWN, *_PRIMAL, ADAGRAD_BATCH, LBFGS, SDCA),
        (10.0,),
        passes=40,
        seconds=12.0,
        seeds=1,
    ),
    SOFTMAX: Problem(
        _trees_of(200),
        (EG, SAG, SAG_UNIFORM, SGD, SGD_AVERAGED, ADAGRAD_BATCH, LBFGS, SDCA),
        (10.0,),
        passes=40,
        seconds=6.0,
        seeds=1,
        loss=(1.0, 1.0),
    ),
    MARGIN: Problem(
        _trees_of(200),
        (EG_GOLD, EG_CALIBRATED, FRANK_WOLFE, FRANK_WOLFE_GAP, PAIRWISE, N_SLACK, SDCA),
        (100.0, 10.0),
        passes=50,
        seconds=5.0,
        seeds=1,
        loss=(math.inf, 1.0),
    ),
}
"""Name -> problem, in the order of the report."""

_GAP = 1e-6


def measure(request: Request) -> Results:
    """All comparisons."""
    found = {}
    for name, problem in PROBLEMS.items():
        budget = Budget(
            request.budget(problem.passes, 6), request.seconds_of(problem.seconds, 0.5), _GAP
        )
        constants = request.constants or problem.constants
        seeds = request.seeds_of(problem.seeds)
        plan = Plan(
            NAME,
            problem.setup(request),
            problem.contenders,
            constants,
            budget,
            problem.loss,
            seeds=seeds,
        )
        found[name] = compare(plan, request)
    notes = (
        *dict.fromkeys(note for each in found.values() for note in each.notes),
        RATES_NOTE,
        "So is AdaGrad's; on chains and trees it makes a step of the gradients of 4 visits.",
        "The steps of EG on digits and chains are compiled as a loop; all other learners that go "
        "from example to example are called from Python, which costs them 20 to 60 microseconds a "
        "visit. Passes compare them without that.",
        "A pass of TRON is a Newton step, whose conjugate gradients go over the examples many "
        "times: only its seconds can be compared.",
        "Cut to fit: 2,000 sentences of names, 400 (log-linear) and 200 (the margins) sentences of "
        "trees; three seeds on chains only.",
    )
    return Results(found, notes=notes, quick=request.quick)


def report(results: Results) -> Outcome:
    """A table and a figure for each problem, and the claims of the successors' papers."""
    comparisons = results.comparisons
    return Outcome(
        "What came after",
        SOURCE,
        results.facts,
        claims(results),
        [summary_table(name, found) for name, found in comparisons.items()],
        [panel for name, found in comparisons.items() for panel in _panels(name, found)],
        results.notes,
    )


def _panels(name: str, found: Comparison) -> list[Panel]:
    """Primal above the best bound, and duality gap, against passes and seconds."""
    drawn: list[Panel] = []
    for c in found.constants:
        shown = [
            curve
            for curve in found.first_seed.at(c)
            if any(math.isfinite(point.gap) for point in curve.points)
        ]
        for x in (EFFORT, SECONDS):
            primal = excess_panel(found, c, x=x)
            gaps = gap_panel(
                f"{name}: gap, C = {c:g}", shown, lambda own: own.label, x=x, colours=found.labels
            )
            drawn += [primal._replace(title=f"{name}: primal, C = {c:g}"), gaps]
    return drawn
