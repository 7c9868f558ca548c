"""The average of the weights over the visits of an online learner (Collins 2002; McDonald 2009;
Martins et al. 2010, Alg. 1).

A change c_t = F_i' x_t of w that is made when a_t vectors are in the average is missing from those
a_t of all T vectors, so that::

    average = w - u / T,    u = sum_t a_t c_t = sum_i F_i' m_i,
    m_i = sum over the visits t of example i of a_t x_t

The sources keep u, a second vector of weights. We keep the m_i, one number for each part, in the
precision of v, and visit the features of each example once, when the average is asked for: where
changes are dense and w is a large hashed table, a second table would more than double the cache
misses, which are the cost of a visit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.learners.problem import Problem
from egparse.types import Floats

Arrays = list[npt.NDArray[np.floating[Any]]]


class WeightAverage:
    """The average of w = v, the vector that the problem holds, over all calls of ``include``.

    Every change of v must be reported to ``record_change`` after it is made. The order of the two
    calls decides which weights of a visit are averaged: those before its change (Martins et al.
    2010, Alg. 1), or those after it (Collins 2002).
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        precision = np.result_type(*problem.vectors())
        # m_i, flat over all parts
        self._moments = np.zeros(int(problem.part_starts[-1]), dtype=precision)
        self._changes = np.empty(int(np.diff(problem.part_starts).max(initial=1)))
        self._average: Arrays | None = None  # None: to be computed
        self._is_in_place = False
        self.count = 0

    def saved(self) -> Any:
        """For a checkpoint."""
        return {"moments": self._moments, "count": self.count}

    def restore(self, saved: Any) -> None:
        """Continue from what ``saved`` returned."""
        self._moments[:] = saved["moments"]
        self.count, self._average = int(saved["count"]), None

    def include(self, weight: int = 1) -> None:
        """Add the present weights to the average, as often as ``weight`` says."""
        self.count += weight
        self._average = None

    def record_change(self, i: int, changes: Floats) -> None:
        """Book w += F_i' changes; overwrites ``changes``."""
        changes *= self.count
        self._moments[self._parts_of(i)] += changes
        self._average = None

    @contextmanager
    def average_weights(self) -> Iterator[None]:
        """Context manager: inside it the problem's v is the average; afterwards v has the same bits
        as before. It may be nested.

        v stays as it is before anything is included. The first use after a change costs an
        ``add`` for each example that was ever changed.
        """
        if self._is_in_place or not self.count:
            yield
            return
        arrays = self._problem.vectors()
        saved = [array.copy() for array in arrays]
        self._is_in_place = True
        try:
            if self._average is None:
                self._average = self._compute_average(saved)
            for array, average in zip(arrays, self._average, strict=True):
                array[...] = average
            yield
        finally:
            self._is_in_place = False
            for array, old in zip(arrays, saved, strict=True):
                array[...] = old

    def _compute_average(self, weights: Arrays) -> Arrays:
        """w - u / T; u is formed in v, which it overwrites."""
        self.form_moments()
        return [w - u / self.count for w, u in zip(weights, self._problem.vectors(), strict=True)]

    @property
    def moments(self) -> npt.NDArray[np.floating[Any]]:
        """The m_i, flat over all parts; not a copy."""
        return self._moments

    def form_moments(self) -> None:
        """v <- u"""
        self._problem.reset()
        for i in range(len(self._problem.part_starts) - 1):
            moments = self._moments[self._parts_of(i)]
            if moments.any():
                changes = self._changes[: len(moments)]
                changes[:] = moments
                self._problem.add(i, changes)

    def _parts_of(self, i: int) -> slice:
        starts = self._problem.part_starts
        return slice(starts[i], starts[i + 1])


class ScaledWeightAverage(WeightAverage):
    """The average of w = scale v, where the factor changes from visit to visit.

    With factors s_t the sum of the weights is S v - u, where S is the sum of the s_t so far and u
    has the changes of v, each times S at its time. As scale shrinks, v grows, and the difference of
    both loses digits: ``close`` adds it to a sum of its own, whenever v is multiplied by scale.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._weight = 0.0  # S
        self._closed: Arrays | None = None
        self._scale = 1.0

    def saved(self) -> Any:
        """For a checkpoint."""
        return {
            **super().saved(),
            "weight": self._weight,
            "closed": self._closed,
            "scale": self._scale,
        }

    def restore(self, saved: Any) -> None:
        """Continue from what ``saved`` returned."""
        super().restore(saved)
        self._weight, self._scale = float(saved["weight"]), float(saved["scale"])
        self._closed = saved["closed"]

    def include_scaled(self, scale: float) -> None:
        """Add the present weights, scale v, to the average."""
        self._weight += scale
        self._scale = scale
        self.include()

    def record_change(self, i: int, changes: Floats) -> None:
        """Book v += F_i' changes; overwrites ``changes``."""
        changes *= self._weight
        self._moments[self._parts_of(i)] += changes
        self._average = None

    def close(self) -> None:
        """Sum up what was included; v may be multiplied by any number afterwards."""
        arrays = self._problem.vectors()
        saved = [array.copy() for array in arrays]
        self._closed = self._sum(saved)
        for array, old in zip(arrays, saved, strict=True):
            array[...] = old
        self._moments[:] = 0.0
        self._weight = 0.0
        self._average = None

    def _sum(self, weights: Arrays) -> Arrays:
        self.form_moments()
        sums = [
            self._weight * v.astype(np.float64) - u
            for v, u in zip(weights, self._problem.vectors(), strict=True)
        ]
        if self._closed is None:
            return sums
        return [new + old for new, old in zip(sums, self._closed, strict=True)]

    def _compute_average(self, weights: Arrays) -> Arrays:
        """The v whose multiple by the last scale is the average."""
        return [array / (self.count * self._scale) for array in self._sum(weights)]
