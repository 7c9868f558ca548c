"""What the kernel perceptron needs of a training problem: its examples, and a way to let the
problem predict by a kernel machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.learners.problem import Problem
from egparse.types import Floats


class Inputs(NamedTuple):
    """The objects ``x`` (n, ...) with their classes ``y`` (n,), of ``n_classes``. What they are,
    ``kind``, is what kernels call so: the rows of ``x`` are vectors, or its items strings or trees.
    """

    x: npt.NDArray[Any]
    y: npt.NDArray[np.integer[Any]]
    n_classes: int
    kind: str = "vectors"


class KernelProblem(Problem):
    """A problem of objects, each of one class, that can predict by other scores than those of v."""

    def inputs(self) -> Inputs:
        """The training examples."""
        raise NotImplementedError

    def install(self, machine: Callable[[npt.NDArray[Any]], Floats] | None) -> None:
        """Predict by ``machine``, a function from objects (m, ...) to scores (m, n_classes); with
        None, by v again.
        """
        raise NotImplementedError
