"""Log-linear dependency parsers (Collins et al. 2008, Fig. 12 and Table 3; Globerson et al. 2007,
Fig. 4).
"""

from __future__ import annotations

from functools import partial

from egparse.experiments.plans.contenders import BATCH, CG, EG, EG_2007, EG_2007_UNIFORM, LBFGS, SGD
from egparse.experiments.problems.samples import SPANISH_FILES, spanish_trees
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import parser
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Contender, Experiment, Plan

SLOVENE = (1034, 200)
"""Sentences for training and validation in Globerson et al. 2007."""

CONSTANTS = (1000.0, 100.0, 10.0, 1.0, 0.1)
PATH_CONSTANTS = tuple(1000 * 0.7**k for k in range(21))
COLD_CONSTANTS = PATH_CONSTANTS[::4]
"""Where the path over C is compared with a start from nothing."""
SGD_AT = [
    Contender(f"SGD, rate {rate:g}", "sgd", {"eta0": rate}) for rate in (1.0, 0.1, 0.01, 0.001)
]
"""With a first learning rate that is not chosen after one pass."""


def spanish(
    request: Request, seed: int, n_train: int | None = None, n_dev: int | None = None
) -> Setup:
    """The training and validation parts of Collins et al. 2008, or the first sentences of each."""
    found = spanish_trees(request, (80, 40))
    found = found._replace(train=found.train[:n_train], dev=found.dev[:n_dev])
    return parser(found, trees="projective", bits=14 if request.quick else 20, in_full=True)


_SHORT = Budget(100, 600, 1e-4, 1.1)

EXPERIMENT = Experiment(
    {
        "trees": Plan(
            spanish,
            (
                EG,
                BATCH._replace(only=(1000.0,), budget=_SHORT),
                LBFGS._replace(only=CONSTANTS[:4]),
                LBFGS._replace(only=CONSTANTS[4:], budget=Budget(200, 240, 1e-4, 1.1)),
                CG._replace(only=CONSTANTS[:3], budget=Budget(200, 300, 1e-4, 1.1)),
                SGD._replace(only=CONSTANTS[:4], budget=_SHORT),
            ),
            CONSTANTS,
            Budget(400, 600, 1e-4, 1.1),
        ),
        "rates": Plan(spanish, (EG, *SGD_AT), (10.0, 1.0), Budget(50, 600, 1e-3, 1.1)),
        "path": Plan(
            spanish,
            (EG._replace(only=COLD_CONSTANTS), EG._replace(label="EG, warm", warm=True)),
            PATH_CONSTANTS,
            Budget(400, gap=1e-3),
        ),
        "2007": Plan(
            partial(spanish, n_train=SLOVENE[0], n_dev=SLOVENE[1]),
            (EG, *EG_2007, *EG_2007_UNIFORM, LBFGS, CG),
            (1000.0, 100.0, 10.0, 1.0),
            Budget(150, 300, 1e-4, 1.1),
        ),
    },
    needs=SPANISH_FILES,
)
