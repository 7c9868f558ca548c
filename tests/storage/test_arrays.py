"""Arrays are read back; faulty data is refused within the memory that it claims."""

from __future__ import annotations

import tracemalloc
import zlib
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from egparse.storage.arrays import (
    MAX_BYTES,
    ListsByString,
    Weights,
    _pieces,
    coarse,
    compress_array,
    compress_lists,
    compress_rows,
    compress_texts,
    decompress_array,
    pack_weights,
    quantise,
    unpack_weights,
)
from egparse.storage.ragged import Ragged
from egparse.storage.schema import STRING_BYTES, Allowance, Misfit, RowWeights, Stored, Strings

ARRAYS = st.sampled_from([np.int8, np.uint8, np.uint16, np.uint64]).flatmap(
    lambda dtype: hnp.arrays(dtype, st.integers(0, 50))
)
LISTS = st.dictionaries(
    st.text(max_size=5), st.lists(st.integers(0, 65_535), max_size=6), max_size=20
)
CHUNK = 1 << 16
"""Bytes that are decompressed at a time."""


@given(ARRAYS)
def test_arrays_come_back(array: np.ndarray) -> None:
    found = decompress_array(compress_array(array))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def read_lists(lists: dict[str, list[int]]) -> list[tuple[str, list[int]]]:
    stored = compress_lists(lists)
    arrays = decompress_array(stored["lengths"]), decompress_array(stored["numbers"])
    strings = Stored(stored["strings"]).read(Strings())
    return [(k, list(found)) for k, found in ListsByString(strings, *arrays).items()]


@given(LISTS)
def test_lists_come_back_in_their_order(lists: dict[str, list[int]]) -> None:
    assert read_lists(lists) == list(lists.items())


@given(st.lists(st.text(max_size=5), max_size=6), st.integers(0, 1000))
def test_texts_come_back_joined_or_not(texts: list[str], times: int) -> None:
    texts = [*texts, *["word"] * times]
    assert Stored(compress_texts(texts)).read(Strings(distinct=False)) == texts


def test_texts_in_another_encoding_are_refused() -> None:
    stored = compress_texts(["word"] * 1000) | compress_array(np.full(4, 255, dtype=np.uint8))
    with pytest.raises(Misfit, match="expected texts in UTF-8, got"):
        Stored(stored, "forms").read(Strings())


def test_forms_that_look_like_keys_are_forms() -> None:
    lists = {"strings": [1], "lengths": [2], "numbers": [3]}
    assert read_lists(lists) == list(lists.items())


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
        ({"planes": b"no"}, "expected compressed bytes"),
    ],
)
def test_what_is_no_array_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        decompress_array(compress_array(np.arange(3, dtype=np.uint64)) | change)


def test_a_bomb_takes_no_more_than_it_claims() -> None:
    bomb = {"planes": zlib.compress(bytes(100_000_000), 9), "type": "uint8", "count": 1000}
    tracemalloc.start()
    with pytest.raises(ValueError, match="expected 1000 bytes"):
        decompress_array(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 200_000])
@pytest.mark.parametrize("level", [0, 1, 6])
def test_bytes_come_in_pieces_and_nothing_follows_them(size: int, level: int) -> None:
    plain = np.random.default_rng(0).integers(0, 4, size, dtype=np.uint8).tobytes()
    for content in (plain, bytes(size)):
        compressed = zlib.compress(content, level)
        assert b"".join(_pieces(compressed)) == content
        wrong = [compressed[:-1], *(compressed + more for more in (b"j", b"junk", bytes(CHUNK)))]
        for data in wrong:
            with pytest.raises(ValueError, match="got another end"):
                list(islice(_pieces(data), size + 10))  # none of them goes on for ever


def test_integers_of_several_bytes_are_stored_lowest_bytes_first() -> None:
    array = np.array([1, 2**40 + 2, 3], dtype=np.uint64)
    planes = zlib.decompress(compress_array(array)["planes"])
    assert planes == bytes([1, 2, 3, *[0] * 12, 0, 1, 0, *[0] * 6])
    np.testing.assert_array_equal(decompress_array(compress_array(array)), array)


def test_bytes_that_repeat_by_chance_are_not_searched_for_repetitions() -> None:
    chance = np.random.default_rng(0).binomial(8, 0.1, 50_000).astype(np.uint8)
    for array, ratio in ((chance, 0.9), (np.tile(chance[:1000], 50), 0.05)):
        assert len(compress_array(array)["planes"]) < ratio * len(zlib.compress(chance.tobytes()))


# --- weights of rows ------------------------------------------------------------------------------


def heavy_tailed(count: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(5)
    return (random.normal(0, 1, count) * random.exponential(1, count) ** 2).astype(np.float32)


@pytest.mark.parametrize("scale", [1e-20, 0.3, 1.0, 1e6])
def test_rounded_weights_are_near_and_stay(scale: float) -> None:
    weights = heavy_tailed(10_000) * np.float32(scale)
    rounded = coarse(weights)
    step = np.min(np.abs(rounded[rounded != 0]))
    assert np.max(np.abs(rounded - weights)) <= 0.8 * step
    np.testing.assert_array_equal(coarse(rounded), rounded)
    moved = rounded + np.float32(1e-3) * step * np.random.default_rng(0).normal(0, 1, 10_000)
    np.testing.assert_array_equal(coarse(moved.astype(np.float32)), rounded)


def test_few_values_are_kept_exactly_and_many_in_half_precision() -> None:
    for weights in (coarse(heavy_tailed(10_000)), heavy_tailed(256), np.zeros(5, np.float32)):
        stored, sizes = Stored(compress_rows(weights)), {"weights": len(weights)}
        np.testing.assert_array_equal(stored.read(RowWeights("weights"), **sizes), weights)
    many = compress_rows(heavy_tailed(300))
    np.testing.assert_array_equal(many, heavy_tailed(300).astype(np.float16))


def test_texts_are_charged_once_whether_compressed_or_not() -> None:
    texts = [f"form{number}" for number in range(10_000)]
    packed, spent = compress_texts(texts), []
    assert isinstance(packed, dict)
    for stored in (packed, texts):
        allowance = Allowance(0)
        Stored(stored, "forms", allowance).read(Strings())
        spent.append(allowance.total - allowance.left)
    characters = len("\n".join(texts))
    assert spent[0] == spent[1] - STRING_BYTES + characters  # n - 1 ends of lines
    assert spent[1] == STRING_BYTES * len(texts)


# --- hashed weights -------------------------------------------------------------------------------


def weights_of(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).normal(0, 2, count).astype(np.float32)


@pytest.mark.parametrize("count", [256, 1 << 12, 1 << 18])
def test_quantised_weights_come_back(count: int) -> None:
    weights = quantise(weights_of(count))
    found = unpack_weights(pack_weights(weights))
    np.testing.assert_array_equal(found.in_full(), weights.in_full())
    assert np.abs(found.in_full() - weights_of(count)).max() <= found.in_full().std() / 1.4


@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e-29, 1e-38, 1e-45, 1e8])
def test_weights_that_were_read_are_stored_as_they_were(scale: float) -> None:
    stored = pack_weights(Weights(weights_of(1 << 12) * np.float32(scale)))
    again = pack_weights(unpack_weights(stored))
    assert again == stored
    assert np.log2(stored["step"]) % 1 == 0


def test_a_large_table_that_is_nearly_empty_stays_in_proportion_to_its_memory() -> None:
    count = 1 << 24
    weights = np.zeros(count, dtype=np.float32)
    assert not unpack_weights(pack_weights(Weights(weights[: 1 << 17]))).in_full().any()
    weights[::1000] = 1.0
    stored = pack_weights(Weights(weights))
    assert len(stored["pairs"]) >= count // 2
    assert weights.nbytes <= Allowance(len(stored["pairs"])).total
    np.testing.assert_array_equal(unpack_weights(stored).in_full(), weights)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"count": 512}, "expected 256 pairs of weights, got 1"),
        ({"count": 128}, "expected a power of two of weights, 2"),
        ({"count": 300}, "expected a power of two of weights, 2"),
        ({"count": 1 << 29}, "expected a power of two of weights, 2"),
        ({"pairs": zlib.compress(b"\x88" * 127)}, "expected 128 pairs of weights, got 127"),
        ({"pairs": zlib.compress(b"\x88" * 129)}, "expected 0 weights beyond the pairs"),
        ({"pairs": zlib.compress(b"\x08" * 128)}, "expected 128 weights beyond the pairs"),
        ({"pairs": zlib.compress(b"\x88" * 127 + b"\x08\x07")}, "or smaller ones"),
        ({"pairs": zlib.compress(bytes(1 << 20))}, "expected at most 256 weights beyond"),
        ({"pairs": zlib.compress(bytes(256))[:-1]}, "got another end"),
        ({"pairs": zlib.compress(bytes(256)) + b"0"}, "got another end"),
        ({"pairs": b"no"}, "expected compressed bytes"),
        ({"pairs": b""}, "got another end"),
    ],
)
def test_what_is_no_table_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        unpack_weights(pack_weights(Weights(weights_of(256))) | change)


# --- arrays of different lengths in one -----------------------------------------------------------


def test_items_are_the_arrays_it_was_made_of() -> None:
    arrays = [np.full((n, 2), n, dtype=np.int16) for n in (3, 0, 700, 900, 1)]
    ragged = Ragged.of(iter(arrays), np.empty((0, 2), dtype=np.int16))
    assert len(ragged) == len(arrays)
    for found in (list(ragged), [ragged[i] for i in range(5)], ragged[0:5]):
        assert all(np.array_equal(a, b) for a, b in zip(found, arrays, strict=True))
    assert np.array_equal(ragged[-1], arrays[-1])
    assert ragged[0].dtype == np.int16
    assert ragged[2].flags.c_contiguous
    assert not Ragged.of([], np.empty(0, dtype=np.int32))
