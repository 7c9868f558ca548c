"""The hashed weights of parsers in the model file: quantised to a signed byte each, and compressed.

The byte q stands for the weight sign(q) (q / 127)^2 m, where m is the largest absolute weight:
steps are finer near 0, where most weights are, and the smallest weight other than 0 is 6e-5 m.
Training quantises the weights before it evaluates them, so that what it reports holds for the file.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.storage.compressed_arrays import LEVEL, decompress_bytes
from egparse.types import Singles

Bytes = npt.NDArray[np.int8]

_STEPS = 127


def quantise(weights: Singles) -> Singles:
    """The weights, rounded to those that the model file can hold."""
    steps, largest = _rounded(weights)
    return _values(largest)[steps.view(np.uint8)]


def pack_weights(weights: Singles) -> dict[str, Any]:
    """The content of the model file for weights of shape (n,)."""
    steps, largest = _rounded(weights)
    return {
        "deflated": zlib.compress(steps.tobytes(), LEVEL),
        "largest": largest,
        "count": len(weights),
    }


def unpack_weights(stored: Mapping[str, Any]) -> Singles:
    """The weights, (n,), from the content that ``pack_weights`` returned.

    Raises:
        ValueError: the number of weights is no power of two or too large, or there are not as many
            bytes as the content states.
    """
    count, largest = int(stored["count"]), float(stored["largest"])
    if count < 1 or count & (count - 1) or count > 1 << 28:
        raise ValueError(f"expected a power of two of weights, at most 2^28, got {count}")
    steps = np.frombuffer(decompress_bytes(stored["deflated"], count), dtype=np.uint8)
    return _values(largest)[steps]


def _rounded(weights: Singles) -> tuple[Bytes, float]:
    """The byte of each weight, and the largest absolute weight."""
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest == 0.0:
        return np.zeros(len(weights), dtype=np.int8), 0.0
    root = np.sqrt(np.abs(weights) * np.float32(1.0 / largest))
    return np.copysign(np.rint(_STEPS * root), weights).astype(np.int8), largest


def _values(largest: float) -> Singles:
    """The weight of each byte, indexed by the byte as an unsigned number."""
    steps = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    return np.asarray(np.sign(steps) * (steps / _STEPS) ** 2 * largest, dtype=np.float32)
