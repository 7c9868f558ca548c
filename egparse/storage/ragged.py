"""Arrays of different lengths in one: a sequence of a million small arrays would take more memory
for its objects than for their numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from egparse.types import Longs

Rows = TypeVar("Rows", bound=npt.NDArray[Any])
_FIRST = 1 << 10  # rows


class Ragged(Sequence[Rows], Generic[Rows]):
    """Item ``i`` is ``flat[starts[i]:starts[i + 1]]``, a view."""

    def __init__(self, flat: Rows, starts: Longs) -> None:
        self.flat, self.starts = flat, starts

    @classmethod
    def of(cls, items: Iterable[Rows], empty: Rows) -> Ragged[Rows]:
        """Copies of arrays, laid end to end; ``empty`` is one of their kind without rows."""
        flat, total, starts = np.empty((_FIRST, *empty.shape[1:]), empty.dtype), 0, array("q", [0])
        for item in items:
            end = total + len(item)
            if end > len(flat):
                longer = np.empty((max(end, 2 * len(flat)), *empty.shape[1:]), empty.dtype)
                longer[:total] = flat[:total]
                flat = longer
            flat[total:end] = item
            starts.append(end)
            total = end
        return cls(flat[:total], np.array(starts, dtype=np.int64))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, i: int) -> Rows: ...

    @overload
    def __getitem__(self, i: slice) -> list[Rows]: ...

    def __getitem__(self, i: int | slice) -> Rows | list[Rows]:
        if isinstance(i, slice):
            return [self[one] for one in range(*i.indices(len(self)))]
        starts = self.starts
        if i < 0:
            i += len(starts) - 1
        return self.flat[starts[i] : starts[i + 1]]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Rows]:
        flat, first = self.flat, 0
        for end in self.starts[1:]:
            yield flat[first:end]  # type: ignore[misc]
            first = end
