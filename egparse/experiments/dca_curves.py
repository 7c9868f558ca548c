"""Dual coordinate ascent against SGD and L-BFGS, log-linear, by score and passes (Martins et al. 2010, Fig. 3-4).

We differ in this: Spanish names (CoNLL-2002) instead of English, without gazetteers; Spanish trees (CoNLL-2007) instead of Arabic, Danish
and English, arc-factored. Their C is 1 / (lambda m), the inverse of ours; the values of C are theirs, inverted.
"""

from __future__ import annotations

from egparse.experiments import comparison
from egparse.experiments.comparison import DCA, EG, LBFGS, SGD, Comparison, Plan, compare
from egparse.experiments.curves import Budget
from egparse.experiments.outcome import Outcome, Panel
from egparse.experiments.problems import Setup, entities, parser
from egparse.experiments.request import Request
from egparse.experiments.samples import SPANISH_NAMES, SPANISH_TREES, sample

NAME = "dca"
SOURCE = "Martins et al. 2010, Fig. 3-4"

_NAMES_C = (10.0, 1.0, 0.1)
_TREES_C = (100.0, 10.0)
_QUICK_NAMES_C, _QUICK_TREES_C = (1.0,), (10.0,)
_QUICK_SENTENCES = (120, 60)
_CONTENDERS = (DCA, SGD, LBFGS, EG)


def run(request: Request) -> Outcome:
    """Names, then trees."""
    budget = Budget(request.budget(50, 8))
    trees_budget = Budget(request.budget(20, 8))
    names = compare(
        Plan(NAME, names_setup(request), _CONTENDERS, request.values_of_c(_NAMES_C, _QUICK_NAMES_C), budget),
        request,
    )
    trees = compare(
        Plan(NAME, trees_setup(request), _CONTENDERS, request.values_of_c(_TREES_C, _QUICK_TREES_C), trees_budget), request
    )  # fmt: skip
    tables = [comparison.summary_table("Entities", names), comparison.summary_table("Trees", trees)]
    data = {
        f"{found.setup.name}: {key}": value
        for found in (names, trees)
        for key, value in found.setup.facts.items()
    }
    notes = (
        *dict.fromkeys((*names.notes, *trees.notes)),
        comparison.RATES_NOTE,
        "DCA averages its weights, and neither it nor SGD has a dual: the bound is the best dual value of the others.",
    )  # fmt: skip
    return Outcome(
        "Dual coordinate ascent", SOURCE, data, (*names.curves, *trees.curves), tables,
        [*panels("Entities", names), *panels("Trees", trees)], notes,
    )  # fmt: skip


def names_setup(request: Request) -> Setup:
    """The tagger of entities."""
    return entities(sample(request, SPANISH_NAMES, _QUICK_SENTENCES))


def trees_setup(request: Request) -> Setup:
    """The arc-factored, non-projective parser, with the arcs that this project's parser considers: they too pruned."""
    return parser(
        sample(request, SPANISH_TREES, (80, 40)), trees="non-projective", bits=14 if request.quick else 20, arc_share=0.003
    )  # fmt: skip


def panels(name: str, found: Comparison) -> list[Panel]:
    """The score for each C, then the primal."""
    scores = [
        comparison.score_panel(f"{name}, C = {c:g}", found, found.at(c), colours=found.labels)
        for c in found.constants
    ]
    primals = [
        comparison.excess_panel(found, c)._replace(title=f"{name}: primal, C = {c:g}")
        for c in found.constants
    ]
    return [*scores, *primals]
