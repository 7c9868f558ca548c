"""Files that are replaced atomically: a file holds all of its new content, or what it held before.

The content goes to a temporary file in the same folder, because renaming is atomic within one file
system only, and that file then takes the name. A symbolic link is followed, and the permissions of
a file that is replaced are kept.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from egparse.storage.temporary import temporary_file

BUFFER = 1 << 18
"""Characters of a text that are written at a time."""


class NamedFile(io.FileIO):
    """A file to write, given by path or descriptor, whose errors call it ``shown``; Python's, when
    a disk is full, name no file.
    """

    def __init__(self, file: str | int, shown: str) -> None:
        super().__init__(file, "w", closefd=not isinstance(file, int))
        self._shown = shown

    def write(self, data: Any, /) -> int:
        """Write bytes; returns how many. Raises OSError, which names the file."""
        with _named(self._shown):
            return super().write(data)


def write_atomically(path: str | os.PathLike[str], *parts: bytes) -> None:
    """Replace the file ``path`` by one that consists of ``parts``; returns when it is on the disk.

    Raises:
        OSError: the file cannot be written; the error names ``path``.
    """
    with _replacement(path) as descriptor, _named(os.fspath(path)):
        with open(descriptor, "wb", closefd=False) as file:
            for part in parts:
                file.write(part)
        os.fsync(descriptor)


@contextmanager
def open_bytes_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream of bytes, whose content replaces the file ``path`` when the block ends without an
    error; it is on the disk by then.

    Raises:
        OSError: the file cannot be written; the error names ``path``.
    """
    with _replacement(path) as descriptor, _named(os.fspath(path)):
        with open(descriptor, "wb", closefd=False) as file:
            yield file
        os.fsync(descriptor)


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text stream, in UTF-8 with LF line ends, whose content replaces the file ``path`` when the
    block ends without an error.

    A path that is no regular file, such as ``/dev/null`` or a pipe, is written to directly.

    Raises:
        OSError: the file cannot be written; the error names ``path``.
    """
    if Path(path).exists() and not Path(path).is_file():
        with _text(NamedFile(os.fspath(path), os.fspath(path))) as stream:
            yield stream
    else:
        with (
            _replacement(path) as descriptor,
            _text(NamedFile(descriptor, os.fspath(path))) as stream,
        ):
            yield stream


def _text(file: NamedFile) -> TextIO:
    return io.TextIOWrapper(io.BufferedWriter(file, BUFFER), encoding="utf-8", newline="\n")


@contextmanager
def _replacement(path: str | os.PathLike[str]) -> Iterator[int]:
    """The descriptor of a temporary file, which takes the name ``path`` when the block ends without
    an error, and is removed when it ends with one.
    """
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        with temporary_file(target.parent) as (temporary, descriptor):
            yield descriptor
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    except OSError as error:
        if _is_of_temporary(error, temporary, target.parent):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _is_of_temporary(error: OSError, temporary: Path | None, folder: Path) -> bool:
    """Whether an error names the temporary file; one that could not be created is in ``folder``."""
    if temporary is not None:
        return error.filename in (str(temporary), temporary)
    return isinstance(error.filename, str | Path) and Path(error.filename).parent == folder


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in errors of the system that name none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, path) from error
        raise
