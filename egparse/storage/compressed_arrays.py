"""Integers of a model file, deflated: keys, lengths and labels shrink to a quarter, and are ready
again in milliseconds.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

LEVEL = 6

MOST_BYTES = 1 << 30
"""No array of a model is larger; what claims to be is not inflated."""

_TYPES = frozenset(("int8", "uint8", "uint16", "uint64"))


def deflate(array: npt.NDArray[Any]) -> dict[str, Any]:
    """What the model file holds of an array of integers, (n,): its little-endian bytes,
    deflated.
    """
    plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "deflated": zlib.compress(plain.tobytes(), LEVEL),
        "type": array.dtype.name,
        "count": len(array),
    }


def inflate(stored: Mapping[str, Any] | npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, (n,), from what ``deflate`` made, or as it is from a file of egparse 0.1.0, which
    deflated none.

    Raises:
        ValueError: a type or size that no array of a model has, or not as many bytes as there are
            said to be.
    """
    if isinstance(stored, np.ndarray):
        return stored
    if stored["type"] not in _TYPES:
        raise ValueError(
            f"expected an array of {', '.join(sorted(_TYPES))}, got {stored['type']!r}"
        )
    dtype = np.dtype(stored["type"])
    plain = inflate_bytes(stored["deflated"], int(stored["count"]) * dtype.itemsize)
    array = np.frombuffer(plain, dtype=dtype)
    return array if sys.byteorder == "little" else array.byteswap()


def inflate_bytes(deflated: bytes, count: int) -> bytes:
    """The ``count`` bytes that were deflated; takes no more memory than that, whatever they inflate
    to.

    Raises:
        ValueError: another number of bytes, or none that were deflated.
    """
    if not 0 <= count <= MOST_BYTES:
        raise ValueError(f"expected at most {MOST_BYTES} bytes, got {count}")
    try:
        plain = zlib.decompressobj().decompress(deflated, count + 1)
    except zlib.error as error:
        raise ValueError(f"expected deflated bytes, got {error}") from error
    if len(plain) != count:
        raise ValueError(f"expected {count} bytes, got {len(plain)} or more")
    return plain


def deflate_lists(lists: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """What the model file holds of short lists of small numbers by string: fewer objects, which
    take time to check and to make.

    Raises:
        ValueError: a list of more than 65,535 numbers, or a number that is not from 0 to 65,535.
    """
    lengths = [len(own) for own in lists.values()]
    numbers = [number for own in lists.values() for number in own]
    if not all(0 <= number < 1 << 16 for number in (*lengths, *numbers)):
        raise ValueError("expected lists of numbers from 0 to 65,535, none longer than that")
    return {
        "strings": list(lists),
        "lengths": deflate(np.array(lengths, dtype=np.uint16)),
        "numbers": deflate(np.array(numbers, dtype=np.uint16)),
    }


def inflate_lists(stored: Mapping[str, Any]) -> dict[str, Sequence[int]]:
    """The lists by string, from what ``deflate_lists`` made, or as they are from a file of egparse
    0.1.0.

    Raises:
        ValueError: strings, lengths and numbers that do not go together.
    """
    if set(stored) != {"strings", "lengths", "numbers"} or not isinstance(
        stored["lengths"], Mapping
    ):
        return dict(stored)
    ends = list(accumulate(inflate(stored["lengths"]).tolist(), initial=0))
    numbers = tuple(inflate(stored["numbers"]).tolist())
    if len(ends) != len(stored["strings"]) + 1 or ends[-1] != len(numbers):
        raise ValueError(
            f"expected {len(numbers)} numbers in {len(stored['strings'])} lists, got {ends[-1]} "
            f"in {len(ends) - 1}"
        )
    return dict(zip(stored["strings"], (numbers[a:b] for a, b in pairwise(ends)), strict=True))
