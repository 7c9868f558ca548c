"""The structured SVM by cutting planes: what Collins et al. 2008 (section 8) compare max-margin
exponentiated gradient with.

Problem: min over w of R(w) + C/2 |w|^2 with R(w) = sum_i max_y (cost_i(y) - w . psi_iy), psi_iy =
F_i' (z_i - y). Any choice of one structure an example bounds R from below by a plane: R(w) >= b_k -
w . g_k, with g_k and b_k the sums of psi and cost. Each step

    1. finds the structures that attain R at w by one cost-augmented argmax for each example, which
       gives P(w) and a new plane;
    2. solves the problem with the planes so far in the dual, a quadratic program over the weights a
       of the planes,

       max  a . b - |v|^2 / (2C),    v = sum_k a_k g_k,    a >= 0,    sum_k a_k = 1;    w = v / C.

The mixture a of planes is a mixture of structures for each example, hence a feasible point of the
dual of the whole problem, and the value of the program is a lower bound of the optimum. These are
the working sets of Tsochantaridis et al. 2004 (Support vector machine learning for interdependent
and structured output spaces, Alg. 1, margin rescaling) with one slack for all examples, as in
Joachims et al. 2009 (Cutting-plane training of structural SVMs, Alg. 3): the size of the program is
then the number of steps, not n times that. We differ in the constraint sum a = 1, not <= 1: a
correct structure that inference cannot reach may have a negative loss.

Memory: a copy of v for each plane; planes without weight for ``patience`` steps are dropped (ibid.,
section 5).
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import clarabel
import numpy as np
import numpy.typing as npt
from annotated_types import Interval
from scipy import sparse

from egparse.errors import ConfigError, EgparseError
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.losses import HINGE
from egparse.learners.problem import Problem, read, write
from egparse.types import Floats, Longs

_NO_WEIGHT = 1e-9  # interior points are never 0; smaller weights of planes are set to 0
_SETTLED = 1e-3
"""If a new plane does not raise the dual, the reason is the rounding of v below this relative gap,
and above it the learner has failed.
"""


@dataclass(frozen=True, kw_only=True)
class CuttingPlaneConfig(LearnerConfig):
    """``c`` is the regularisation constant C; a plane is dropped after ``patience`` steps without
    weight.

    Steps end at a relative gap of ``tolerance``.

    Raises:
        ConfigError: another loss than the structured hinge (beta = inf, gamma = 1), or a value out
            of range.
    """

    beta: float = math.inf
    gamma: float = 1.0
    patience: Annotated[int, Interval(ge=1, le=1_000_000_000), "steps without weight"] = 50
    tolerance: Annotated[float, Interval(ge=0, le=1), "the relative gap to end at"] = 1e-7

    def __post_init__(self) -> None:
        if (self.beta, self.gamma) != (HINGE.beta, HINGE.gamma):
            raise ConfigError(
                f"cutting planes expect the loss max-margin (beta = inf, gamma = 1), "
                f"got beta = {self.beta:g}, gamma = {self.gamma:g}"
            )
        if not self.c > 0 or self.patience < 1 or not self.tolerance >= 0:
            raise ConfigError(
                f"expected c > 0, patience >= 1 and tolerance >= 0, got c = {self.c}, "
                f"patience = {self.patience}, tolerance = {self.tolerance}"
            )


class Cut(NamedTuple):
    """The plane that touches R at w, and P(w)."""

    primal: float
    slope: npt.NDArray[np.floating[Any]]
    height: float


@dataclass
class CuttingPlaneState:
    """The planes: ``slopes`` g_k, ``heights`` b_k, the ``gram`` matrix of the slopes, ``weights``
    a_k, and ``idle``, the steps since each had a weight above 0.

    ``cut`` is the plane at the current w; ``passes`` counts the searches for planes.
    """

    slopes: list[npt.NDArray[np.floating[Any]]]
    heights: Floats
    gram: Floats
    weights: Floats
    idle: Longs
    dual: float
    c: float
    cut: Cut
    passes: int = 1
    finished: bool = False

    @property
    def scale(self) -> float:
        """w = v / C."""
        return 1.0 / self.c


class CuttingPlane(Learner):
    """The one-slack structured SVM on a problem; the problem holds v = C w."""

    config_type = CuttingPlaneConfig

    def __init__(self, problem: Problem, config: CuttingPlaneConfig) -> None:
        self.problem = problem
        self.config = config
        self._twin = problem.with_own_weights()
        self._precision = np.result_type(*problem.vectors())
        self._best = np.empty(int(np.diff(problem.part_starts).max(initial=0)))

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def initialise(self, gold_theta: float | Floats = 3.0) -> CuttingPlaneState:
        """w = 0, whatever ``gold_theta``, no planes, and a first search there."""
        self.problem.reset()
        none, c = np.empty(0), self.config.c
        first = self._search(1.0 / c)
        return CuttingPlaneState(
            [], none, np.empty((0, 0)), none, np.empty(0, dtype=np.int64), -math.inf, c, first
        )

    def iterate(self, state: CuttingPlaneState) -> None:
        """One quadratic program with the plane that was found last, and the search for the plane
        at its solution; nothing once it has ``finished``.

        Raises:
            EgparseError: the objective is not finite, the program has no solution, or a plane does
                not raise the dual far from the optimum.
        """
        if state.finished:
            return
        before = relative_gap(state)
        self._include(state, state.cut)
        if self._solve(state):
            state.cut = self._search(state.scale)
            state.passes += 1
            state.finished = relative_gap(state) <= self.config.tolerance
            return
        state.finished = True
        if before > _SETTLED:
            raise EgparseError(
                "cutting planes: expected a new plane to raise the dual, got no rise at a "
                f"relative gap of {before:.3g}"
            )

    def certificate(self, state: CuttingPlaneState) -> Certificate:
        """Primal at the current w, the value of the last program, passes made; the details hold the
        number of planes. All of it is known already.
        """
        return Certificate(
            state.cut.primal,
            state.dual,
            float(state.passes),
            self.config.c,
            {"planes": float(len(state.slopes))},
        )

    def model_weights(self, state: CuttingPlaneState) -> AbstractContextManager[None]:
        """Nothing to do: w = v / C is the model."""
        return nullcontext()

    def _search(self, scale: float) -> Cut:
        problem, twin = self.problem, self._twin
        twin.reset()
        loss, height = 0.0, 0.0
        for i in range(self.n):
            scores = problem.scores(i) * scale
            best = self._best[: len(scores)]
            loss += HINGE.value(problem, i, scores, best)
            height += float(problem.cost(i) @ best) + problem.cost_constant(i)
            np.subtract(problem.gold(i), best, out=best)
            twin.add(i, best)
        v = read(problem)
        primal = loss + scale * float(v @ v) / 2
        if not math.isfinite(primal):
            raise EgparseError(f"cutting planes: expected a finite objective, got {primal}")
        return Cut(primal, read(twin).astype(self._precision), height)

    def _include(self, state: CuttingPlaneState, cut: Cut) -> None:
        """Drop the planes that had no weight for ``patience`` steps, and add the new one."""
        kept = np.flatnonzero(state.idle < self.config.patience)
        state.slopes = [state.slopes[k] for k in kept]
        row = np.array([_dot(slope, cut.slope) for slope in state.slopes])
        gram = np.empty((len(kept) + 1, len(kept) + 1))
        gram[:-1, :-1] = state.gram[np.ix_(kept, kept)]
        gram[-1, :-1] = gram[:-1, -1] = row
        gram[-1, -1] = _dot(cut.slope, cut.slope)
        state.slopes.append(cut.slope)
        state.gram = gram
        state.heights = np.append(state.heights[kept], cut.height)
        state.weights = np.append(state.weights[kept], 0.0)
        state.idle = np.append(state.idle[kept], 0)

    def _solve(self, state: CuttingPlaneState) -> bool:
        """Set new weights of the planes, and v; False, and no change, if the dual does not rise."""
        weights = best_weights(state.gram / state.c, state.heights)
        value = float(weights @ state.heights) - float(weights @ state.gram @ weights) / (
            2 * state.c
        )
        if not value > state.dual:
            return False
        state.weights, state.dual = weights, value
        state.idle = np.where(weights > 0, 0, state.idle + 1)
        v = np.zeros(len(state.slopes[0]))
        for k in np.flatnonzero(weights):
            v += weights[k] * state.slopes[k]
        write(self.problem, v)
        return True


def relative_gap(state: CuttingPlaneState) -> float:
    """The gap at the current w as a fraction of the dual; inf before the first program."""
    if not math.isfinite(state.dual):
        return math.inf
    return (state.cut.primal - state.dual) / max(abs(state.dual), 1e-300)


def best_weights(quadratic: Floats, heights: Floats) -> Floats:
    """The weights a >= 0 with sum a = 1 that maximise a . heights - a' quadratic a / 2, by an
    interior point method (Clarabel).

    ``quadratic`` (k, k) is positive semidefinite. The program is scaled to coefficients of about 1;
    weights below 1e-9 are set to 0.

    Raises:
        EgparseError: the solver finds no solution.
    """
    k = len(heights)
    if k == 1:
        return np.ones(1)
    unit = max(float(np.abs(quadratic).max()), float(np.ptp(heights)), 1e-300)
    constraints = sparse.vstack(
        [sparse.csc_matrix(np.ones((1, k))), -sparse.identity(k)], format="csc"
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    settings.max_threads = 1
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(quadratic / unit)),
        -(heights - heights.max()) / unit,  # a constant on all planes changes nothing: sum a = 1
        constraints,
        np.concatenate([np.ones(1), np.zeros(k)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(k)],
        settings,
    )
    solution = solver.solve()
    weights: Floats = np.asarray(solution.x)
    if not np.isfinite(weights).all() or not weights.max(initial=0.0) > 0:
        raise EgparseError(
            f"cutting planes: expected a solution of the quadratic program over {k} planes, got "
            f"{solution.status}"
        )
    weights[weights < _NO_WEIGHT] = 0.0
    weights /= weights.sum()
    return weights


def _dot(a: npt.NDArray[np.floating[Any]], b: npt.NDArray[np.floating[Any]]) -> float:
    """The inner product in double precision."""
    return float(np.einsum("i,i->", a, b, dtype=np.float64))
