"""Compressed integers are read back; faulty data is refused within the memory that it claims."""

from __future__ import annotations

import tracemalloc
import zlib
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from egparse.storage.compressed_arrays import (
    MAX_BYTES,
    compress_array,
    compress_lists,
    decompress_array,
    decompress_bytes,
    lists_by_string,
    pieces,
)

ARRAYS = st.sampled_from([np.int8, np.uint8, np.uint16, np.uint64]).flatmap(
    lambda dtype: hnp.arrays(dtype, st.integers(0, 50))
)
LISTS = st.dictionaries(
    st.text(max_size=5), st.lists(st.integers(0, 65_535), max_size=6), max_size=20
)


@given(ARRAYS)
def test_arrays_come_back(array: np.ndarray) -> None:
    found = decompress_array(compress_array(array))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def read_lists(lists: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    stored = compress_lists(lists)
    return lists_by_string(
        stored["strings"], decompress_array(stored["lengths"]), decompress_array(stored["numbers"])
    )


@given(LISTS)
def test_lists_come_back_in_their_order(lists: dict[str, list[int]]) -> None:
    found = read_lists(lists)
    assert [(string, list(own)) for string, own in found.items()] == list(lists.items())


def test_forms_that_look_like_keys_are_forms() -> None:
    lists = {"strings": [1], "lengths": [2], "numbers": [3]}
    assert read_lists(lists) == {
        "strings": (1,),
        "lengths": (2,),
        "numbers": (3,),
    }


@pytest.mark.parametrize("lists", [{"a": [65_536]}, {"a": [-1]}, {"a": [0] * 65_536}])
def test_numbers_that_do_not_fit_are_refused(lists: dict[str, list[int]]) -> None:
    with pytest.raises(ValueError, match="from 0 to 65,535"):
        compress_lists(lists)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"type": "float64"}, "expected an array of"),
        ({"count": 2}, "expected 16 bytes"),
        ({"count": 4}, "expected 32 bytes"),
        ({"count": -1}, "expected at most"),
        ({"count": MAX_BYTES}, "expected at most"),
        ({"deflated": b"no"}, "expected compressed bytes"),
    ],
)
def test_what_is_no_array_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        decompress_array(compress_array(np.arange(3, dtype=np.uint64)) | change)


def test_a_bomb_takes_no_more_than_it_claims() -> None:
    bomb = zlib.compress(bytes(100_000_000), 9)
    tracemalloc.start()
    with pytest.raises(ValueError, match="expected 1000 bytes"):
        decompress_bytes(bomb, 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


CHUNK = 1 << 16
"""Bytes that are decompressed at a time."""


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 200_000])
@pytest.mark.parametrize("level", [0, 1, 6])
def test_bytes_come_in_pieces_and_nothing_follows_them(size: int, level: int) -> None:
    plain = np.random.default_rng(0).integers(0, 4, size, dtype=np.uint8).tobytes()
    for content in (plain, bytes(size)):
        compressed = zlib.compress(content, level)
        assert b"".join(pieces(compressed)) == content
        wrong = [compressed[:-1], *(compressed + more for more in (b"j", b"junk", bytes(CHUNK)))]
        for data in wrong:
            with pytest.raises(ValueError, match="got another end"):
                list(islice(pieces(data), size + 10))  # none of them goes on for ever
