"""v as one vector of numbered entries, held by the arrays of a problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.learners.problem import VectorProblem
from egparse.learners.shards.messages import Change, Vector
from egparse.types import UInt32s

_BLOCK = 1 << 15


class Moved(NamedTuple):
    """A change of a vector, its product with the vector that it started from, and its square."""

    change: Change
    slope: float
    square: float


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
        self._room = min(self.size, 1 << 16)  # entries that a change is expected to have

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

    def change_since(self, start: FlatVector, factor: float) -> Moved:
        """What has been added since ``assign(start, factor)``."""
        while True:
            places = np.empty(self._room, dtype=np.uint32)
            values = np.empty(self._room, dtype=self.arrays[0].dtype)
            count, slope, square = 0, 0.0, 0.0
            for begin, own, its in self._blocks(start):
                # rounded as by ``assign``; compiled with the difference it would not be
                before = its * factor
                found = _collect(own, before, begin, count, places, values)
                count, slope, square = found[0], slope + found[1], square + found[2]
            if count <= self._room:
                break
            self._room = min(self.size, count + count // 2)
        places, values = places[:count].copy(), values[:count].copy()
        return Moved(self._compact(places, values), slope / factor if factor else 0.0, square)

    def _blocks(self, other: FlatVector) -> Iterator[tuple[int, Vector, Vector]]:
        """Runs of entries that fit into the cache: the number of the first, and both vectors."""
        for start, own, its in zip(self.starts.tolist(), self.arrays, other.arrays, strict=False):
            for begin in range(0, len(own), _BLOCK):
                block = slice(begin, begin + _BLOCK)
                yield start + begin, own[block], its[block]

    def _compact(self, places: UInt32s, values: Vector) -> Change:
        """The entries with their numbers or, if that is less, all entries."""
        if places.nbytes + values.nbytes < self.size * values.itemsize:
            return Change(places, values)
        whole = np.zeros(self.size, values.dtype)
        whole[places] = values
        return Change(None, whole)

    def at(self, places: UInt32s | None) -> Change:
        """The present values of the entries of some numbers, ascending (None: of all)."""
        if places is None:
            return Change(None, np.concatenate(self.arrays))
        values = np.empty(len(places), self.arrays[0].dtype)
        for begin, array, entries in self._by_array(places):
            values[entries] = array[places[entries] - np.uint32(begin)]
        return Change(places, values)

    def put(self, change: Change) -> None:
        """Set entries to the values of a change."""
        for begin, array, entries in self._by_array(change.places):
            inside = ... if change.places is None else change.places[entries] - np.uint32(begin)
            array[inside] = change.values[entries]

    def add(self, change: Change) -> tuple[float, Change]:
        """Add a change; returns the change of |v|^2, exact for v as stored, and what the entries
        were, so that ``put`` takes it back.
        """
        total, before = 0.0, change.values.copy()
        # what other processes send may be read only, which kernels would be compiled for anew
        places = None if change.places is None else np.require(change.places, requirements="W")
        for begin, array, values in self._by_array(places):
            if places is None:
                total += float(_add_all(array, before[values]))
            else:
                total += float(_add(array, places[values], begin, before[values]))
        return total, Change(places, before)

    def union(self, changes: Sequence[Change]) -> UInt32s | None:
        """The numbers of the entries that some change moves, ascending; None for all."""
        moved = np.zeros(self.size, dtype=np.bool_)
        for change in changes:
            if change.places is None:
                return None
            moved[change.places] = True
        return np.flatnonzero(moved).astype(np.uint32)

    def _by_array(self, places: UInt32s | None) -> Iterator[tuple[int, Vector, slice]]:
        """For each array that has some of the numbers (None: all): the number of its first entry,
        it, and which of the numbers are its.
        """
        bounds = self.starts if places is None else np.searchsorted(places, self.starts)
        for k, array in enumerate(self.arrays):
            if bounds[k + 1] > bounds[k]:
                yield int(self.starts[k]), array, slice(int(bounds[k]), int(bounds[k + 1]))


@njit
def _collect(
    own: Vector,
    before: Vector,
    begin: int,
    count: int,
    places: UInt32s,
    values: Vector,
) -> tuple[int, float, float]:
    """Write the number and the change of each entry that differs from what it was ``before``, from
    ``count`` on and as far as there is room; returns the count after them, and the sums of what
    they were times their change, and of their change squared.
    """
    slope, square = 0.0, 0.0
    for r in range(own.shape[0]):
        change = own[r] - before[r]
        if change != 0.0:
            if count < places.shape[0]:
                places[count] = begin + r
                values[count] = change
            count += 1
            slope += np.float64(before[r]) * np.float64(change)
            square += np.float64(change) * np.float64(change)
    return count, slope, square


@njit
def _add(array: Vector, places: UInt32s, begin: int, values: Vector) -> float:
    """Add values at numbered entries, and exchange them for what the entries were; returns the
    change of the squared norm.
    """
    grown = 0.0
    for r in range(places.shape[0]):
        place = np.int64(places[r]) - begin
        before = array[place]
        array[place] = before + values[r]
        values[r] = before
        old, new = np.float64(before), np.float64(array[place])
        grown += (new - old) * (new + old)
    return grown


@njit
def _add_all(array: Vector, values: Vector) -> float:
    """``_add`` at all entries."""
    grown = 0.0
    for r in range(array.shape[0]):
        before = array[r]
        array[r] = before + values[r]
        values[r] = before
        old, new = np.float64(before), np.float64(array[r])
        grown += (new - old) * (new + old)
    return grown
