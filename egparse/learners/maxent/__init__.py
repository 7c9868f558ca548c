"""Maximum-entropy classification by iterative scaling and coordinate descent, one algorithm a file (Huang et al. 2009)."""

from __future__ import annotations

from egparse.learners.maxent.maxent_lbfgs import maxent_optimum
from egparse.learners.maxent.maxent_learner import MaxentLearner, MaxentState
from egparse.learners.maxent.maxent_problem import MaxentProblem, build_maxent
from egparse.learners.maxent.maxent_registry import MAXENT_LEARNERS, train_maxent
from egparse.learners.maxent.maxent_run import MaxentRun, MaxentStop, Record

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
