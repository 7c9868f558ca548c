"""Log-linear dependency parsers (Collins et al. 2008, Fig. 12 and Table 3; Globerson et al. 2007,
Fig. 4).
"""

from __future__ import annotations

from egparse.experiments.plans.contenders import BATCH, CG, EG, EG_2007, EG_2007_UNIFORM, LBFGS, SGD
from egparse.experiments.problems.samples import SPANISH_FILES, spanish_trees
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import parser
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Contender, Experiment, Plan

QUICK = (80, 40)
"""Sentences for training and validation in a quick run."""
BITS, QUICK_BITS = 20, 14
"""There are 2 to this power of weights, to which features are hashed."""
SLOVENE = (1034, 200)
"""Sentences for training and validation in Globerson et al. 2007."""

CONSTANTS = (1000.0, 100.0, 10.0, 1.0, 0.1)
PATH_CONSTANTS = tuple(1000 * 0.7**k for k in range(21))
COLD_CONSTANTS = PATH_CONSTANTS[::4]
"""Where the path over C is compared with a start from nothing."""
SGD_RATES = (1.0, 0.1, 0.01, 0.001)


def spanish(request: Request, seed: int) -> Setup:
    """The training and validation parts of Collins et al. 2008."""
    return _parser(request)


def as_large_as_slovene(request: Request, seed: int) -> Setup:
    """The first of these sentences, as many as Globerson et al. 2007 have."""
    return _parser(request, *SLOVENE)


def few_spanish(request: Request, seed: int) -> Setup:
    """100 sentences for training, which allow many passes."""
    return _parser(request, 100, 100)


def _parser(request: Request, n_train: int | None = None, n_dev: int | None = None) -> Setup:
    found = spanish_trees(request, QUICK)
    found = found._replace(train=found.train[:n_train], dev=found.dev[:n_dev])
    bits = QUICK_BITS if request.quick else BITS
    return parser(found, trees="projective", bits=bits, in_full=True)


def sgd_at(rate: float) -> Contender:
    """SGD with a first learning rate that is not chosen after one pass."""
    return Contender(f"SGD, rate {rate:g}", "sgd", {"eta0": rate})


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
        "rates": Plan(
            spanish, (EG, *map(sgd_at, SGD_RATES)), (10.0, 1.0), Budget(50, 600, 1e-3, 1.1)
        ),
        "path": Plan(
            spanish,
            (EG._replace(only=COLD_CONSTANTS), EG._replace(label="EG, warm", warm=True)),
            PATH_CONSTANTS,
            Budget(400, gap=1e-3),
        ),
        "2007": Plan(
            as_large_as_slovene,
            (EG, *EG_2007, *EG_2007_UNIFORM, LBFGS, CG),
            (1000.0, 100.0, 10.0, 1.0),
            Budget(150, 300, 1e-4, 1.1),
        ),
    },
    needs=SPANISH_FILES,
)
