"""Copies of the variables of some examples, to which they can be set back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.types import Longs

Variables = npt.NDArray[Any]


class Kept:
    """Variables of ``examples`` as they are now: of the arrays ``by_part``, whose parts of example
    i are ``part_starts[i]:part_starts[i + 1]``, and of the arrays ``by_example``.
    """

    def __init__(
        self,
        examples: Longs,
        part_starts: Longs,
        by_part: Sequence[Variables],
        by_example: Sequence[Variables],
    ) -> None:
        self._examples, self._part_starts = np.unique(examples), part_starts
        self._by_part, self._by_example = by_part, by_example
        n_parts = int((part_starts[self._examples + 1] - part_starts[self._examples]).sum())
        self._of_parts = [np.empty(n_parts, dtype=array.dtype) for array in by_part]
        for array, copies in zip(by_part, self._of_parts, strict=True):
            _gather(array, part_starts, self._examples, copies)
        self._of_examples = [array[self._examples] for array in by_example]

    def restore(self) -> None:
        """Set the variables back."""
        for array, copies in zip(self._by_part, self._of_parts, strict=True):
            _scatter(copies, self._part_starts, self._examples, array)
        for array, values in zip(self._by_example, self._of_examples, strict=True):
            array[self._examples] = values


@njit
def _gather(array: Variables, starts: Longs, examples: Longs, copies: Variables) -> None:
    """Copy the parts of examples, one example after the other."""
    count = 0
    for i in examples:
        for part in range(starts[i], starts[i + 1]):
            copies[count] = array[part]
            count += 1


@njit
def _scatter(copies: Variables, starts: Longs, examples: Longs, array: Variables) -> None:
    """Copy them back."""
    count = 0
    for i in examples:
        for part in range(starts[i], starts[i + 1]):
            array[part] = copies[count]
            count += 1
