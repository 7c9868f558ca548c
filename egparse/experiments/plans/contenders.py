"""The learners that several experiments compare."""

from __future__ import annotations

from egparse.experiments.running import Contender
from egparse.parsing.training import STEPS

EG = Contender("EG", "eg-online", {"published": True, "start": "gold"})
"""Collins et al. 2008, Fig. 2: examples drawn with replacement, rates halved until the dual rises.
The paper asks for a start in the interior; here it is near the correct structures, as the numbers
of its Tables 2 and 3 imply, and its bounds alone are about the uniform distribution.
"""

EG_UNIFORM = Contender("EG, uniform start", "eg-online", {"published": True})
"""The start of Theorems 1 and 2 and of Table 1."""

EG_PERMUTED = Contender(
    "EG, permuted", "eg-online", {"published": True, "order": "random", "start": "gold"}
)
"""Departs from Fig. 2: every example once a pass, in random order."""

EG_OWN = Contender("EG, egparse", "eg-online", {"search": "quadratic", **STEPS})
"""As this project trains parsers: learning rates from second derivatives for each group of parts,
and more visits to the examples that gain.
"""

BATCH = Contender("EG batch", "eg-batch", {"start": "gold"}, random=False)
"""All examples at once (Collins et al. 2008, Fig. 1), with the halving of the online algorithm."""

SGD = Contender("SGD", "sgd", tuned=("eta0", (1.0, 0.1, 0.01, 0.001, 0.0001)))
"""The first learning rate chosen as in Collins et al. 2008, section 7.1.3."""

LBFGS = Contender("L-BFGS", "lbfgs", random=False)
CG = Contender("CG", "cg", random=False)
DCA = Contender("DCA", "dca")
