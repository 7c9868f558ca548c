"""The mean of the weights over the visits of an online learner (Collins 2002; McDonald 2009;
Martins et al. 2010, Alg. 1).

Let change c_t = F_i' x_t of w be made when a_t vectors are in the mean already. It is missing from
those a_t of all T, so that::

    mean = w - u / T,    u = sum_t a_t c_t = sum_i F_i' m_i,
    m_i = sum over the visits t of example i of a_t x_t

The sources keep u, a second vector of weights, to which every change is added too. We keep the m_i,
one number a part, and visit the features of each example once, when the mean is asked for: where
changes are dense and w is a large hashed table, what a visit costs is cache misses, and a second
table makes more of them than scores and change together. The m_i are held in the precision of v,
and take no more memory than the duals of exponentiated gradient. Sums of integers are exact up to
2^24 in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.learners.problem import VectorProblem
from egparse.types import Floats

Arrays = list[npt.NDArray[np.floating[Any]]]


class WeightAverage:
    """The mean of w at each call of ``include``, w being the problem's v.

    ``changed`` hears of every change of v after it is made, and nothing else changes v. Which
    weights of a visit are averaged is the order of the two calls: those before its change (Martins
    et al. 2010, Alg. 1), or after (Collins 2002).
    """

    def __init__(self, problem: VectorProblem) -> None:
        self._problem = problem
        precision = np.result_type(*problem.vectors())
        self._moments = np.zeros(
            int(problem.part_starts[-1]), dtype=precision
        )  # m_i, flat over all parts
        self._changes = np.empty(int(np.diff(problem.part_starts).max(initial=1)))
        self._mean: Arrays | None = None  # where it is known
        self._is_exposed = False
        self.count = 0

    def include(self) -> None:
        """The weights as they stand enter the mean, once more if they have not changed."""
        self.count += 1
        self._mean = None

    def changed(self, i: int, changes: Floats) -> None:
        """Book w += F_i' changes; overwrites ``changes``."""
        changes *= self.count
        self._moments[self._places(i)] += changes
        self._mean = None

    @contextmanager
    def mean_weights(self) -> Iterator[None]:
        """While it is open, the problem's v is the mean; afterwards it has the bits that it had
        before. May be nested.

        Before anything is included, v stays as it is. The first time after a change costs an
        addition for each example that was ever changed.
        """
        if self._is_exposed or not self.count:
            yield
            return
        arrays = self._problem.vectors()
        kept = [array.copy() for array in arrays]
        self._is_exposed = True
        try:
            if self._mean is None:
                self._mean = self._computed(kept)
            for array, mean in zip(arrays, self._mean, strict=True):
                array[...] = mean
            yield
        finally:
            self._is_exposed = False
            for array, own in zip(arrays, kept, strict=True):
                array[...] = own

    def _computed(self, weights: Arrays) -> Arrays:
        """w - u / T, with u formed in v."""
        self._problem.reset()
        for i in range(len(self._problem.part_starts) - 1):
            moments = self._moments[self._places(i)]
            if moments.any():
                changes = self._changes[: len(moments)]
                changes[:] = moments
                self._problem.add(i, changes)
        return [
            own - late / self.count
            for own, late in zip(weights, self._problem.vectors(), strict=True)
        ]

    def _places(self, i: int) -> slice:
        starts = self._problem.part_starts
        return slice(starts[i], starts[i + 1])
