"""The model file: a header and a payload in msgpack, whose lengths and checksums are checked before
anything else.

Layout, all integers little-endian::

    magic (8 bytes) | header length (uint32) | SHA-256 of the header (32 bytes) | header | payload

Header and payload are msgpack maps with text keys, in the order of the caller's maps; nothing is
added that depends on the clock or the machine, so that equal input gives equal bytes. The header
starts with the keys ``FORMAT_KEYS``, among them the length and the SHA-256 of the payload; every
later version of the format keeps this layout and those keys.

An array is the msgpack extension ``ARRAY_CODE``: its dtype (8 bytes of ASCII, zero-padded), its
number of dimensions and its shape (uint64 each), then its elements in C order, little-endian. The
part before the elements is a multiple of 8 bytes long, so that the elements of a loaded array are
aligned in the buffer and need no copy. Long lists of strings are one array
(``arrays.compress_texts``).

A checksum guards against accidents, not against a malicious author. Hence ``_LengthCheck`` walks
over the lengths that a file claims before msgpack allocates memory for any of them: msgpack
allocates each claimed list at once, so that a thousand nested lists that each claim as many
elements as the file has bytes take a thousand times its size. A file that passes takes memory in
proportion to its size: twice for a file of arrays, eleven times for one of strings, and beyond that
at most the 64 MB of ``MAX_VALUES`` short strings and the 7 MB of ``MAX_CONTAINERS`` empty maps.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgpack
import numpy as np

from egparse import __version__
from egparse.errors import ModelFileError
from egparse.storage.files import open_regular, write_atomically

MAGIC = b"\x89egp\r\n\x1a\n"
"""A byte that is not text, a name, and line ends that a transfer in text mode would change."""

FORMAT = "egparse model"
FORMAT_VERSION = 2
NEEDS_EGPARSE = "0.2.0"
"""The oldest egparse that reads ``FORMAT_VERSION``; an older one tells its user to install it."""

RENEW = "train the model again, or get it anew ('egparse download')"
"""What a user of an older file has to do."""

FORMAT_KEYS = (
    *("format", "version", "needs_egparse", "package_version"),
    *("payload_length", "payload_sha256"),
)
"""Header keys that ``write_model`` sets; those of a header that was read before are replaced."""

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
DTYPES = frozenset(("bool", *SIGNED, *UNSIGNED, "float16", "float32", "float64"))
"""The array types that a file may hold, by numpy's names."""

ARRAY_CODE = 1
"""The number of the msgpack extension that is an array."""

MAX_HEADER_BYTES = 1 << 24
MAX_DEPTH = 64
MAX_CONTAINERS = 100_000
"""The total number of lists and maps. An empty one takes 1 byte on disk and 64 in memory; a model
has some hundreds.
"""
MAX_VALUES = 1_000_000
BYTES_OF_VALUE = 6
"""The total number of values, and one more for so many bytes of the file. A text of two letters
takes 3 bytes on disk and 64 in memory; a model has some 200,000, of 7 bytes and more.
"""
MAX_DIMENSIONS = 32

_PROLOGUE = struct.Struct("<8sI32s")

HEADER_DIGEST = slice(_PROLOGUE.size - 32, _PROLOGUE.size)
"""Where the SHA-256 of the header stands in a file; the header holds that of the payload."""

_ARRAY_START = struct.Struct("<8sQ")

_FOREIGN_STARTS = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "gzip data",
    b"\x80\x02": "a Python pickle",
    b"\x80\x03": "a Python pickle",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
}


class _Fault(ValueError):
    """The fault of a file, in words, without the name of the file."""


Check = Callable[[dict[str, Any], dict[str, Any]], None]
"""Raises an error for a header and a payload that should not be written."""


def write_model(
    path: str | Path,
    header: Mapping[str, Any],
    payload: Mapping[str, Any],
    check: Check | None = None,
) -> None:
    """Write a model file atomically (see ``atomic``).

    Content and ``check`` are those of ``file_parts``.

    Raises:
        ModelFileError: the file cannot be written.
        ValueError: content that the format cannot hold.
    """
    parts = file_parts(header, payload, check)
    with _faults_of(path, "written"):
        if Path(path).exists():  # else /dev/null would be replaced too
            _require_regular(Path(path).stat().st_mode)
        write_atomically(path, *parts)


def file_parts(
    header: Mapping[str, Any], payload: Mapping[str, Any], check: Check | None = None
) -> tuple[bytes, bytes, bytes]:
    """The parts that a model file consists of.

    ``header`` is plain data (configuration, label sets, training record, creation info);
    ``payload`` may hold numpy arrays of ``DTYPES`` at any depth. Tuples are read back as lists,
    numpy scalars as Python's. ``check`` gets both as they will be read.

    Raises:
        ValueError: content that the format cannot hold.
    """
    body, payload_again = _packed(payload, arrays=True)
    digest = hashlib.sha256(body).hexdigest()
    values = (FORMAT, FORMAT_VERSION, NEEDS_EGPARSE, __version__, len(body), digest)
    others = {key: value for key, value in header.items() if key not in FORMAT_KEYS}
    head, header_again = _packed(dict(zip(FORMAT_KEYS, values, strict=True)) | others, arrays=False)
    if len(head) > MAX_HEADER_BYTES:
        raise ValueError(f"expected a header of at most {MAX_HEADER_BYTES} bytes, got {len(head)}")
    if check is not None:
        check(header_again, payload_again)
    return _PROLOGUE.pack(MAGIC, len(head), hashlib.sha256(head).digest()), head, body


def read_model(
    path: str | Path, *, sha256: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the payload of a model file; arrays are read-only views of its bytes.

    With ``sha256``, 64 hexadecimal digits, only the file with that digest as a whole is read, as
    ``sha256sum`` prints it.

    Raises:
        ModelFileError: the file is unreadable, foreign, truncated, altered, of a newer format or of
            another digest; the message names the file and the fault.
    """
    with _faults_of(path, "read"), _opened(path) as (file, file_size):
        if sha256 is not None:
            _require_digest(file, sha256)
        return _read_content(file, file_size)


def read_model_bytes(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the payload of the bytes of a model file; see ``read_model``."""
    with _faults_of("<bytes>", "read"):
        return _read_content(BytesIO(data), len(data))


def header_digest(path: str | Path) -> bytes:
    """The SHA-256 of the header of a model file, which holds that of the payload; the payload is
    not read. Raises ModelFileError as ``read_model``.
    """
    with _faults_of(path, "read"), _opened(path) as (file, file_size):
        _read_header(file, file_size)
        file.seek(0)
        return file.read(_PROLOGUE.size)[HEADER_DIGEST]


def bytes_with_header(path: str | Path, digest: bytes) -> bytes | None:
    """The bytes of a model file, None if it is not whole or its header has another digest."""
    try:
        data = Path(path).read_bytes()
        file = BytesIO(data)
        _read_body(file, _read_header(file, len(data)))
    except (OSError, _Fault):
        return None
    return data if data[HEADER_DIGEST] == digest else None


def read_header(path: str | Path) -> dict[str, Any]:
    """The header of a model file. The payload is not read: its length is checked, its checksum is
    not. Raises ModelFileError as ``read_model``.
    """
    with _faults_of(path, "read"), _opened(path) as (file, file_size):
        return _read_header(file, file_size)


def digest_of(path: str | Path) -> str:
    """The SHA-256 digest of a file as a whole, as ``sha256sum`` prints it and ``read_model`` takes
    it. Raises ModelFileError if the file cannot be read.
    """
    with _faults_of(path, "read"), _opened(path) as (file, _):
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- the file -------------------------------------------------------------------------------------


@contextmanager
def _faults_of(path: str | Path, verb: str) -> Iterator[None]:
    try:
        yield
    except _Fault as fault:
        raise ModelFileError(f"{path}: {fault}") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be {verb}: {error.strerror or error}") from error


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise _Fault("a directory, not a model file")
    if not stat.S_ISREG(mode):
        raise _Fault("not a regular file")


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[BufferedReader, int]]:
    """The open file and its size in bytes; a pipe is refused, because opening it could block."""
    _require_regular(Path(path).stat().st_mode)
    with open(open_regular(path), "rb") as file:
        yield file, os.fstat(file.fileno()).st_size


def _read(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise _Fault("truncated: the file became shorter while it was read")
    return data


def _require_digest(file: BufferedReader, expected: str) -> None:
    if not re.fullmatch("[0-9a-fA-F]{64}", expected):
        raise _Fault(f"expected a SHA-256 digest of 64 hexadecimal digits, got {expected!a}")
    found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected.lower():
        raise _Fault(f"expected the SHA-256 digest {expected.lower()}, got {found}")
    file.seek(0)


def _read_header(file: BinaryIO, file_size: int) -> dict[str, Any]:
    prologue = file.read(_PROLOGUE.size)
    if not MAGIC.startswith(prologue[: len(MAGIC)]) or not prologue:
        raise _Fault(f"not an egparse model: {_kind_of(prologue)}")
    if len(prologue) < _PROLOGUE.size:
        raise _Fault(f"truncated: it ends after {len(prologue)} bytes")
    _, length, digest = _PROLOGUE.unpack(prologue)
    if length > MAX_HEADER_BYTES:
        raise _Fault(f"altered: it claims a header of {length} bytes, more than any has")
    if length > file_size - _PROLOGUE.size:
        raise _Fault(f"truncated: it ends within its header, after {file_size} bytes")
    head = _read(file, length)
    if hashlib.sha256(head).digest() != digest:
        raise _Fault("altered: its header does not match its checksum")
    header = _unpacked(head, arrays=False)
    _check_header(header, file_size - _PROLOGUE.size - length)
    return header


def _read_body(file: BinaryIO, header: Mapping[str, Any]) -> bytes:
    body = _read(file, header["payload_length"])
    if hashlib.sha256(body).hexdigest() != header["payload_sha256"]:
        raise _Fault("altered: its payload does not match its checksum")
    return body


def _read_content(file: BinaryIO, file_size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    header = _read_header(file, file_size)
    return header, _unpacked(_read_body(file, header), arrays=True)


def _kind_of(start: bytes) -> str:
    """A guess at the kind of a foreign file, for the user."""
    if not start:
        return "the file is empty"
    for magic, kind in _FOREIGN_STARTS.items():
        if start.startswith(magic):
            return f"it looks like {kind}"
    if all(byte >= 32 or byte in b"\t\r\n" for byte in start):
        return "it looks like text"
    return "it does not start as one does"


def _check_header(header: Mapping[str, Any], payload_size: int) -> None:
    version = header.get("version")
    if header.get("format") != FORMAT or type(version) is not int or version < 1:
        raise _Fault("not an egparse model: its header names no format that egparse knows")
    if version > FORMAT_VERSION:
        needed = ascii(header.get("needs_egparse"))[1:-1][:40]
        raise _Fault(
            f"of a newer format ({version}) than egparse {__version__} reads ({FORMAT_VERSION}): "
            f"install egparse {needed} or later"
        )
    if version < FORMAT_VERSION:
        raise _Fault(
            f"of an older format ({version}) than egparse {__version__} reads ({FORMAT_VERSION}): "
            f"{RENEW}"
        )
    length = header.get("payload_length")
    if type(length) is not int or length < 0 or not isinstance(header.get("payload_sha256"), str):
        raise _Fault("altered: its header does not describe its payload")
    if payload_size < length:
        raise _Fault(f"truncated: {payload_size} of {length} bytes of its payload are there")
    if payload_size > length:
        raise _Fault(f"altered: {payload_size - length} bytes follow its end")


# --- msgpack --------------------------------------------------------------------------------------


def _packed(content: Mapping[str, Any], *, arrays: bool) -> tuple[bytes, dict[str, Any]]:
    """``content`` as msgpack, and unpacked again, so that no file is written that cannot be
    read.
    """
    default = _default_in_payload if arrays else _default_in_header
    try:
        data = cast(bytes, msgpack.packb(dict(content), default=default))
        return data, _unpacked(data, arrays=arrays)
    except (OverflowError, TypeError, _Fault) as error:
        raise ValueError(f"a model file cannot hold this content: {error}") from error


def _default_in_header(value: object) -> object:
    """The value to pack instead of one that msgpack does not know."""
    if isinstance(value, np.generic) and value.dtype.name in DTYPES:
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, int):
        raise TypeError(f"it holds an integer beyond 64 bits: {value}")
    described = (
        f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__qualname__
    )
    raise TypeError(f"it holds a value of type {described}")


def _default_in_payload(value: object) -> object:
    # not isinstance: a subclass, such as a masked array, may mean more than its elements
    if type(value) is np.ndarray and value.dtype.name in DTYPES:
        return msgpack.ExtType(ARRAY_CODE, _array_to_bytes(value))
    return _default_in_header(value)


def _unpacked(data: bytes, *, arrays: bool) -> dict[str, Any]:
    """The map that ``data`` holds; no memory is allocated before its lengths are checked."""
    size = len(data)
    _LengthCheck(data, arrays=arrays).check()
    try:
        content = msgpack.unpackb(
            data,
            ext_hook=_array_from_extension,
            object_pairs_hook=_map_from_pairs,
            max_str_len=size,
            max_bin_len=size,
            max_array_len=size,
            max_map_len=size,
            max_ext_len=size,
        )
    except _Fault:
        raise
    except (ValueError, msgpack.UnpackException) as error:
        raise _Fault(
            f"altered: it holds a value that cannot be decoded ({type(error).__name__})"
        ) from None
    return cast("dict[str, Any]", content)


def _map_from_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A map; of two values of one key, readers may disagree on which one holds."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Fault("altered: it holds a map with a key twice")
    return found


def _array_to_bytes(array: np.ndarray[Any, Any]) -> bytes:
    name = array.dtype.name
    elements = np.asarray(array, dtype=np.dtype(name).newbyteorder("<"))
    start = _ARRAY_START.pack(name.encode("ascii"), array.ndim)
    return start + struct.pack(f"<{array.ndim}Q", *array.shape) + elements.tobytes(order="C")


def _array_from_extension(code: int, data: bytes) -> np.ndarray[Any, Any]:
    """A read-only array over ``data``, whose length must be that of the shape."""
    if len(data) < _ARRAY_START.size:
        raise _Fault(f"altered: it holds an array of {len(data)} bytes, shorter than any")
    raw_name, dimensions = _ARRAY_START.unpack_from(data)
    name = raw_name.rstrip(b"\0").decode("latin-1")
    if name not in DTYPES:
        raise _Fault(f"altered: it holds an array of type {name!a}, which the format does not have")
    start = _ARRAY_START.size + 8 * dimensions
    if dimensions > MAX_DIMENSIONS or start > len(data):
        raise _Fault(f"altered: it holds an array of {dimensions} dimensions")
    native = np.dtype(name)  # kernels know it by this object alone, and not an equal one
    stored = native.newbyteorder("<")
    shape = struct.unpack_from(f"<{dimensions}Q", data, _ARRAY_START.size)
    if math.prod(shape) * native.itemsize != len(data) - start:
        raise _Fault(
            f"altered: it holds {len(data) - start} bytes for {name} of shape {list(shape)}"
        )
    if name == "bool" and data[start:].translate(None, delete=b"\0\1"):
        raise _Fault("altered: it holds an array of bool with elements other than 0 and 1")
    try:
        array = np.ndarray(shape, native if stored == native else stored, data, start)
    except (ValueError, OverflowError):  # an empty array of astronomical shape
        raise _Fault(f"altered: it holds an array of shape {list(shape)}") from None
    return array.astype(native, copy=False)


def _fixed_sizes() -> list[int]:
    """By the first byte of a value: the length of the value if this byte determines it, else 0."""
    sizes = [0] * 256
    sizes[0x00:0x80] = [1] * 128  # small integers
    sizes[0xA0:0xC0] = range(1, 33)  # short strings
    sizes[0xC0] = sizes[0xC2] = sizes[0xC3] = 1  # nil, false, true
    # float32, float64, uint8 to uint64, int8 to int64
    sizes[0xCA:0xD4] = (5, 9, 2, 3, 5, 9, 2, 3, 5, 9)
    sizes[0xE0:0x100] = [1] * 32  # small negative integers
    return sizes


_FIXED_SIZES = _fixed_sizes()
_BLOCKS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
"""First byte of a binary or a longer string -> bytes of its length field."""
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}
_TEXT = frozenset(range(0xA0, 0xC0)) | {0xD9, 0xDA, 0xDB}


class _LengthCheck:
    """Walks over msgpack data by its lengths alone and allocates no memory for the values.

    Data passes if it is one complete map of bounded depth and number of containers, with text keys
    and no extensions but arrays. A length beyond the end of the data is found by running out of
    bytes, because every value takes at least one.
    """

    def __init__(self, data: bytes, *, arrays: bool) -> None:
        self.data = data
        self.arrays = arrays
        self.containers = self.values = 0

    def check(self) -> None:
        """Raise ``_Fault`` unless the data passes."""
        first = self.data[0] if self.data else 0xC0
        if not (0x80 <= first < 0x90 or first in _MAPS):
            raise _Fault("altered: its content is not a map")
        try:
            end = self._end_of_value(0, 1)
        except IndexError:
            end = -1
        if end != len(self.data):
            raise _Fault("altered: the lengths in it do not add up to its length")

    def _length(self, position: int, width: int) -> int:
        return int.from_bytes(self.data[position : position + width], "big")

    def _end_of_value(self, start: int, depth: int) -> int:
        """The position after the value at ``start``, which may lie beyond the data."""
        first = self.data[start]
        if size := _FIXED_SIZES[first]:
            return start + size
        if width := _BLOCKS.get(first, 0):
            return start + 1 + width + self._length(start + 1, width)
        if 0x80 <= first < 0xA0:
            width, length = 0, first & 0x0F
        elif width := _LISTS.get(first, 0) or _MAPS.get(first, 0):
            length = self._length(start + 1, width)
        else:
            return self._end_of_extension(start, first)
        is_map = first < 0x90 or first in _MAPS
        return self._end_of_container(start + 1 + width, length, is_map, depth)

    def _end_of_extension(self, start: int, first: int) -> int:
        width = _EXTENSIONS.get(first, 0)
        size = self._length(start + 1, width) if width else _FIXED_EXTENSIONS.get(first)
        if size is None or not self.arrays or self.data[start + 1 + width] != ARRAY_CODE:
            raise _Fault("altered: it holds a kind of value that the format does not have")
        return start + 1 + width + 1 + size

    def _end_of_container(self, position: int, length: int, is_map: bool, depth: int) -> int:
        self.containers += 1
        if depth > MAX_DEPTH:
            raise _Fault(f"altered: it nests lists and maps more than {MAX_DEPTH} deep")
        if self.containers > MAX_CONTAINERS:
            raise _Fault(f"altered: it holds more than {MAX_CONTAINERS} lists and maps")
        data, sizes = self.data, _FIXED_SIZES
        for _ in range(length):
            if is_map:
                if data[position] not in _TEXT:
                    raise _Fault("altered: it holds a map with a key that is not text")
                position = self._end_of_value(position, depth)
            # without a call for numbers and short strings, which long lists hold
            size = sizes[data[position]]
            position = position + size if size else self._end_of_value(position, depth + 1)
        # the end is known, so that the values are there
        self.values += length * (1 + is_map)
        most = MAX_VALUES + len(data) // BYTES_OF_VALUE
        if self.values > most:
            raise _Fault(f"altered: it holds more than {most} values, too many for its length")
        return position
