"""Images and labels in the IDX format of MNIST (LeCun et al. 1998), compressed or not."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from egparse.errors import EgparseError
from egparse.types import Floats, Ints, UInt8s

_UNSIGNED_BYTE = 8
_MAX_CELLS = 1 << 30


def read_idx(path: Path) -> UInt8s:
    """The array of bytes that an IDX file holds.

    Raises:
        EgparseError: no IDX file of bytes, or one that is cut off.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            magic = file.read(4)
            if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] != _UNSIGNED_BYTE:
                raise EgparseError(
                    f"{path}: expected an IDX file of bytes, got one that begins with {magic!r}"
                )
            shape = np.frombuffer(file.read(4 * magic[3]), dtype=">u4").astype(np.int64)
            size = math.prod(shape.tolist())
            if len(shape) != magic[3] or size > _MAX_CELLS:
                raise EgparseError(
                    f"{path}: expected {magic[3]} sizes of a moderate array, got {shape.tolist()}"
                )
            content = file.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise EgparseError(f"{path}: expected an IDX file, got: {error}") from error
    if len(content) != size:
        raise EgparseError(
            f"{path}: expected {size} bytes of data, got "
            f"{'more' if len(content) > size else len(content)}"
        )
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def read_digits(images: Path, labels: Path) -> tuple[Floats, Ints]:
    """Pixels between 0 and 1, (n, height times width), and classes (n,).

    Raises:
        EgparseError: files that do not belong together.
    """
    pixels, classes = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or classes.shape != pixels.shape[:1]:
        raise EgparseError(
            f"{labels}: expected a label for each of {len(pixels)} images, got {classes.shape}"
        )
    return pixels.reshape(len(pixels), -1) / 255.0, classes.astype(np.int32)
