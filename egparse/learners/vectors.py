"""v as one flat vector of float64, for learners that move all weights at once."""

from __future__ import annotations

import numpy as np

from egparse.learners.problem import VectorProblem
from egparse.types import Floats


def size(problem: VectorProblem) -> int:
    """The length of v."""
    return sum(array.size for array in problem.vectors())


def read(problem: VectorProblem) -> Floats:
    """A copy of v."""
    return np.concatenate([array.reshape(-1).astype(np.float64) for array in problem.vectors()])


def write(problem: VectorProblem, v: Floats) -> None:
    """Set v, rounded to the precision in which the problem holds it."""
    begin = 0
    for array in problem.vectors():
        array[...] = v[begin : begin + array.size].reshape(array.shape)
        begin += array.size


def squared_norm(problem: VectorProblem) -> float:
    """|v|^2, summed in float64."""
    return sum(
        float(np.vdot(array, array))
        for array in (array.astype(np.float64) for array in problem.vectors())
    )
