"""Where bytes of output go: a stream, a compressed stream, or a file that an interrupted run leaves
for the next one.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Protocol, TextIO

from egparse.errors import EgparseError
from egparse.io.compression import Compressor
from egparse.storage.atomic import BUFFER, NamedFile
from egparse.storage.journal import sync_folder
from egparse.storage.regular_files import open_regular

PARTIAL = ".partial"
"""The ending of an output that is not complete, after its name."""

_PART = 1 << 20
"""Bytes that are compressed as one part."""


class Sink(Protocol):
    """Takes bytes."""

    def write(self, data: bytes) -> None:
        """Write some bytes of UTF-8. Raises OSError."""

    def flush(self) -> None:
        """Hand over what has been written, as far as it can be read."""


class StreamSink:
    """A text stream; standard output and files are written to by their bytes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        binary = getattr(self._stream, "buffer", None)
        if binary is None:
            self._stream.write(data.decode())
        else:
            binary.write(data)

    def flush(self) -> None:
        self._stream.flush()


class CompressedSink(AbstractContextManager["CompressedSink"]):
    """Compresses in parts, which another sink gets; the last one ends with the block."""

    def __init__(
        self, sink: Sink, new_part: Callable[[], Compressor], *, is_empty: bool = True
    ) -> None:
        self._sink = sink
        self._new_part = new_part
        self._part = new_part()
        self._size = 0
        self._is_empty = is_empty

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.end_part(even_empty=self._is_empty)

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:  # parts depend on the content alone
            taken, rest = rest[: _PART - self._size], rest[_PART - self._size :]
            self._sink.write(self._part.compress(bytes(taken)))
            self._size += len(taken)
            if self._size == _PART:
                self.end_part()

    def flush(self) -> None:
        """Do nothing: what is compressed can be read when a part is complete."""

    def end_part(self, *, even_empty: bool = False) -> None:
        """Begin a new part, unless the last one is empty."""
        if self._size or even_empty:
            self._sink.write(self._part.flush())
            self._part, self._size, self._is_empty = self._new_part(), 0, False


class Partial:
    """A file under another name until it is complete; an interruption leaves it there.

    It goes on at ``length``: what a run has written after its last record is cut off.

    Raises:
        EgparseError: the file is shorter.
        OSError: it cannot be written.
    """

    def __init__(
        self, target: Path, new_part: Callable[[], Compressor] | None, length: int = 0
    ) -> None:
        self._target = Path(os.path.realpath(target))
        self._path = partial_path(self._target)
        descriptor = open_regular(self._path, os.O_WRONLY | os.O_CREAT)
        found = os.fstat(descriptor).st_size
        if found < length:
            os.close(descriptor)
            raise EgparseError(
                f"{self._path}: expected the {length:,} bytes that the interrupted run has "
                f"written, got {found:,}"
            )
        os.ftruncate(descriptor, length)
        os.lseek(descriptor, length, os.SEEK_SET)
        self._descriptor = descriptor
        self._stream = io.BufferedWriter(NamedFile(descriptor, os.fspath(target)), BUFFER)
        self._compressed = None
        if new_part is not None:
            self._compressed = CompressedSink(self, new_part, is_empty=length == 0)
        self.sink: Sink = self._compressed or self

    def write(self, data: bytes) -> None:
        """Write bytes as they are; ``sink`` compresses them, if need be."""
        self._stream.write(data)

    def flush(self) -> None:
        """Do nothing: nobody reads the file before it is complete."""

    def sync(self) -> int:
        """Have all that has been written on the disk; returns the length of the file."""
        if self._compressed is not None:
            self._compressed.end_part()
        self._stream.flush()
        os.fsync(self._descriptor)
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def complete(self) -> Path:
        """Give the file its name, and return that; it need not be on the disk yet."""
        if self._compressed is not None:
            self._compressed.__exit__(None, None, None)
        self.close()
        give_name(self._target)
        return self._target

    def close(self) -> None:
        """Leave the file as it is."""
        if not self._stream.closed:
            self._stream.close()
            os.close(self._descriptor)


def partial_path(target: Path) -> Path:
    """Where an output is that is not complete."""
    return target.with_name(target.name + PARTIAL)


def give_name(target: Path) -> None:
    """Give a complete output its name, which is no link. Raises OSError."""
    if target.exists():
        shutil.copymode(target, partial_path(target))
    partial_path(target).replace(target)


def sync_files(paths: Iterable[Path]) -> None:
    """Have complete files and their names on the disk. Raises OSError."""
    folders = set()
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        folders.add(path.parent)
    for folder in folders:
        sync_folder(folder)
