"""Arrays of different lengths in one."""

from __future__ import annotations

import numpy as np

from egparse.storage.ragged import Ragged


def test_items_are_the_arrays_it_was_made_of() -> None:
    arrays = [np.full((n, 2), n, dtype=np.int16) for n in (3, 0, 700, 900, 1)]
    ragged = Ragged.of(iter(arrays), np.empty((0, 2), dtype=np.int16))
    assert len(ragged) == len(arrays)
    for found in (list(ragged), [ragged[i] for i in range(5)], ragged[0:5]):
        assert all(np.array_equal(a, b) for a, b in zip(found, arrays, strict=True))
    assert np.array_equal(ragged[-1], arrays[-1])
    assert ragged[0].dtype == np.int16
    assert ragged[2].flags.c_contiguous


def test_there_may_be_none() -> None:
    assert not Ragged.of([], np.empty(0, dtype=np.int32))
