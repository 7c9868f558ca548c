"""Log-linear dependency parsers (Collins et al. 2008, Fig. 12 and Table 3; Globerson et al. 2007,
Fig. 4).
"""

from __future__ import annotations

from egparse.experiments.plans.contenders import BATCH, CG, EG, LBFGS, SGD
from egparse.experiments.problems.samples import SPANISH_FILES, spanish_trees
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import parser
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Contender, Experiment, Plan

QUICK = (80, 40)
"""Sentences for training and validation in a quick run."""
BITS, QUICK_BITS = 20, 14
"""Features are hashed to 2 to this power of weights."""

SLOVENE = (1034, 200)
"""Sentences for training and validation in Globerson et al. 2007."""

CONSTANTS = (1000.0, 100.0, 10.0, 1.0, 0.1)
PATH_CONSTANTS = tuple(1000 * 0.7**k for k in range(21))
COLD = PATH_CONSTANTS[::2]
RATES = (1.0, 0.1, 0.01, 0.001, 0.0001)
RATES_2007 = (0.5, 0.1, 0.05)


def spanish(request: Request, seed: int) -> Setup:
    """The treebank of Collins et al. 2008, and its parts."""
    return _parser(request)


def as_large_as_slovene(request: Request, seed: int) -> Setup:
    """As many sentences as Globerson et al. 2007 have."""
    return _parser(request, *SLOVENE)


def few_spanish(request: Request, seed: int) -> Setup:
    """100 sentences, for many passes."""
    return _parser(request, 100, 100)


def _parser(request: Request, n_train: int | None = None, n_dev: int | None = None) -> Setup:
    found = spanish_trees(request, QUICK)
    found = found._replace(train=found.train[:n_train], dev=found.dev[:n_dev])
    bits = QUICK_BITS if request.quick else BITS
    return parser(found, trees="projective", bits=bits, in_full=True)


def eg_2007(eta: float, start: str) -> Contender:
    """The algorithm of 2007 with a first rate and start, neither of which that paper gives."""
    return Contender(
        f"EG 2007, {eta:g}, {start}", "eg-2007", {"eta": eta, "start": start}, random=False
    )


def sgd_at(eta: float) -> Contender:
    """SGD with one first rate, for the search that the paper describes."""
    return Contender(f"SGD, rate {eta:g}", "sgd", {"eta0": eta})


PATH = EG._replace(label="EG, warm", warm=True)

EXPERIMENT = Experiment(
    {
        "trees": Plan(
            spanish,
            (
                EG,
                BATCH._replace(only=(1000.0,)),
                LBFGS._replace(only=(*CONSTANTS, 0.01)),
                CG._replace(only=CONSTANTS[:3]),
                SGD._replace(only=CONSTANTS[:4]),
            ),
            CONSTANTS,
            Budget(200, 600, 1e-4, 1.1),
        ),
        "rates": Plan(spanish, tuple(map(sgd_at, RATES)), (10.0, 1.0), Budget(60, 100, 1e-4, 1.1)),
        "path": Plan(
            spanish, (EG._replace(only=COLD), PATH), PATH_CONSTANTS, Budget(400, gap=1e-3)
        ),
        "2007": Plan(
            as_large_as_slovene,
            (
                EG,
                *(eg_2007(eta, start) for start in ("gold", "uniform") for eta in RATES_2007),
                LBFGS,
                CG,
            ),
            (1000.0, 100.0, 10.0, 1.0),
            Budget(200, 300, 1e-4, 1.1),
        ),
    },
    needs=SPANISH_FILES,
)
