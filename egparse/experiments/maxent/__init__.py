"""Maximum-entropy classification by iterative scaling and coordinate descent, one algorithm a file
(Huang et al. 2009).
"""

from __future__ import annotations

from egparse.experiments.maxent.lbfgs import maxent_optimum
from egparse.experiments.maxent.learner import MaxentLearner, MaxentState
from egparse.experiments.maxent.problem import MaxentProblem, build_maxent
from egparse.experiments.maxent.registry import MAXENT_LEARNERS, train_maxent
from egparse.experiments.maxent.run import MaxentRun, MaxentStop, Record

__all__ = [
    "MAXENT_LEARNERS",
    "MaxentLearner",
    "MaxentProblem",
    "MaxentRun",
    "MaxentState",
    "MaxentStop",
    "Record",
    "build_maxent",
    "maxent_optimum",
    "train_maxent",
]
