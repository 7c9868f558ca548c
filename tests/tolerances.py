"""How far two computations of one number may lie apart: by rounding, or by the rule at which an
optimiser stops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.learners.eg.step import FLOOR
from egparse.learners.learner import Certificate
from egparse.learners.problem import Problem
from egparse.types import Floats

DOUBLE = float(np.finfo(np.float64).eps)
SINGLE = float(np.finfo(np.float32).eps)

STORED = FLOOR + SINGLE
"""How far a marginal that EG has stored may be from that of theta: moves below FLOOR wait, and what
is stored is rounded.
"""


def rounding(operations: float, magnitude: float = 1.0, eps: float = DOUBLE) -> float:
    """The error of so many operations in a row on numbers up to ``magnitude``: n eps |x| (Higham
    2002, Accuracy and stability of numerical algorithms, section 3.1; his unit roundoff is half of
    our eps, which leaves room for exp and log).
    """
    return operations * eps * magnitude


def score_rounding(scores: Floats, terms: int, steps: int | None = None) -> float:
    """The error of the score of a structure, a sum of up to ``terms`` of these scores, or of log Z
    in ``steps`` (``terms``) steps of a sum, an exponential and a logarithm: as many roundings of
    numbers up to ``terms`` times the largest score.

    An error of a logarithm is a relative error of the number: a marginal, exp(inside + outside -
    log Z), has three times as much.
    """
    finite = np.abs(scores[np.isfinite(scores)])
    return rounding(4 * (steps or terms), terms * max(1.0, float(finite.max(initial=0.0))))


def eps_of(problem: Problem) -> float:
    """Of the numbers that the problem holds its weights in."""
    return max(float(np.finfo(array.dtype).eps) for array in problem.vectors())


def bracket(certificates: Sequence[Certificate], optimum: float, slack: float) -> None:
    """No dual is above the optimum and no primal below, but for ``slack``, all that the optimum and
    the certificates are known to.
    """
    assert max(each.dual for each in certificates) <= optimum + slack
    assert min(each.primal for each in certificates) >= optimum - slack


def stored_slack(features: Sequence[Floats], c: float) -> float:
    """By how much EG's certified dual may exceed that of a feasible point, by the features F of
    every example, (parts, d): the certificate corrects the dual to the marginals of theta but for
    |F' d|^2 / (2C), of the differences d to the stored ones.
    """
    moved = STORED * sum(np.abs(own).sum(axis=0) for own in features)
    return float(moved @ moved) / (2 * c)
