"""Declarations of what a model file may hold, and what reads content by them.

A section of the file is declared once, beside the class that it becomes: a ``Record`` of fields,
each with its type, its range and its shape. Reading checks and decodes at the same time, so that
what ``Stored.read`` returns is what the declaration says: kernels, which check no bounds, take it
as it is. Sizes have names: ``Packed(("uint16",), "attributes", sums_to="weights")`` is an array
with an element for each attribute, whose sum is the number of weights, and every other field that
names these sizes has to agree.

Decoding is limited by an ``Allowance`` in proportion to the file, because compressed content may
claim a thousand times its size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from egparse.errors import ConfigError
from egparse.storage.arrays import (
    MAX_BITS,
    MAX_BYTES,
    MIN_BITS,
    Weights,
    decompress_array,
    unpack_weights,
)
from egparse.storage.model_file import RENEW
from egparse.types import Ints

Sizes = dict[str, int]
"""The sizes that a section has named so far."""

STRING_BYTES = 150
"""Memory of a string that is a key of a dictionary, about."""

LARGEST_WEIGHT = 1e9
"""No weight is larger. Sums and quotients of such weights are finite even in single precision."""

_DEFLATED = "deflated"
"""A field of arrays as they were before the release of 0.2.0; the header of such files is valid."""

_ANY = 1 << 31
_SHOWN = 60
_NAME = 200


class Misfit(ValueError):
    """Content that its declaration does not allow; its text is ``field: expected ..., got ...``."""

    def __init__(self, name: str, expected: str, got: object) -> None:
        shown_name = name if len(name) <= _NAME else f"{name[:_NAME]}..."
        super().__init__(f"{shown_name}: expected {expected}, got {got}")


class Allowance:
    """The memory that the content of a file may still take: ``ROOM``, and ``BYTES_EACH`` times the
    size of the file.

    A table of hashed weights has a size that does not depend on the corpus, hence the room: it is
    for two tables of 2^23 weights, the default of a parser. In a model of Slovak each form takes
    23 bytes of the file and 900 of memory, in the six lists that have it.
    """

    ROOM = 80_000_000
    BYTES_EACH = 48

    def __init__(self, file_bytes: int) -> None:
        self.total = self.left = self.ROOM + self.BYTES_EACH * file_bytes

    def spend(self, count: int, name: str) -> None:
        """Take ``count`` bytes. Raises Misfit: that many are not left."""
        self.left -= count
        if self.left < 0:
            raise Misfit(
                name,
                f"content that takes at most {self.total:,} bytes of memory with all before it, "
                "in proportion to the file",
                f"{self.total - self.left:,}",
            )


class Stored(NamedTuple):
    """A part of a model file that has not been checked, and its name: ``parser.weights``."""

    value: Any
    name: str = ""
    allowance: Allowance | None = None

    def read(self, declared: Field, **sizes: int) -> Any:
        """What is stored, checked and decoded. Raises Misfit: it is not as declared, or it takes
        too much memory.
        """
        return declared.read(self, sizes)

    def part(self, key: str | int, value: Any) -> Stored:
        """A part of this part."""
        return self._replace(value=value, name=f"{self.name}.{key}" if self.name else str(key))

    def spend(self, count: int) -> None:
        """Take ``count`` bytes of the allowance, if there is one."""
        if self.allowance is not None:
            self.allowance.spend(count, self.name)

    def fault(self, expected: str, got: object, key: str = "") -> Misfit:
        """The fault of this part, or of its field ``key``."""
        return Misfit(self.part(key, None).name if key else self.name, expected, got)

    def require(self, holds: object, key: str, expected: str, got: object = "others") -> None:
        """Raise ``Misfit`` for the field ``key`` unless a condition holds."""
        if not holds:
            raise self.fault(expected, got, key)

    @contextmanager
    def naming(self, key: str) -> Iterator[None]:
        """Let an error in templates name the field ``key``."""
        try:
            yield
        except ConfigError as error:
            raise Misfit(self.part(key, None).name, "templates for this model", error) from None


class Field(Protocol):
    """The declaration of a field."""

    def read(self, stored: Stored, sizes: Sizes) -> Any:
        """The value, checked and decoded; sizes are compared with those in ``sizes``, and added."""


# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A value of one of some types, as it is stored, for which a condition holds; ``expected`` says
    both in words.
    """

    types: tuple[type, ...]
    expected: str
    holds: Callable[[Any], object] = lambda _: True

    def read(self, stored: Stored, sizes: Sizes) -> Any:
        if type(stored.value) not in self.types or not self.holds(stored.value):
            raise stored.fault(self.expected, shown(stored.value))
        return stored.value


FLAG = Value((bool,), "true or false")
"""True or false; numbers are not flags."""

MEASURE = Value((int, float), "a number")
"""A number of a record, which may be infinite or NaN."""

_BYTES = Value((bytes,), "bytes")


def choice(texts: Sequence[str]) -> Value:
    """One of some texts."""
    return Value((str,), f"one of {', '.join(texts)}", tuple(texts).__contains__)


def text(pattern: str, meaning: str) -> Value:
    """A text that a pattern matches as a whole; ``meaning`` is the pattern in words."""
    return Value((str,), meaning, re.compile(pattern).fullmatch)


@dataclass(frozen=True)
class Section:
    """A part that is read by the class that it becomes: returned as it is stored."""

    def read(self, stored: Stored, sizes: Sizes) -> Stored:
        return stored


SECTION = Section()


@dataclass(frozen=True)
class Integer:
    """An integer from ``low`` to ``high``, or less than the size ``below``; with ``names`` it is a
    size itself.
    """

    low: int = 0
    high: int = (1 << 31) - 1
    below: str = ""
    names: str = ""

    def read(self, stored: Stored, sizes: Sizes) -> int:
        high = sizes[self.below] - 1 if self.below else self.high
        if type(stored.value) is not int or not self.low <= stored.value <= high:
            raise stored.fault(f"an integer from {self.low} to {high}", shown(stored.value))
        _agree(stored, self.names or None, stored.value, sizes)
        return stored.value


@dataclass(frozen=True)
class Number:
    """A number from ``low`` to ``high``; neither infinite nor NaN."""

    low: float = 0.0
    high: float = LARGEST_WEIGHT

    def read(self, stored: Stored, sizes: Sizes) -> float:
        """The number as a float, also where an integer is stored."""
        value = MEASURE.read(stored, sizes)
        if not self.low <= value <= self.high:
            raise stored.fault(f"a number from {self.low:g} to {self.high:g}", shown(value))
        return float(value)


TEMPERATURE = Number(1e-9, 1e9)
"""What scores are divided by for probabilities."""


# --- lists and maps -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Strings:
    """A list of texts, which may be compressed. ``size`` names their number; ``most`` and
    ``longest`` bound it and each of them. ``labels`` hold nothing that ends a line or a cell of a
    corpus.
    """

    size: str = ""
    least: int = 0
    most: int = _ANY
    longest: int = _ANY
    distinct: bool = True
    labels: bool = False

    def read(self, stored: Stored, sizes: Sizes) -> list[str]:
        is_packed = isinstance(stored.value, dict)
        if is_packed:
            joined = Packed(("uint8",), "bytes", takes=1).read(stored, {})
            stored.spend(STRING_BYTES * int(np.count_nonzero(joined == ord("\n"))))
            try:
                stored = stored._replace(value=str(joined.data, "utf-8").split("\n"))
            except UnicodeDecodeError as error:
                raise stored.fault("texts in UTF-8", error) from None
        texts = _list(stored, self.least, self.most)
        if not is_packed:
            stored.spend(STRING_BYTES * len(texts))
        if set(map(type, texts)) - {str}:
            raise stored.fault("texts", "other values too")
        if self.distinct and len(set(texts)) != len(texts):
            raise stored.fault("texts that differ from each other", "some twice")
        if self.longest < _ANY and max(map(len, texts), default=0) > self.longest:
            raise stored.fault(f"texts of at most {self.longest} characters", "a longer one")
        if self.labels:
            ends = set("\t\n\r").intersection("".join(texts))
            if ends:
                raise stored.fault("labels without tabs and line ends", f"one with {min(ends)!a}")
        _agree(stored, self.size or None, len(texts), sizes)
        return texts


@dataclass(frozen=True)
class ListOf:
    """A list of values of one kind, ``least`` to ``most`` of them."""

    kind: Field
    least: int = 0
    most: int = _ANY

    def read(self, stored: Stored, sizes: Sizes) -> list[Any]:
        values = _list(stored, self.least, self.most)
        return [self.kind.read(stored.part(k, value), sizes) for k, value in enumerate(values)]


@dataclass(frozen=True)
class Integers:
    """A list of at least ``least`` integers from 0 on, each larger than the one before and less
    than ``below``, a number or the name of a size.
    """

    below: str | int = 1 << 31
    least: int = 0

    def read(self, stored: Stored, sizes: Sizes) -> list[int]:
        numbers = _list(stored, self.least, _ANY)
        below = sizes[self.below] if isinstance(self.below, str) else self.below
        ascend = not set(map(type, numbers)) - {int} and all(
            before < after for before, after in pairwise([-1, *numbers, below])
        )
        if not ascend:
            raise stored.fault(f"ascending integers from 0 to {below - 1}", shown(numbers))
        return numbers


@dataclass(frozen=True)
class Maybe:
    """Nothing, or a value."""

    kind: Field

    def read(self, stored: Stored, sizes: Sizes) -> Any:
        return None if stored.value is None else self.kind.read(stored, sizes)


@dataclass(frozen=True)
class Record:
    """A map with these fields, read in this order.

    Keys in ``absent`` may be missing, as in older files, and have the value that it gives. Other
    keys are refused unless ``others`` are allowed.
    """

    fields: Mapping[str, Field]
    absent: Mapping[str, Any] = field(default_factory=dict)
    others: bool = False

    def read(self, stored: Stored, sizes: Sizes) -> dict[str, Any]:
        found = _map(stored)
        missing = [key for key in self.fields if key not in found and key not in self.absent]
        if missing and _DEFLATED in found:
            raise stored.fault(f"the field {missing[0]}", f"one of an older egparse: {RENEW}")
        if missing:
            raise stored.fault(f"the field {missing[0]}", f"only {_named(found)}")
        if not self.others and (unknown := [key for key in found if key not in self.fields]):
            raise stored.fault(f"the fields {', '.join(self.fields)}", _named(unknown))
        return {
            key: kind.read(stored.part(key, found[key]), sizes)
            if key in found
            else self.absent[key]
            for key, kind in self.fields.items()
        }


@dataclass(frozen=True)
class TableOf:
    """A map of values of one kind, whose keys are among ``keys``."""

    kind: Field
    keys: Collection[str]

    def read(self, stored: Stored, sizes: Sizes) -> dict[str, Any]:
        found = _map(stored)
        if unknown := [key for key in found if key not in self.keys]:
            raise stored.fault(f"fields among {', '.join(self.keys)}", _named(unknown))
        return {key: self.kind.read(stored.part(key, value), sizes) for key, value in found.items()}


# --- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """An array of one type, a view of the file. Its shape is given by numbers and names of sizes,
    None for any.

    Integers are less than ``below``, a number or the name of a size. Floats are not NaN, from
    ``low`` to ``high``, and may be -inf if ``forbids``.
    """

    dtype: str
    shape: tuple[str | int | None, ...]
    below: str | int = ""
    low: float = -LARGEST_WEIGHT
    high: float = LARGEST_WEIGHT
    forbids: bool = False

    def read(self, stored: Stored, sizes: Sizes) -> npt.NDArray[Any]:
        array = stored.value
        if type(array) is not np.ndarray or array.dtype.name != self.dtype:
            raise stored.fault(f"an array of {self.dtype}", shown(array))
        if array.ndim != len(self.shape):
            raise stored.fault(f"an array of {len(self.shape)} dimensions", shown(array))
        for size, found in zip(self.shape, array.shape, strict=True):
            _agree(stored, size, found, sizes)
        if array.dtype.kind == "f":
            self._check_floats(stored, array)
        else:
            _check_below(stored, array, self.below, sizes)
        return array

    def _check_floats(self, stored: Stored, array: npt.NDArray[Any]) -> None:
        if self.dtype == "float16" and self.low <= -65504 and self.high >= 65504:
            # every finite number will do; as integers, infinity and NaN are the largest of a sign
            bits = array.view(np.int16)
            is_right = bits.max(initial=0) < 0x7C00 and bits.view(np.uint16).max(initial=0) < 0xFC00
        else:
            smallest, largest = np.min(array, initial=np.inf), np.max(array, initial=-np.inf)
            if self.forbids and smallest == -np.inf:
                smallest = np.min(array, where=array != -np.inf, initial=np.inf)
            is_right = not array.size or bool(
                (self.low <= smallest or smallest == np.inf)
                and largest <= self.high
                and not np.isnan(largest)
            )
        if not is_right:
            raise stored.fault(
                f"numbers from {self.low:g} to {self.high:g}{' or -inf' if self.forbids else ''}",
                _wrong(array, self.low, self.high, self.forbids),
            )


@dataclass(frozen=True)
class Packed:
    """A compressed array of integers, (size,), of one of the types; see ``arrays``.

    All are less than ``below``, a number or the name of a size; their sum is the size ``sums_to``.
    An element takes ``takes`` bytes of memory in the loaded model.
    """

    types: tuple[str, ...]
    size: str
    below: str | int = ""
    sums_to: str = ""
    takes: int = 8

    def read(self, stored: Stored, sizes: Sizes) -> npt.NDArray[Any]:
        """The array, decompressed, read-only."""
        parts = Record(
            {"planes": _BYTES, "type": choice(self.types), "count": Integer(0, MAX_BYTES)}
        ).read(stored, {})
        _agree(stored, self.size, parts["count"], sizes)
        stored.spend(parts["count"] * self.takes)
        try:
            array = decompress_array(parts)
        except ValueError as error:
            raise Misfit(stored.name, "a compressed array", error) from None
        _check_below(stored, array, self.below, sizes)
        if self.sums_to:
            _agree(stored, self.sums_to, int(array.sum(dtype=np.uint64)), sizes)
        return array


@dataclass(frozen=True)
class RowWeights:
    """Weights, (size,); see ``arrays.compress_rows``."""

    size: str

    def read(self, stored: Stored, sizes: Sizes) -> npt.NDArray[np.float32]:
        """The weights in single precision."""
        if isinstance(stored.value, np.ndarray):  # of more than 256 values
            return Array("float16", (self.size,)).read(stored, sizes).astype(np.float32)
        numbers = Packed(("uint8",), self.size, below="levels", takes=4)
        parts = Record({"levels": Array("float32", ("levels",)), "numbers": numbers})
        read = parts.read(stored, sizes)
        return np.asarray(np.take(read["levels"], read["numbers"]))


@dataclass(frozen=True)
class HashedWeights:
    """A table of 2^k weights; see ``arrays``."""

    def read(self, stored: Stored, sizes: Sizes) -> Weights:
        """The weights, (2^k,)."""
        count = Integer(1 << MIN_BITS, 1 << MAX_BITS)
        parts = Record({"pairs": _BYTES, "step": Number(), "count": count}).read(stored, {})
        if parts["count"] & (parts["count"] - 1):
            raise stored.fault("a power of two", parts["count"], "count")
        stored.spend(parts["count"])
        try:
            return unpack_weights(parts)
        except ValueError as error:
            raise Misfit(stored.name, "a table of weights", error) from None


def starts_of(lengths: npt.NDArray[Any]) -> Ints:
    """Where rows of these lengths start in one long array, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=starts[1:])
    return starts


def ascend_within(numbers: npt.NDArray[Any], starts: npt.NDArray[Any]) -> bool:
    """Whether each row ``numbers[starts[k]:starts[k + 1]]`` ascends strictly."""
    if len(numbers) < 2:
        return True
    ascends = numbers[1:] > numbers[:-1]
    inner = starts[(starts > 0) & (starts < len(numbers))]
    ascends[inner - 1] = True
    return bool(ascends.all())


def shown(value: object) -> str:
    """A value in a few words, on one line."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if isinstance(value, dict | bytes):
        return f"{'a map' if isinstance(value, dict) else 'bytes'} of length {len(value)}"
    text = ascii(value[:_SHOWN] if isinstance(value, str | list) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _agree(stored: Stored, size: str | int | None, found: int, sizes: Sizes) -> None:
    """Compare a size with the known one of this name; the first one found becomes known."""
    if size is None:
        return
    wanted = sizes.setdefault(size, found) if isinstance(size, str) else size
    if wanted != found:
        raise stored.fault(f"{wanted} {size}" if isinstance(size, str) else str(wanted), found)


def _check_below(stored: Stored, array: npt.NDArray[Any], below: str | int, sizes: Sizes) -> None:
    """Integers must be at least 0 and less than ``below``, if that is given."""
    if below == "" or not array.size:
        return
    limit = sizes[below] if isinstance(below, str) else below
    if array.dtype.kind == "i" and array.min() < 0:
        raise stored.fault(f"numbers from 0 to {limit - 1}", int(array.min()))
    if array.max() >= limit:
        raise stored.fault(f"numbers from 0 to {limit - 1}", int(array.max()))


def _wrong(array: npt.NDArray[Any], low: float, high: float, forbids: bool) -> float:
    """The first number that is out of range."""
    flat = array.reshape(-1).astype(np.float64)
    wrong = ~((low <= flat) & (flat <= high)) & ~(forbids & (flat == -math.inf))
    return float(flat[wrong][0])


def _list(stored: Stored, least: int, most: int) -> list[Any]:
    if not isinstance(stored.value, list | tuple):
        raise stored.fault("a list", shown(stored.value))
    if not least <= len(stored.value) <= most:
        bound = f"at least {least}" if len(stored.value) < least else f"at most {most}"
        raise stored.fault(f"a list of {bound}", len(stored.value))
    return stored.value if isinstance(stored.value, list) else list(stored.value)


def _map(stored: Stored) -> Mapping[str, Any]:
    if not isinstance(stored.value, Mapping):
        raise stored.fault("a map", shown(stored.value))
    return stored.value


def _named(keys: Collection[str]) -> str:
    return shown(", ".join(keys) or "none")
