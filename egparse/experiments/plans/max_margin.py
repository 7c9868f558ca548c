"""Max-margin dependency parsers (Collins et al. 2008, Fig. 13 and sections 8 and 9).

SVM-Struct is here its algorithm, with a slack for each sentence; block-coordinate Frank-Wolfe came
later, and has the best bounds where the others are slow.
"""

from __future__ import annotations

from egparse.experiments.plans.contenders import BATCH, EG, EG_PERMUTED
from egparse.experiments.plans.parsing import few_spanish, spanish
from egparse.experiments.problems.samples import SPANISH_FILES
from egparse.experiments.running import HINGE, LOG_LINEAR, Budget, Contender, Experiment, Plan

CONSTANTS = (10000.0, 1000.0, 100.0, 10.0, 1.0)
LOW = (10.0, 1.0)
LONG = Budget(1000, 600, 1e-4, 1.1)
N_SLACK = Contender("n slacks", "n-slack", {"accumulate": 100}, random=False)
"""SVM-Struct solves its program after 100 new structures."""
FRANK_WOLFE = Contender("Frank-Wolfe", "frank-wolfe")
EG_SEARCH = EG_PERMUTED._replace(
    label="EG, line search", options={**EG_PERMUTED.options, "search": "quadratic"}
)
"""Learning rates from the best point along the last step, in place of halving."""

EXPERIMENT = Experiment(
    {
        "trees": Plan(
            spanish,
            (EG, N_SLACK, FRANK_WOLFE),
            CONSTANTS,
            Budget(1000, 200, 1e-4, 1.1),
            HINGE,
        ),
        "order": Plan(
            few_spanish,
            (
                FRANK_WOLFE,
                EG,
                EG_PERMUTED,
                EG_SEARCH,
                BATCH,
                EG._replace(label="EG, log-linear", loss=LOG_LINEAR),
            ),
            (100.0,),
            Budget(3000, 60, 1e-6, 1.05),
            HINGE,
        ),
    },
    needs=SPANISH_FILES,
)
