"""Arrays and lists of integers in the model file, compressed by zlib.

Keys, lengths and labels shrink to a quarter, and are decompressed in milliseconds.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

LEVEL = 6
"""The compression level."""

MAX_BYTES = 1 << 30
"""No array of a model is larger; one that claims to be is not decompressed."""

_PIECE = 1 << 16
_TYPES = frozenset(("int8", "uint8", "uint16", "uint64"))


def compress_array(array: npt.NDArray[Any]) -> dict[str, Any]:
    """The content of the model file for an array of integers, (n,)."""
    plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "deflated": zlib.compress(plain.tobytes(), LEVEL),
        "type": array.dtype.name,
        "count": len(array),
    }


def decompress_array(stored: Mapping[str, Any]) -> npt.NDArray[Any]:
    """The array, (n,), from the content that ``compress_array`` returned.

    Raises:
        ValueError: a type or size that no array of a model has, or another number of bytes than the
            content states.
    """
    if stored["type"] not in _TYPES:
        raise ValueError(
            f"expected an array of {', '.join(sorted(_TYPES))}, got {stored['type']!r}"
        )
    dtype = np.dtype(stored["type"])
    plain = decompress_bytes(stored["deflated"], int(stored["count"]) * dtype.itemsize)
    array = np.frombuffer(plain, dtype=dtype)
    return array if sys.byteorder == "little" else array.byteswap()


def decompress_bytes(compressed: bytes, count: int) -> bytes:
    """The ``count`` bytes that were compressed; takes no more memory than these, whatever the data
    would decompress to.

    Raises:
        ValueError: the data is not compressed, or it holds another number of bytes.
    """
    if not 0 <= count <= MAX_BYTES:
        raise ValueError(f"expected at most {MAX_BYTES} bytes, got {count}")
    try:
        stream = zlib.decompressobj()
        plain = stream.decompress(compressed, count + 1)
    except zlib.error as error:
        raise ValueError(f"expected compressed bytes, got {error}") from error
    if len(plain) != count:
        raise ValueError(f"expected {count} bytes, got {len(plain)} or more")
    if not stream.eof or stream.unused_data:
        raise ValueError(f"expected {count} compressed bytes and no others, got another end")
    return plain


def pieces(compressed: bytes) -> Iterator[bytes]:
    """The bytes that were compressed, in pieces that stay in the processor's cache.

    Raises:
        ValueError: the data is not compressed, or it does not end with its last byte.
    """
    stream, data = zlib.decompressobj(), memoryview(compressed)
    taken = 0
    rest: bytes | memoryview = b""
    is_full = False
    try:
        while not stream.eof:
            if not rest and not is_full:  # after a full piece zlib may hold back bytes
                if taken == len(data):
                    break
                rest = data[taken : taken + _PIECE]
                taken += len(rest)
            plain = stream.decompress(rest, _PIECE)
            rest, is_full = stream.unconsumed_tail, len(plain) == _PIECE
            yield plain
    except zlib.error as error:
        raise ValueError(f"expected compressed bytes, got {error}") from error
    if not stream.eof or stream.unused_data or taken < len(data):
        raise ValueError("expected compressed bytes, got another end")


def compress_lists(lists: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """The content of the model file for short lists of small numbers by string: three objects
    instead of one a list, each of which would take time to check and to create.

    Raises:
        ValueError: a list of more than 65,535 numbers, or a number that is not from 0 to 65,535.
    """
    lengths = [len(numbers) for numbers in lists.values()]
    numbers = [number for numbers in lists.values() for number in numbers]
    if not all(0 <= number < 1 << 16 for number in (*lengths, *numbers)):
        raise ValueError("expected lists of at most 65,535 numbers, each from 0 to 65,535")
    return {
        "strings": list(lists),
        "lengths": compress_array(np.array(lengths, dtype=np.uint16)),
        "numbers": compress_array(np.array(numbers, dtype=np.uint16)),
    }


def lists_by_string(
    strings: Sequence[str], lengths: npt.NDArray[Any], numbers: npt.NDArray[Any]
) -> dict[str, tuple[int, ...]]:
    """The lists by string, from the decompressed content that ``compress_lists`` returned: string k
    has the next ``lengths[k]`` of the numbers.
    """
    plain = numbers.astype(np.uint16, copy=False)
    data = plain.tobytes()
    ends = [0, *accumulate((lengths.astype(np.int64) * plain.itemsize).tolist())]
    lists = [data[a:b] for a, b in pairwise(ends)]
    # one object for each list, not for each of its occurrences: nine in ten have occurred before
    tuples = {one: tuple(memoryview(one).cast("H")) for one in set(lists)}
    return dict(zip(strings, map(tuples.__getitem__, lists), strict=True))
