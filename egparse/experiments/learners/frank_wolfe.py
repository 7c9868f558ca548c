"""The structured SVM by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013, Block-coordinate
Frank-Wolfe optimization for structural SVMs, Alg. 3-4), with the steps and the sampling of Osokin
et al. 2016 (Minding the gaps for block Frank-Wolfe optimization of structured SVMs).

The dual is that of max-margin exponentiated gradient (``egparse.learners.eg.online``), in mixtures
mu_i of the structures of each example:

    max  D(mu) = sum_i (p_i'mu_i + q_i) - |v|^2 / (2C),   v = sum_i F_i' (z_i - mu_i),   w = v / C.

A visit to example i takes the structure y* of the highest cost-augmented score, by one argmax, and
moves mu_i along d, to the best point of the way:

    s_i = F_i v,    D(mu_i + gamma d) = D + gamma (p_i + s_i / C)'d - gamma^2 |F_i'd|^2 / (2C)

    plain      d = y* - mu_i          gamma <= 1
    pairwise   d = y* - y             gamma <= the weight of y in the mixture mu_i
    away       the better of y* - mu_i, and d = mu_i - y with gamma <= alpha_y / (1 - alpha_y)

where y is the structure of the mixture with the lowest score. Pairwise and away steps need the
mixture's structures one by one, the others mu_i alone, in as much memory as exponentiated gradient.
The gap of example i, g_i = (p_i + s_i / C)'(y* - mu_i), is known at each visit; the sum of all gaps
at one w is P(w) - D(mu).

We differ from the papers in the start, which is the correct structure or, where inference cannot
reach that, the structure with most of its parts; mu_i is kept in place of w_i = F_i'(z_i - mu_i) /
C, a sparse vector of features; and old gaps are made anew by a pass over all examples, which steps
as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Interval

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.active_sets import ActiveSet, Key
from egparse.learners.averaging import WeightAverage
from egparse.learners.learner import Certificate, LearnerConfig, OnlineLearner
from egparse.learners.losses import HINGE
from egparse.learners.problem import Problem, squared_norm
from egparse.types import Floats, Longs, Singles

Steps = Literal["plain", "pairwise", "away"]
Sampling = Literal["uniform", "permuted", "gap"]

_ROUNDS = 10
"""Gap sampling draws so many times in a pass, with the gaps known then."""
_ROUNDING = 1e-9
"""Relative to its terms, a smaller gain of a step is rounding of what is stored in float32."""


@dataclass(frozen=True, kw_only=True)
class FrankWolfeConfig(LearnerConfig):
    """``steps``: see the module. ``sampling``: a pass draws n examples *uniform* (as published) or
    by *gap*, in proportion to the gap at the last visit, with replacement; or it visits all
    examples, *permuted*. With *gap*, every ``refresh``-th pass visits all examples, from the first.

    ``averaged``: the model is the average of the weights after each visit k, weighted by k
    (Lacoste-Julien et al. 2013, section 3.3); otherwise it is the last weights.

    Raises:
        ConfigError: another loss than the structured hinge (beta = inf, gamma = 1), or a value out
            of range.
    """

    beta: float = math.inf
    gamma: float = 1.0
    steps: Annotated[Steps, "see the module"] = "plain"
    sampling: Annotated[Sampling, "of visits"] = "uniform"
    refresh: Annotated[int, Interval(ge=1, le=1_000_000_000), "passes between two whole ones"] = 10
    averaged: Annotated[bool, "the model is the average of the weights"] = False

    def __post_init__(self) -> None:
        if (self.beta, self.gamma) != (HINGE.beta, HINGE.gamma):
            raise ConfigError(
                f"Frank-Wolfe expects the loss max-margin (beta = inf, gamma = 1), "
                f"got beta = {self.beta:g}, gamma = {self.gamma:g}"
            )
        if not 0 < self.c < math.inf or self.refresh < 1:
            raise ConfigError(
                f"expected c > 0 and refresh >= 1, got c = {self.c}, refresh = {self.refresh}"
            )


@dataclass
class FrankWolfeState:
    """``mixtures`` mu_i, flat over all parts; ``value`` p_i'mu_i + q_i and ``gap`` at the last
    visit, (n,); ``squared_norm`` |v|^2. ``active`` are the structures of each mixture, for steps
    that need them.
    """

    mixtures: Singles
    value: Floats
    gap: Floats
    squared_norm: float
    c: float
    generator: np.random.Generator
    average: WeightAverage | None = None
    active: list[ActiveSet] = field(default_factory=list)
    passes: int = 0
    visits: int = 0
    evaluations: int = 0

    @property
    def scale(self) -> float:
        """w = v / C."""
        return 1.0 / self.c


class _Way(NamedTuple):
    """A direction of a step with the longest step along it; ``away`` is the structure that loses
    weight, and ``towards`` says whether y* gains any.
    """

    longest: float
    away: Key | None
    towards: bool


class FrankWolfe(OnlineLearner):
    """Block-coordinate Frank-Wolfe on a problem; the problem holds v = C w."""

    config_type = FrankWolfeConfig

    def __init__(self, problem: Problem, config: FrankWolfeConfig) -> None:
        super().__init__(problem)
        self.config = config
        self._potentials, self._best, self._direction, self._new, self._changes = np.empty(
            (5, self.longest)
        )

    def initialise(self, gold_theta: float | Floats = 3.0) -> FrankWolfeState:
        """Every mixture is the structure nearest to the correct one; ``gold_theta`` is ignored."""
        problem = self.problem
        problem.reset()
        state = FrankWolfeState(
            np.zeros(int(problem.part_starts[-1]), dtype=np.float32),
            np.zeros(self.n),
            np.zeros(self.n),
            0.0,
            self.config.c,
            np.random.default_rng(self.config.seed),
            WeightAverage(problem) if self.config.averaged else None,
        )
        for i in range(self.n):
            first = nearest_structure(problem, i, self._potentials, self._best)
            state.mixtures[self._parts_of(i)] = first
            state.value[i] = float(problem.cost(i) @ first) + problem.cost_constant(i)
            changes = np.subtract(problem.gold(i), first, out=self._changes[: len(first)])
            if changes.any():
                state.squared_norm += problem.add(i, changes)
            if self.config.steps != "plain":
                state.active.append(ActiveSet(first))
        state.evaluations = self.n
        return state

    def update(self, state: FrankWolfeState, i: int) -> float:
        """One step on example i; returns the increase of the dual.

        Raises:
            EgparseError: a gap that is not finite.
        """
        problem, mixture = self.problem, state.mixtures[self._parts_of(i)]
        size = len(mixture)
        scores, potentials, best = problem.scores(i), self._potentials[:size], self._best[:size]
        # p + s / C
        np.multiply(scores, 1.0 / state.c, out=potentials)
        potentials += problem.cost(i)
        highest = problem.argmax(i, potentials, best)
        state.evaluations += 1
        state.visits += 1
        gap = highest - float(potentials @ mixture)
        if not math.isfinite(gap):
            raise EgparseError(f"Frank-Wolfe: expected a finite gap of example {i}, got {gap}")
        state.gap[i] = max(0.0, gap)
        increase = 0.0
        direction = self._direction[:size]
        way = self._way(state, i, gap, direction)
        slope = float(potentials @ direction)
        if slope > _ROUNDING * (1.0 + abs(highest)):
            increase = self._search(state, i, scores, slope, way)
        if state.average is not None:
            state.average.include(state.visits)
        self._attend(state, i)
        return increase

    def iterate(self, state: FrankWolfeState) -> None:
        """As many visits as there are examples."""
        rounds = 1
        if self.config.sampling == "gap" and state.passes % self.config.refresh:
            rounds = _ROUNDS
        for part in np.array_split(np.arange(self.n), rounds):
            for i in self._draw(state, len(part)).tolist():
                self.update(state, i)
        state.passes += 1

    def dual(self, state: FrankWolfeState) -> float:
        """D at the present mixtures."""
        return float(state.value.sum()) - state.squared_norm / (2 * state.c)

    def certificate(self, state: FrankWolfeState) -> Certificate:
        """Primal at the weights of the model, dual of the mixtures, and effort in passes.

        Details: ``known_gap``, the sum of the gaps at the last visits, and ``structures``, how many
        a mixture has on average, where they are kept.
        """
        problem, c, loss = self.problem, self.config.c, 0.0
        with self.model_weights(state):
            for i in range(self.n):
                scores = problem.scores(i) / c
                loss += HINGE.value(problem, i, scores, self._best[: len(scores)])
            norm = state.squared_norm if state.average is None else squared_norm(problem)
        details = {"known_gap": float(state.gap.sum())}
        if state.active:
            details["structures"] = sum(map(len, state.active)) / self.n
        return Certificate(
            loss + norm / (2 * c), self.dual(state), state.evaluations / max(1, self.n), c, details
        )

    def _draw(self, state: FrankWolfeState, count: int) -> Longs:
        """The examples to visit next."""
        sampling, total = self.config.sampling, float(state.gap.sum())
        if sampling == "uniform":
            return state.generator.integers(0, self.n, size=count)
        refreshes = state.passes % self.config.refresh == 0
        if sampling == "permuted" or refreshes or not total > 0.0:
            return state.generator.permutation(self.n)[:count]
        return state.generator.choice(self.n, size=count, p=state.gap / total)

    def _way(self, state: FrankWolfeState, i: int, gap: float, direction: Floats) -> _Way:
        """Write the direction d of the step on example i."""
        size, mixture = len(direction), state.mixtures[self._parts_of(i)]
        best, potentials = self._best[:size], self._potentials[:size]
        np.subtract(best, mixture, out=direction)
        if not state.active:
            return _Way(1.0, None, True)
        active, worst = state.active[i], self._new[:size]
        key, lowest = active.worst(potentials)
        weight = active.weight(key)
        if self.config.steps == "pairwise":
            active.vector(key, worst)
            np.subtract(best, worst, out=direction)
            return _Way(weight, key, True)
        # the slope of mu - y, against that of y* - mu; a single structure has nothing to lose
        if len(active) == 1 or float(potentials @ mixture) - lowest <= gap:
            return _Way(1.0, None, True)
        active.vector(key, worst)
        np.subtract(mixture, worst, out=direction)
        return _Way(weight / (1.0 - weight), key, False)

    def _search(
        self, state: FrankWolfeState, i: int, scores: Floats, slope: float, way: _Way
    ) -> float:
        """The best step along the direction; returns the increase of the dual."""
        problem, size = self.problem, len(scores)
        direction, new, changes = self._direction[:size], self._new[:size], self._changes[:size]
        mixture, cost = state.mixtures[self._parts_of(i)], problem.cost(i)
        along = float(scores @ direction)
        np.negative(direction, out=changes)
        # |v - F'd|^2 - |v|^2 = |F'd|^2 - 2 s'd
        tried = problem.add(i, changes)
        curvature = tried + 2.0 * along
        step = min(way.longest, slope * state.c / curvature) if curvature > 0.0 else way.longest
        new[:] = (mixture + step * direction).astype(np.float32)
        value = float(cost @ new) + problem.cost_constant(i)
        np.subtract(mixture, new, out=changes)
        moved = changes.copy()
        changes += direction
        norm_change = tried + problem.add(i, changes)
        increase = value - float(state.value[i]) - norm_change / (2 * state.c)
        if increase < -_ROUNDING * (1.0 + abs(norm_change) / state.c):
            np.negative(moved, out=changes)
            state.squared_norm += norm_change + problem.add(i, changes)
            return 0.0
        state.squared_norm += norm_change
        state.value[i] = value
        mixture[:] = new
        if state.active:
            self._shift(state.active[i], self._best[:size], step, way)
        if state.average is not None:
            state.average.record_change(i, moved)
        return increase

    def _shift(self, active: ActiveSet, best: Floats, step: float, way: _Way) -> None:
        """Move the weights of structures as far as the mixture has moved."""
        if way.away is None:
            active.shrink(1.0 - step)
        elif not way.towards:
            active.shrink(1.0 + step)
        if way.away is not None:
            active.take(way.away, step)
        if way.towards:
            active.include(best, step)


def nearest_structure(problem: Problem, i: int, room: Floats, out: Floats) -> Floats:
    """The correct structure if inference can reach it, else one that is close to it, (parts,), in
    ``out``; ``room`` and ``out`` are at least as long.
    """
    gold = problem.gold(i)
    potentials, found = room[: len(gold)], out[: len(gold)]
    # 2 z - 1: a structure of other parts scores less than z
    np.multiply(gold, 2.0, out=potentials)
    potentials -= 1.0
    problem.argmax(i, potentials, found)
    return found
