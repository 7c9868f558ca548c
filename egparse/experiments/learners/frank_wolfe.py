"""The structured SVM by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013, Block-coordinate
Frank-Wolfe optimization for structural SVMs, Alg. 3-4).

The dual is that of max-margin exponentiated gradient (``egparse.learners.eg.online``), in mixtures
mu_i of the structures of each example:

    max  D(mu) = sum_i (p_i'mu_i + q_i) - |v|^2 / (2C),   v = sum_i F_i' (z_i - mu_i),   w = v / C.

A visit to example i takes the structure y* of the highest cost-augmented score, by one argmax, and
moves mu_i along d = y* - mu_i, to the best point of the way:

    s_i = F_i v,    D(mu_i + t d) = D + t (p_i + s_i / C)'d - t^2 |F_i'd|^2 / (2C),    t <= 1

We differ from the paper in the start, which is the correct structure or, where inference cannot
reach that, the structure with most of its parts; and mu_i is kept in place of w_i = F_i'(z_i -
mu_i) / C, a sparse vector of features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from egparse.errors import EgparseError
from egparse.learners.dual import DualLearner, DualState, require_hinge
from egparse.learners.learner import LearnerConfig, OnlineLearner
from egparse.learners.losses import HINGE
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs, Singles

_ROUNDING = 1e-9
"""Relative to its terms, a smaller gain of a step is rounding of what is stored in float32."""


@dataclass(frozen=True, kw_only=True)
class FrankWolfeConfig(LearnerConfig):
    """The loss is the structured hinge (beta = inf, gamma = 1); there are no options."""

    beta: float = math.inf
    gamma: float = 1.0

    def __post_init__(self) -> None:
        require_hinge("Frank-Wolfe", self)


@dataclass(kw_only=True)
class FrankWolfeState(DualState):
    """``mixtures`` mu_i, flat over all parts, and ``value`` p_i'mu_i + q_i, (n,)."""

    value: Floats
    mixtures: Singles
    generator: np.random.Generator


class FrankWolfe(DualLearner, OnlineLearner):
    """Block-coordinate Frank-Wolfe on a problem; the problem holds v = C w. A pass makes as many
    visits as there are examples, which are drawn with replacement.
    """

    name = "Frank-Wolfe"
    config_type = FrankWolfeConfig
    loss = HINGE

    def __init__(self, problem: Problem, config: FrankWolfeConfig) -> None:
        super().__init__(problem)
        self.config = config

    def initialise(self, gold_theta: float | Floats = 3.0) -> FrankWolfeState:
        """Every mixture is the structure nearest to the correct one; ``gold_theta`` is ignored."""
        problem = self.problem
        problem.reset()
        state = FrankWolfeState(
            mixtures=np.zeros(int(problem.part_starts[-1]), dtype=np.float32),
            value=np.zeros(self.n),
            squared_norm=0.0,
            c=self.config.c,
            generator=np.random.default_rng(self.config.seed),
            evaluations=self.n,
        )
        for i in range(self.n):
            first = nearest_structure(problem, i)
            state.mixtures[self._parts_of(i)] = first
            state.value[i] = problem.expected_cost(i, first)
            changes = problem.gold(i) - first
            if changes.any():
                state.squared_norm += problem.add(i, changes)
        return state

    def next_visits(self, state: FrankWolfeState, by_gain: bool) -> Longs:
        """Examples drawn with replacement."""
        return state.generator.integers(0, self.n, size=self.n)

    def update(self, state: FrankWolfeState, i: int) -> float:
        """One step on example i; returns the increase of the dual.

        Raises:
            EgparseError: a gap that is not finite.
        """
        problem, mixture = self.problem, state.mixtures[self._parts_of(i)]
        scores, best = problem.scores(i), np.empty(len(mixture))
        potentials = scores * (1.0 / state.c) + problem.cost(i)  # p + s / C
        highest = problem.argmax(i, potentials, best)
        state.evaluations += 1
        direction = best - mixture.astype(np.float64)
        slope, increase = float(potentials @ direction), 0.0
        if not math.isfinite(slope):
            raise EgparseError(f"Frank-Wolfe: expected a finite gap of example {i}, got {slope}")
        if slope > _ROUNDING * (1.0 + abs(highest)):
            along = float(scores @ direction)
            # |v - F'd|^2 - |v|^2 = |F'd|^2 - 2 s'd
            tried = problem.add(i, -direction)
            curvature = tried + 2.0 * along
            step = min(1.0, slope * state.c / curvature) if curvature > 0.0 else 1.0
            new = (mixture + step * direction).astype(np.float32).astype(np.float64)
            value = problem.expected_cost(i, new)
            norm_change = tried + problem.add(i, mixture - new + direction)
            increase = value - float(state.value[i]) - norm_change / (2 * state.c)
            if increase < -_ROUNDING * (1.0 + abs(norm_change) / state.c):
                norm_change, increase = norm_change + problem.add(i, new - mixture), 0.0
            else:
                state.value[i], mixture[:] = value, new
            state.squared_norm += norm_change
        self._attend(state, i)
        return increase


def nearest_structure(problem: Problem, i: int) -> Floats:
    """The correct structure if inference can reach it, else one that is close to it, (parts,)."""
    potentials = problem.gold(i) * 2.0 - 1.0  # a structure of other parts scores less than z
    found = np.empty_like(potentials)
    problem.argmax(i, potentials, found)
    return found
