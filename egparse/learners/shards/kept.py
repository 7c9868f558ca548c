"""Copies of the variables of some examples, to which they can be set back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
        self._examples = np.unique(examples)
        starts, ends = part_starts[self._examples], part_starts[self._examples + 1]
        self._slices = [slice(*bounds) for bounds in zip(starts, ends, strict=True)]
        self._by_part, self._by_example = by_part, by_example
        self._of_parts = [[array[parts].copy() for parts in self._slices] for array in by_part]
        self._of_examples = [array[self._examples] for array in by_example]

    def restore(self) -> None:
        """Set the variables back."""
        for array, copies in zip(self._by_part, self._of_parts, strict=True):
            for parts, values in zip(self._slices, copies, strict=True):
                array[parts] = values
        for array, values in zip(self._by_example, self._of_examples, strict=True):
            array[self._examples] = values
