"""Kernels that compile in a moment, for tests of compilation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from egparse.compilation import njit, prefetch
from egparse.types import Floats, Longs


class Pair(NamedTuple):
    """Arrays and a number."""

    numbers: Floats
    positions: Longs
    factor: float


class Nested(NamedTuple):
    """A NamedTuple and a tuple within a NamedTuple, and a place that may be empty."""

    pair: Pair
    sizes: tuple[int, bool]
    more: Pair | None


class Nothing(NamedTuple):
    """A NamedTuple without items."""


@njit
def echo(value: Any) -> Any:
    """The value, or a copy of it."""
    return value


@njit
def total(array: Any) -> Any:
    """The sum of an array of one axis."""
    result = 0.0
    for r in range(array.shape[0]):
        result += array[r]
    return result


@njit
def asked_for(array: Any, place: Any) -> Any:
    """An element, or 0 outside, after the line of the cache in which it lies was asked for."""
    prefetch(array, place)
    return array[place] if 0 <= place < array.shape[0] else 0.0


@njit
def total_of_rows(array: Any) -> Any:
    """The sum of an array of two axes."""
    result = 0.0
    for r in range(array.shape[0]):
        for c in range(array.shape[1]):
            result += array[r, c]
    return result


@njit
def add(left: Any, right: Any) -> Any:
    """The sum of two numbers."""
    return left + right


@njit
def fill(array: Any, value: Any) -> None:
    """Write a value to each place."""
    for r in range(array.shape[0]):
        array[r] = value


@njit
def scaled(pair: Pair) -> Pair:
    """New arrays in a NamedTuple, one of them made from the other."""
    numbers = np.empty(pair.numbers.shape[0])
    for r in range(numbers.shape[0]):
        numbers[r] = pair.numbers[r] * pair.factor
    return Pair(numbers, pair.positions, pair.factor + 1)


@njit(separate=True)
def fill_apart(array: Any, value: Any) -> Any:
    """As ``fill``, with code of its own; returns the value and a new array."""
    fill(array, value)
    return value, array * 2


@njit
def fill_both(array: Floats, pair: Pair) -> tuple[float, Floats]:
    """Calls a separate kernel twice, with arrays of two types."""
    fill_apart(array, pair.factor)
    return fill_apart(pair.positions, 3.0)


@njit
def size_of(nested: Nested) -> int:
    """Reads items of items."""
    size = nested.pair.numbers.shape[0] + nested.sizes[0]
    if nested.sizes[1]:
        size += 100
    return size


@njit
def twice(size: int) -> tuple[Floats, Floats, Floats]:
    """One array at two places of a tuple, and a part of it."""
    array = np.zeros(size)
    array[size - 1] = 1.0
    return array, array, array[size // 2 :]


@njit
def rearranged(array: Floats, rows: int) -> Floats:
    """Temporary arrays, reshape, expressions of arrays, copies into slices."""
    table = array.copy().reshape(rows, -1)
    sums = np.zeros(table.shape[1])
    for row in table:
        sums += row
    out = np.full((rows, table.shape[1]), 0.5)
    out[0] = sums
    out[-1] += table[0] / rows + 1
    return out


@njit
def refuse(number: int) -> int:
    """Raises an error for negative numbers."""
    if number < 0:
        raise ValueError("negative")
    return number


@njit
def empty(size: int) -> Floats:
    """As much memory as is asked for."""
    return np.empty(size)


@njit
def empty_twice(size: int) -> tuple[Floats, Floats]:
    """The same, two times."""
    return np.empty(size), np.empty(size)


@njit
def wait_for(flag: Longs, beats: Longs, limit: int) -> None:
    """Count until another thread sets the flag."""
    while flag[0] == 0 and beats[0] < limit:
        beats[0] += 1
