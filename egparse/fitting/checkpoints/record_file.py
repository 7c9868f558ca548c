"""Files of a checkpoint: plain values in JSON and arrays in NumPy's format, in a zip archive whose
members are not compressed.

Standard tools read them, each member has a checksum, and reading executes nothing: there are no
pickled objects. Files are replaced atomically.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from egparse.errors import EgparseError
from egparse.storage.files import open_bytes_atomically, open_regular

Array = npt.NDArray[Any]

_VALUES = "values.json"
_KINDS = "biuf"
_CHUNK = 1 << 20
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_FAULTS = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    MemoryError,
    struct.error,
)


def can_hold(dtype: np.dtype[Any]) -> bool:
    """Whether a record file can hold arrays of a type: booleans and numbers of up to 8 bytes."""
    return dtype.kind in _KINDS and dtype.itemsize <= 8


def write_record(path: Path, values: object, arrays: Sequence[Array]) -> None:
    """Replace a record file by one with these values, which JSON can hold, and arrays.

    Raises:
        OSError: the file cannot be written.
        TypeError: an array of other types than ``can_hold`` says.
    """
    if not all(can_hold(array.dtype) for array in arrays):
        raise TypeError("expected arrays of numbers")
    with open_bytes_atomically(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_VALUES, json.dumps(values))
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array)


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Turn what faulty content raises within the block into an error that names the file.

    Raises:
        EgparseError: the file cannot be read, is damaged, or holds something else.
    """
    try:
        yield
    except OSError as error:
        raise EgparseError(f"{path}: cannot be read: {error.strerror or error}") from error
    except _FAULTS as error:
        raise EgparseError(
            f"{path}: expected a checkpoint of this run, got a damaged or foreign file "
            f"({type(error).__name__}: {str(error)[:100]}); --force starts anew"
        ) from error


class Record:
    """An open record file: its ``values``, and its arrays as they are asked for."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.values: Any = json.loads(archive.read(self._member(_VALUES)))

    def array(self, number: int, into: Array | None = None) -> Array:
        """An array; it is read ``into`` another of the same type and shape, if one is given.

        Raises:
            ValueError: it has another type or shape than ``into``, or is no array of numbers.
        """
        if type(number) is not int:
            raise ValueError(f"expected the number of an array, got {number!a}")
        info = self._member(f"{number}.npy")
        with self._archive.open(info) as member:
            shape, fortran, dtype = _HEADERS[np.lib.format.read_magic(member)](member)
            size = math.prod(shape) * dtype.itemsize
            if not can_hold(dtype) or min(shape, default=0) < 0:
                raise ValueError(f"expected an array of numbers, got {dtype} of shape {shape}")
            if size != info.file_size - member.tell():
                raise ValueError(f"expected {size} bytes of an array, got {info.file_size}")
            if into is not None and (into.shape, into.dtype) != (shape, dtype):
                raise ValueError(
                    f"expected an array of {into.dtype} of shape {into.shape}, got {dtype} of "
                    f"shape {shape}"
                )
            order: Literal["C", "F"] = "F" if fortran else "C"
            # into the memory of the other one, where the order of elements is the same
            found = into
            if into is None or not (into.flags.fnc if fortran else into.flags.c_contiguous):
                found = np.empty(shape, dtype, order=order)
            room = cast(Array, found).reshape(-1, order=order).view(np.uint8)
            for start in range(0, size, _CHUNK):
                data = member.read(min(_CHUNK, size - start))
                room[start : start + len(data)] = np.frombuffer(data, np.uint8)
            member.read()  # at the end the checksum is compared
        if into is not None and found is not into:
            into[...] = found
        return cast(Array, found if into is None else into)

    def _member(self, name: str) -> zipfile.ZipInfo:
        info = self._archive.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"expected no compression, got {name} with some")
        return info


@contextmanager
def opened(path: Path) -> Iterator[Record]:
    """An open record file.

    Raises:
        EgparseError: it cannot be read, or what it holds makes the block raise.
    """
    with (
        faults_of(path),
        open(open_regular(path), "rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        yield Record(archive)
