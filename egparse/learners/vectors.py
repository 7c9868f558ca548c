"""v as one flat vector of float64, for learners that move all weights at once."""

from __future__ import annotations

import numpy as np

from egparse.learners.problem import Problem
from egparse.types import Floats


def size(problem: Problem) -> int:
    """The length of v."""
    return sum(array.size for array in problem.vectors())


def read(problem: Problem) -> Floats:
    """A copy of v."""
    return np.concatenate([array.reshape(-1).astype(np.float64) for array in problem.vectors()])


def write(problem: Problem, v: Floats) -> None:
    """Set v, rounded to the precision in which the problem holds it."""
    begin = 0
    for array in problem.vectors():
        array[...] = v[begin : begin + array.size].reshape(array.shape)
        begin += array.size


def squared_norm(problem: Problem) -> float:
    """|v|^2, summed in float64."""
    return sum(
        float(np.vdot(array, array))
        for array in (array.astype(np.float64) for array in problem.vectors())
    )
