"""L-BFGS on the maximum-entropy objective, by SciPy: the reference of the papers, and the optimum
in eq. 17.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.optimize import minimize

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.maxent.learner import gradient, objective_of
from egparse.experiments.maxent.problem import MaxentProblem
from egparse.experiments.maxent.rowwise import loss_and_expectations
from egparse.experiments.maxent.run import MaxentRun, MaxentStop, Record
from egparse.types import Floats

_REACHED = 1e-4  # relative to the first gradient norm: a greater one is no optimum


def run_lbfgs(
    problem: MaxentProblem,
    stop: MaxentStop,
    *,
    sigma2: float = 10.0,
    memory: int = 10,
    start: Floats | None = None,
) -> MaxentRun:
    """L-BFGS from w = 0, or from ``start``, with ``memory`` corrections; a pass is one iteration,
    with one or a few evaluations.

    Raises:
        ConfigError: a variance that is not positive, or no memory.
        EgparseError: an objective that is not finite.
    """
    if not sigma2 > 0 or memory < 1:
        raise ConfigError(f"lbfgs: expected sigma2 > 0 and memory >= 1, got {sigma2} and {memory}")
    first = np.zeros(problem.feature_count) if start is None else start
    trace = _Trace(problem, 1.0 / sigma2, stop, first)
    if not trace.is_finished():
        minimize(
            trace.evaluate,
            first,
            jac=True,
            method="L-BFGS-B",
            callback=trace.callback,
            options={
                "maxiter": stop.passes,
                "maxfun": 50 * stop.passes,
                "maxcor": memory,
                "ftol": 0.0,
                "gtol": 0.0,
            },
        )
    return MaxentRun(trace.weights, trace.records, stop.met(trace.records))


def maxent_optimum(
    problem: MaxentProblem,
    *,
    sigma2: float = 10.0,
    iterations: int = 5000,
    start: Floats | None = None,
) -> float:
    """min L(w) in nats, as exactly as floating point allows, from w = 0 or ``start``.

    Raises:
        EgparseError: the gradient is not small after the last iteration.
    """
    stop = MaxentStop(passes=iterations, tolerance=1e-9)
    run = run_lbfgs(problem, stop, sigma2=sigma2, memory=20, start=start)
    first, last = run.records[0].gradient_norm, run.records[-1].gradient_norm
    if last > _REACHED * first:
        raise EgparseError(
            f"lbfgs: expected a gradient norm below {_REACHED * first:.3g} after "
            f"{run.records[-1].passes} iterations, got {last:.3g}"
        )
    return run.objective


class _Trace:
    """Evaluations for SciPy and the records of its iterations."""

    def __init__(
        self, problem: MaxentProblem, precision: float, stop: MaxentStop, start: Floats
    ) -> None:
        self.problem, self.precision, self.stop = problem, precision, stop
        self.weights = start.copy()
        self.pauses, self.passes = 0.0, 0
        self.scores, self.expected = np.empty((1, problem.label_count)), np.empty_like(start)
        value, slope = self.evaluate(self.weights)
        self.records = [stop.record(0, 0.0, value, float(np.linalg.norm(slope)))]
        if stop.observe:
            stop.observe(self.records[0], self.weights)
        self.begin = time.process_time()

    def evaluate(self, w: Floats) -> tuple[float, Floats]:
        features = self.problem.features
        loss = float(loss_and_expectations(features, w, self.scores, self.expected))
        value, _ = objective_of(self.problem, w, self.precision, loss)
        if not np.isfinite(value):
            raise EgparseError(f"lbfgs: expected a finite objective, got {value}")
        self.last = w.copy(), gradient(self.problem, w, self.precision, self.expected)
        return value, self.last[1].copy()

    def callback(self, intermediate_result: Any) -> None:
        seen = time.process_time()
        seconds = seen - self.begin - self.pauses
        self.passes += 1
        if not self.stop.is_due(self.records, self.passes, seconds):
            return
        self.weights = np.array(intermediate_result.x)
        if not np.array_equal(self.weights, self.last[0]):  # the line search took an earlier point
            self.evaluate(self.weights)
        norm = float(np.linalg.norm(self.last[1]))
        self.records.append(
            self.stop.record(self.passes, seconds, float(intermediate_result.fun), norm)
        )
        if self.stop.observe:
            self.stop.observe(self.last_record, self.weights)
        finished = self.is_finished() or seconds >= self.stop.seconds
        self.pauses += time.process_time() - seen
        if finished:
            raise StopIteration

    @property
    def last_record(self) -> Record:
        return self.records[-1]

    def is_finished(self) -> bool:
        return self.stop.met(self.records)
