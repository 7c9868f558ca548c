"""How the hashed weights of parsers are stored: a signed byte each, by the square root of the
weight, deflated.

Byte q stands for sign(q) (q / 127)^2 times the largest weight: steps are finer near 0, where most
weights are, and the smallest one that is not 0 is 6e-5 of the largest. Models are scored as they
are stored while they are trained, so that what is reported holds for the file.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.storage.compressed_arrays import LEVEL, inflate_bytes
from egparse.types import Singles

Bytes = npt.NDArray[np.int8]

_STEPS = 127


def as_stored(weights: Singles) -> Singles:
    """The weights rounded as the model file rounds them."""
    steps, largest = _rounded(weights)
    return _values(largest)[steps.view(np.uint8)]


def pack_weights(weights: Singles) -> dict[str, Any]:
    """What the model file holds of the weights, (n,)."""
    steps, largest = _rounded(weights)
    return {
        "deflated": zlib.compress(steps.tobytes(), LEVEL),
        "largest": largest,
        "count": len(weights),
    }


def unpack_weights(stored: Mapping[str, Any] | npt.NDArray[np.float16]) -> Singles:
    """The weights, from what ``pack_weights`` made, or from 16-bit floats as egparse 0.1.0 stored
    them.

    Raises:
        ValueError: not as many bytes as there are said to be, or a power of two of them.
    """
    if isinstance(stored, np.ndarray):
        return stored.astype(np.float32)
    count, largest = int(stored["count"]), float(stored["largest"])
    if count < 1 or count & (count - 1) or count > 1 << 28:
        raise ValueError(f"expected a power of two of weights, at most 2^28, got {count}")
    return _values(largest)[np.frombuffer(inflate_bytes(stored["deflated"], count), dtype=np.uint8)]


def _rounded(weights: Singles) -> tuple[Bytes, float]:
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest == 0.0:
        return np.zeros(len(weights), dtype=np.int8), 0.0
    root = np.sqrt(np.abs(weights) * np.float32(1.0 / largest))
    return np.copysign(np.rint(_STEPS * root), weights).astype(np.int8), largest


def _values(largest: float) -> Singles:
    """The weight of each byte, by the byte read without its sign."""
    steps = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    return np.asarray(np.sign(steps) * (steps / _STEPS) ** 2 * largest, dtype=np.float32)
