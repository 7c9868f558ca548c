"""v as one vector of numbered entries, held by the arrays of a problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from egparse.learners.problem import VectorProblem
from egparse.learners.shards.messages import Change, Vector
from egparse.types import UInt32s

_BLOCK = 1 << 16
"""Entries that are compared at a time: both copies of a block fit into the cache."""


class FlatVector:
    """The entries of ``arrays``, all of one type, one array after the other; not a copy.

    Raises:
        ValueError: an array that is not contiguous, or arrays of several types.
    """

    def __init__(self, arrays: Sequence[Vector]) -> None:
        if any(not array.flags.c_contiguous for array in arrays):
            raise ValueError("expected contiguous arrays")
        if len({array.dtype for array in arrays}) > 1:
            raise ValueError("expected arrays of one type")
        self.arrays = [array.reshape(-1) for array in arrays]
        self.starts = np.cumsum([0, *(len(array) for array in self.arrays)])

    @classmethod
    def of(cls, problem: VectorProblem) -> FlatVector:
        """The v of a problem."""
        return cls(problem.vectors())

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.starts[-1])

    def like(self) -> FlatVector:
        """A vector of zeros of the same size."""
        return FlatVector([np.zeros_like(array) for array in self.arrays])

    def assign(self, other: FlatVector, factor: float) -> None:
        """Become ``factor`` times another vector."""
        for own, of_other in zip(self.arrays, other.arrays, strict=True):
            np.multiply(of_other, factor, out=own)

    def change_since(self, start: FlatVector, factor: float) -> Change:
        """What has been added since ``assign(start, factor)``."""
        places, values = [], []
        for begin, own, of_start in self._blocks(start):
            added = own - of_start * factor
            moved = np.flatnonzero(added)
            if len(moved):
                places.append((moved + begin).astype(np.uint32))
                values.append(added[moved])
        if not places:
            return Change(np.zeros(0, np.uint32), np.zeros(0, self.arrays[0].dtype))
        return self._compact(np.concatenate(places), np.concatenate(values))

    def _compact(self, places: UInt32s, values: Vector) -> Change:
        """The entries with their numbers or, if that is less, all entries."""
        if places.nbytes + values.nbytes < self.size * values.itemsize:
            return Change(places, values)
        whole = np.zeros(self.size, values.dtype)
        whole[places] = values
        return Change(None, whole)

    def _blocks(self, other: FlatVector) -> Iterator[tuple[int, Vector, Vector]]:
        for start, own, its in zip(self.starts.tolist(), self.arrays, other.arrays, strict=False):
            for begin in range(0, len(own), _BLOCK):
                block = slice(begin, begin + _BLOCK)
                yield start + begin, own[block], its[block]

    def at(self, places: UInt32s | None) -> Change:
        """The present values of the entries of some numbers, ascending (None: of all)."""
        if places is None:
            return Change(None, np.concatenate(self.arrays))
        values = np.empty(len(places), self.arrays[0].dtype)
        for array, inside, entries in self._by_array(places):
            values[entries] = array[inside]
        return self._compact(places, values)

    def put(self, change: Change) -> None:
        """Set entries to the values of a change."""
        for array, inside, values in self._by_array(change.places):
            array[inside] = change.values[values]

    def add(self, change: Change) -> float:
        """Add a change; returns the change of |v|^2, exact for v as stored."""
        total = 0.0
        for array, inside, values in self._by_array(change.places):
            old = array[inside].astype(np.float64)
            new = (old + change.values[values]).astype(array.dtype)
            array[inside] = new
            wide = new.astype(np.float64)
            total += float((wide - old) @ (wide + old))
        return total

    def dot(self, change: Change) -> float:
        """The scalar product with a change."""
        return sum(
            float(array[inside].astype(np.float64) @ change.values[values].astype(np.float64))
            for array, inside, values in self._by_array(change.places)
        )

    def _by_array(self, places: UInt32s | None) -> Iterator[tuple[Vector, UInt32s | slice, slice]]:
        """For each array: it, which of its entries have some numbers (None: all), and where these
        are among the numbers.
        """
        bounds = self.starts if places is None else np.searchsorted(places, self.starts)
        for k, array in enumerate(self.arrays):
            values = slice(int(bounds[k]), int(bounds[k + 1]))
            if places is None:
                yield array, slice(None), values
            elif values.stop > values.start:
                yield array, places[values] - np.uint32(self.starts[k]), values
