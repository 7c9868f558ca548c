"""Run a learner until its duality gap is small or the development score no longer improves, and
keep the best predictor.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from egparse.config.sections import StopConfig
from egparse.errors import EgparseError
from egparse.fitting import interruption
from egparse.fitting.jobs import cpu_time
from egparse.fitting.journal import TaskEntry
from egparse.fitting.prepared import INTERRUPTED, Best, Predictor, Prepared, naming
from egparse.fitting.progress import Iteration, Listener, Step
from egparse.learners.learner import Certificate

SETTLED = 0.1
"""The relative duality gap below which a development score that does not improve counts as stale.
"""

_RISES = 4.0
"""The least gap after a pass, in rises of the dual by that pass: each pass brings it nearer to the
optimum by about a fifth of what is left. On UD English EWT it is 4 to 14 rises, but 1 for pruners.
"""


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
            resume = getattr(score, "resume", None)
            if resume is not None:  # a score that depends on how many predictors it has rated
                resume(passes)
    try:
        standing = learner.standing(state)
        for number in range(passes + 1, stop.iterations + 1):
            begun = cpu_time()
            learner.iterate(state)
            before, standing = standing, learner.standing(state)
            is_far = number < stop.iterations and _is_far(before, standing, stop)
            certificate = standing if is_far else learner.certificate(state)
            assert certificate is not None
            objective = certificate.dual if is_far else certificate.primal
            if not math.isfinite(objective) or math.isnan(certificate.dual):
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


def _is_far(before: Certificate | None, after: Certificate | None, stop: StopConfig) -> bool:
    """Whether a pass moved the dual by so much that the gap is too large for any condition, as the
    dual alone shows: nothing depends on the primal there, which takes inference over all examples.
    """
    if before is None or after is None:
        return False
    least_gap = _RISES * abs(after.dual - before.dual)  # it falls while C decays
    return least_gap > max(SETTLED, stop.gap) * abs(after.dual)


def _reason(record: Iteration, stop: StopConfig, stale: int) -> str:
    if 0 <= record.relative_gap <= stop.gap:
        return f"duality gap at most {100 * stop.gap:g} %"
    if stop.patience and stale >= stop.patience:
        return f"no better development score for {stale} passes"
    if record.iteration == stop.iterations:
        return f"{stop.iterations} passes"
    return ""
