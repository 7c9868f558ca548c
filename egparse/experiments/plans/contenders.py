"""The learners that several experiments compare."""

from __future__ import annotations

from egparse.experiments.running import Contender

EG = Contender("EG", "eg-online", {"published": True, "start": "gold"})
"""Collins et al. 2008, Fig. 2: examples drawn with replacement, rates halved until the dual rises.
The paper asks for a start in the interior; here it is near the correct structures, as the numbers
of its Tables 2 and 3 imply, and its bounds alone are about the uniform distribution.
"""

BATCH = Contender("EG batch", "eg-batch", {"start": "gold"}, random=False)
"""All examples at once (Collins et al. 2008, Fig. 1), with the halving of the online algorithm."""

SGD = Contender("SGD", "sgd", tuned=("eta0", (1.0, 0.1, 0.01, 0.001, 0.0001)))
"""The first learning rate chosen as in Collins et al. 2008, section 7.1.3."""

LBFGS = Contender("L-BFGS", "lbfgs", random=False)
CG = Contender("CG", "cg", random=False)
DCA = Contender("DCA", "dca")

EG_2007, EG_2007_UNIFORM = (
    tuple(
        Contender(
            f"EG 2007, {eta:g}{suffix}", "eg-2007", {"eta": eta, "start": start}, random=False
        )
        for eta in (0.5, 0.1, 0.05)
    )
    for start, suffix in (("gold", ""), ("uniform", ", uniform start"))
)
"""The algorithm of Globerson et al. 2007 with several first learning rates, from near the correct
structures and from the uniform distribution: the paper gives neither the rate nor the start.
"""
