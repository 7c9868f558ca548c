"""AdaGrad: stochastic gradient descent with a learning rate for every weight (Duchi, Hazan and
Singer 2011, Adaptive subgradient methods for online learning and stochastic optimization; the
composite mirror descent of their section 5, with the diagonal matrix).

Primal: min over w of sum_i L_i(w) + C/2 |w|^2, with any loss L of ``egparse.learners.losses``. The
visit of example i makes, for each weight j, with the (sub)gradient g = F_i' (zbar_i - z_i),

    G_j <- G_j + g_j^2,    h_j = delta + sqrt(G_j)
    w_j <- (w_j - eta g_j / h_j) / (1 + eta C / (n h_j))

The divisor is the proximal step of the regulariser's share in a visit. It moves all weights,
whereas a gradient is 0 but for the features of one example; so we make it ``_SWEEPS`` times in a
pass and at its end, for all visits since the last time at once.
Between two sweeps a step reads a second vector of weights, in which the problem has left the
gradient, and moves the weights whose gradient is not 0. Reading it takes longer than the visit
where weights are many; the gradients of a ``batch`` of visits can share it, and are one gradient
then.

The average of the weights, of which the regret bounds of the paper speak, is that of the weights
after each sweep, which count for the visits before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Interval

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.learners.learner import Certificate, LearnerConfig, OnlineLearner, UnscaledState
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.sgd import Arrays, Divergence, copies, restore
from egparse.types import Floats, Longs

_DELTA = 1e-8  # of h: a weight without any gradient goes to 0
_SWEEPS = 32
_BLOCK = 64  # weights of which one look tells whether any has a gradient

Real: TypeAlias = npt.NDArray[np.floating[Any]]
"""Weights in the precision of the problem."""


@dataclass(frozen=True, kw_only=True)
class AdaGradConfig(LearnerConfig):
    """``eta`` is the learning rate; ``averaged``: the model is the average of the weights. A step
    is made of the sum of ``batch`` gradients.

    Raises:
        ConfigError: a value out of range.
    """

    eta: Annotated[float, Interval(ge=1e-9, le=1e9), "the learning rate"] = 0.1
    averaged: Annotated[bool, "the model is the average of the weights"] = False
    batch: Annotated[int, Interval(ge=1, le=1_000_000), "gradients in a step"] = 1

    def __post_init__(self) -> None:
        if not 0 <= self.c < math.inf:
            raise ConfigError(f"adagrad: expected c >= 0, got {self.c}")


@dataclass
class AdaGradState(UnscaledState):
    """``squares`` are the G_j and ``sums`` the weights times their visits (None without average),
    in the order of the arrays of the problem; ``behind`` counts the visits since the last sweep,
    ``waiting`` the gradients since the last step.
    """

    squares: Arrays
    sums: Arrays | None
    generator: np.random.Generator
    visits: int = 0
    behind: int = 0
    waiting: int = 0


class AdaGrad(OnlineLearner):
    """AdaGrad on a problem, which holds w."""

    config_type = AdaGradConfig

    def __init__(self, problem: Problem, config: AdaGradConfig) -> None:
        super().__init__(problem)
        self.config, self.loss = config, config.loss
        self._gradient = problem.with_own_weights()  # holds g during a visit, else 0
        self._expected = np.empty(self.longest)
        self._until_sweep = max(1, self.n // _SWEEPS)
        # views of the arrays, not copies, as all of them are contiguous
        arrays = zip(problem.vectors(), self._gradient.vectors(), strict=True)
        self._pairs = [(w.reshape(-1), g.reshape(-1)) for w, g in arrays]

    def initialise(self, gold_theta: float | Floats = 3.0) -> AdaGradState:
        """w = 0; ``gold_theta`` is ignored, as there are no dual variables."""
        self.problem.reset()
        self._gradient.reset()
        squares, sums = ([np.zeros_like(w) for w, _ in self._pairs] for _ in range(2))
        generator = np.random.default_rng(self.config.seed)
        return AdaGradState(squares, sums if self.config.averaged else None, generator)

    def update(self, state: AdaGradState, i: int) -> float:
        """Visit example i; returns its loss before the step.

        Raises:
            EgparseError: the loss is not finite.
        """
        self._attend(state, i)
        scores = self.problem.scores(i)
        expected = self._expected[: len(scores)]
        loss = self.loss.value(self.problem, i, scores, expected)
        if not math.isfinite(loss):
            raise Divergence(
                f"adagrad: expected a finite loss, got {loss} at visit {state.visits + 1} with "
                f"eta = {self.config.eta:g}; try a smaller eta"
            )
        state.visits += 1
        state.behind += 1
        expected -= self.problem.gold(i)
        if expected.any():
            self._gradient.add(i, expected)
            state.waiting += 1
        if state.waiting >= self.config.batch:
            self._descend(state)
        if state.behind >= self._until_sweep:
            self._sweep(state)
        return loss

    def iterate(self, state: AdaGradState) -> None:
        """Visit every example once, in random order.

        Raises:
            EgparseError: the loss does not stay finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # ``update`` checks the loss
            super().iterate(state)
            self._descend(state)
            self._sweep(state)

    def certificate(self, state: AdaGradState) -> Certificate:
        """The primal at the weights of the model; there is no dual."""
        with self.model_weights(state):
            primal = self.primal(state, 0.0) + self.config.c / 2 * squared_norm(self.problem)
        if not math.isfinite(primal):
            raise Divergence(f"adagrad: expected a finite primal, got {primal}")
        return Certificate(primal, -math.inf, state.visits / max(1, self.n), self.config.c)

    def model_weights(self, state: AdaGradState) -> AbstractContextManager[None]:
        """Inside it v is the average of the weights, if configured."""
        if state.sums is None or not state.visits:
            return nullcontext()
        return self._average(state.sums, state.visits)

    @contextmanager
    def _average(self, sums: Arrays, visits: int) -> Iterator[None]:
        saved = copies(self.problem)
        try:
            for (w, _), total in zip(self._pairs, sums, strict=True):
                np.divide(total, visits, out=w)
            yield
        finally:
            restore(self.problem, saved)

    def _descend(self, state: AdaGradState) -> None:
        """A step along the gradients that wait for it."""
        if state.waiting:
            for (w, g), squares in zip(self._pairs, state.squares, strict=True):
                _descend(w, g, _bits_of(g), squares, self.config.eta)
        state.waiting = 0

    def _sweep(self, state: AdaGradState) -> None:
        """The regulariser's part of the visits since the last sweep, and their average."""
        if not state.behind:
            return
        pull = self.config.eta * state.behind * self.config.c / max(1, self.n)
        for k, (w, _) in enumerate(self._pairs):
            _shrink(w, state.squares[k], pull)
            if state.sums is not None:
                state.sums[k] += w * w.dtype.type(state.behind)
        state.behind = 0


def _bits_of(g: Real) -> Any:
    """The same numbers as integers of their size: many of them can be compared with 0 at once."""
    return g.view(np.uint32 if g.dtype == np.float32 else np.uint64)


@njit(fast=True)
def _descend(w: Real, g: Real, bits: Longs, squares: Real, eta: float) -> None:
    """w_j -= eta g_j / h_j where g_j is not 0; g becomes 0."""
    size = w.shape[0]
    for begin in range(0, size, _BLOCK):
        end = min(size, begin + _BLOCK)
        some = bits[begin]
        for j in range(begin + 1, end):
            some |= bits[j]
        if some == 0:
            continue
        for j in range(begin, end):
            if g[j] != 0.0:
                squares[j] += g[j] * g[j]
                w[j] -= eta * g[j] / (_DELTA + np.sqrt(np.float64(squares[j])))
                g[j] = 0.0


@njit(fast=True)
def _shrink(w: Real, squares: Real, pull: float) -> None:
    """w_j /= 1 + eta C / (n h_j), for all visits of ``pull`` together."""
    for j in range(w.shape[0]):
        w[j] /= 1.0 + pull / (_DELTA + np.sqrt(np.float64(squares[j])))
