"""A log-linear classifier of digits: EG against L-BFGS, conjugate gradient and SGD, for several C.

Globerson et al. 2007, Fig. 3; Collins et al. 2008, Fig. 4-11, Tab. 1 and 2. We differ in the data:
the 10,000 MNIST test digits, shuffled, 7,000 of them for training (as in 2007; 59,000 in 2008) and
1,500 for validation, with pixels between 0 and 1. We draw the distance of the primal from the best
lower bound, which separates learners where the primal itself does not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from egparse.experiments.claims.multiclass import PATH, RESTARTED, SEEDS, claims, scaled_to
from egparse.experiments.claims.multiclass_bounds import MAIN, REPEATS, bounds_table
from egparse.experiments.claims.multiclass_rivals import HIGHER
from egparse.experiments.comparisons.c_path import path_table, trace_path
from egparse.experiments.comparisons.comparison import (
    CG,
    EG,
    EG_2007,
    EG_OWN,
    LBFGS,
    RATES_NOTE,
    SGD,
    Contender,
    Plan,
    compare,
)
from egparse.experiments.data.digits import IMAGES, LABELS, digits_or_points
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
from egparse.types import Floats, Ints

NAME = "multiclass"
NEEDS = (IMAGES, LABELS)
SOURCE = "Globerson et al. 2007, Fig. 3; Collins et al. 2008, Fig. 4-11, Tab. 1 and 2"

_CONSTANTS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
_QUICK_CONSTANTS = (10.0, 1.0)
_TRAIN, _DEV = 7000, 1500
_QUICK_TRAIN, _QUICK_DEV = 300, 150
_PASSES, _QUICK_PASSES = 200, 15
_SEED_PASSES, _SGD_PASSES, _FIXED_PASSES = 80, 100, 60
_SEEDS = 3
_GAP = 1e-5
_LAST_ON_PATH = 1000.0 * 0.7**23  # 0.274, the last of the paper's Table 2

ONCE = Contender("EG, each once", "eg-online", {"published": True, "order": "random"})
"""Departs from Fig. 2 in one thing: every example once a pass, in random order."""

NEAR = Contender("EG, near gold", "eg-online", {"published": True, "start": "gold"})
"""Departs from the uniform start: theta is 5 + ln K on the correct classes."""

CYCLIC = Contender("EG, cyclic", "eg-cyclic", random=False)
"""The deterministic algorithm of 2008: corpus order, rates kept."""

BATCH = Contender("EG batch", "eg-batch", {"start": "uniform"}, random=False)
"""All examples at once, with the halving of the online algorithm."""


def annealed(c: float) -> Contender:
    """C starts at 10 times its value for five passes, then is multiplied by 0.7 after each pass
    (Collins et al. 2008, section 7.1.1, for C = 1).
    """
    options = {"published": True, "anneal_from": 10.0 * c, "anneal_hold": 6, "anneal_decay": 0.7}
    return Contender("EG, annealed", "eg-online", options, only=(c,))


def at_proven_rates(c: float, n: int, max_square: float, budget: Budget) -> list[Contender]:
    """The learning rates of Theorems 1 and 2. For classes of vectors |A| = 2 max |x|^2 / C."""
    greatest = 2.0 * max_square / c
    online = {"published": True, "eta": 1.0 / (1.0 + greatest), "growth": 1.0}
    batch = {"rate": "fixed", "eta": 1.0 / (1.0 + n * greatest), "start": "uniform"}
    return [
        Contender("EG, proven rate", "eg-online", online, only=(c,), budget=budget),
        Contender("EG batch, proven rate", "eg-batch", batch, only=(c,), budget=budget),
    ]


def measure(request: Request) -> Results:
    """The comparison, its repetitions on other splits, and the paths over C."""
    setup, (x, y) = _setup(request, request.seed)
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    budget = Budget(request.budget(_PASSES, _QUICK_PASSES), gap=_GAP)
    found = compare(
        Plan(NAME, setup, _contenders(setup.n, x, constants, budget), constants, budget), request
    )
    few = _at_most(budget, _SEED_PASSES)
    seeds = _on_other_splits(request, constants, setup.n, few)
    repeats = compare(
        Plan(NAME, setup, (EG,), (10.0,), few, seeds=request.seeds_of(_SEEDS, 2)), request
    )
    path = PathConfig(
        c_from=max(constants),
        c_to=max(min(constants), _LAST_ON_PATH),
        iterations=request.budget(100, 15),
        rates="kept",
        gap_of="primal",
    )
    restarted = replace(path, rates="restarted")
    comparisons = {
        MAIN: found,
        SEEDS: seeds,
        REPEATS: repeats,
        PATH: trace_path(NAME, setup, path, request),
        RESTARTED: trace_path(NAME, setup, restarted, request),
    }
    notes = (
        *dict.fromkeys(note for each in comparisons.values() for note in each.notes),
        RATES_NOTE,
        "CG is SciPy's (Polak and Ribiere), L-BFGS SciPy's L-BFGS-B, the code of Zhu, Byrd, Lu and "
        "Nocedal. They go over the examples from Python, EG in compiled code: compare passes, "
        "rather than seconds. They have as many passes, and so more seconds than EG.",
        f"The variants of EG run at C >= 1 only, SGD for {_SGD_PASSES} passes, learners at proven "
        f"rates for {_FIXED_PASSES}. A run ends at a relative gap of "
        f"{_GAP:g}.",
        "EG's first learning rate is 0.5, as in the papers for these data.",
    )
    return Results(comparisons, {"bounds": _for_bounds(x, y)}, notes, request.quick)


def report(results: Results) -> Outcome:
    """Claims, tables and figures of the papers."""
    found = results.comparisons[MAIN]
    return Outcome(
        "Multi-class classification",
        SOURCE,
        found.task.facts,
        claims(results),
        [
            summary_table("Learners", found),
            summary_table("Other splits of the digits", results.comparisons[SEEDS]),
            bounds_table(results),
            path_table(
                "A path over C, learning rates kept from one C to the next",
                results.comparisons[PATH],
            ),
            path_table(
                "A path over C, learning rates restarted at each C", results.comparisons[RESTARTED]
            ),
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
    best = found.best_c(EG_2007.label)
    of_2007 = [
        curve for curve in found.at(best) if curve.label in (EG_2007.label, LBFGS.label, CG.label)
    ]
    at_10 = [curve for curve in found.of(EG.label) if curve.c == 10.0]
    return [
        objective_panel(
            f"The algorithm of 2007, its best C = {best:g} (2007, Fig. 3)",
            of_2007,
            n,
            lambda curve: curve.label,
            colours=found.labels,
        ),
        score_panel(
            f"Its error, C = {best:g} (2007, Fig. 3)", found, of_2007, colours=found.labels
        ),
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
            "EG at C = 10, SGD at every C (Fig. 9)",
            found,
            [*at_10, *found.of(SGD.label)],
            lambda curve: f"{curve.label}, C = {curve.c:g}",
        ),
        score_panel(
            "EG at C = 10, L-BFGS at every C (Fig. 11)",
            found,
            [*at_10, *found.of(LBFGS.label)],
            lambda curve: f"{curve.label}, C = {curve.c:g}",
        ),
        *(excess_panel(found, c) for c in found.constants),
    ]


def _contenders(
    n: int, x: Floats, constants: tuple[float, ...], budget: Budget
) -> tuple[Contender, ...]:
    varied = tuple(c for c in constants if c >= 1.0)
    converging = tuple(c for c in varied if c >= 10.0)
    fixed = _at_most(budget, _FIXED_PASSES)
    max_square = float(np.einsum("ij,ij->i", x, x).max())
    variants = (ONCE, NEAR, EG_2007, CYCLIC, BATCH) if varied else ()
    higher = Contender(HIGHER, "sgd", {"eta0": 0.1}, only=(1.0,))
    return (
        EG,
        *(contender._replace(only=varied) for contender in variants),
        *(one for c in converging for one in at_proven_rates(c, n, max_square, fixed)),
        *(annealed(c) for c in varied if c == 1.0),
        EG_OWN,
        LBFGS,
        CG,
        SGD._replace(budget=_at_most(budget, _SGD_PASSES)),
        *((higher._replace(budget=_at_most(budget, _SGD_PASSES)),) if 1.0 in constants else ()),
    )


def _on_other_splits(
    request: Request, constants: tuple[float, ...], n: int, budget: Budget
) -> Comparison:
    """Seeds that split the digits, with the values of C that are C = 10 and 1 of the paper for each
    training example.
    """
    both = tuple(c for c in (10.0, 1.0) if c in constants) or constants[:1]
    scaled = tuple(scaled_to(n, c) for c in both)
    contenders = (
        EG,
        EG_2007._replace(only=both),
        *(annealed(c) for c in both if c == 1.0),
        LBFGS._replace(only=both),
        SGD._replace(only=both),
    )
    plan = Plan(
        NAME,
        lambda seed: _setup(request, seed)[0],
        contenders,
        tuple(dict.fromkeys((*(c for c in constants if c == 100.0), *both, *scaled))),
        budget,
        seeds=request.seeds_of(_SEEDS),
    )
    return compare(plan, request)


def _at_most(budget: Budget, passes: float) -> Budget:
    return budget._replace(effective_iterations=min(passes, budget.effective_iterations))


def _for_bounds(x: Floats, y: Ints) -> dict[str, float]:
    """What the bounds of Table 1 are made of: |v|^2 at the uniform start, where v_r = sum_i x_i
    ([y_i = r] - 1 / K).
    """
    n_classes = int(y.max()) + 1
    v = np.stack([x[y == r].sum(axis=0) for r in range(n_classes)]) - x.sum(axis=0) / n_classes
    return {
        "n": len(x),
        "classes": n_classes,
        "max_square": float(np.einsum("ij,ij->i", x, x).max()),
        "start_square": float(np.vdot(v, v)),
    }


def _setup(request: Request, seed: int) -> tuple[Setup, tuple[Floats, Ints]]:
    """The problem of a split that the seed draws, and its training part."""
    n_train, n_dev = (_QUICK_TRAIN, _QUICK_DEV) if request.quick else (_TRAIN, _DEV)
    name, x, y = digits_or_points(request, n_train + n_dev, seed)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = x[order], y[order]
    train, dev = slice(n_train), slice(n_train, n_train + n_dev)
    return classifier(name, (x[train], y[train]), (x[dev], y[dev])), (x[train], y[train])
