"""Training on shards: the gradient summed over them, and weights that are averaged (McDonald 2009,
"Parallel Logistic Regression / Gradient Ascent", "Parallelization through Averaging", "[Mann et al.
2009]").

The statement |w - w_avg| <= O(1 / sqrt |T|) needs an algorithm that is stable, and logistic
regression is so with a regularisation that keeps its strength for each example (Mann et al. 2009,
section 3): C grows with the number of examples here.
"""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from egparse.experiments.classification import ClassifierProblem
from egparse.experiments.learners.parallel_gradient import GradientConfig, ParallelGradient
from egparse.experiments.lectures.generative import held_vectors
from egparse.experiments.lectures.tasks import Digits
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import read, write
from egparse.learners.registry import build
from egparse.types import Floats

_STRENGTH = 0.01  # C for each example
STRENGTHS = (1.0, 0.1, _STRENGTH)
"""C for each example, where distances are measured: the stronger, the sooner the weights of a shard
are near those of all examples.
"""

_GAP = 1e-6
_PASSES = 300


def measure_mixing(
    digits: Digits, sizes: Sequence[int], shards: Sequence[int], seeds: Sequence[int]
) -> dict[str, Any]:
    """Distances by size and by shards, accuracy by shards, and gradients and seconds by shards."""
    return {
        "distances": _distances(digits, sizes, shards, seeds),
        "accuracy": _accuracies(digits, max(sizes), shards, seeds),
        "gradients": _gradients(digits, max(sizes), shards, seeds[0]),
    }


def _distances(
    digits: Digits, sizes: Sequence[int], shards: Sequence[int], seeds: Sequence[int]
) -> dict[str, Any]:
    """|w - w_avg| and |w| for each strength, size, number of shards and seed."""
    rows = []
    for strength, n, seed in itertools.product(STRENGTHS, sizes, seeds):
        problem = _problem(digits, n, seed)
        whole = _optimum(problem, strength * n, 1)
        for count in shards:
            if 1 < count <= n // 10:
                apart = float(np.linalg.norm(_optimum(problem, strength * n, count) - whole))
                rows.append([strength, n, count, seed, apart, float(np.linalg.norm(whole))])
    columns = ["C / examples", "examples", "shards", "seed", "distance", "|w|"]
    return {"columns": columns, "rows": rows}


def _problem(digits: Digits, n: int, seed: int) -> ClassifierProblem:
    problem = held_vectors(digits, n, seed).problem
    assert isinstance(problem, ClassifierProblem)
    return problem


def _optimum(problem: ClassifierProblem, c: float, shards: int) -> Floats:
    """The mean of the optima of the shards, in this process; the optimum of all for one shard."""
    learner = build(
        "parameter-mixing",
        problem,
        LearnerConfig(c=c),
        inner="lbfgs",
        shards=shards,
        gap=_GAP,
        passes=_PASSES,
        processes=False,
    )
    state = learner.initialise()
    learner.iterate(state)
    return read(problem).copy()


def _accuracies(
    digits: Digits, n: int, shards: Sequence[int], seeds: Sequence[int]
) -> dict[str, Any]:
    """Validation accuracy by shards: of weights mixed once, of a single shard alone, and of
    perceptrons mixed once and after each of ten passes.
    """
    rows = []
    for count in shards:
        for seed in seeds:
            found = []
            for kind in ("once", "alone", "perceptrons, once", "perceptrons, iterated"):
                held = held_vectors(digits, n // count if kind == "alone" else n, seed)
                own = held.problem
                assert isinstance(own, ClassifierProblem)
                if kind == "alone":
                    _optimum(own, _STRENGTH * (n // count), 1)
                elif kind == "once":
                    _optimum(own, _STRENGTH * n, count)
                else:
                    learner = build(
                        "parameter-mixing",
                        own,
                        LearnerConfig(seed=seed),
                        shards=count,
                        iterated=kind.endswith("iterated"),
                        processes=False,
                    )
                    state = learner.initialise()
                    for _ in range(10):
                        learner.iterate(state)
                    with learner.model_weights(state):
                        found.append(_rate(held.dev(1.0)))
                    continue
                found.append(_rate(held.dev(1.0)))
            rows.append([count, seed, *found])
    columns = ["shards", "seed", "mixed once", "one shard alone"]
    return {
        "columns": [*columns, "perceptrons mixed once", "perceptrons mixed after each pass"],
        "rows": rows,
    }


def _rate(counts: Any) -> float:
    return 100.0 * float(counts[:, 0].sum()) / float(counts[:, 1].sum())


def _gradients(digits: Digits, n: int, shards: Sequence[int], seed: int) -> dict[str, Any]:
    """For each number of shards: how far the gradient at a random w is from that of one process,
    and the seconds of ten gradients, by the clock and of all processes together.
    """
    problem = _problem(digits, n, seed)
    w = np.random.default_rng(seed).normal(size=problem.weights.size) * 0.01
    rows = []
    reference: Floats | None = None
    for count in shards:
        learner = ParallelGradient(problem, GradientConfig(c=_STRENGTH * n, shards=count))
        learner.initialise()
        write(problem, w)
        begun, spent = time.perf_counter(), _cpu_seconds()
        for _ in range(10):
            primal, gradient = learner.evaluate()
        clock, cpu = time.perf_counter() - begun, _cpu_seconds() - spent
        if reference is None:
            reference = gradient.copy()
        apart = float(np.linalg.norm(gradient - reference) / np.linalg.norm(reference))
        rows.append([count, apart, clock, cpu, primal])
    columns = ["shards", "distance", "seconds by the clock", "CPU seconds", "primal"]
    return {"columns": columns, "rows": rows}


def _cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def slope(sizes: Sequence[float], distances: Sequence[float]) -> float:
    """The slope of the logarithm of the distance against that of the size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(distances), 1)[0])
