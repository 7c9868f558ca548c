"""The settings that only one learner has: ``options`` in the section of a task, with their ranges.

Defaults are those of the learner's configuration (``egparse.learners``, ``egparse.experiments``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Interval

from egparse.config.fields import LARGE, Count, Natural, NonNegative

Rate = Annotated[float, Interval(ge=1e-9, le=LARGE)]
Growth = Annotated[float, Interval(ge=1, le=1000)]
Probability = Annotated[float, Interval(ge=0, le=1)]
Shards = Annotated[int, Interval(ge=1, le=256)]

_START = Literal["gold", "uniform"]

_STEPS = {
    "eta": Rate,
    "relaxation": Annotated[float, Interval(ge=1e-3, lt=2)],
    "growth": Growth,
    "curvature": NonNegative,
    "max_halvings": Annotated[int, Interval(ge=1, le=1000)],
    "prioritise_below_gain": NonNegative,
    "visit_cost": Literal["parts", "examples"],
    "min_visit_probability": Probability,
    "anneal_hold": Natural,
    "start": _START,
    "largest_eta": Annotated[float, Ge(1e-9)],
    "calibrate": Probability,
}

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "eg-online": {
        "published": bool,
        "order": Literal["random", "drawn", "cyclic"],
        "round_fraction": Annotated[float, Interval(ge=1e-3, le=1)],
        "search": Literal["halving", "quadratic", "proven"],
        "restart_eta": bool,
        **_STEPS,
    },
    "eg-cyclic": {
        "search": Literal["halving", "quadratic", "proven"],
        "restart_eta": bool,
        **_STEPS,
    },
    "eg-2007": {
        "eta": Rate,
        "largest_eta": Annotated[float, Ge(1e-9)],
        "max_halvings": Annotated[int, Interval(ge=1, le=1000)],
        "start": _START,
        "calibrate": Probability,
    },
    "eg-batch": {
        "rate": Literal["proven", "fixed", "halving"],
        "eta": Rate,
        "growth": Growth,
        "start": _START,
    },
    "dca": {
        "averaged": bool,
        "subproblem": Literal["linearised", "exact"],
        "below_zero": Literal["estimate", "skip"],
    },
    "mira": {
        "averaged": bool,
        "k": Annotated[int, Interval(ge=1, le=100)],
        "tolerance": Annotated[float, Interval(ge=1e-12, le=1)],
        "max_sweeps": Annotated[int, Interval(ge=1, le=1_000_000)],
    },
    "perceptron": {"averaged": bool, "shuffle": bool},
    "sgd": {"eta0": Rate, "averaged": bool},
    "sag": {"sampling": Literal["uniform", "non-uniform"], "saga": bool},
    "adagrad": {
        "eta": Rate,
        "averaged": bool,
        "batch": Annotated[int, Interval(ge=1, le=1_000_000)],
    },
    "lbfgs": {"memory": Annotated[int, Interval(ge=1, le=1000)], "tolerance": Probability},
    "cg": {"memory": Annotated[int, Interval(ge=1, le=1000)], "tolerance": Probability},
    "parallel-gradient": {"shards": Shards, "processes": bool, "spectral": bool},
    "parameter-mixing": {
        "inner": Literal[
            "perceptron",
            "sgd",
            "eg-online",
            "eg-batch",
            "lbfgs",
            "parallel-gradient",
            "cutting-plane",
        ],
        "gap": Annotated[float, Interval(ge=1e-9, le=0.5)],
        "passes": Count,
        "shards": Shards,
        "iterated": bool,
        "processes": bool,
        "averaged": bool,
        "shuffle": bool,
        "eta0": Rate,
    },
    "cutting-plane": {"patience": Count, "tolerance": Probability},
    "n-slack": {"epsilon": Rate, "accumulate": Count, "patience": Count},
    "frank-wolfe": {
        "steps": Literal["plain", "pairwise", "away"],
        "sampling": Literal["uniform", "permuted", "gap"],
        "refresh": Count,
        "averaged": bool,
    },
    "cd": {
        "gamma": Annotated[float, Interval(ge=1e-9, lt=0.5)],
        "beta": Annotated[float, Interval(ge=1e-9, lt=1)],
    },
    "cd-exact": {
        "gamma": Annotated[float, Interval(ge=1e-9, lt=0.5)],
        "beta": Annotated[float, Interval(ge=1e-9, lt=1)],
    },
    "tron": {"forcing": Annotated[float, Interval(ge=1e-6, lt=1)]},
    "hmm": {"smoothing": Rate, "transition_smoothing": Rate},
    "naive-bayes": {"smoothing": Rate, "transition_smoothing": Rate},
}
"""Learner -> its options, each with the type of its values, as far as it has some."""


def with_own_types(learner: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with floats where a number with a fraction is expected and an integer came, as
    in ``eta = 1``: kernels would be compiled anew for integers.
    """
    known = OPTIONS.get(learner, {})

    def own(option: str, value: Any) -> Any:
        is_float = float in get_args(known.get(option))
        return float(value) if is_float and type(value) is int else value

    return {option: own(option, value) for option, value in options.items()}
