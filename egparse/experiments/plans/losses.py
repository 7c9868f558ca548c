"""The losses between CRF and structured SVM, trained by dual coordinate ascent (Martins et al.
2010, Table 1).
"""

from __future__ import annotations

import math
from functools import partial

from egparse.experiments.plans import dca
from egparse.experiments.plans.contenders import DCA
from egparse.experiments.problems.samples import SPANISH_NAMES, UD_ENGLISH, files_of
from egparse.experiments.running import Budget, Experiment, Plan

CRF, SVM = "CRF", "SVM"

LOSSES = {
    CRF: (1.0, 0.0),
    "beta 1, gamma 1": (1.0, 1.0),
    "beta 1, gamma 3": (1.0, 3.0),
    "beta 1, gamma 5": (1.0, 5.0),
    "beta 3, gamma 1": (3.0, 1.0),
    "beta 5, gamma 1": (5.0, 1.0),
    SVM: (math.inf, 1.0),
}
"""The columns of the table."""

_ENGLISH = partial(dca.trees, "English")
_CONTENDERS = tuple(DCA._replace(label=label, loss=loss) for label, loss in LOSSES.items())

EXPERIMENT = Experiment(
    {
        name: Plan(problem, _CONTENDERS, constants, budget, seeds=3, seeds_at_best=True)
        for name, problem, constants, budget in (
            ("names", dca.names, (10.0, 1.0, 0.1, 0.01), Budget(50, spacing=2)),
            ("English", _ENGLISH, (1000.0, 100.0, 10.0, 1.0), Budget(10, spacing=2)),
        )
    },
    needs=tuple(name for corpus in (SPANISH_NAMES, UD_ENGLISH) for name in files_of(corpus)),
)
