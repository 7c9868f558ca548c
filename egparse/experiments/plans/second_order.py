"""Dual coordinate ascent and SGD for trees with siblings and grandparents, where inference is
approximate (Martins et al. 2010, Fig. 4, right, and footnote 17).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from egparse.config.sections import PrunerConfig
from egparse.experiments.plans.contenders import DCA
from egparse.experiments.plans.dca import CORPORA, SGD_TREES, TREES, trees_of
from egparse.experiments.problems.pair_graph import SCHEDULE, footnote17, pair_graph_parser
from egparse.experiments.problems.samples import files_of
from egparse.experiments.problems.second_order import PrunedTrees
from egparse.experiments.problems.setup import Setup
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Experiment, Plan
from egparse.parsing.tree_inference import Trees
from egparse.structures.second_order.loopy import Schedule

CONSTANTS = (100.0, 10.0)

SKIPS = DCA._replace(options={"below_zero": "skip"})
"""As published: no update where the estimate of P is above one (footnote 17)."""

ESTIMATES = DCA._replace(label="DCA, update below zero", options={"below_zero": "estimate"})
"""Takes another estimate of the loss there, from the marginals."""

_TEN_HEADS = PrunerConfig(max_heads=10, min_relative_marginal=0.0)
_SCHEDULES = {"settled": SCHEDULE, "two sweeps": Schedule(sweeps=2, damping=0.0)}

Graph = Literal["pairs", "heads", "exact"]
"""*Pairs*: the paper's (appendix A). *Heads*: the one of this project, with a factor for each head.
*Exact*: projective trees, whose inference is exact.
"""


def second_order(language: str, graph: Graph, request: Request, seed: int) -> Setup:
    """The parser over the arcs that a pruner keeps."""
    pruned = _pruned(language, "projective" if graph == "exact" else "non-projective", request)
    return pair_graph_parser(pruned) if graph == "pairs" else pruned.setup()


def _pruned(language: str, trees: Trees, request: Request) -> PrunedTrees:
    return PrunedTrees.of(trees_of(language, request), trees, bits=14 if request.quick else 22)


def _ten_heads(request: Request) -> Mapping[str, Any]:
    """Where words keep ten heads, and graphs have more loops, and where belief propagation is cut
    off as well: losses below zero by pass.
    """
    pruned = _pruned("Latin", "non-projective", request)
    passes = 2 if request.quick or request.seconds else 10
    return {
        name: footnote17(pair_graph_parser(pruned, schedule, _TEN_HEADS), CONSTANTS[-1], passes)
        for name, schedule in _SCHEDULES.items()
    }


def _plan(language: str, graph: Graph) -> Plan:
    return Plan(
        partial(second_order, language, graph),
        (SKIPS, ESTIMATES, SGD_TREES) if graph != "exact" else (SKIPS, SGD_TREES),
        CONSTANTS if graph == "pairs" else CONSTANTS[-1:],
        Budget(10),
    )


EXPERIMENT = Experiment(
    {language: _plan(language, "pairs") for language in TREES}
    | {f"{language}, heads": _plan(language, "heads") for language in TREES}
    | {"English, exact": _plan("English", "exact")},
    {"ten heads": _ten_heads},
    needs=tuple(name for corpus in CORPORA.values() for name in files_of(corpus)),
)
