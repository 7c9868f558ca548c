"""Dual coordinate ascent and SGD for trees with siblings and grandparents, where inference is
approximate (Martins et al. 2010, Fig. 4, right, and footnote 17).
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from egparse.experiments.plans.contenders import DCA
from egparse.experiments.plans.dca import CORPORA, SGD_TREES, TREES, trees_of
from egparse.experiments.problems.pair_graph import pair_graph_parser
from egparse.experiments.problems.samples import files_of
from egparse.experiments.problems.second_order import PrunedTrees
from egparse.experiments.problems.setup import Setup
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Experiment, Plan

CONSTANTS = (100.0, 10.0)

SKIPS = DCA._replace(options={"below_zero": "skip"})
"""As published: no update where the estimate of P is above one (footnote 17)."""

ESTIMATES = DCA._replace(label="DCA, update below zero", options={"below_zero": "estimate"})
"""Takes another estimate of the loss there, from the marginals."""

_BITS, _QUICK_BITS = 22, 14
_MOST = 6000  # English training sentences

Graph = Literal["pairs", "heads", "exact"]
"""*Pairs*: the paper's (appendix A). *Heads*: the one of this project, with a factor for each head.
*Exact*: projective trees, whose inference is exact.
"""


def second_order(language: str, graph: Graph, request: Request, seed: int) -> Setup:
    """The parser over the arcs that a pruner keeps."""
    found = trees_of(language, request)
    pruned = PrunedTrees.of(
        found._replace(train=found.train[:_MOST]),
        "projective" if graph == "exact" else "non-projective",
        _QUICK_BITS if request.quick else _BITS,
    )
    if graph == "pairs":
        return pair_graph_parser(pruned, siblings=True, grandparents=True)
    return pruned.setup(siblings=True, grandparents=True)


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
    needs=tuple(name for corpus in CORPORA.values() for name in files_of(corpus)),
)
