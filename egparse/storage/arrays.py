"""Arrays in the model file: integers and texts compressed by zlib, and the hashed weights of
parsers.

Keys, lengths, labels and forms shrink to a quarter, and are decompressed in milliseconds. A hashed
weight is quantised to a signed byte: q stands for sign(q) (q / 127)^2 m, where m is the largest
absolute weight, so that steps are finer near 0, where most weights are, and the smallest weight
other than 0 is 6e-5 m. Training quantises the weights before it evaluates them, so that what it
reports holds for the file.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from egparse.types import Singles, UInt8s

MAX_BYTES = 1 << 30
"""No array of a model is larger; one that claims to be is not decompressed."""

MIN_BITS, MAX_BITS = 8, 28
"""A table has 2^8 to 2^28 weights: the features of an arc are combined with numbers of up to 8 bits
(``features.arcs``).
"""

_LEVEL = 6
_LEAST_JOINED = 1000
_PIECE = 1 << 16
_TYPES = frozenset(("int8", "uint8", "uint16", "uint64"))
_STEPS = 127
_SMALLEST = 1e-30  # its steps, and 1 / it, are normal numbers in single precision
_MOST_EACH = 2  # weights for a byte of the file, in larger tables


# --- arrays and lists of integers -----------------------------------------------------------------


def compress_array(array: npt.NDArray[Any]) -> dict[str, Any]:
    """The content of the model file for an array of integers, (n,)."""
    plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "deflated": zlib.compress(plain.tobytes(), _LEVEL),
        "type": array.dtype.name,
        "count": len(array),
    }


def decompress_array(stored: Mapping[str, Any]) -> npt.NDArray[Any]:
    """The array, (n,), from the content that ``compress_array`` returned; takes no more memory than
    that, whatever the data would decompress to. Raises ValueError: a type or size that no array of
    a model has, or another number of bytes than the content states.
    """
    if stored["type"] not in _TYPES:
        raise ValueError(
            f"expected an array of {', '.join(sorted(_TYPES))}, got {stored['type']!r}"
        )
    dtype = np.dtype(stored["type"])
    count = int(stored["count"]) * dtype.itemsize
    if not 0 <= count <= MAX_BYTES:
        raise ValueError(f"expected at most {MAX_BYTES} bytes, got {count}")
    try:
        stream = zlib.decompressobj()
        plain = stream.decompress(stored["deflated"], count + 1)
    except zlib.error as error:
        raise ValueError(f"expected compressed bytes, got {error}") from error
    if len(plain) != count:
        raise ValueError(f"expected {count} bytes, got {len(plain)} or more")
    if not stream.eof or stream.unused_data:
        raise ValueError(f"expected {count} compressed bytes and no others, got another end")
    array = np.frombuffer(plain, dtype=dtype)
    return array if sys.byteorder == "little" else array.byteswap()


def compress_texts(texts: Sequence[str]) -> list[str] | dict[str, Any]:
    """The content of the model file for texts: one array of the characters of all, with line ends
    between them. A list of its own has what is short, or has line ends in it.
    """
    joined = "\n".join(texts)
    if len(joined) < _LEAST_JOINED or joined.count("\n") != len(texts) - 1:
        return list(texts)
    return compress_array(np.frombuffer(joined.encode(), dtype=np.uint8))


def compress_lists(lists: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """The content of the model file for short lists of small numbers by string: three objects
    instead of one a list, each of which would take time to check and to create. Raises ValueError:
    a list of more than 65,535 numbers, or a number that is not from 0 to 65,535.
    """
    lengths = [len(numbers) for numbers in lists.values()]
    numbers = [number for numbers in lists.values() for number in numbers]
    if not all(0 <= number < 1 << 16 for number in (*lengths, *numbers)):
        raise ValueError("expected lists of at most 65,535 numbers, each from 0 to 65,535")
    return {
        "strings": compress_texts([*lists]),
        "lengths": compress_array(np.array(lengths, dtype=np.uint16)),
        "numbers": compress_array(np.array(numbers, dtype=np.uint16)),
    }


class ListsByString(Mapping[str, tuple[int, ...]]):
    """The lists by string, from the decompressed content that ``compress_lists`` returned: string k
    has the next ``lengths[k]`` of the numbers. A list is made when it is first asked for: a text
    names few of the forms that a model knows.
    """

    def __init__(
        self, strings: Sequence[str], lengths: npt.NDArray[Any], numbers: npt.NDArray[Any]
    ) -> None:
        self.longest = int(lengths.max(initial=0))
        self._places = dict(zip(strings, range(len(strings)), strict=True))
        self._ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self._numbers = numbers
        self._made: dict[str, tuple[int, ...]] = {}

    def __getitem__(self, string: str) -> tuple[int, ...]:
        made = self._made.get(string)
        if made is None:
            place = self._places[string]
            numbers = self._numbers[self._ends[place] : self._ends[place + 1]]
            made = self._made[string] = tuple(numbers.tolist())
        return made

    def __contains__(self, string: object) -> bool:
        return string in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


# --- hashed weights -------------------------------------------------------------------------------


class Weights(NamedTuple):
    """A hashed table of weights, (n,), as kernels take it: in full, or as in the model file, where
    ``values`` (256,) has the weight of each byte. Bytes miss the processor's cache less.
    """

    cells: Singles | UInt8s
    values: Singles | None = None

    def in_full(self) -> Singles:
        """The weights themselves, (n,)."""
        if self.values is None:
            return cast(Singles, self.cells)
        # "clip" takes each value at once; bytes are within range in any mode
        return np.asarray(np.take(self.values, cast(UInt8s, self.cells), mode="clip"))


def quantise(weights: Singles) -> Weights:
    """The weights, rounded to those that the model file can hold."""
    steps, largest = _rounded(weights)
    return Weights(steps.view(np.uint8), _values(largest))


def pack_weights(weights: Weights, *, deflated_up_to: int = 1 << 23) -> dict[str, Any]:
    """The content of the model file for weights of shape (n,).

    A table of which nearly all weights are 0 is stored as it is, if it has more than
    ``deflated_up_to`` weights: the file then is in proportion to the memory that it takes, which
    reading requires (``schema.Allowance``).
    """
    cells, values = quantise(weights.in_full()) if weights.values is None else weights
    plain, largest = cells.tobytes(), float(np.asarray(values)[_STEPS])
    deflated = zlib.compress(plain, _LEVEL)
    if len(plain) > max(deflated_up_to, _MOST_EACH * len(deflated)):
        deflated = zlib.compress(plain, 0)
    return {"deflated": deflated, "largest": largest, "count": len(plain)}


def unpack_weights(stored: Mapping[str, Any]) -> Weights:
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
    cells = np.empty(count, dtype=np.uint8)
    done = most = 0
    for plain in _pieces(stored["deflated"]):
        if done + len(plain) > count:
            raise ValueError(f"expected {count} bytes, got more")
        steps = np.frombuffer(plain, dtype=np.uint8)
        cells[done : done + len(plain)] = steps
        done += len(plain)
        signed = steps.view(np.int8)
        most = max(most, int(signed.max(initial=0)), -int(signed.min(initial=0)))
    if done != count:
        raise ValueError(f"expected {count} bytes, got {done}")
    if most != (_STEPS if largest else 0):
        raise ValueError(f"expected the largest weight, {largest}, among them, got others")
    return Weights(cells, _values(largest))


def _pieces(compressed: bytes) -> Iterator[bytes]:
    """The bytes that were compressed, in pieces that stay in the processor's cache."""
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


def _rounded(weights: Singles) -> tuple[npt.NDArray[np.int8], float]:
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
