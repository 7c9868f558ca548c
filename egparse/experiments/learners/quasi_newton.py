"""L-BFGS and conjugate gradient on the primal, by SciPy: what Collins et al. 2008 (section 7)
compare exponentiated gradient with.

Primal: min over w of P(w) = sum_i L_i(w) + C/2 |w|^2 for any differentiable loss; the gradient is
g = C w - sum_i F_i' (z_i - zbar_i), with zbar_i the marginals at w. One evaluation of both is one
pass over the examples. The distributions at w are a feasible dual point with v = C w - g, of value
D = P(w) - |g|^2 / (2C), as the loss at w equals its conjugate form there.

SciPy's optimisers run to their end in one call, whereas a learner goes step by step; restarted at
every step they would lose their estimate of the curvature. So the optimiser runs in a thread of its
own, hands over each point, and waits for value and gradient: the two threads never run at once.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Interval
from scipy.optimize import OptimizeResult, minimize

from egparse.errors import ConfigError, EgparseError
from egparse.learners.dual import require_positive_c
from egparse.learners.learner import Certificate, Learner, LearnerConfig, UnscaledState
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, read, size, squared_norm, write
from egparse.learners.sgd import copies
from egparse.learners.shards.cocoa import Transport
from egparse.types import Floats

_TOLERANCE = 1e-10  # steps end at this relative gap, or at the relative rounding of v
_NO_LIMIT = np.iinfo(np.int32).max
_SETTLED = 1e-3
"""An optimiser that finds no step above this relative gap has failed; below it, v is rounded."""


@dataclass(frozen=True, kw_only=True)
class QuasiNewtonConfig(LearnerConfig):
    """Of a differentiable loss with C > 0; conjugate gradient has no ``memory``."""

    memory: Annotated[int, Interval(ge=1, le=1000), "corrections that L-BFGS keeps"] = 10

    def __post_init__(self) -> None:
        if not 0 < self.beta < math.inf or not 0 <= self.gamma < math.inf:
            raise ConfigError(
                "L-BFGS and CG expect a differentiable loss (0 < beta < inf, gamma >= 0), "
                f"got beta = {self.beta:g}, gamma = {self.gamma:g}"
            )
        require_positive_c("L-BFGS and CG", self)


class Evaluation(NamedTuple):
    """P and its gradient at w."""

    w: Floats
    value: float
    gradient: Floats


@dataclass
class QuasiNewtonState(UnscaledState):
    """``kept`` is the last accepted point, which v holds; ``evaluations`` counts passes;
    ``finished`` says that no step remains.
    """

    kept: Evaluation
    optimiser: _Optimiser
    evaluations: int = 1
    finished: bool = False


class QuasiNewton(Learner):
    """SciPy's L-BFGS-B, without bounds, one accepted step an ``iterate``."""

    config_type = QuasiNewtonConfig
    method: ClassVar[str] = "L-BFGS-B"

    def __init__(self, problem: Problem, config: QuasiNewtonConfig) -> None:
        super().__init__(problem)
        self.config = config
        self.calls: Transport | None = None
        """Where the examples are in shards elsewhere, how these are reached."""
        self._twin = problem.with_own_weights()
        # the optimiser compares values, in which a gap smaller than their rounding is invisible
        rounding = max(float(np.finfo(array.dtype).eps) for array in problem.vectors())
        self._tolerance = max(_TOLERANCE, rounding)

    def initialise(self, gold_theta: float | Floats = 3.0) -> QuasiNewtonState:
        """w = 0, whatever ``gold_theta``, and a first evaluation there."""
        kept = self._evaluate(np.zeros(size(self.problem)))
        return QuasiNewtonState(kept, self._optimiser(kept.w))

    def iterate(self, state: QuasiNewtonState) -> None:
        """The evaluations up to the next accepted step; none once it has ``finished``.

        Raises:
            EgparseError: the objective is not finite, or the optimiser finds no step far from the
                optimum.
        """
        if state.finished:
            return
        reason = self._step(state)
        if reason:  # once more from the kept point, without curvature
            state.optimiser = self._optimiser(state.kept.w)
            state.finished = bool(self._step(state))
        write(self.problem, state.kept.w)
        gap = self.certificate(state).relative_gap
        if state.finished and gap > _SETTLED:
            raise EgparseError(
                f"{self.method}: expected steps down to a relative gap of {_SETTLED:g}, "
                f"got none at {gap:.3g} ({reason})"
            )
        state.finished |= gap <= self._tolerance
        if state.finished:
            state.optimiser.stop()

    def retarget(self, state: QuasiNewtonState, targets: Mapping[int, Floats]) -> None:
        """Change targets: the optimiser starts anew at the kept point, without curvature."""
        super().retarget(state, targets)
        state.optimiser.stop()
        state.evaluations += 1
        state.kept = self._evaluate(state.kept.w)
        state.optimiser, state.finished = self._optimiser(state.kept.w), False

    def certificate(self, state: QuasiNewtonState) -> Certificate:
        """Primal, the dual value that the gradient proves, and effort in passes."""
        value, gradient, c = state.kept.value, state.kept.gradient, self.config.c
        dual = value - float(gradient @ gradient) / (2 * c)
        return Certificate(value, dual, float(state.evaluations), c)

    def _optimiser(self, start: Floats) -> _Optimiser:
        options: dict[str, Any] = {"maxiter": _NO_LIMIT, "gtol": 0.0}
        if self.method == "L-BFGS-B":
            options |= {"maxcor": self.config.memory, "maxfun": _NO_LIMIT, "ftol": 0.0}
        return _Optimiser(start, method=self.method, options=options)

    def _step(self, state: QuasiNewtonState) -> str:
        """Answer the optimiser until it accepts a step; the reason if it ends instead."""
        last = state.kept
        while True:
            kind, w = state.optimiser.request()
            if kind not in ("point", "accepted"):
                return kind
            known = [own for own in (last, state.kept) if np.array_equal(own.w, w)]
            state.evaluations += not known
            last = known[0] if known else self._evaluate(w)
            state.optimiser.answer(last)
            if kind == "accepted":
                state.kept = last
                return ""

    def _evaluate(self, w: Floats) -> Evaluation:
        """P and its gradient at w, rounded to the precision of v; sets v to w."""
        problem, config = self.problem, self.config
        write(problem, w)
        value, gradient = config.c / 2 * squared_norm(problem), config.c * read(problem)
        if self.calls is None:
            value, of_losses = gradient_of(problem, config.loss, self._twin, value)
            gradient += of_losses
        else:
            shards = self.calls.call("run", (gradient_of, copies(problem), config.loss))
            value += sum(loss for loss, _ in shards)
            gradient += sum(of_losses.astype(np.float64) for _, of_losses in shards)
        if not math.isfinite(value) or not np.isfinite(gradient).all():
            raise EgparseError(f"{self.method}: expected a finite objective, got {value}")
        return Evaluation(w, value, gradient)


class ConjugateGradient(QuasiNewton):
    """SciPy's conjugate gradient."""

    method = "CG"


def gradient_of(
    problem: Problem, loss: Loss, twin: Problem | None = None, total: float = 0.0
) -> tuple[float, Floats]:
    """``total`` and the sum of the losses at w = v, and its gradient, flat, in the precision of v;
    ``twin`` is room for it.
    """
    twin = problem.with_own_weights() if twin is None else twin
    twin.reset()
    room = np.empty(int(np.diff(problem.part_starts).max(initial=0)))
    for i in range(len(problem.part_starts) - 1):
        scores = problem.scores(i)
        expected = room[: len(scores)]
        total += loss.value(problem, i, scores, expected)
        expected -= problem.gold(i)
        twin.add(i, expected)
    return total, np.concatenate([array.reshape(-1) for array in twin.vectors()])


class _Optimiser:
    """SciPy's optimiser from a point, in a thread that ends with this object."""

    def __init__(self, start: Floats, **settings: Any) -> None:
        # the thread refers to the queues only, so that this object can be collected
        requests, answers = SimpleQueue[tuple[str, Floats]](), SimpleQueue[Any]()

        def exchange(kind: str, w: Floats) -> tuple[float, Floats]:
            requests.put((kind, w.copy()))
            answer = answers.get()
            if answer is None:
                raise InterruptedError  # which leaves SciPy's loop
            return answer.value, answer.gradient

        def accepted(intermediate_result: OptimizeResult) -> None:  # SciPy requires this name
            exchange("accepted", intermediate_result.x)

        def work() -> None:
            try:
                ask = partial(exchange, "point")
                found = minimize(ask, start, jac=True, callback=accepted, **settings)
                requests.put((str(found.message), start))
            except Exception as error:
                requests.put((f"{type(error).__name__}: {error}", start))

        Thread(target=work, daemon=True).start()
        self._requests, self._answers = requests, answers
        self._pending: tuple[str, Floats] | None = None
        self.stop = weakref.finalize(self, answers.put, None)

    def request(self) -> tuple[str, Floats]:
        """*point*, where it wants the value, or *accepted*, with w; or the reason why it has ended.
        The same one again until it is answered, since an evaluation may be interrupted.
        """
        self._pending = self._pending or self._requests.get()
        return self._pending

    def answer(self, evaluation: Evaluation) -> None:
        """Answer the last request, so that the optimiser continues."""
        self._pending = None
        self._answers.put(evaluation)
