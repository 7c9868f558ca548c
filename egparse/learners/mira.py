"""The margin infused relaxed algorithm, MIRA (Crammer et al. 2006; McDonald et al. 2005 for k best
structures): dual coordinate ascent on the hinge loss with more of the half-spaces that bound it
(Martins et al. 2010, eq. 17).

At a visit, the k structures y_1..y_k with the best cost-augmented scores give::

    min over w', slack of  C/2 |w' - w|^2 + slack
    s.t.  m_j - (w' - w) . a_j <= slack,  slack >= 0
    where  a_j = F'(z - z_j),  m_j = gamma cost(y_j) - w . a_j

whose dual is a quadratic program in k numbers, with w' = w + sum_j alpha_j a_j::

    max over alpha of  m . alpha - alpha' G alpha / 2
    s.t.  alpha >= 0,  sum_j alpha_j <= 1 / C,  where  G_jl = a_j . a_l

For k = 1 the solution is alpha = min(1/C, m / |a|^2): the step of ``dca`` for the hinge loss, and
its code. The dual increases by at least C times the value of the program. Differences of structures
are small integers, so G is exact, and the second v in which it is formed returns to 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from egparse.compilation import njit
from egparse.errors import ConfigError, EgparseError
from egparse.learners.dca import DCA, DCAConfig, DCAState
from egparse.learners.learner import Certificate
from egparse.learners.problem import Problem
from egparse.types import Floats

FULL = 1e-12
"""A bound on a sum counts as reached if less than this fraction of it is left."""


@dataclass(frozen=True, kw_only=True)
class MIRAConfig(DCAConfig):
    """``k`` structures are used at each visit; ``tolerance`` and ``max_sweeps`` are those of
    ``hildreth``, for k > 1.

    Raises:
        ConfigError: a value out of range.
    """

    beta: float = math.inf
    gamma: float = 1.0
    k: Annotated[int, Interval(ge=1, le=100), "structures at each visit"] = 1
    tolerance: Annotated[float, Interval(ge=1e-12, le=1), "of the quadratic program"] = 1e-6
    max_sweeps: Annotated[int, Interval(ge=1, le=1_000_000), "over the rows"] = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta != math.inf:
            raise ConfigError(
                f"MIRA expects a max-margin loss (beta = inf), got beta = {self.beta:g}"
            )


class MarginSolution(NamedTuple):
    """``alpha`` (k,), the ``slack`` (the multiplier of the bound on their sum), and the
    ``violation`` of the optimality conditions after ``sweeps`` over the rows.
    """

    alpha: Floats
    slack: float
    violation: float
    sweeps: int


def hildreth(
    gram: npt.ArrayLike,
    margins: npt.ArrayLike,
    upper: float,
    *,
    tolerance: float = 1e-6,
    max_sweeps: int = 10_000,
) -> MarginSolution:
    """max margins . alpha - alpha' gram alpha / 2 subject to alpha >= 0 and sum(alpha) <= upper.

    Hildreth's procedure (1957; Censor & Zenios 1997, ch. 6): each row in turn sets its alpha to
    the best value within bounds. The common bound would make that stop short of the optimum; where
    it is reached, a row also takes from the alpha of the row with the least residual, as in
    sequential minimal optimisation (Platt 1999). Each sweep ends with an exact line search along
    the total step of the sweep: rows that oppose each other would take many small steps in turn.

    With residuals r = margins - gram alpha, and slack = max(0, max r) where the bound is reached
    and 0 elsewhere, it stops when r_j <= slack for all j, and r_j >= slack where alpha_j > 0, hold
    to within ``tolerance`` times the largest |margin|, or after ``max_sweeps``; ``violation`` is
    what remains. Convergence is linear, and slow where rows oppose each other exactly and margins
    are small against the entries of gram times ``upper``.

    Args:
        gram: (k, k), symmetric and positive semi-definite; may be singular.
        margins: (k,).
        upper: positive and finite.
        tolerance: relative, see above.
        max_sweeps: over all rows.

    Raises:
        ValueError: shapes that do not fit, or a bound out of range.
    """
    gram, margins = (
        np.ascontiguousarray(gram, np.float64),
        np.ascontiguousarray(margins, np.float64),
    )
    if margins.ndim != 1 or gram.shape != (len(margins), len(margins)):
        raise ValueError(
            f"expected gram (k, k) and margins (k,), got {gram.shape} and {margins.shape}"
        )
    if not 0 < upper < math.inf:
        raise ValueError(f"expected 0 < upper < inf, got {upper}")
    alpha, residuals = np.zeros(len(margins)), margins.copy()
    allowed = tolerance * float(np.max(np.abs(margins), initial=0.0))
    slack, violation, sweeps = _ascend(gram, upper, allowed, max_sweeps, alpha, residuals)
    return MarginSolution(alpha, float(slack), float(violation), int(sweeps))


@njit
def _ascend(
    gram: Floats, upper: float, allowed: float, max_sweeps: int, alpha: Floats, residuals: Floats
) -> tuple[float, float, int]:
    """Make sweeps until the violation is at most ``allowed``; update ``alpha`` and ``residuals`` =
    margins - gram alpha; return slack, violation and number of sweeps.
    """
    k = alpha.size
    slack, violation = _conditions(upper, alpha, residuals)
    sweeps = 0
    while violation > allowed and sweeps < max_sweeps:
        start = alpha.copy()
        for j in range(k):
            room = max(0.0, upper - alpha.sum())
            change = _best(residuals[j], gram[j, j], -alpha[j], room)
            _move(gram, j, change, alpha, residuals)
            giver = _giver(alpha, residuals)
            is_full = upper - alpha.sum() <= FULL * upper
            if is_full and giver >= 0 and residuals[j] > residuals[giver]:
                # move alpha from giver to j: the sum stays
                curvature = gram[j, j] + gram[giver, giver] - 2.0 * gram[j, giver]
                change = _best(residuals[j] - residuals[giver], curvature, 0.0, alpha[giver])
                _move(gram, j, change, alpha, residuals)
                _move(gram, giver, -change, alpha, residuals)
        _search_along(gram, upper, alpha - start, alpha, residuals)
        sweeps += 1
        slack, violation = _conditions(upper, alpha, residuals)
    return slack, violation, sweeps


@njit
def _best(slope: float, curvature: float, lowest: float, highest: float) -> float:
    """The t between ``lowest`` and ``highest`` that maximises slope t - curvature t^2 / 2."""
    if curvature > 0.0 and abs(slope) < curvature * (highest - lowest):
        return min(max(slope / curvature, lowest), highest)
    if slope == 0.0:
        return 0.0
    return highest if slope > 0.0 else lowest


@njit
def _move(gram: Floats, j: int, change: float, alpha: Floats, residuals: Floats) -> None:
    """alpha_j += change"""
    alpha[j] = max(0.0, alpha[j] + change)
    for row in range(alpha.size):
        residuals[row] -= gram[row, j] * change


@njit
def _search_along(
    gram: Floats, upper: float, direction: Floats, alpha: Floats, residuals: Floats
) -> None:
    """Exact line search along ``direction``, within bounds."""
    k = alpha.size
    effect = np.zeros(k)
    slope, curvature, total, farthest = 0.0, 0.0, 0.0, np.inf
    for j in range(k):
        for row in range(k):
            effect[row] += gram[row, j] * direction[j]
        slope += residuals[j] * direction[j]
        total += direction[j]
        if direction[j] < 0.0:
            farthest = min(farthest, -alpha[j] / direction[j])
    for j in range(k):
        curvature += direction[j] * effect[j]
    if total > 0.0:
        farthest = min(farthest, max(0.0, upper - alpha.sum()) / total)
    if slope <= 0.0 or farthest == np.inf:
        return
    step = _best(slope, curvature, 0.0, farthest)
    for j in range(k):
        alpha[j] = max(0.0, alpha[j] + step * direction[j])
        residuals[j] -= step * effect[j]


@njit
def _giver(alpha: Floats, residuals: Floats) -> int:
    """The row of least residual among those with alpha > 0; -1 if there is none."""
    giver = -1
    for j in range(alpha.size):
        if alpha[j] > 0.0 and (giver < 0 or residuals[j] < residuals[giver]):
            giver = j
    return giver


@njit
def _conditions(upper: float, alpha: Floats, residuals: Floats) -> tuple[float, float]:
    """The slack, and by how much the optimality conditions fail."""
    highest = 0.0
    for j in range(alpha.size):
        highest = max(highest, residuals[j])
    slack = highest if upper - alpha.sum() <= FULL * upper else 0.0
    violation = highest - slack
    for j in range(alpha.size):
        if alpha[j] > 0.0:
            violation = max(violation, slack - residuals[j])
    return slack, violation


class MIRA(DCA):
    """MIRA on a problem; the problem holds w."""

    name = "MIRA"
    config_type = MIRAConfig

    def __init__(self, problem: Problem, config: MIRAConfig) -> None:
        if config.k > 1 and not problem.offers("k_best"):
            raise ConfigError(
                f"MIRA with k = {config.k} expects a problem that lists its k best structures (a "
                f"method k_best), got {type(problem).__name__}"
            )
        super().__init__(problem, config)
        self.k, self._tolerance, self._max_sweeps = config.k, config.tolerance, config.max_sweeps
        self._second = problem.with_own_weights() if config.k > 1 else problem

    def update(self, state: DCAState, i: int) -> float:
        """One step on example i; returns a lower bound of the increase of the dual."""
        if self.k == 1:
            return super().update(state, i)
        scores = self.problem.scores(i)
        margins, differences = self._half_spaces(i, scores)
        loss = float(margins[0])
        self._record_visit(state, i, loss, float(scores @ self.problem.gold(i)))
        if not loss > 0:
            return self._skip(state, loss)
        gram = self._gram(i, differences)
        solution = hildreth(
            gram,
            margins,
            1.0 / self.config.c,
            tolerance=self._tolerance,
            max_sweeps=self._max_sweeps,
        )
        state.tally.unsolved += solution.sweeps == self._max_sweeps
        changes = solution.alpha @ differences
        increase = self.config.c * float(
            margins @ solution.alpha - solution.alpha @ gram @ solution.alpha / 2
        )
        norm_change = self.problem.add(i, changes)
        self._record_step(state, i, changes, norm_change, increase)
        return increase

    def certificate(self, state: DCAState) -> Certificate:
        """That of ``DCA``, with the detail ``unsolved``: how many programs of the last pass
        ``hildreth`` did not solve to its tolerance.
        """
        certificate = super().certificate(state)
        return certificate._replace(
            details={**certificate.details, "unsolved": float(state.tally.unsolved)}
        )

    def _half_spaces(self, i: int, scores: Floats) -> tuple[Floats, Floats]:
        """m_j (k,) and z - z_j (k, parts) of the k best structures by cost-augmented score."""
        problem, gamma = self.problem, self.config.gamma
        cost = gamma * problem.cost(i)
        structures = np.asarray(problem.k_best(i, scores + cost, self.k), dtype=np.float64)
        if not len(structures):
            raise EgparseError(f"{self.name}: expected a structure of example {i}, got none")
        differences: Floats = problem.gold(i) - structures
        # m_j = gamma (p'z_j + q) - s'(z - z_j)
        margins: Floats = (
            structures @ cost + gamma * problem.cost_constant(i) - differences @ scores
        )
        return margins, differences

    def _gram(self, i: int, differences: Floats) -> Floats:
        """G_jl = a_j . a_l: set a second v to each a_j in turn, and score the differences."""
        second = self._second
        gram = np.empty((len(differences), len(differences)))
        before: Floats = np.zeros(differences.shape[1])
        for j, difference in enumerate(differences):
            second.add(i, difference - before)
            gram[j] = differences @ second.scores(i)
            before = difference
        second.add(i, -before)
        return (gram + gram.T) / 2
