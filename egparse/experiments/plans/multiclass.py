"""A log-linear classifier of digits (Globerson et al. 2007, Fig. 3; Collins et al. 2008, Fig. 4 to
11, Tables 1 and 2).
"""

from __future__ import annotations

import numpy as np

from egparse.experiments.plans.contenders import CG, EG, EG_UNIFORM, LBFGS, SGD
from egparse.experiments.problems.digits import IMAGES, LABELS, classifier, digits_or_points
from egparse.experiments.problems.setup import Setup
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Experiment, Plan


def digits(request: Request, seed: int) -> Setup:
    """7,000 digits for training and 1,500 for validation, drawn by the seed."""
    n_train, n_dev = (300, 150) if request.quick else (7000, 1500)
    name, x, y = digits_or_points(request, n_train + n_dev, seed)
    order = np.random.default_rng(seed).permutation(len(x))
    train, dev = order[:n_train], order[n_train : n_train + n_dev]
    return classifier(name, (x[train], y[train]), (x[dev], y[dev]))


EXPERIMENT = Experiment(
    {
        "digits": Plan(
            digits,
            (EG, EG_UNIFORM, LBFGS, CG, SGD),
            (1000.0, 100.0, 10.0, 1.0),
            Budget(200),
        )
    },
    needs=(IMAGES, LABELS),
)
