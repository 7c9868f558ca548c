"""The structured perceptron, plain and averaged (Collins 2002; McDonald 2009, "Perceptron Learning
Algorithm"): at the visit of example i, with y' the best structure under the present weights,

    if y' differs from y_i:    v <- v + F_i' (z_i - z')

On data separable with margin gamma there are at most (R / gamma)^2 mistakes, where R bounds |F_i'
(z_i - z)| (McDonald 2009, "Main Theorem"). Otherwise the average of the weights after each visit is
a better model (Collins 2002); it costs a sparse addition at each mistake
(``egparse.learners.averaging``). Examples come in a new random order in each pass, by default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.learners.averaging import WeightAverage
from egparse.learners.learner import (
    Certificate,
    LearnerConfig,
    OnlineLearner,
    UnscaledState,
    require_finite_objective,
)
from egparse.learners.losses import PERCEPTRON
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs


def require_perceptron_loss(learner: str, config: LearnerConfig) -> None:
    """Raise ConfigError unless beta and gamma are those of the perceptron's loss, or the defaults
    of ``LearnerConfig``, which stand for a loss left unset.
    """
    unset = (LearnerConfig.beta, LearnerConfig.gamma)
    if (config.beta, config.gamma) not in (unset, (math.inf, 0.0)):
        raise ConfigError(
            f"{learner} has a fixed loss (beta = inf, gamma = 0): leave the loss unset, "
            f"got beta = {config.beta:g}, gamma = {config.gamma:g}"
        )


@dataclass(frozen=True, kw_only=True)
class PerceptronConfig(LearnerConfig):
    """``averaged``: the model is the average of the weights after each visit. ``shuffle``: a new
    random order of the examples in each pass.
    """

    averaged: Annotated[bool, "the model is the average of the weights"] = True
    shuffle: Annotated[bool, "a new order in each pass"] = True

    @classmethod
    def _of_common(cls, common: LearnerConfig) -> dict[str, Any]:
        """Without C, which it does not have.

        Raises:
            ConfigError: another loss.
        """
        require_perceptron_loss("perceptron", common)
        return {"seed": common.seed}


@dataclass
class PerceptronState(UnscaledState):
    """``visits`` of all passes, ``mistakes`` of the last one; ``average`` is None for the plain
    perceptron.
    """

    visits: int
    mistakes: int
    generator: np.random.Generator
    average: WeightAverage | None


class Perceptron(OnlineLearner):
    """The perceptron on a problem, which holds v. There is no regularisation."""

    config_type = PerceptronConfig
    loss = PERCEPTRON

    def __init__(self, problem: Problem, config: PerceptronConfig) -> None:
        super().__init__(problem)
        self.config = config
        self._best = np.empty(self.longest)
        self._changes = np.empty(self.longest)

    def initialise(self, gold_theta: float | Floats = 3.0) -> PerceptronState:
        """v = 0; ``gold_theta`` is ignored, as there are no dual variables."""
        self.problem.reset()
        return self.resume(np.random.default_rng(self.config.seed))

    def resume(self, generator: np.random.Generator) -> PerceptronState:
        """Continue from the present v, with an average that begins here."""
        average = WeightAverage(self.problem) if self.config.averaged else None
        return PerceptronState(0, 0, generator, average)

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
                state.average.record_change(i, changes)
        state.visits += 1
        state.mistakes += wrong
        if state.average is not None:
            state.average.include()
        return wrong

    def next_visits(self, state: PerceptronState, by_gain: bool) -> Longs:
        """All examples, in random order or that of the corpus."""
        return super().next_visits(state, by_gain) if self.config.shuffle else np.arange(self.n)

    def iterate(self, state: PerceptronState) -> None:
        """One pass over the examples."""
        state.mistakes = 0
        super().iterate(state)

    def certificate(self, state: PerceptronState) -> Certificate:
        """The sum of the perceptron losses at the weights of the model, in the scale of these
        weights; there is no dual.

        Detail ``mistakes``: the number of examples that were predicted wrongly at their visit in
        the last pass.
        """
        with self.model_weights(state):
            loss = self.primal(state, 0.0)
        require_finite_objective("perceptron", loss)
        details = {"mistakes": float(state.mistakes)}
        return Certificate(loss, -math.inf, state.visits / max(1, self.n), 0.0, details)
