"""The optimum of a maximum-entropy problem to a certified gap, by a run of its own."""

from __future__ import annotations

import math
from typing import NamedTuple

from egparse.errors import EgparseError
from egparse.experiments.learners.maxent.scaling import CDConfig, CoordinateDescent
from egparse.experiments.learners.maxent.tron import TronConfig, TrustRegionNewton
from egparse.learners.problem import Problem

_FIRST_PASSES = 20  # of coordinate descent, after which Newton's method converges in a few steps
_MOST_STEPS = 100


class Optimum(NamedTuple):
    """``primal`` >= min L >= ``dual``, nats."""

    primal: float
    dual: float


def certified_optimum(problem: Problem, sigma2: float, gap: float = 1e-6) -> Optimum:
    """Bounds of min L (Huang et al. 2009, eq. 3) that differ by a fraction of at most ``gap``, by
    coordinate descent and then trust region Newton; the weights of the problem stay as they are.

    Raises:
        EgparseError: the gap is not reached, because of rounding.
    """
    own = problem.with_own_weights()
    first = CoordinateDescent(own, CDConfig(c=1 / sigma2))
    begun = first.initialise()
    for _ in range(_FIRST_PASSES):
        first.iterate(begun)
    learner = TrustRegionNewton(own, TronConfig(c=1 / sigma2))
    state, primal, dual = learner.start(begun.w), math.inf, -math.inf
    for _ in range(_MOST_STEPS):
        learner.iterate(state)
        found = learner.certificate(state)
        primal, dual = min(primal, found.primal), max(dual, found.dual)
        if primal - dual <= gap * abs(dual):
            return Optimum(primal, dual)
    raise EgparseError(
        f"expected a relative gap of {gap:g} after {_MOST_STEPS} steps of tron, got "
        f"{(primal - dual) / abs(dual):.3g}"
    )
