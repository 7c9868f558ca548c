"""Logistic regression: its gradient, its one optimum, and that it is maximum entropy (McDonald
2009, "Logistic Regression", "The partial derivatives", "Logistic Regression = Maximum Entropy").

The objective is sum_i -log P(y_i | x_i) + C/2 |w|^2 with a small C, without which separable data
have no optimum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from egparse.experiments.learners.parallel_gradient import GradientConfig, ParallelGradient
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import Problem, read, write
from egparse.learners.registry import build

_STEP = 1e-5
_STARTS = 3
_STEPS = 400
_GAP = 1e-6


def measure_logistic(problem: Problem, c: float, seed: int) -> dict[str, Any]:
    """Figures of the objective of a problem whose v is in double precision."""
    random = np.random.default_rng(seed)
    learner = ParallelGradient(problem, GradientConfig(c=c, shards=1, processes=False))
    learner.initialise()
    size = len(read(problem))
    differences = []
    for _ in range(_STARTS):
        point, direction = random.normal(size=(2, size)) * 0.1
        write(problem, point)
        slope = float(learner.evaluate()[1] @ direction)
        ends = []
        for sign in (1.0, -1.0):
            write(problem, point + sign * _STEP * direction)
            ends.append(learner.evaluate()[0])
        differences.append(abs((ends[0] - ends[1]) / (2 * _STEP) - slope) / abs(slope))
    ends_of = {}
    for start in range(_STARTS):
        state = learner.initialise()
        if start:
            write(problem, random.normal(size=size))
            state.primal, state.gradient = learner.evaluate()
            state.history[:] = [state.primal]
        for _ in range(_STEPS):
            learner.iterate(state)
            if learner.certificate(state).relative_gap <= _GAP:
                break
        ends_of[start] = read(problem).copy()
    w = ends_of[0]
    apart = max(float(np.linalg.norm(own - w)) for own in ends_of.values())
    # the gradient without C w is the expected counts less those of the data
    write(problem, w)
    primal, gradient = learner.evaluate()
    counts = _empirical_counts(problem)
    write(problem, w)
    rival = build("eg-online", problem, LearnerConfig(c=c, seed=seed))
    its = rival.initialise(5.0)
    for _ in range(_STEPS):
        rival.iterate(its)
        certificate = rival.certificate(its)
        if certificate.relative_gap <= _GAP:
            break
    return {
        "examples": len(problem.part_starts) - 1,
        "C": c,
        "gradient against differences": max(differences),
        "starts": _STARTS,
        "optima apart": apart / float(np.linalg.norm(w)),
        "primal": primal,
        "primal, EG": certificate.primal,
        "dual, EG": certificate.dual,
        "counts apart": float(np.linalg.norm(gradient - c * w) / np.linalg.norm(counts)),
        "counts apart, less C w": float(np.linalg.norm(gradient) / np.linalg.norm(counts)),
    }


def _empirical_counts(problem: Problem) -> Any:
    """sum_i F_i' z_i; v is overwritten."""
    problem.reset()
    for i in range(len(problem.part_starts) - 1):
        problem.add(i, problem.gold(i).copy())
    counts = read(problem).copy()
    return counts if math.isfinite(float(counts.sum())) else counts * math.nan
