"""Max-margin dependency parsers (Collins et al. 2008, Fig. 13 and sections 8 and 9).

SVM-Struct is here its algorithm, with a slack for each sentence; block-coordinate Frank-Wolfe is a
later rival, whose bounds are the best where EG and SVM-Struct are slow.
"""

from __future__ import annotations

from functools import partial

from egparse.experiments.plans.contenders import BATCH, EG
from egparse.experiments.plans.parsing import spanish
from egparse.experiments.problems.samples import SPANISH_FILES
from egparse.experiments.running import HINGE, LOG_LINEAR, Budget, Contender, Experiment, Plan

CONSTANTS = (10000.0, 1000.0, 100.0, 10.0, 1.0)

N_SLACK = Contender("SVM-Struct", "n-slack", {"accumulate": 100}, random=False)
"""Tsochantaridis et al. 2004. As in that program, its quadratic program is solved after 100 new
structures.
"""
FRANK_WOLFE = Contender("Frank-Wolfe", "frank-wolfe")
EG_SEARCH = EG._replace(label="EG, line search", options={**EG.options, "search": "quadratic"})
"""Learning rates from the best point along the last step, in place of halving."""

EXPERIMENT = Experiment(
    {
        "trees": Plan(
            spanish,
            (
                *(one._replace(only=CONSTANTS[3:]) for one in (EG, N_SLACK)),
                *(
                    one._replace(only=CONSTANTS[:3], budget=Budget(1000, 300, 1e-4, 1.1))
                    for one in (EG, N_SLACK)
                ),
                FRANK_WOLFE._replace(budget=Budget(1000, 150, 1e-4, 1.1)),
            ),
            CONSTANTS,
            Budget(1000, 600, 1e-4, 1.1),
            HINGE,
        ),
        "order": Plan(
            partial(spanish, n_train=100, n_dev=100),  # few allow many passes
            (
                FRANK_WOLFE,
                EG,
                EG_SEARCH,
                BATCH,
                EG._replace(label="EG, log-linear", loss=LOG_LINEAR),
            ),
            (100.0,),
            Budget(3000, 90, 1e-6, 1.05),
            HINGE,
        ),
    },
    needs=SPANISH_FILES,
)
