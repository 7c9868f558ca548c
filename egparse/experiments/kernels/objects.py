"""A training problem of strings or trees, each of one class, for learners that see them by a kernel
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.errors import EgparseError
from egparse.experiments.kernels.problem import Inputs, KernelProblem
from egparse.types import Floats, Ints, Longs


def as_array(objects: Sequence[Any]) -> npt.NDArray[np.object_]:
    """An array (n,) whose items are the objects, which may be sequences themselves."""
    out = np.empty(len(objects), dtype=object)
    for i, item in enumerate(objects):
        out[i] = item
    return out


class ObjectProblem(KernelProblem):
    """Objects of one ``kind`` with their classes ``y`` (n,), from 0 to ``n_classes`` - 1.

    There are no features and so no weights: every part scores 0 until a machine is installed, and
    only ``predict`` makes use of that.

    Raises:
        EgparseError: numbers of objects and classes that differ, or a class out of range.
    """

    def __init__(self, kind: str, objects: Sequence[Any], y: npt.ArrayLike, n_classes: int) -> None:
        classes = np.ascontiguousarray(y, dtype=np.int32)
        if classes.shape != (len(objects),) or not len(objects):
            raise EgparseError(
                f"expected a class for each of {len(objects)} objects, got {classes.shape}"
            )
        if n_classes < 2 or classes.min() < 0 or classes.max() >= n_classes:
            raise EgparseError(
                f"expected at least 2 classes, numbered below {n_classes}, got {classes.min()} to "
                f"{classes.max()}"
            )
        self.part_starts: Longs = np.arange(len(objects) + 1, dtype=np.int64) * n_classes
        self._inputs = Inputs(as_array(objects), classes, n_classes, kind)
        self._machine: Callable[[npt.NDArray[Any]], Floats] | None = None
        self._weights = np.zeros(0)

    def inputs(self) -> Inputs:
        """The objects and their classes."""
        return self._inputs

    def install(self, machine: Callable[[npt.NDArray[Any]], Floats] | None) -> None:
        """Predict by a machine, or no longer."""
        self._machine = machine

    def predict(self, objects: npt.NDArray[Any]) -> Ints:
        """The best class of each object under the machine; class 0 without one."""
        if self._machine is None:
            return np.zeros(len(objects), dtype=np.int32)
        best: Ints = np.argmax(self._machine(objects), axis=1).astype(np.int32)
        return best

    def gold(self, i: int) -> Floats:
        """One on the correct class."""
        out = np.zeros(self._inputs.n_classes)
        out[self._inputs.y[i]] = 1.0
        return out

    def cost(self, i: int) -> Floats:
        """One on every other class."""
        return 1.0 - self.gold(i)

    def cost_constant(self, i: int) -> float:
        """0: the cost of the correct class is 0 as it stands."""
        return 0.0

    def scores(self, i: int) -> Floats:
        """Zeros: there are no weights."""
        return np.zeros(self._inputs.n_classes)

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Softmax."""
        shift = potentials.max()
        np.exp(potentials - shift, out=out)
        total = out.sum()
        out /= total
        return float(shift + np.log(total))

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """The class of the greatest potential, the first of equals."""
        best = int(np.argmax(potentials))
        out[:] = 0.0
        out[best] = 1.0
        return float(potentials[best])

    def add(self, i: int, changes: Floats) -> float:
        """Nothing changes."""
        return 0.0

    def reset(self) -> None:
        """No machine."""
        self._machine = None

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """v, which has no components."""
        return (self._weights,)

    def with_own_weights(self) -> ObjectProblem:
        """The same objects without a machine."""
        other = copy(self)
        other.reset()
        return other
