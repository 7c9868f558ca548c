"""Learners that came after the papers, on one problem of each kind: log-linear classes of digits,
log-linear chains of names, projective trees with the log-linear and the max-margin loss.
"""

from __future__ import annotations

import numpy as np

from egparse.experiments.plans.contenders import EG, EG_OWN, LBFGS, SGD
from egparse.experiments.problems.digits import IMAGES, LABELS, classifier, digits_or_points
from egparse.experiments.problems.names import entities
from egparse.experiments.problems.samples import (
    SPANISH_FILES,
    SPANISH_NAMES,
    files_of,
    sample,
    spanish_trees,
)
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import parser
from egparse.experiments.request import Request
from egparse.experiments.running import HINGE, Budget, Contender, Experiment, Plan

_ETA = (1.0, 0.3, 0.1, 0.03, 0.01)

SAG = Contender("SAG", "sag")
SAG_UNIFORM = Contender("SAG, uniform", "sag", {"sampling": "uniform"})
SDCA = Contender("SDCA", "sdca")
ADAGRAD = Contender("AdaGrad", "adagrad", tuned=("eta", _ETA))
ADAGRAD_BATCH = ADAGRAD._replace(options={"batch": 4})
"""Where weights are many, a step takes longer than the visits for it."""

EG_VISITS = Contender("EG, egparse", "eg-online")
"""As this project trains taggers: more visits to the examples that gain."""

FRANK_WOLFE = Contender("Frank-Wolfe", "frank-wolfe")
GAPS = Contender("Frank-Wolfe, gaps", "frank-wolfe", {"sampling": "gap"})
PAIRWISE = Contender("Frank-Wolfe, pairwise", "frank-wolfe", {"steps": "pairwise"})
BOTH = Contender(
    "Frank-Wolfe, pairwise, gaps", "frank-wolfe", {"steps": "pairwise", "sampling": "gap"}
)
N_SLACK = Contender("SVM-Struct", "n-slack", {"accumulate": 100}, random=False)
TRON = Contender("TRON", "tron", random=False)
DUAL_CD = Contender("dual CD", "dual-cd", random=False)

_GAP, _SPACING, _MARGIN_SPACING = 1e-5, 1.05, 1.1


def _digits(request: Request, seed: int) -> Setup:
    n_train, n_dev = (300, 150) if request.quick else (7000, 3000)
    name, x, y = digits_or_points(request, n_train + n_dev, seed)
    order = np.random.default_rng(seed).permutation(len(x))
    train, dev = order[:n_train], order[n_train : n_train + n_dev]
    return classifier(name, (x[train], y[train]), (x[dev], y[dev]))


def _names(request: Request, seed: int) -> Setup:
    part = sample(request, SPANISH_NAMES, (80, 40))
    return entities(part._replace(train=part.train[:2000], dev=part.dev[:300]))


def _trees(n: int, request: Request) -> Setup:
    """The first ``n`` training sentences of Collins et al. 2008; validation is on a fifth of its
    sentences, and the test on the others.
    """
    part = spanish_trees(request, (60, 30))
    fifth = len(part.dev) // 5
    part = part._replace(train=part.train[:n], dev=part.dev[:fifth], test=part.dev[fifth:])
    return parser(part, trees="projective", bits=14 if request.quick else 20)


EXPERIMENT = Experiment(
    {
        "digits": Plan(
            _digits,
            (EG, EG_OWN, SDCA, SAG, SAG_UNIFORM, SGD, ADAGRAD, LBFGS, TRON, DUAL_CD),
            (10.0, 1.0),
            Budget(150, 60.0, _GAP, _SPACING),
        ),
        "names": Plan(
            _names,
            (EG, EG_VISITS, SDCA, SAG, SAG_UNIFORM, SGD, ADAGRAD_BATCH, LBFGS),
            (1.0,),
            Budget(100, 70.0, _GAP, _SPACING),
        ),
        "trees": Plan(
            lambda request, seed: _trees(400, request),
            (EG, EG_OWN, SDCA, SAG, SAG_UNIFORM, SGD, ADAGRAD_BATCH, LBFGS),
            (10.0,),
            Budget(100, 70.0, _GAP, _SPACING),
        ),
        "max-margin trees": Plan(
            lambda request, seed: _trees(200, request),
            (EG, FRANK_WOLFE, GAPS, PAIRWISE, BOTH, N_SLACK),
            (100.0, 10.0),
            Budget(300, 24.0, 1e-3, _MARGIN_SPACING),
            loss=HINGE,
            seeds=3,
        ),
    },
    needs=(IMAGES, LABELS, *files_of(SPANISH_NAMES), *SPANISH_FILES),
)
