"""L-BFGS and conjugate gradient on the primal, by SciPy: what Collins et al. 2008 (section 7)
compare exponentiated gradient with.

Primal: min over w of P(w) = sum_i L_i(w) + C/2 |w|^2 for any differentiable loss of
``egparse.learners.losses``; the gradient is g = C w - sum_i F_i' (z_i - zbar_i), with zbar_i the
marginals at w. One evaluation of both is one pass over the examples.

The certificate has a dual value though nothing is trained in the dual: the distributions at w are a
feasible dual point with v = C w - g, and as the loss at w equals its conjugate form there, the dual
value of that point is

    D = P(w) - |g|^2 / (2C),

which is also the lower bound of the optimum that strong convexity gives.

SciPy's optimisers run to their end in one call, whereas a learner goes step by step; restarted at
every step they would lose their estimate of the curvature. So the optimiser runs in a thread of its
own, which only does its arithmetic: it hands over each point and waits for value and gradient.
Examples are only read in the caller's thread, and the two threads never run at the same time.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Interval
from scipy.optimize import OptimizeResult, minimize

from egparse.errors import ConfigError, EgparseError
from egparse.learners.learner import Certificate, Learner, LearnerConfig, UnscaledState
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, read, size, squared_norm, write
from egparse.learners.sgd import Arrays, copies
from egparse.learners.shards.cocoa import Transport
from egparse.types import Floats

Method = Literal["L-BFGS-B", "CG"]

_SETTLED = 1e-3
"""If the optimiser finds no further step, the reason is the rounding of v below this relative gap,
and above it the optimiser has failed.
"""


@dataclass(frozen=True, kw_only=True)
class QuasiNewtonConfig(LearnerConfig):
    """``memory`` is the number of corrections that L-BFGS keeps. Steps end at a relative gap of
    ``tolerance``, or of the relative rounding of v if that is greater.

    Raises:
        ConfigError: a loss without a gradient, or a value out of range.
    """

    memory: Annotated[int, Interval(ge=1, le=1000), "corrections that L-BFGS keeps"] = 10
    tolerance: Annotated[float, Interval(ge=0, le=1), "the relative gap to end at"] = 1e-10
    method: Method = "L-BFGS-B"

    def __post_init__(self) -> None:
        if not 0 < self.beta < math.inf or not 0 <= self.gamma < math.inf:
            raise ConfigError(
                f"{self.method} expects a differentiable loss (0 < beta < inf, gamma >= 0), "
                f"got beta = {self.beta:g}, gamma = {self.gamma:g}"
            )
        if not self.c > 0:
            raise ConfigError(f"expected c > 0, got c = {self.c}")


class Evaluation(NamedTuple):
    """P and its gradient at w."""

    w: Floats
    value: float
    gradient: Floats

    def gap(self, c: float) -> float:
        """P - D."""
        return float(self.gradient @ self.gradient) / (2 * c)

    def relative_gap(self, c: float) -> float:
        """The gap as a fraction of the dual value."""
        dual = abs(self.value - self.gap(c))
        return self.gap(c) / dual if dual else (math.inf if self.gap(c) else 0.0)


@dataclass
class QuasiNewtonState(UnscaledState):
    """``kept`` is the last accepted point, which v holds; ``evaluations`` counts passes;
    ``finished`` says that no step remains.
    """

    kept: Evaluation
    run: _Run
    evaluations: int = 1
    steps: int = 0
    finished: bool = False


class QuasiNewton(Learner):
    """SciPy's L-BFGS-B (without bounds) or CG, one accepted step an ``iterate``."""

    config_type: type[QuasiNewtonConfig] = QuasiNewtonConfig

    def __init__(self, problem: Problem, config: QuasiNewtonConfig) -> None:
        super().__init__(problem)
        self.config = config
        self._loss = Loss(config.beta, config.gamma)
        self.calls: Transport | None = None
        """Where the examples are in shards elsewhere, how these are reached."""
        self._twin = problem.with_own_weights()
        # the optimiser compares values, in which a gap smaller than their rounding is invisible
        rounding = max(float(np.finfo(array.dtype).eps) for array in problem.vectors())
        self._tolerance = max(config.tolerance, rounding)

    def initialise(self, gold_theta: float | Floats = 3.0) -> QuasiNewtonState:
        """w = 0, whatever ``gold_theta``, and a first evaluation there."""
        kept = self._evaluate(np.zeros(size(self.problem)))
        return QuasiNewtonState(kept, _Run(kept.w, self.config))

    def iterate(self, state: QuasiNewtonState) -> None:
        """The evaluations up to the next accepted step; none once it has ``finished``.

        Raises:
            EgparseError: the objective is not finite, or the optimiser finds no step far from the
                optimum.
        """
        if state.finished:
            return
        if self._step(state) or self._step_anew(state):
            state.steps += 1
            state.finished = state.kept.relative_gap(self.config.c) <= self._tolerance
        if state.finished:
            state.run.stop()

    def retarget(self, state: QuasiNewtonState, targets: Mapping[int, Floats]) -> None:
        """Change targets: the optimiser starts anew at the kept point, without curvature."""
        super().retarget(state, targets)
        state.run.stop()
        state.evaluations += 1
        state.kept = self._evaluate(state.kept.w)
        state.run, state.finished = _Run(state.kept.w, self.config), False

    def certificate(self, state: QuasiNewtonState) -> Certificate:
        """Primal, the dual value that the gradient proves, and effort in passes; the details hold
        |g| and the number of steps.
        """
        kept = state.kept
        return Certificate(
            kept.value,
            kept.value - kept.gap(self.config.c),
            float(state.evaluations),
            self.config.c,
            {"gradient_norm": float(np.linalg.norm(kept.gradient)), "steps": float(state.steps)},
        )

    def _step(self, state: QuasiNewtonState) -> bool:
        """Answer the optimiser until it accepts a step; False if it ends instead."""
        last = state.kept
        while (message := state.run.receive()).kind != "ended":
            last = self._evaluated(state, last, message.w)
            state.run.answer(last.value, last.gradient)
            if message.kind == "accepted":
                state.kept = last
                break
        write(self.problem, state.kept.w)
        return message.kind == "accepted"

    def _step_anew(self, state: QuasiNewtonState) -> bool:
        """A step of an optimiser restarted from the kept point, without curvature. If there is
        none, the learner has finished, or failed if the gap is large.
        """
        reason = state.run.receive().reason
        state.run = _Run(state.kept.w, self.config)
        if self._step(state):
            return True
        gap = state.kept.relative_gap(self.config.c)
        if gap > _SETTLED:
            raise EgparseError(
                f"{self.config.method}: expected steps down to a relative gap of {_SETTLED:g}, "
                f"got none at {gap:.3g} ({reason})"
            )
        state.finished = True
        return False

    def _evaluated(self, state: QuasiNewtonState, last: Evaluation, w: Floats) -> Evaluation:
        """The evaluation of w: an earlier one if w is the last or the kept point, or a new one."""
        for known in (last, state.kept):
            if np.array_equal(known.w, w):
                return known
        state.evaluations += 1
        return self._evaluate(w)

    def _evaluate(self, w: Floats) -> Evaluation:
        """P and its gradient at w, rounded to the precision of v; sets v to w."""
        problem, twin, c = self.problem, self._twin, self.config.c
        write(problem, w)
        value = c / 2 * squared_norm(problem)
        if self.calls is not None:
            loss, gathered = gather_from(self.calls, problem, self._loss)
            value, gradient = value + loss, c * read(problem) + gathered
        else:
            value = add_gradient(problem, self._loss, twin, value)
            gradient = c * read(problem) + read(twin)
        if not math.isfinite(value) or not np.isfinite(gradient).all():
            raise EgparseError(f"{self.config.method}: expected a finite objective, got {value}")
        return Evaluation(w, value, gradient)


def add_gradient(problem: Problem, loss: Loss, twin: Problem, total: float = 0.0) -> float:
    """``total`` and the sum of the losses at w = v; v of ``twin`` becomes the gradient."""
    twin.reset()
    room = np.empty(int(np.diff(problem.part_starts).max(initial=0)))
    for i in range(len(problem.part_starts) - 1):
        scores = problem.scores(i)
        expected = room[: len(scores)]
        total += loss.value(problem, i, scores, expected)
        expected -= problem.gold(i)
        twin.add(i, expected)
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
    twin = problem.with_own_weights()
    return add_gradient(problem, loss, twin), list(twin.vectors())


class _Stop(Exception):
    """Raised in the optimiser's thread to leave SciPy's loop when no more steps are needed."""


class _Message(NamedTuple):
    """What the optimiser says: it wants the value at the point w, has *accepted* a step to w, or
    has *ended*, for a reason.
    """

    kind: Literal["point", "accepted", "ended"]
    w: Floats
    reason: str = ""


class _Channel(NamedTuple):
    """An answer None ends the optimiser."""

    messages: SimpleQueue[_Message]
    answers: SimpleQueue[tuple[float, Floats] | None]

    def exchange(self, kind: Literal["point", "accepted"], w: Floats) -> tuple[float, Floats]:
        """Send a message from the optimiser's thread and wait for the answer."""
        self.messages.put(_Message(kind, w.copy()))
        answer = self.answers.get()
        if answer is None:
            raise _Stop
        return answer

    def work(self, start: Floats, method: Method, options: dict[str, Any]) -> None:
        """The thread: SciPy's call from beginning to end."""

        def accepted(intermediate_result: OptimizeResult) -> None:  # SciPy requires this name
            self.exchange("accepted", intermediate_result.x)

        try:
            reason = str(
                minimize(
                    lambda w: self.exchange("point", w),
                    start,
                    jac=True,
                    method=method,
                    callback=accepted,
                    options=options,
                ).message
            )
        except _Stop:
            reason = "stopped"
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        self.messages.put(_Message("ended", start, reason))


class _Run:
    """The caller's side of an optimiser that runs in a thread; the thread ends with this object."""

    def __init__(self, start: Floats, config: QuasiNewtonConfig) -> None:
        options: dict[str, Any] = {"maxiter": np.iinfo(np.int32).max, "gtol": 0.0}
        if config.method == "L-BFGS-B":
            options |= {"maxcor": config.memory, "maxfun": np.iinfo(np.int32).max, "ftol": 0.0}
        self._channel = _Channel(SimpleQueue(), SimpleQueue())
        self._last: _Message | None = None
        # the thread refers to the channel only, so that this object can be collected
        arguments = (start.copy(), config.method, options)
        Thread(target=self._channel.work, args=arguments, daemon=True).start()
        self.stop = weakref.finalize(self, self._channel.answers.put, None)

    def receive(self) -> _Message:
        """The next message of the optimiser; the same one again until it is answered, since an
        evaluation may be interrupted.
        """
        if self._last is None:
            self._last = self._channel.messages.get()
            if self._last.kind == "ended":
                self.stop.detach()
        return self._last

    def answer(self, value: float, gradient: Floats) -> None:
        """Answer the last message, so that the optimiser continues."""
        self._last = None
        self._channel.answers.put((value, gradient))


@dataclass(frozen=True, kw_only=True)
class ConjugateGradientConfig(QuasiNewtonConfig):
    """The settings of conjugate gradient."""

    method: Method = "CG"


class LBFGS(QuasiNewton):
    """L-BFGS."""


class ConjugateGradient(QuasiNewton):
    """Conjugate gradient."""

    config_type = ConjugateGradientConfig
