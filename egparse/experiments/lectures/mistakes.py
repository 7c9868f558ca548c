"""The theorem of the perceptron, measured (McDonald 2009, "Perceptron: Main Theorem").

On data separable with margin gamma the perceptron makes at most R^2 / gamma^2 mistakes, since after
k of them k gamma <= |w| <= sqrt(k) R. Here gamma is the greatest margin (``hard_margin``), and R
the greatest |f(x_t, y_t) - f(x_t, y')| of a mistake that was made, which is all that the proof
uses: a smaller R than the theorem's, hence a smaller bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from egparse.experiments.lectures.hard_margin import hard_margin, margin_of
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.registry import build
from egparse.types import Floats

_PASSES = 2000
_HARD_C = 0.01  # of MIRA: multipliers of at most 100, which is hardly a bound
_QUIET = 1e-9  # of |w|: passes of MIRA that change less are the last


class Followed(NamedTuple):
    """A perceptron until a pass without mistakes: ``mistakes`` in all, ``passes``, the greatest
    ``radius`` of a mistake, and ``norms`` (mistakes,), |w| after each.
    """

    mistakes: int
    passes: int
    radius: float
    norms: Floats


def follow_perceptron(problem: Problem, seed: int, passes: int = _PASSES) -> Followed:
    """Train until a pass makes no mistake, in a new random order each pass; v is left trained."""
    problem.reset()
    generator = np.random.default_rng(seed)
    n = len(problem.part_starts) - 1
    best = np.empty(int(np.diff(problem.part_starts).max()))
    square, radius, made = 0.0, 0.0, 0
    norms: list[float] = []
    before = -1
    while len(norms) > before and made < passes:
        before = len(norms)
        made += 1
        for i in generator.permutation(n).tolist():
            scores = problem.scores(i)
            predicted = best[: len(scores)]
            problem.argmax(i, scores, predicted)
            changes = problem.gold(i) - predicted
            if not changes.any():
                continue
            product = float(scores @ changes)
            grown = problem.add(i, changes)
            # |w + a|^2 - |w|^2 = 2 w . a + |a|^2
            radius = max(radius, math.sqrt(max(0.0, grown - 2.0 * product)))
            square += grown
            norms.append(math.sqrt(square))
    return Followed(len(norms), made, radius, np.array(norms))


def measure_theorem(
    problem: Problem,
    seeds: Sequence[int],
    *,
    tolerance: float = 1e-4,
    mira_passes: int = 200,
) -> dict[str, Any]:
    """The greatest margin with its SVM, the mistakes of perceptrons with their bound, and the
    margins that perceptrons and MIRA come to.
    """
    svm = hard_margin(problem, tolerance=tolerance)
    runs = []
    for seed in seeds:
        found = follow_perceptron(problem, seed)
        k = np.arange(1, found.mistakes + 1)
        runs.append(
            {
                "seed": seed,
                "mistakes": found.mistakes,
                "passes": found.passes,
                "radius": found.radius,
                "bound": (found.radius / svm.margin) ** 2,
                "least |w| / (k gamma)": float(np.min(found.norms / (k * svm.margin))),
                "greatest |w|^2 / (k R^2)": float(np.max(found.norms**2 / (k * found.radius**2))),
                "margin": margin_of(problem),
                "margin, averaged": _margin_of_averaged(problem, seed, found.passes),
                "margin, MIRA 1": _margin_of_mira(problem, seed, 1, mira_passes),
                "margin, MIRA 5": _margin_of_mira(problem, seed, 5, mira_passes),
            }
        )
    return {
        "examples": len(problem.part_starts) - 1,
        "margin": svm.margin,
        "margin at most": svm.bound,
        "1 / |w|": 1.0 / svm.norm,
        "constraints": svm.constraints,
        "support vectors": len(svm.supports),
        "perceptrons": runs,
    }


def measure_sparsity(problem: Problem) -> dict[str, float]:
    """How many examples are support vectors, and how far w moves, relative to |w|, where it is
    trained on these alone.
    """
    svm = hard_margin(problem)
    w = [array.copy() for array in problem.vectors()]
    alone = hard_margin(problem, svm.supports)
    far = math.sqrt(
        sum(
            float(np.sum((array - own) ** 2))
            for array, own in zip(problem.vectors(), w, strict=True)
        )
    )
    return {
        "examples": float(len(problem.part_starts) - 1),
        "support vectors": float(len(svm.supports)),
        "moved": far / svm.norm,
        "constraints": float(svm.constraints),
        "constraints without the others": float(alone.constraints),
    }


def _margin_of_averaged(problem: Problem, seed: int, passes: int) -> float:
    """The margin of the average over the same visits."""
    learner = build("perceptron", problem, LearnerConfig(seed=seed))
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    with learner.model_weights(state):
        return margin_of(problem)


def _margin_of_mira(problem: Problem, seed: int, k: int, passes: int) -> float:
    """The margin of MIRA without slack, after a pass that does not move w, or so many passes."""
    config = LearnerConfig(beta=math.inf, gamma=1.0, c=_HARD_C, seed=seed)
    learner = build("mira", problem, config, k=k, averaged=False)
    state = learner.initialise()
    for _ in range(passes):
        before = [array.copy() for array in problem.vectors()]
        learner.iterate(state)
        moved = sum(
            float(np.sum((array - own) ** 2))
            for array, own in zip(problem.vectors(), before, strict=True)
        )
        norm = sum(float(np.sum(array**2)) for array in problem.vectors())
        if moved <= _QUIET**2 * norm:
            break
    with learner.model_weights(state):
        return margin_of(problem)
