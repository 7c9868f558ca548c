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

from egparse.storage.compressed_arrays import LEVEL, pieces
from egparse.types import Singles

Bytes = npt.NDArray[np.int8]

MIN_BITS, MAX_BITS = 8, 28
"""A table has 2^8 to 2^28 weights: the features of an arc are combined with numbers of up to 8 bits
(``features.arcs``).
"""

_STEPS = 127
_SMALLEST = 1e-30  # its steps, and 1 / it, are normal numbers in single precision
_MOST_EACH = 2  # weights for a byte of the file, in larger tables


def quantise(weights: Singles) -> Singles:
    """The weights, rounded to those that the model file can hold."""
    steps, largest = _rounded(weights)
    return _values(largest)[steps.view(np.uint8)]


def pack_weights(weights: Singles, *, deflated_up_to: int = 1 << 23) -> dict[str, Any]:
    """The content of the model file for weights of shape (n,).

    A table of which nearly all weights are 0 is stored as it is, if it has more than
    ``deflated_up_to`` weights: the file then is in proportion to the memory that it takes, which
    reading requires (``schema.Allowance``).
    """
    steps, largest = _rounded(weights)
    plain = steps.tobytes()
    deflated = zlib.compress(plain, LEVEL)
    if len(plain) > max(deflated_up_to, _MOST_EACH * len(deflated)):
        deflated = zlib.compress(plain, 0)
    return {"deflated": deflated, "largest": largest, "count": len(weights)}


def unpack_weights(stored: Mapping[str, Any]) -> Singles:
    """The weights, (n,), from the content that ``pack_weights`` returned.

    Content is refused that ``pack_weights`` would not make of these weights again: a model that is
    loaded and saved stays the same.

    Raises:
        ValueError: the number of weights is no power of two or too large, there are not as many
            bytes as the content states, or the largest weight is not the one that it states.
    """
    count, largest = int(stored["count"]), float(stored["largest"])
    if count & (count - 1) or not 1 << MIN_BITS <= count <= 1 << MAX_BITS:
        raise ValueError(
            f"expected a power of two of weights, 2^{MIN_BITS} to 2^{MAX_BITS}, got {count}"
        )
    if largest != 0.0 and not (largest >= _SMALLEST and largest == float(np.float32(largest))):
        raise ValueError(f"expected a largest weight of single precision, got {largest}")
    values, weights = _values(largest), np.empty(count, dtype=np.float32)
    done = most = 0
    for plain in pieces(stored["deflated"]):
        if done + len(plain) > count:
            raise ValueError(f"expected {count} bytes, got more")
        steps = np.frombuffer(plain, dtype=np.uint8)
        # "clip" takes each value at once; bytes are within range in any mode
        np.take(values, steps, out=weights[done : done + len(plain)], mode="clip")
        done += len(plain)
        signed = steps.view(np.int8)
        most = max(most, int(signed.max(initial=0)), -int(signed.min(initial=0)))
    if done != count:
        raise ValueError(f"expected {count} bytes, got {done}")
    if most != (_STEPS if largest else 0):
        raise ValueError(f"expected the largest weight, {largest}, among them, got others")
    return weights


def _rounded(weights: Singles) -> tuple[Bytes, float]:
    """The byte of each weight, and the largest absolute weight."""
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest < _SMALLEST:
        return np.zeros(len(weights), dtype=np.int8), 0.0
    root = np.sqrt(np.abs(weights) * np.float32(1.0 / largest))
    return np.copysign(np.rint(_STEPS * root), weights).astype(np.int8), largest


def _values(largest: float) -> Singles:
    """The weight of each byte, indexed by the byte as an unsigned number."""
    steps = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    return np.asarray(np.sign(steps) * (steps / _STEPS) ** 2 * largest, dtype=np.float32)
