"""Run a learner until its duality gap is small or the development score no longer improves, and
keep the best predictor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    cast,
    runtime_checkable,
)

import numpy as np
import numpy.typing as npt

from egparse.config.sections import StopConfig
from egparse.errors import EgparseError, NotFiniteError
from egparse.fitting import interruption
from egparse.fitting.jobs import cpu_time
from egparse.fitting.progress import Iteration, Listener, Step
from egparse.learners.learner import Learner, State
from egparse.types import Singles

if TYPE_CHECKING:
    from egparse.fitting.checkpoints.journal import TaskEntry
    from egparse.learners.problem import Problem

Predictor = TypeVar("Predictor")
Finished = TypeVar("Finished")

INTERRUPTED = "interrupted"

SETTLED = 0.1
"""The relative duality gap below which a development score that does not improve counts as stale.
"""


@runtime_checkable
class CountingScore(Protocol):
    """A score that depends on how many predictors it has rated."""

    def resume(self, passes: int) -> None:
        """Go on as if so many had been rated."""


class Weights(NamedTuple):
    """A copy of the arrays of v, and the factor of the model, w = ``scale`` v."""

    vectors: list[npt.NDArray[np.floating[Any]]]
    scale: float

    def put_into(self, problem: Problem) -> None:
        """Set the v of a problem."""
        for array, saved in zip(problem.vectors(), self.vectors, strict=True):
            array[...] = saved


class Prepared(NamedTuple, Generic[Predictor]):
    """A learner at its first point, and a function that copies the predictor out of its problem."""

    learner: Learner
    state: Any
    snapshot: Callable[[State], Predictor]

    def then(self, finish: Callable[[Predictor], Finished]) -> Prepared[Finished]:
        """The same learner, whose predictors are finished by a function."""
        snapshot = self.snapshot
        return Prepared(self.learner, self.state, lambda state: finish(snapshot(state)))

    def current(self) -> Predictor:
        """The predictor with the weights that the learner keeps (for some, their average)."""
        with self.learner.model_weights(self.state):
            return self.snapshot(self.state)

    def weights(self) -> Weights:
        """Those of the ``current`` predictor."""
        with self.learner.model_weights(self.state):
            vectors = [array.copy() for array in problem_of(self.learner).vectors()]
            return Weights(vectors, float(self.state.scale))

    def at(self, weights: Weights) -> Predictor:
        """The predictor with other weights, which the problem holds afterwards."""
        weights.put_into(problem_of(self.learner))
        return self.snapshot(weights)

    def after(self, passes: int) -> Predictor:
        """The predictor after some passes, without certificates: for predictors that are used once,
        as in jackknifing.
        """
        for _ in range(passes):
            self.learner.iterate(self.state)
        return self.current()


class Best(NamedTuple, Generic[Predictor]):
    """The best predictor, the record of its pass, and why training stopped."""

    predictor: Predictor
    record: Iteration
    reason: str

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.reason == INTERRUPTED


def problem_of(learner: Learner) -> Problem:
    """The problem of a learner, which holds v."""
    return cast("Problem", cast(Any, learner).problem)


def require_finite(*tables: Singles) -> None:
    """Check weights before anything is decoded by them: NaN would become an index.

    Raises:
        NotFiniteError: some are infinite or NaN.
    """
    if not all(np.isfinite(table).all() for table in tables):
        raise NotFiniteError("the weights are not finite; try a larger c")


@contextmanager
def naming(task: str) -> Iterator[None]:
    """Let ``NotFiniteError`` name a task."""
    try:
        yield
    except NotFiniteError as error:
        raise NotFiniteError(f"{task}: {error}") from None


def optimise(
    prepared: Prepared[Predictor],
    stop: StopConfig,
    score: Callable[[Predictor], float] | None,
    task: str,
    listener: Listener,
    entry: TaskEntry | None = None,
) -> Best[Predictor]:
    """Make passes until a condition of ``stop`` is met; ``score`` rates a predictor (greater is
    better).

    Without ``score`` the last predictor is kept. Ctrl-C ends the run with the best one so far;
    before the first pass is over KeyboardInterrupt is passed on. With an ``entry`` of a journal
    passes are noted there, and those that it has are not made again.

    Raises:
        EgparseError: the objective or the weights are no longer finite.
    """
    learner, state = prepared.learner, prepared.state
    best: Best[Predictor] | None = None
    stale, passes = 0, 0
    listener(Step(task, stop.iterations, 0))
    if entry is not None:
        listener = entry.listening(listener)
        if entry.is_begun:
            best, stale, passes = entry.restore(prepared, listener)
            if best.reason:
                return best
            rating: object = score
            if isinstance(rating, CountingScore):
                rating.resume(passes)
    try:
        for number in range(passes + 1, stop.iterations + 1):
            begun = cpu_time()
            learner.iterate(state)
            certificate = learner.certificate(state)
            if not math.isfinite(certificate.primal) or math.isnan(certificate.dual):
                raise EgparseError(
                    f"{task}: the objective is not finite after pass {number}; try a larger c"
                )
            with naming(task):
                predictor = prepared.current()
            value = None if score is None else score(predictor)
            better = (
                best is None
                or value is None
                or best.record.score is None
                or value > best.record.score
            )
            record = Iteration(
                task,
                number,
                certificate.effective_iterations,
                certificate.c,
                certificate.primal,
                certificate.dual,
                certificate.gap,
                certificate.relative_gap,
                value,
                better,
                cpu_time() - begun,
            )
            listener(record)
            # Far from the optimum the score fluctuates and does not predict that of later passes.
            far = certificate.dual > -math.inf and not record.relative_gap < SETTLED
            stale = 0 if better or far else stale + 1
            reason = _reason(record, stop, stale)
            if better or best is None:
                best = Best(predictor, record, reason)
                if entry is not None:
                    entry.keep(prepared)
            best = best._replace(reason=reason)
            if entry is not None:
                entry.after_pass(prepared, best, stale)
            if reason:
                break
            interruption.check()
    except KeyboardInterrupt:
        if best is None:
            raise
        best = best._replace(reason=INTERRUPTED)
    assert best is not None  # at least one pass ran
    return best


def _reason(record: Iteration, stop: StopConfig, stale: int) -> str:
    if 0 <= record.relative_gap <= stop.gap:
        return f"duality gap at most {100 * stop.gap:g} %"
    if stop.patience and stale >= stop.patience:
        return f"no better development score for {stale} passes"
    if record.iteration == stop.iterations:
        return f"{stop.iterations} passes"
    return ""
