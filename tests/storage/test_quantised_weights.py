"""Hashed weights in the model file: a byte each, compressed where that is in proportion."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from egparse.storage.quantised_weights import pack_weights, quantise, unpack_weights
from egparse.storage.schema import Allowance


def weights_of(count: int, seed: int = 3) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(0, 2, count).astype(np.float32)


@pytest.mark.parametrize("count", [256, 1 << 12, 1 << 18])
def test_quantised_weights_come_back(count: int) -> None:
    weights = quantise(weights_of(count))
    np.testing.assert_array_equal(unpack_weights(pack_weights(weights)), weights)


@pytest.mark.parametrize("scale", [1.0, 1e-25, 1e-29, 1e-38, 1e-45, 1e8])
def test_weights_that_were_read_are_stored_as_they_were(scale: float) -> None:
    stored = pack_weights(weights_of(1 << 12) * np.float32(scale))
    assert pack_weights(unpack_weights(stored)) == stored


def test_a_table_of_zeros_comes_back() -> None:
    assert not unpack_weights(pack_weights(np.zeros(1 << 17, dtype=np.float32))).any()


def test_a_large_table_that_is_nearly_empty_stays_in_proportion_to_its_memory() -> None:
    count = 1 << 24
    weights = np.zeros(count, dtype=np.float32)
    weights[::1000] = 1.0
    stored = pack_weights(weights)
    assert len(stored["deflated"]) >= count
    assert weights.nbytes <= Allowance(len(stored["deflated"])).total
    np.testing.assert_array_equal(unpack_weights(stored), weights)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"count": 512}, "expected 512 bytes, got 256"),
        ({"count": 128}, "expected a power of two of weights, 2"),
        ({"count": 300}, "expected a power of two of weights, 2"),
        ({"count": 1 << 29}, "expected a power of two of weights, 2"),
        ({"deflated": zlib.compress(bytes(257))}, "expected 256 bytes, got more"),
        ({"deflated": zlib.compress(bytes(1 << 20))}, "expected 256 bytes, got more"),
        ({"deflated": zlib.compress(bytes(256))[:-1]}, "got another end"),
        ({"deflated": zlib.compress(bytes(256)) + b"0"}, "got another end"),
        ({"deflated": b"no"}, "expected compressed bytes"),
        ({"deflated": b""}, "got another end"),
        ({"largest": 0.0}, "expected the largest weight, 0.0, among them, got others"),
        ({"largest": 0.1}, "expected a largest weight of single precision, got 0.1"),
        ({"largest": 1e-40}, "expected a largest weight of single precision, got 1e-40"),
        ({"deflated": zlib.compress(bytes(256))}, "expected the largest weight, [0-9.]+, among"),
        (
            {"deflated": zlib.compress(b"\x80" + bytes(255))},
            "expected the largest weight, [0-9.]+,",
        ),
    ],
)
def test_what_is_no_table_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        unpack_weights(pack_weights(weights_of(256)) | change)
