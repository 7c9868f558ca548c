"""The structured SVM by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013, Block-coordinate
Frank-Wolfe optimization for structural SVMs, Alg. 3-4), with the pairwise steps and the sampling of
Osokin et al. 2016 (Minding the gaps for block Frank-Wolfe optimization of structured SVMs).

The dual is that of max-margin exponentiated gradient (``egparse.learners.eg.online``), in mixtures
mu_i of the structures of each example:

    max  D(mu) = sum_i (p_i'mu_i + q_i) - |v|^2 / (2C),   v = sum_i F_i' (z_i - mu_i),   w = v / C.

A visit to example i takes the structure y* of the highest cost-augmented score, by one argmax, and
moves mu_i along d, to the best point of the way:

    s_i = F_i v,    D(mu_i + gamma d) = D + gamma (p_i + s_i / C)'d - gamma^2 |F_i'd|^2 / (2C)

    plain      d = y* - mu_i          gamma <= 1
    pairwise   d = y* - y             gamma <= the weight of y in the mixture mu_i

where y is the structure of the mixture with the lowest score: pairwise steps need the structures
one by one, plain ones mu_i alone. The gap of example i, g_i = (p_i + s_i / C)'(y* - mu_i), is known
at each visit; the sum of all gaps at one w is P(w) - D(mu).

We differ from the papers in the start, which is the correct structure or, where inference cannot
reach that, the structure with most of its parts; mu_i is kept in place of w_i = F_i'(z_i - mu_i) /
C, a sparse vector of features; and old gaps are made anew by a pass over all examples, which steps
as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from egparse.errors import EgparseError
from egparse.learners.dual import DualLearner, DualState, require_hinge
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import HINGE
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs, Singles

_ROUNDS = 10
"""Gap sampling draws so many times in a pass, with the gaps known then."""
_REFRESH = 10
"""With gap sampling, of so many passes the first visits all examples."""
_ROUNDING = 1e-9
"""Relative to its terms, a smaller gain of a step is rounding of what is stored in float32."""


@dataclass(frozen=True, kw_only=True)
class FrankWolfeConfig(LearnerConfig):
    """``steps``: see the module. ``sampling``: a pass draws n examples *uniform* (as published) or
    by *gap*, in proportion to the gap at the last visit, with replacement.

    Raises:
        ConfigError: another loss than the structured hinge (beta = inf, gamma = 1), or a value out
            of range.
    """

    beta: float = math.inf
    gamma: float = 1.0
    steps: Annotated[Literal["plain", "pairwise"], "see the module"] = "plain"
    sampling: Annotated[Literal["uniform", "gap"], "of visits"] = "uniform"

    def __post_init__(self) -> None:
        require_hinge("Frank-Wolfe", self)


class Mixture:
    """Structures of one example with weights above 0 that add up to one; at first one structure,
    the part vector ``first`` (parts,), alone. Each has a key, its parts that are not 0, how often
    it has them, and its weight.
    """

    def __init__(self, first: Floats) -> None:
        self.members: dict[bytes, tuple[Any, Any, float]] = {}
        self.move(first, 1.0)

    def saved(self) -> list[Any]:
        """For a checkpoint."""
        return list(self.members.values())

    def restore(self, saved: list[Any]) -> None:
        """Continue from what ``saved`` returned."""
        self.members = {one[0].tobytes() + one[1].tobytes(): tuple(one) for one in saved}

    def worst(self, potentials: Floats) -> tuple[Floats, float]:
        """The structure of the lowest score, (parts,), and its weight."""
        parts, counts, weight = min(
            self.members.values(), key=lambda own: float(potentials[own[0]] @ own[1])
        )
        structure = np.zeros(len(potentials))
        structure[parts] = counts
        return structure, weight

    def move(self, structure: Floats, by: float) -> None:
        """Change the weight of a structure (parts,), which is dropped once it has none."""
        parts = np.flatnonzero(structure).astype(np.int32)
        counts = structure[parts].astype(np.float32)
        key = parts.tobytes() + counts.tobytes()
        left = self.members.get(key, (parts, counts, 0.0))[2] + by
        # what rounding leaves of a weight that was taken whole
        if left <= 4 * np.finfo(np.float64).eps * abs(by):
            self.members.pop(key, None)
        else:
            self.members[key] = parts, counts, left


@dataclass(kw_only=True)
class FrankWolfeState(DualState):
    """``mixtures`` mu_i, flat over all parts; ``value`` p_i'mu_i + q_i and ``gap`` at the last
    visit, (n,). ``active`` are the structures of each mixture, for pairwise steps.
    """

    value: Floats
    mixtures: Singles
    gap: Floats
    generator: np.random.Generator
    active: list[Mixture] = field(default_factory=list)
    passes: int = 0


class FrankWolfe(DualLearner):
    """Block-coordinate Frank-Wolfe on a problem; the problem holds v = C w."""

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
            gap=np.zeros(self.n),
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
            if self.config.steps == "pairwise":
                state.active.append(Mixture(first))
        return state

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
        gap = highest - float(potentials @ mixture)
        if not math.isfinite(gap):
            raise EgparseError(f"Frank-Wolfe: expected a finite gap of example {i}, got {gap}")
        state.gap[i] = max(0.0, gap)
        start, longest = mixture.astype(np.float64), 1.0
        if state.active:
            start, longest = state.active[i].worst(potentials)
        direction = best - start
        slope, step, increase = float(potentials @ direction), 0.0, 0.0
        if slope > _ROUNDING * (1.0 + abs(highest)):
            step, increase = self._search(state, i, scores, direction, slope, longest)
        if step and state.active:
            state.active[i].move(start, -step)
            state.active[i].move(best, step)
        self._attend(state, i)
        return increase

    def iterate(self, state: FrankWolfeState) -> None:
        """As many visits as there are examples."""
        by_gap = self.config.sampling == "gap" and state.passes % _REFRESH > 0
        for part in np.array_split(np.arange(self.n), _ROUNDS if by_gap else 1):
            self.run_steps(state, self._draw(state, len(part)))
        state.passes += 1

    def _draw(self, state: FrankWolfeState, count: int) -> Longs:
        """The examples to visit next."""
        if self.config.sampling == "uniform":
            return state.generator.integers(0, self.n, size=count)
        total = float(state.gap.sum())
        if state.passes % _REFRESH == 0 or not total > 0.0:
            return state.generator.permutation(self.n)[:count]
        return state.generator.choice(self.n, size=count, p=state.gap / total)

    def _search(
        self,
        state: FrankWolfeState,
        i: int,
        scores: Floats,
        direction: Floats,
        slope: float,
        longest: float,
    ) -> tuple[float, float]:
        """Make the best step along the direction; returns it, and the increase of the dual."""
        problem, mixture = self.problem, state.mixtures[self._parts_of(i)]
        along = float(scores @ direction)
        # |v - F'd|^2 - |v|^2 = |F'd|^2 - 2 s'd
        tried = problem.add(i, -direction)
        curvature = tried + 2.0 * along
        step = min(longest, slope * state.c / curvature) if curvature > 0.0 else longest
        new = (mixture + step * direction).astype(np.float32).astype(np.float64)
        value = problem.expected_cost(i, new)
        norm_change = tried + problem.add(i, mixture - new + direction)
        increase = value - float(state.value[i]) - norm_change / (2 * state.c)
        if increase < -_ROUNDING * (1.0 + abs(norm_change) / state.c):
            state.squared_norm += norm_change + problem.add(i, new - mixture)
            return 0.0, 0.0
        state.squared_norm += norm_change
        state.value[i], mixture[:] = value, new
        return step, increase


def nearest_structure(problem: Problem, i: int) -> Floats:
    """The correct structure if inference can reach it, else one that is close to it, (parts,)."""
    potentials = problem.gold(i) * 2.0 - 1.0  # a structure of other parts scores less than z
    found = np.empty_like(potentials)
    problem.argmax(i, potentials, found)
    return found
