"""Run a learner on a problem for a number of effective iterations, and record its objective and
score after each pass.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.data.problems import Setup
from egparse.experiments.report.record import Curve, Point
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build

_CALLS = 3
"""At most so many calls of ``iterate`` for each effective iteration, so that a learner whose passes
do no work comes to an end.
"""


AtEnd = Callable[[float], Mapping[str, float]]
"""A function of the scale: figures of the model w = scale v, where the problem holds v."""


class Budget(NamedTuple):
    """The limits of a run; it ends earlier at a relative duality gap of ``gap``.

    A point is recorded after each pass, or with a ``spacing`` above 1 after so many times the
    passes of the last point, since certificates and scores may take as long as passes do.
    """

    effective_iterations: float
    cpu_seconds: float = math.inf
    gap: float = 1e-6
    spacing: float = 1.0


class Run(NamedTuple):
    """A learner with its settings; ``label`` names it in figures."""

    experiment: str
    label: str
    learner: str
    options: Mapping[str, Any]
    config: LearnerConfig


def trace(setup: Setup, run: Run, budget: Budget, at_end: Sequence[AtEnd] = ()) -> Curve:
    """The curve of a run. A run that fails (diverges, makes no progress) keeps its points, and
    ``stopped`` says why it ended. What ``at_end`` finds of the last model joins the details of the
    last certificate.

    Raises:
        ConfigError: a learner that does not fit the loss or the options.
    """
    setup.problem.reset()
    learner = build(run.learner, setup.problem, run.config, **run.options)
    points: list[Point] = []
    details: dict[str, float] = {}
    spent, passes, reason, test = 0.0, 0, "", None
    try:
        begun = time.process_time()
        state = learner.initialise(setup.gold_theta)
        spent += time.process_time() - begun
        while not reason:
            begun = time.process_time()
            learner.iterate(state)
            spent += time.process_time() - begun
            passes += 1
            due = math.ceil(budget.spacing * points[-1].iteration) if points else 1
            if passes < due and spent < budget.cpu_seconds:
                continue
            certificate = learner.certificate(state)
            if not math.isfinite(certificate.primal) or math.isnan(certificate.dual):
                raise EgparseError("the objective is not finite")
            with (
                learner.model_weights(state),
                np.errstate(over="ignore"),
            ):  # models are rounded to float16
                score = setup.score(state.scale)
            points.append(
                Point(
                    passes,
                    certificate.effective_iterations,
                    spent,
                    certificate.primal,
                    certificate.dual,
                    score,
                )
            )
            details = dict(certificate.details)
            reason = _reason(points, certificate.relative_gap, budget)
        with learner.model_weights(state), np.errstate(over="ignore"):
            test = None if setup.test is None else setup.test(state.scale)
            for measure in at_end:
                details |= measure(state.scale)
    except EgparseError as error:
        reason = f"failed: {error}"
    return Curve(
        run.experiment,
        setup.name,
        run.label,
        run.learner,
        run.options,
        run.config.beta,
        run.config.gamma,
        run.config.c,
        run.config.seed,
        tuple(points),
        reason,
        test,
        details,
    )


def _reason(points: list[Point], relative_gap: float, budget: Budget) -> str:
    last = points[-1]
    if last.effective_iterations >= budget.effective_iterations:
        return f"{budget.effective_iterations:g} effective iterations"
    if last.cpu_seconds >= budget.cpu_seconds:
        return f"{budget.cpu_seconds:g} CPU seconds"
    if relative_gap <= budget.gap:
        return f"a relative duality gap of {budget.gap:g}"
    if len(points) > 1 and last.effective_iterations == points[-2].effective_iterations:
        return "converged: no more work to do"
    if last.iteration >= _CALLS * budget.effective_iterations:
        return f"{last.iteration} passes"
    return ""
