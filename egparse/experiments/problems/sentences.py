"""What training problems of sentences share: the facts of their data, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from egparse.evaluation.scores import total
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.setup import Setup
from egparse.learners.problem import Problem, size
from egparse.types import Floats, Longs

Counts = Callable[[float], Longs]
"""A function of the scale: (correct, gold, system) of each sentence."""


def scored(
    problem: Problem,
    sample: Sample,
    held_out: Counts,
    compared: Counts,
    score_name: str,
    gold_theta: float | Floats,
    facts: Mapping[str, Any],
) -> Setup:
    """A problem of the training sentences, scored in per cent by the counts of the validation part,
    ``held_out``, and of the part that is ``compared``: the test part, or else the validation part.
    """
    parts = {"training": sample.train, "validation": sample.dev, "test": sample.test}
    sizes = {f"{name} sentences": len(part) for name, part in parts.items() if part}
    words = {f"{name} words": sum(map(len, part)) for name, part in parts.items() if part}
    return Setup(
        problem,
        lambda scale: total(held_out(scale)).f1,
        score_name,
        1,
        gold_theta,
        {"data": sample.name, **sizes, **words, "weights": size(problem), **facts},
        (lambda scale: total(compared(scale)).f1) if sample.test else None,
        compared,
    )
