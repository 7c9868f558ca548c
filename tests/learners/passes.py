"""The passes of a learner with their certificates, and the dual of online EG from theta alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from learners.enumerated import EnumeratedProblem
from tolerances import STORED

from egparse.experiments.learners.published_eg import PublishedConfig, PublishedEG
from egparse.learners.eg.online import EGConfig, EGState, OnlineEG
from egparse.learners.learner import Certificate, Learner
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem


def passes(learner: Learner, state: Any, count: int) -> Iterator[Certificate]:
    """The certificate after each of ``count`` passes."""
    for _ in range(count):
        learner.iterate(state)
        yield learner.certificate(state)


def eg_of(problem: Problem, config: EGConfig) -> OnlineEG:
    """Online EG with a configuration of either kind."""
    if isinstance(config, PublishedConfig):
        return PublishedEG(problem, config)
    return OnlineEG(problem, config)


def dual_of(
    problem: EnumeratedProblem, theta: np.ndarray, loss: Loss, c: float
) -> tuple[float, np.ndarray, np.ndarray, float]:
    """The dual value and v, from theta alone; and how far those of the stored marginals may be from
    them: |F'| STORED for v, and for the dual, of the gradient u in the marginals and the move d,
    u . d - |F' d|^2 / (2C).
    """
    value, v = 0.0, np.zeros_like(problem.v)
    v_error, dual_error = np.zeros_like(v), 0.0
    for i, structures in enumerate(problem.structures):
        own = theta[problem.part_starts[i] : problem.part_starts[i + 1]].astype(np.float64)
        marginals = np.empty(structures.shape[1])
        log_z, cost = problem.marginals(i, own, marginals), problem.cost(i)
        value += (log_z - own @ marginals) / loss.beta
        value += loss.gamma * (cost @ marginals + problem.cost_constant(i))
        v += problem.features[i].T @ (problem.gold(i) - marginals)
        v_error += STORED * np.abs(problem.features[i]).sum(axis=0)
        slope = loss.gamma * cost - own / loss.beta
        dual_error += STORED * float(np.abs(slope + problem.scores(i) / c).sum())
    dual_error += float(v_error @ v_error) / (2 * c)
    return value - v @ v / (2 * c), v, v_error, dual_error


def distances(eg: OnlineEG, optimum: float, most: int) -> tuple[EGState, list[float]]:
    """The last state, and how far the dual is below the optimum before and after each pass."""
    state = eg.initialise()
    found = [optimum - eg.dual(state)]
    for _ in range(most):
        eg.iterate(state)
        found.append(optimum - eg.dual(state))
    return state, found
