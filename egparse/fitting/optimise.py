"""Run a learner until its certificate or the development score says stop, and keep the best model
on the way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from egparse.errors import EgparseError
from egparse.fitting import interruption
from egparse.fitting.config import StopConfig
from egparse.fitting.progress import Iteration, Listener, Step
from egparse.learners.learner import Learner, State

Model = TypeVar("Model")


class Best(NamedTuple, Generic[Model]):
    """The model kept, the record of the pass that it comes from, and why training stopped."""

    model: Model
    record: Iteration
    reason: str

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.reason == INTERRUPTED


INTERRUPTED = "interrupted"

SETTLED = 0.1
"""The relative duality gap below which a development score that does not improve counts as stale.
"""


def optimise(
    learner: Learner,
    state: Any,
    stop: StopConfig,
    snapshot: Callable[[State], Model],
    score: Callable[[Model], float] | None,
    task: str,
    listener: Listener,
) -> Best[Model]:
    """Iterate; ``snapshot`` copies the model out of the learner, ``score`` rates it (greater is
    better).

    Without ``score`` the last model is kept. Ctrl-C ends the run with the best model so far; before
    the first pass is over it is passed on.

    Raises:
        EgparseError: the objective is no longer finite.
    """
    best: Best[Model] | None = None
    stale = 0
    listener(Step(task, stop.iterations, 0))
    try:
        for number in range(1, stop.iterations + 1):
            begun = time.process_time()
            learner.iterate(state)
            certificate = learner.certificate(state)
            if not math.isfinite(certificate.primal) or math.isnan(certificate.dual):
                raise EgparseError(
                    f"{task}: the objective is not finite after pass {number}; try a larger c"
                )
            with learner.model_weights(state):
                model = snapshot(state)
            value = None if score is None else score(model)
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
                time.process_time() - begun,
            )
            listener(record)
            # far from the optimum the score goes up and down, and says nothing of what is to come
            far = certificate.dual > -math.inf and not record.relative_gap < SETTLED
            stale = 0 if better or far else stale + 1
            reason = _reason(record, stop, stale)
            if better or best is None:
                best = Best(model, record, reason)
            best = best._replace(reason=reason)
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
