"""Stochastic gradient descent on the primal, as Collins et al. 2008 (section 7.1.3) compare with
it. The visit of example i, after k others, with any loss of ``egparse.learners.losses``, makes

    w <- w - eta (F_i' (zbar_i - z_i) + C/n w),        eta = eta0 / (1 + k/n)

The weights are held as w = scale v, so that the factor 1 - eta C/n changes one number; when scale
gets far from 1, v is multiplied by it. Unless given, eta0 is the one of 1, 0.1, 0.01, 0.001 and
0.0001 with the best primal after one pass (the paper: the best validation error), tried in the
first pass; that work is counted (detail ``search``), which the paper leaves out of its figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from egparse.errors import ConfigError, EgparseError
from egparse.learners.averaging import ScaledWeightAverage
from egparse.learners.learner import Certificate, LearnerConfig, OnlineLearner
from egparse.learners.losses import PERCEPTRON
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs

RATES = (1.0, 0.1, 0.01, 0.001, 0.0001)
"""The values of eta0 that are tried (Collins et al. 2008, section 7.1.3)."""

_MAX_SCALE = 1e5  # greatest scale; its inverse is the least one
_MAX_AVERAGED_SCALE = 1e3  # so that the moments, in the precision of v, give an average

Arrays = list[npt.NDArray[np.floating[Any]]]


def copies(problem: Problem) -> Arrays:
    """Copies of the arrays of v, in the precision of the problem."""
    return [array.copy() for array in problem.vectors()]


def restore(problem: Problem, arrays: Arrays) -> None:
    """Set v from arrays of the same shapes, rounded to the precision of the problem."""
    for array, saved in zip(problem.vectors(), arrays, strict=True):
        array[...] = saved


@dataclass(frozen=True, kw_only=True)
class SGDConfig(LearnerConfig):
    """``eta0`` None: chosen among ``RATES`` in the first pass. ``decay``: the learning rate is eta0
    / (1 + k/n), otherwise always eta0. ``averaged``: the model is the average of the weights after
    each visit, not the last ones.

    Raises:
        ConfigError: a value out of range, or the perceptron loss without an ``eta0``.
    """

    eta0: Annotated[float, Interval(ge=1e-9, le=1e9), "the first learning rate"] | None = None
    decay: Annotated[bool, "the learning rate falls with the number of visits"] = True
    averaged: Annotated[bool, "the model is the average of the weights"] = False

    def __post_init__(self) -> None:
        if not 0 <= self.c < math.inf:
            raise ConfigError(f"sgd: expected c >= 0, got {self.c}")
        if self.eta0 is None and self.loss == PERCEPTRON:
            raise ConfigError(
                "sgd: expected an eta0 for the perceptron loss, got none (the primal cannot choose "
                "one: it is least at w = 0)"
            )


@dataclass
class SGDState:
    """``updates`` is k, which determines the learning rate; ``evaluations`` counts inference calls,
    ``search`` those among them that the choice of eta0 took.
    """

    scale: float
    eta0: float | None
    updates: int
    evaluations: int
    search: int
    generator: np.random.Generator
    average: ScaledWeightAverage | None = None


class Divergence(EgparseError):
    """The loss or the weights are no longer finite."""


class SGD(OnlineLearner):
    """SGD on a problem, which holds v."""

    config_type = SGDConfig

    def __init__(self, problem: Problem, config: SGDConfig) -> None:
        super().__init__(problem)
        self.config, self.loss = config, config.loss
        self._scores = np.empty(self.longest)
        self._expected = np.empty(self.longest)

    def initialise(self, gold_theta: float | Floats = 3.0) -> SGDState:
        """w = 0; ``gold_theta`` is ignored, as there are no dual variables."""
        self.problem.reset()
        return self.resume(np.random.default_rng(self.config.seed))

    def resume(
        self, generator: np.random.Generator, updates: int = 0, eta0: float | None = None
    ) -> SGDState:
        """Continue from w = v, after so many updates. Without ``eta0`` it is the configured one, or
        will be chosen.
        """
        eta0 = eta0 or self.config.eta0
        return SGDState(1.0, eta0, updates, 0, 0, generator, self._new_average())

    def eta(self, state: SGDState) -> float:
        """The learning rate of the next visit; nan before eta0 is chosen."""
        if state.eta0 is None:
            return math.nan
        if not self.config.decay:
            return state.eta0
        return state.eta0 / (1.0 + state.updates / max(1, self.n))

    def update(self, state: SGDState, i: int) -> float:
        """Visit example i; returns its loss before the step.

        Raises:
            EgparseError: the loss is not finite.
        """
        self._attend(state, i)
        problem, eta = self.problem, self.eta(state)
        value, expected = self._evaluate(state, i)
        state.evaluations += 1
        if not math.isfinite(value):
            raise Divergence(
                f"sgd: expected a finite loss, got {value} at update {state.updates} with eta0 = "
                f"{state.eta0}; try a smaller eta0"
            )
        state.scale *= 1.0 - eta * self.config.c / self.n
        largest = _MAX_SCALE if state.average is None else _MAX_AVERAGED_SCALE
        if not 1.0 / largest < abs(state.scale) < largest:
            self.fold(state)
        changes = np.subtract(problem.gold(i), expected, out=expected)
        if changes.any():
            changes *= eta / state.scale
            problem.add(i, changes)
            if state.average is not None:
                state.average.record_change(i, changes)
        if state.average is not None:
            state.average.include_scaled(state.scale)
        state.updates += 1
        return value

    def fold(self, state: SGDState) -> None:
        """v <- scale v, scale <- 1, which leaves w as it is."""
        if state.average is not None:
            state.average.close()
        for array in self.problem.vectors():
            array *= state.scale
        state.scale = 1.0

    def iterate(self, state: SGDState) -> None:
        """One pass over the examples; the first pass is made with each candidate eta0.

        Raises:
            EgparseError: the loss does not stay finite, with any eta0.
        """
        order = self.next_visits(state, by_gain=False)
        with np.errstate(over="ignore", invalid="ignore"):  # ``update`` checks the loss
            if state.eta0 is None:
                self._choose(state, order)
            else:
                self.run_steps(state, order)

    def certificate(self, state: SGDState) -> Certificate:
        """The primal at the weights of the model; there is no dual. Details: ``eta0``, the present
        rate ``eta``, and ``search`` in effective iterations.

        Raises:
            EgparseError: the primal is not finite.
        """
        n = max(1, self.n)
        with self.model_weights(state), np.errstate(over="ignore", invalid="ignore"):
            primal = self.primal(state, self.config.c)
        if not math.isfinite(primal):
            raise Divergence(
                f"sgd: expected a finite primal, got {primal} with eta0 = {state.eta0}"
            )
        details = {"search": state.search / n}
        if state.eta0 is not None:
            details |= {"eta0": state.eta0, "eta": self.eta(state)}
        return Certificate(primal, -math.inf, state.evaluations / n, self.config.c, details)

    def _new_average(self) -> ScaledWeightAverage | None:
        return ScaledWeightAverage(self.problem) if self.config.averaged else None

    def _evaluate(self, state: SGDState, i: int) -> tuple[float, Floats]:
        """L_i(w) and zbar_i, valid until the next call."""
        scores = self.problem.scores(i)
        size = len(scores)
        scaled = np.multiply(scores, state.scale, out=self._scores[:size])
        expected = self._expected[:size]
        return self.loss.value(self.problem, i, scaled, expected), expected

    def _choose(self, state: SGDState, order: Longs) -> None:
        """Make the pass with every rate, each time from the present v, and keep the best."""
        start = copies(self.problem)
        least, best, weights = math.inf, state, start
        for eta0 in RATES:
            trial = replace(state, eta0=eta0, evaluations=0, average=self._new_average())
            restore(self.problem, start)
            try:
                self.run_steps(trial, order)
                primal = self.primal(trial, self.config.c)
                trial.evaluations += self.n
            except Divergence:
                primal = math.inf
            state.evaluations += trial.evaluations
            if primal < least:
                least, best, weights = primal, trial, copies(self.problem)
        restore(self.problem, weights)
        if best is state:
            raise Divergence(
                f"sgd: expected one of the rates {RATES} to keep the primal finite over a pass, "
                "got none"
            )
        state.scale, state.eta0, state.updates = best.scale, best.eta0, best.updates
        state.average = best.average
        state.search = state.evaluations - self.n
