"""Gradient descent on shards of the examples at once, in local processes (McDonald 2009, "Parallel
Gradient Ascent").

With and without processes the results are the same bits: the work on a shard starts from a given v
and depends on nothing else.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.processes import on_shards
from egparse.experiments.learners.shards import compile_kernels, copy_weights, deal, shared_like
from egparse.learners.learner import Certificate, Learner, LearnerConfig
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, read, size, write
from egparse.learners.sgd import Arrays, copies
from egparse.learners.shards.cocoa import Transport
from egparse.types import Floats, Longs


@dataclass(frozen=True, kw_only=True)
class GradientConfig(LearnerConfig):
    """With ``processes`` False, the shards are worked on one after another in this process. Without
    ``spectral`` steps, each improves on the last, at a rate that is found by trial.
    """

    shards: Annotated[int, Interval(ge=1, le=256), "of the examples"] = 2
    processes: Annotated[bool, "a process for each shard"] = True
    spectral: Annotated[bool, "spectral steps"] = True

    def __post_init__(self) -> None:
        if not 0 < self.c < math.inf:
            raise ConfigError(f"parallel-gradient: expected c > 0, got {self.c}")
        if not self.loss.differentiable:
            raise ConfigError(
                "parallel-gradient: expected a differentiable loss (beta < inf), got beta = "
                f"{self.loss.beta:g}"
            )


@dataclass
class GradientState:
    """The primal and its gradient (flat) at v, the ``rate`` of the next step, and ``history``, the
    last primals.

    ``settled`` says that no step lowers the primal.
    """

    primal: float
    gradient: Floats
    rate: float
    history: list[float]
    passes: int
    settled: bool = False

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


_ATTEMPTS = 30  # halvings of a step
_MEMORY = 10  # a step must improve on the worst of so many primals (Raydan 1997)
_GROWTH = 1.2  # of the rate after each step that is not spectral
_SUFFICIENT = 1e-4  # fraction of the linear decrease that a step must reach
_PRECISE = 1e-3  # below this relative gap, rounding explains a step without gain


class ParallelGradient(Learner):
    """Gradient descent on sum_i L_i(w) + C/2 |w|^2, the gradient summed over shards (McDonald 2009,
    "Parallel Gradient Ascent").

    The step rule is the spectral one: the rate of a step w <- w - rate g is s's / s'y of the step
    before, with s the move of w and y that of g (Barzilai and Borwein 1988), halved until the
    primal is sufficiently below the worst of the last ten (Raydan 1997, "The Barzilai and Borwein
    gradient method for the large scale unconstrained minimization problem", section 2). It needs no
    more memory than two gradients. The primal may rise for a while.

    Without ``spectral`` it is the lectures' plain gradient ascent (McDonald 2009, "Gradient
    Ascent"): alpha is "set so that F(w^i) > F(w^(i-1))". It is halved until that holds by a
    sufficient amount (Armijo's rule), and 1.2 times as great is tried at the next step.
    """

    config_type = GradientConfig

    def __init__(self, problem: Problem, config: GradientConfig) -> None:
        super().__init__(problem)
        self.config = config
        self.calls: Transport | None = None
        """Where the shards are elsewhere, how they are reached."""
        self.shards = deal(len(problem.part_starts) - 1, config.shards)
        self._room = problem.with_own_weights()
        self._gradients = [shared_like(problem) for _ in self.shards]

    def initialise(self, gold_theta: float | Floats = 3.0) -> GradientState:
        """w = 0, and the gradient there; ``gold_theta`` is ignored."""
        self.problem.reset()
        compile_kernels(self.problem, self.config.loss)
        primal, gradient = self.evaluate()
        if not math.isfinite(primal):
            raise EgparseError(
                f"parallel-gradient: expected a finite primal at w = 0, got {primal}"
            )
        length = math.sqrt(float(gradient @ gradient))
        return GradientState(primal, gradient, 1.0 / length if length else 1.0, [primal], 1)

    def evaluate(self) -> tuple[float, Floats]:
        """The primal and its gradient (flat) at v: one pass over all examples, the shards in
        parallel.
        """
        v = read(self.problem)
        if self.calls is not None:
            loss, gathered = gather_from(self.calls, self.problem, self.config.loss)
            return loss + self.config.c / 2 * float(v @ v), gathered + self.config.c * v
        losses = on_shards(self._evaluate_shard, len(self.shards), self.config.processes)
        gradient = self.config.c * v
        for arrays in self._gradients:
            gradient += np.concatenate([array.reshape(-1) for array in arrays])
        return sum(losses) + self.config.c / 2 * float(v @ v), gradient

    def iterate(self, state: GradientState) -> None:
        """One step, which usually takes one pass over the examples.

        Raises:
            EgparseError: no step lowers the primal, though the duality gap is large.
        """
        if state.settled:
            return
        v, gradient = read(self.problem), state.gradient
        worst = max(state.history[-(_MEMORY if self.config.spectral else 1) :])
        rate = state.rate
        for _ in range(_ATTEMPTS):
            write(self.problem, v - rate * gradient)
            moved = read(self.problem) - v  # as rounded
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # too long a step shows in the primal
                primal, new = self.evaluate()
            state.passes += 1
            if primal <= worst + _SUFFICIENT * float(moved @ gradient):
                self._accept(state, primal, new, moved, rate)
                return
            rate /= 2
        write(self.problem, v)
        state.settled = True
        if self.certificate(state).relative_gap > _PRECISE:
            raise EgparseError(
                f"parallel-gradient: expected a step that lowers the primal {state.primal:g}, got "
                f"none of {_ATTEMPTS}"
            )

    def certificate(self, state: GradientState) -> Certificate:
        """Primal and dual without further inference: the dual of the point alpha_i = p(. | x_i; w)
        is the primal minus |g|^2 / 2C.

        The v of that point is Cw - g, so the gap, C/2 |w|^2 + |v|^2 / 2C - w.v, is |Cw - v|^2 / 2C,
        for all losses of the family.
        """
        gap = float(state.gradient @ state.gradient) / (2 * self.config.c)
        details = {"rate": state.rate, "settled": float(state.settled)}
        return Certificate(state.primal, state.primal - gap, state.passes, self.config.c, details)

    def model_weights(self, state: GradientState) -> AbstractContextManager[None]:
        """Nothing to do: v is the model."""
        return nullcontext()

    def _evaluate_shard(self, p: int) -> float:
        loss = gather_gradient(self.problem, self.config.loss, self.shards[p], self._room)
        copy_weights(self._room, self._gradients[p])
        return loss

    def _accept(
        self, state: GradientState, primal: float, gradient: Floats, moved: Floats, rate: float
    ) -> None:
        curvature = float(moved @ (gradient - state.gradient))
        if not self.config.spectral:
            state.rate = _GROWTH * rate
        else:
            state.rate = float(moved @ moved) / curvature if curvature > 0 else rate
        state.primal, state.gradient = primal, gradient
        state.history = [*state.history[1 - _MEMORY :], primal]


def gather_gradient(problem: Problem, loss: Loss, examples: Longs, room: Problem) -> float:
    """sum_i L_i(w) over some examples, at w = v. Sets the v of ``room``, which has the same
    examples and its own v, to the gradient sum_i F_i' (zbar_i - z_i).
    """
    room.reset()
    expected = np.empty(int(np.diff(problem.part_starts).max(initial=1)))
    total = 0.0
    for i in examples.tolist():
        scores = problem.scores(i)
        changes = expected[: len(scores)]
        total += loss.value(problem, i, scores, changes)
        changes -= problem.gold(i)
        room.add(i, changes)
    return total


def gather_from(calls: Transport, problem: Problem, loss: Loss) -> tuple[float, Floats]:
    """The sum of the losses at w = v and its gradient (flat), from shards that are elsewhere."""
    total, gradient = 0.0, np.zeros(size(problem))
    for of_shard, arrays in calls.call("run", (gradient_of, copies(problem), loss)):
        total += of_shard
        gradient += np.concatenate([array.reshape(-1) for array in arrays])
    return total, gradient


def gradient_of(problem: Problem, loss: Loss) -> tuple[float, Arrays]:
    """The sum of the losses of a problem at w = v, and its gradient."""
    room = problem.with_own_weights()
    examples = np.arange(len(problem.part_starts) - 1, dtype=np.int64)
    return gather_gradient(problem, loss, examples, room), list(room.vectors())
