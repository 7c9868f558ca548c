"""Table 1 of Collins et al. 2008 with numbers: what is proven and what is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from egparse.experiments.learners.published_eg import squared_radii
from egparse.experiments.problems.classification import ClassifierProblem
from egparse.experiments.problems.digits import digits_or_points
from egparse.experiments.request import Request
from egparse.experiments.running import HINGE, LOG_LINEAR
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.registry import build

SIZES = (10, 20, 40, 80)
"""The numbers of digits."""

LOSSES = {"log-linear": LOG_LINEAR, "max-margin": HINGE}

_C, _EPSILON = 40.0, 0.01
_ONLINE = {"published": True, "search": "proven"}
_SEEDS, _PASSES, _QUICK_PASSES, _PASSES_TO_OPTIMUM = 3, 60_000, 300, 5_000


def table_1(request: Request) -> dict[str, Any]:
    """For n digits and each loss the passes after which the dual of the online and of the batch
    algorithm must be, and is, within 1 % of the optimum, at the greatest rates that are proven and
    from the uniform start, for which D[alpha* alpha1] <= n log K.
    """
    sizes, most = (SIZES[:2], _QUICK_PASSES) if request.quick else (SIZES, _PASSES)
    _, x, y = digits_or_points(request, max(sizes), request.seed)
    classes = int(y.max()) + 1
    problems = {n: ClassifierProblem(x[:n], y[:n], classes) for n in sizes}
    return {
        name: {str(n): _row(problem, n, classes, loss, most) for n, problem in problems.items()}
        for name, loss in LOSSES.items()
    }


def _row(
    problem: Problem, n: int, classes: int, loss: tuple[float, float], most: int
) -> dict[str, float]:
    a = float(squared_radii(problem).max()) / _C  # |A|
    d = n * math.log(classes)
    entropy = 1.0 if loss == LOG_LINEAR else 0.0

    def ascend(
        name: str, goal: float, most: int, seed: int = 1, options: Mapping[str, Any] = {}
    ) -> tuple[float, float]:
        """The passes after which the dual is at the goal, at most so many, and the dual then."""
        config = LearnerConfig(beta=loss[0], gamma=loss[1], c=_C, seed=seed)
        learner: Any = build(name, problem, config, **options)
        state, passes = learner.initialise(3.0), 0

        def dual() -> float:
            return float(state.dual if hasattr(state, "dual") else learner.dual(state))

        while dual() < goal and passes < most:
            learner.iterate(state)
            passes += 1
        return (passes if dual() >= goal else math.inf), dual()

    _, optimum = ascend("eg-online", math.inf, min(most, _PASSES_TO_OPTIMUM))
    goal, epsilon = (1.0 - _EPSILON) * optimum, _EPSILON * optimum
    _, start = ascend("eg-online", -math.inf, 1, 1, _ONLINE)
    seeds = range(1, _SEEDS + 1)
    online = fmean(ascend("eg-online", goal, most, seed, _ONLINE)[0] for seed in seeds)
    batch = {"rate": "fixed", "eta": 1.0 / (entropy + n * a), "start": "uniform"}
    measured, _ = ascend("eg-batch", goal, most, 1, batch)
    away = optimum - start  # Q(alpha1) - Q(alpha*), as Q is minus the dual
    if loss == LOG_LINEAR:
        bound = (1 + a) * math.log(((1 + a) * d + away) / epsilon)
        bound_of_batch = (1 + n * a) * math.log((1 + n * a) * d / epsilon)
    else:
        bound, bound_of_batch = (a * d + away) / epsilon, n * a * d / epsilon
    return {
        "|A|": a,
        "online": online,
        "online, bound": bound,
        "batch": measured,
        "batch, bound": bound_of_batch,
        "ratio": measured / online,
        "ratio of bounds": bound_of_batch / bound,
    }
