"""v as one vector of numbered entries, held by the arrays of a problem, and its changes as they are
sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.learners.problem import Problem
from egparse.types import Floats, UInt32s

Vector = npt.NDArray[np.floating[Any]]

_BLOCK = 64
"""Entries of which it is found first whether some have moved."""
_LANES = 1024
"""Sums over the entries of an array are taken in so many lanes side by side, entry r in lane r
modulo this, so that entries which did not move, and add 0, may be left out without changing a bit.
"""


class Change(NamedTuple):
    """Entries of v, of which ``places`` (entries,) are the numbers, ascending, and ``values``
    (entries,) what is added to them or what they are now. Where so many entries moved that their
    numbers would take more room than the entries that did not, ``places`` is None, and ``values``
    has all entries.
    """

    places: UInt32s | None
    values: Vector

    @property
    def bytes(self) -> int:
        """How much has to be sent."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)


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
        self._room = 1 << 16  # entries that a change is expected to have, and a block

    @classmethod
    def of(cls, problem: Problem) -> FlatVector:
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
        for own, its in zip(self.arrays, other.arrays, strict=True):
            _assign_all(own, its, factor)

    def change_since(self, start: FlatVector, factor: float) -> Moved:
        """What has been added since ``assign(start, factor)``."""
        while True:
            places = np.empty(self._room, dtype=np.uint32)
            values = np.empty(self._room, dtype=self.arrays[0].dtype)
            count, slope, square = 0, 0.0, 0.0
            arrays = zip(self.starts.tolist(), self.arrays, start.arrays, strict=False)
            for begin, own, its in arrays:
                found = _collect(own, its, factor, begin, count, places, values)
                count, slope, square = found[0], slope + found[1], square + found[2]
            if count <= self._room:
                break
            self._room += self._room
        change = self._compact(places[:count].copy(), values[:count].copy())
        return Moved(change, slope, square)

    def _compact(self, places: UInt32s, values: Vector) -> Change:
        """The entries with their numbers or, if that is less, all entries."""
        if len(values) * (4 + values.itemsize) < self.size * values.itemsize:
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
        bounds = self.starts
        if places is not None:  # of the type of the numbers, or all of them would be converted
            bounds = np.searchsorted(places, self.starts.astype(places.dtype))
        for k, array in enumerate(self.arrays):
            if bounds[k + 1] > bounds[k]:
                yield int(self.starts[k]), array, slice(int(bounds[k]), int(bounds[k + 1]))


@njit
def _assign_all(own: Vector, other: Vector, factor: float) -> None:
    """Set an array to ``factor`` times another one; products are rounded once."""
    for r in range(own.shape[0]):
        own[r] = other[r] * factor


@njit
def _collect(
    own: Vector,
    start: Vector,
    factor: float,
    begin: int,
    count: int,
    places: UInt32s,
    values: Vector,
) -> tuple[int, float, float]:
    """Write the number and the change of each entry that differs from ``factor`` times what it was
    at the ``start``, from ``count`` on; returns the count after them, and the sums of what they
    were times their change, and of their change squared. Without room for a block it stops, with a
    count beyond the room.
    """
    slopes, squares, filled = np.zeros(_LANES), np.zeros(_LANES), np.uint64(count)
    before = np.empty(_BLOCK, own.dtype)
    for first in range(0, own.shape[0], _BLOCK):
        end = min(first + _BLOCK, own.shape[0])
        now, were, lane = own[first:end], before[: end - first], first % _LANES
        _assign_all(were, start[first:end], factor)
        if not _differ(now, were):
            continue
        if np.int64(filled) + _BLOCK > places.shape[0]:
            return places.shape[0] + 1, 0.0, 0.0
        filled = _compress(now, were, begin + first, filled, places, values)
        _multiply(now, were, slopes[lane : lane + _BLOCK], squares[lane : lane + _BLOCK])
    return int(np.int64(filled)), float(slopes.sum()), float(squares.sum())


@njit
def _differ(now: Vector, were: Vector) -> bool:
    """Whether some entry differs."""
    count = 0
    for r in range(now.shape[0]):
        count += now[r] != were[r]
    return count > 0


@njit
def _compress(
    now: Vector, were: Vector, begin: int, filled: Any, places: UInt32s, values: Vector
) -> Any:
    """Write the number and the change of each entry that changed. Every entry is written, and the
    next one to the same place if it did not change: branches would be mispredicted.
    """
    none, one = np.uint64(0), np.uint64(1)
    for r in range(now.shape[0]):
        change = now[r] - were[r]
        places[filled] = begin + r
        values[filled] = change
        filled += one if change != 0.0 else none
    return filled


@njit
def _multiply(now: Vector, were: Vector, slopes: Floats, squares: Floats) -> None:
    """Add to each lane what its entry was times its change, and its change squared."""
    for r in range(now.shape[0]):
        change = np.float64(now[r] - were[r])
        slopes[r] += np.float64(were[r]) * change
        squares[r] += change * change


@njit
def _add(array: Vector, places: UInt32s, begin: int, values: Vector) -> float:
    """Add values at numbered entries, and exchange them for what the entries were; returns the
    change of the squared norm.
    """
    grown, start, last = np.zeros(_LANES), np.uint64(begin), np.uint64(_LANES - 1)
    for r in range(places.shape[0]):
        place = np.uint64(places[r]) - start
        before = array[place]
        array[place] = before + values[r]
        values[r] = before
        old, new = np.float64(before), np.float64(array[place])
        grown[place & last] += (new - old) * (new + old)
    return float(grown.sum())


@njit
def _add_all(array: Vector, values: Vector) -> float:
    """``_add`` at all entries."""
    grown = np.zeros(_LANES)
    for first in range(0, array.shape[0], _LANES):
        end = min(first + _LANES, array.shape[0])
        own, changes = array[first:end], values[first:end]
        for r in range(own.shape[0]):
            before = own[r]
            after = before + changes[r]
            own[r] = after
            changes[r] = before
            old, new = np.float64(before), np.float64(after)
            grown[r] += (new - old) * (new + old)
    return float(grown.sum())
