"""The structured perceptron, plain and averaged (Collins 2002; McDonald 2009, "Perceptron Learning
Algorithm").

At the visit of example i, with y' the best structure under the weights as they stand:

    if y' differs from y_i:    v <- v + F_i' (z_i - z')

On data separable with margin gamma there are at most (R / gamma)^2 mistakes, R bounding |F_i' (z_i
- z)| (McDonald 2009, "Main Theorem"). Where data are not separable, the model is better averaged
over the weights after each of the T visits (Collins 2002):

    (1 / T) sum_t v_t = v - u / T,    u = sum_t (t - 1) delta_t

because the change delta_t of visit t is in all of v_t ... v_T (``egparse.learners.averaging``). So
visits without a mistake cost no more than inference, and those with one a sparse addition.

We differ from the sources in this, unless told: examples come in a new random order in each pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.errors import EgparseError
from egparse.learners.averaging import WeightAverage
from egparse.learners.certificate import Certificate
from egparse.learners.problem import VectorProblem
from egparse.losses import PERCEPTRON
from egparse.types import Floats


@dataclass(frozen=True, kw_only=True)
class PerceptronConfig:
    """``averaged``: the model is the average of the weights after each visit. ``shuffle``: a new
    order of the examples in each pass.
    """

    averaged: bool = True
    shuffle: bool = True
    seed: int = 1


@dataclass
class PerceptronState:
    """``visits`` in all, ``mistakes`` of the last pass; ``average`` None for the plain
    perceptron.
    """

    visits: int
    mistakes: int
    generator: np.random.Generator
    average: WeightAverage | None

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


class Perceptron:
    """The perceptron on a problem, which holds v. There is no regularisation."""

    def __init__(self, problem: VectorProblem, config: PerceptronConfig) -> None:
        self.problem, self.config = problem, config
        longest = int(np.diff(problem.part_starts).max(initial=1))
        self._best = np.empty(longest)
        self._changes = np.empty(longest)

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def initialise(self, gold_theta: float | Floats = 3.0) -> PerceptronState:
        """v = 0; there are no duals for ``gold_theta`` to set."""
        self.problem.reset()
        return self.resume(np.random.default_rng(self.config.seed))

    def resume(self, generator: np.random.Generator) -> PerceptronState:
        """Go on from v as it stands, with an average that begins here."""
        return PerceptronState(
            0, 0, generator, WeightAverage(self.problem) if self.config.averaged else None
        )

    def update(self, state: PerceptronState, i: int) -> bool:
        """Visit example i; returns whether its best structure was wrong.

        Raises:
            EgparseError: no structure of the example has a finite score.
        """
        problem = self.problem
        scores = problem.scores(i)
        best, changes = self._best[: len(scores)], self._changes[: len(scores)]
        score = problem.argmax(i, scores, best)
        if not math.isfinite(score):
            raise EgparseError(
                f"perceptron: expected a structure of finite score for example {i}, got {score}"
            )
        np.subtract(problem.gold(i), best, out=changes)
        wrong = bool(changes.any())
        if wrong:
            problem.add(i, changes)
            if state.average is not None:
                state.average.changed(i, changes)
        state.visits += 1
        if state.average is not None:
            state.average.include()
        return wrong

    def iterate(self, state: PerceptronState) -> None:
        """One pass over the examples."""
        order = state.generator.permutation(self.n) if self.config.shuffle else np.arange(self.n)
        state.mistakes = sum(self.update(state, i) for i in order.tolist())

    def certificate(self, state: PerceptronState) -> Certificate:
        """The sum of the perceptron losses of the model kept. It has no dual, and its scale is that
        of the weights.

        Detail ``mistakes``: how many examples of the last pass were wrong when they were visited.
        """
        problem, loss = self.problem, 0.0
        with self.model_weights(state):
            for i in range(self.n):
                scores = problem.scores(i)
                loss += PERCEPTRON.value(problem, i, scores, self._best[: len(scores)])
        if not math.isfinite(loss):
            raise EgparseError(
                f"perceptron: expected a finite loss, got {loss} after {state.visits} visits"
            )
        details = {"mistakes": float(state.mistakes)}
        return Certificate(loss, -math.inf, state.visits / max(1, self.n), 0.0, details)

    def average(self, state: PerceptronState, out: Sequence[npt.NDArray[np.floating[Any]]]) -> None:
        """Write v - u / T into arrays like those of v; v itself for the plain perceptron."""
        with self.model_weights(state):
            for array, own in zip(out, self.problem.vectors(), strict=True):
                array[...] = own

    def model_weights(self, state: PerceptronState) -> AbstractContextManager[None]:
        """While it is open, v is the average; afterwards it has its own bits again. Opened a second
        time it changes nothing.
        """
        return nullcontext() if state.average is None else state.average.mean_weights()
