"""What the kernel perceptron needs of a training problem: its vectors, and a way to let the problem
predict by a kernel machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from egparse.learners.problem import VectorProblem
from egparse.types import Floats


class Inputs(NamedTuple):
    """Vectors ``x`` (n, d) with their classes ``y`` (n,), of ``n_classes``."""

    x: Floats
    y: npt.NDArray[np.integer[Any]]
    n_classes: int


@runtime_checkable
class KernelProblem(VectorProblem, Protocol):
    """A problem of vectors, each of one class, that can predict by other scores than those of v."""

    def inputs(self) -> Inputs:
        """The training examples."""

    def install(self, machine: Callable[[Floats], Floats] | None) -> None:
        """Predict by ``machine``, a function from vectors (m, d) to scores (m, n_classes); with
        None, by v again.
        """
