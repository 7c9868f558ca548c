"""Arrays in the model file: integers and texts compressed by zlib, and the hashed weights of
parsers.

Keys, lengths, labels and forms shrink to a quarter, and are decompressed in milliseconds. Integers
of several bytes are stored in planes: the lowest byte of all of them, then the next of all, and so
on, since high bytes resemble those of their neighbours and low ones do not. Weights are rounded to
multiples of a step, so that a byte holds one. Training rounds them before it evaluates them, so
that what it reports holds for the file; a file that was read is stored with exactly the same
weights.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from egparse.types import Int8s, Singles

MAX_BYTES = 1 << 30
"""No array of a model is larger; one that claims to be is not decompressed."""

MIN_BITS, MAX_BITS = 8, 28
"""A table has 2^8 to 2^28 weights: the features of an arc are combined with numbers of up to 8 bits
(``features.arcs``).
"""

_LEVEL = 6
_LEAST_JOINED = 1000
_STEP, _LEAST = 0.08, 0.8
_LEVELS, _SAMPLE = 256, 1 << 12
_PIECE = 1 << 16
_TYPES = frozenset(("int8", "uint8", "uint16", "uint64"))
_STEPS = 127
_SMALLEST = 1e-30  # its steps, and 1 / it, are normal numbers in single precision
_MOST_EACH = 16  # weights for a byte of the file, in larger tables
_NEAR, _FAR = 7, 0
_PAIRS = np.array(
    [(number // 16 - _NEAR - 1, number % 16 - _NEAR - 1) for number in range(256)], dtype=np.int8
).view(np.int16)[:, 0]
"""The weights of each pair, side by side, in steps."""


# --- arrays and lists of integers -----------------------------------------------------------------


def compress_array(array: npt.NDArray[Any]) -> dict[str, Any]:
    """The content of the model file for an array of integers, (n,)."""
    plain = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    planes = plain.view(np.uint8).reshape(len(array), array.dtype.itemsize).T
    return {"planes": _deflate(planes.tobytes()), "type": array.dtype.name, "count": len(array)}


def _deflate(plain: bytes) -> bytes:
    """The bytes compressed by zlib (RFC 1951), by the smaller of two ways: repetitions and Huffman
    codes, or these codes alone, which is less for weights, where what repeats is chance.
    """
    coder = zlib.compressobj(strategy=zlib.Z_HUFFMAN_ONLY)
    coded = coder.compress(plain) + coder.flush()
    return min(zlib.compress(plain, _LEVEL), coded, key=len)


def decompress_array(stored: Mapping[str, Any]) -> npt.NDArray[Any]:
    """The array, (n,), from the content that ``compress_array`` returned; takes at most twice the
    memory of it, whatever the data would decompress to. Raises ValueError: a type or size that no
    array of a model has, or another number of bytes than the content states.
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
        plain = stream.decompress(stored["planes"], count + 1)
    except zlib.error as error:
        raise ValueError(f"expected compressed bytes, got {error}") from error
    if len(plain) != count:
        raise ValueError(f"expected {count} bytes, got {len(plain)} or more")
    if not stream.eof or stream.unused_data:
        raise ValueError(f"expected {count} compressed bytes and no others, got another end")
    planes = np.frombuffer(plain, dtype=np.uint8).reshape(dtype.itemsize, -1)
    array: npt.NDArray[Any] = np.ascontiguousarray(planes.T).view(dtype).reshape(-1)
    array.flags.writeable = False
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
    has the next ``lengths[k]`` of the numbers. A list is made when it is asked for: a text names
    few of the forms that a model knows.
    """

    def __init__(
        self, strings: Sequence[str], lengths: npt.NDArray[Any], numbers: npt.NDArray[Any]
    ) -> None:
        self.longest = int(lengths.max(initial=0))
        self._places = dict(zip(strings, range(len(strings)), strict=True))
        ends = np.cumsum(lengths, dtype=np.int64)
        self._ends = memoryview(cast(Any, np.concatenate(([0], ends))))
        self._numbers = memoryview(cast(Any, np.ascontiguousarray(numbers)))

    def get(self, string: str, default: Any = None) -> Any:
        """The list of a string; ``Mapping.get`` raises an error and catches it where there is none,
        which takes ten times as long.
        """
        return self[string] if string in self._places else default

    def __getitem__(self, string: str) -> tuple[int, ...]:
        place = self._places[string]
        return tuple(self._numbers[self._ends[place] : self._ends[place + 1]])

    def __contains__(self, string: object) -> bool:
        return string in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


# --- weights of rows ------------------------------------------------------------------------------


def coarse(weights: Singles) -> Singles:
    """The weights, rounded to multiples of a step; those below ``_LEAST`` of one become 0. Weights
    of at most 256 values, such as those that are rounded already, stay.

    The step is a power of two below ``_STEP`` times (sum w^4 / sum w^2)^(1/2), of the weights and
    of what they are rounded to: a model from which training goes on is rounded as it was. Weights
    take 4 bits of the file instead of 16, and two in five are left out.
    """
    if levels_of(weights) is not None:
        return weights
    width, rounded = np.float32(0.0), weights
    while (wider := _width_of(rounded)) > width:
        width = wider
        rounded = np.rint(weights / width) * width
        rounded = np.where(np.abs(weights) < _LEAST * width, np.float32(0.0), rounded)
    return rounded


def _width_of(weights: Singles) -> np.float32:
    squares = np.square(weights, dtype=np.float64)
    size = np.sqrt(np.sum(squares**2) / np.sum(squares))
    return _power_of_two(max(_STEP * size, 2 * np.sqrt(squares.max()) / _STEPS))


def _power_of_two(size: float) -> np.float32:
    return np.float32(np.exp2(np.floor(np.log2(size))))


def levels_of(weights: Singles) -> Singles | None:
    """The values of the weights, ascending, if they are at most 256."""
    if len(np.unique(weights[:_SAMPLE])) > _LEVELS:  # most often enough to know
        return None
    levels = np.unique(weights)
    return levels if len(levels) <= _LEVELS else None


def compress_rows(weights: Singles) -> dict[str, Any] | npt.NDArray[np.float16]:
    """The content of the model file for weights of at most 256 values, which are kept exactly; any
    others are rounded to half precision.
    """
    levels = levels_of(weights)
    if levels is None:
        return weights.astype(np.float16)
    numbers = np.searchsorted(levels, weights).astype(np.uint8)
    return {"levels": levels, "numbers": compress_array(numbers)}


# --- hashed weights -------------------------------------------------------------------------------


class Weights(NamedTuple):
    """A hashed table of weights, (n,), as kernels take it: in full, or as in the model file, where
    each is a multiple of a ``step``, a power of two. Bytes miss the processor's cache less.
    """

    cells: Singles | Int8s
    step: float | None = None

    def in_full(self) -> Singles:
        """The weights themselves, (n,)."""
        if self.step is None:
            return cast(Singles, self.cells)
        return np.asarray(self.cells * np.float32(self.step))


def quantise(weights: Singles) -> Weights:
    """The weights, rounded to those that the model file can hold: to multiples of the power of two
    next to their root mean square, or of a larger one if the largest is more than 127 of these.

    On the development parts of EWT, Sequoia and Bosque steps of just the root mean square change
    LAS by -0.01, 0.01 and 0.01, and take half of the bytes of steps that are finer near 0.
    """
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest < _SMALLEST:
        return Weights(np.zeros(len(weights), dtype=np.int8), 1.0)
    size = np.sqrt(2 * np.mean(np.square(weights), dtype=np.float64))
    step = _power_of_two(max(size, 2 * largest / _STEPS))
    return Weights(np.rint(weights * np.float32(1 / step)).astype(np.int8), float(step))


def pack_weights(weights: Weights, *, deflated_up_to: int = 1 << 23) -> dict[str, Any]:
    """The content of the model file for weights of shape (n,): two in a byte, each as its number of
    steps and 8; 0 stands for a number beyond -7 to 7. All of those stand behind, a byte each.

    Most weights are 0, and a code of Huffman's has a bit at least: of a byte for each weight, so
    many weights would take half of the file.

    A table of which nearly all weights are 0 is stored as it is, if it has more than
    ``deflated_up_to`` weights: the file then is in proportion to the memory that it takes, which
    reading requires (``schema.Allowance``).
    """
    cells, step = quantise(weights.in_full()) if weights.step is None else weights
    far = np.abs(cells, dtype=np.int16) > _NEAR
    halves = np.where(far, _FAR, cells + np.int8(_NEAR + 1)).astype(np.uint8)
    plain = (halves[0::2] << 4 | halves[1::2]).tobytes() + cells[far].tobytes()
    deflated = _deflate(plain)
    if len(cells) > max(deflated_up_to, _MOST_EACH * len(deflated)):
        deflated = zlib.compress(plain, 0)
    return {"pairs": deflated, "step": step, "count": len(cells)}


def unpack_weights(stored: Mapping[str, Any]) -> Weights:
    """The weights, (n,), from the content that ``pack_weights`` returned.

    Raises:
        ValueError: the number of weights is no power of two or too large, there are not as many
            bytes as the content states, or a weight behind the pairs that belongs into them.
    """
    count = int(stored["count"])
    if count & (count - 1) or not 1 << MIN_BITS <= count <= 1 << MAX_BITS:
        raise ValueError(
            f"expected a power of two of weights, 2^{MIN_BITS} to 2^{MAX_BITS}, got {count}"
        )
    pairs, done = np.empty(count // 2, dtype=np.int16), 0
    far = bytearray()
    for plain in _pieces(stored["pairs"]):
        near = np.frombuffer(plain, dtype=np.uint8)[: len(pairs) - done]
        np.take(_PAIRS, near, out=pairs[done : done + len(near)])
        done += len(near)
        far += plain[len(near) :]
        if len(far) > count:
            raise ValueError(f"expected at most {count} weights beyond the pairs, got more")
    if done != len(pairs):
        raise ValueError(f"expected {len(pairs)} pairs of weights, got {done}")
    cells, beyond = pairs.view(np.int8), np.frombuffer(far, dtype=np.int8)
    places = np.flatnonzero(cells == -_NEAR - 1)
    if len(places) != len(beyond) or (np.abs(beyond, dtype=np.int16) <= _NEAR).any():
        raise ValueError(
            f"expected {len(places)} weights beyond the pairs, of more than {_NEAR} steps, got "
            f"{len(beyond)}, or smaller ones"
        )
    cells[places] = beyond
    return Weights(cells, float(stored["step"]))


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
