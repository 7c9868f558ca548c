"""Files that are replaced atomically, temporary files and folders, and regular files.

A file holds all of its new content, or what it held before: the content goes to a temporary file in
the same folder, because renaming is atomic within one file system only, and that file then takes
the name. A symbolic link is followed, and the permissions of a file that is replaced are kept.

A process locks (flock) what it is writing, so that another one can tell whether its writer lives.
What a killed process left is removed by the next one that writes into the same folder: at once, if
the name says that it was made under the running kernel and it is not locked; once nobody has
written to it for a day, if it is of another machine that shares the file system, whose locks may be
invisible here, or from before a restart. Process numbers would not do: they are reused, and differ
between containers.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TextIO

BUFFER = 1 << 18
"""Characters of a text that are written at a time."""

PREFIX, SUFFIX = ".egparse-", ".tmp"

ABANDONED_AFTER = 24 * 3600.0
"""Seconds without a change after which a file of unknown origin counts as left behind."""

_BOOT = "/proc/sys/kernel/random/boot_id"


# --- files that are replaced ----------------------------------------------------------------------


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
    Raises OSError, which names ``path``.
    """
    with open_bytes_atomically(path) as file:
        for part in parts:
            file.write(part)


@contextmanager
def open_bytes_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream of bytes, whose content replaces the file ``path`` when the block ends without an
    error; it is on the disk by then. Raises OSError, which names ``path``.
    """
    with _replacement(path) as descriptor, _named(os.fspath(path)):
        with open(descriptor, "wb", closefd=False) as file:
            yield file
        os.fsync(descriptor)


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text stream, in UTF-8 with LF line ends, whose content replaces the file ``path`` when the
    block ends without an error. What is no regular file, such as ``/dev/null`` or a pipe, is
    written to directly. Raises OSError, which names ``path``.
    """
    shown = os.fspath(path)
    if Path(path).exists() and not Path(path).is_file():
        with _text(NamedFile(shown, shown)) as stream:
            yield stream
    else:
        with _replacement(path) as descriptor, _text(NamedFile(descriptor, shown)) as stream:
            yield stream


def _text(file: NamedFile) -> TextIO:
    return io.TextIOWrapper(io.BufferedWriter(file, BUFFER), encoding="utf-8", newline="\n")


@contextmanager
def _replacement(path: str | os.PathLike[str]) -> Iterator[int]:
    """The descriptor of a temporary file, which takes the name ``path`` when the block ends without
    an error, and is removed when it ends with one.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_file() or target.is_dir()):  # root would replace a device
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    temporary: Path | None = None
    try:
        with temporary_file(target.parent) as (temporary, descriptor):
            yield descriptor
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            is_of_temporary = error.filename in (str(temporary), temporary)
        else:  # one that could not be created is in the folder
            is_of_temporary = Path(str(error.filename)).parent == target.parent
        if is_of_temporary:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in errors of the system that name none."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, path) from error
        raise


# --- temporary files and folders ------------------------------------------------------------------

_unfinished: set[tuple[int, Path]] = set()
"""What is being written, with the process that writes it: forks inherit the list."""

_cleared: set[Path] = set()


@contextmanager
def temporary_file(folder: Path) -> Iterator[tuple[Path, int]]:
    """The path and the open descriptor of a new, empty file in a folder; removed at the end of the
    block unless it has another name by then. Raises OSError.
    """
    _clear_once(folder)
    path, descriptor = _created(folder)
    try:
        yield path, descriptor
    finally:
        with suppress(OSError):
            path.unlink()
        _unfinished.discard((os.getpid(), path))
        os.close(descriptor)


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """A new folder within a folder, removed with its content at the end of the block. Raises
    OSError.
    """
    _clear_once(folder)
    path = _new_path(folder)
    with unfinished(path):
        path.mkdir()
        descriptor = os.open(path, os.O_RDONLY)
        try:
            lock(descriptor)
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            os.close(descriptor)


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Within the block, ``remove_unfinished`` removes this file or folder."""
    entry = (os.getpid(), path)
    _unfinished.add(entry)
    try:
        yield
    finally:
        _unfinished.discard(entry)


def remove_at_once(folder: Path) -> None:
    """Remove a folder with its content: it is there as a whole, or no longer. Raises OSError if it
    cannot be renamed.
    """
    path = _new_path(folder.parent)
    with unfinished(path):
        folder.rename(path)
        shutil.rmtree(path, ignore_errors=True)


def remove_unfinished() -> None:
    """Remove what this process is writing, for a signal that ends it."""
    for process, path in list(_unfinished):
        if process == os.getpid():
            _remove(path)


def lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; returns whether nobody else has it locked,
    which is also true where the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def clear(folder: Path) -> None:
    """Remove what killed processes left in a folder; what cannot be removed stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        for name in [entry.name for entry in entries]:
            if name.startswith(PREFIX) and name.endswith(SUFFIX):
                here = name.startswith(f"{PREFIX}{_kernel()}-")
                remove_if_abandoned(folder / name, 0.0 if here else ABANDONED_AFTER)


def remove_if_abandoned(path: Path, age: float = ABANDONED_AFTER) -> None:
    """Remove a temporary file or folder of this user that nobody has locked, and that has not
    changed for ``age`` seconds.
    """
    with suppress(OSError):
        found = os.lstat(path)
        is_plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
        if not is_plain or found.st_uid != os.geteuid() or time.time() - found.st_mtime < age:
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
        finally:
            os.close(descriptor)


def _clear_once(folder: Path) -> None:
    if folder not in _cleared:
        _cleared.add(folder)
        clear(folder)


def _created(folder: Path) -> tuple[Path, int]:
    while True:
        path = _new_path(folder)
        _unfinished.add((os.getpid(), path))
        descriptor = -1
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            # before it was locked, another process may have taken it for abandoned
            if lock(descriptor) and os.fstat(descriptor).st_nlink:
                return path, descriptor
        except BaseException:
            _unfinished.discard((os.getpid(), path))
            if descriptor >= 0:
                os.close(descriptor)
            raise
        _unfinished.discard((os.getpid(), path))
        os.close(descriptor)


def _new_path(folder: Path) -> Path:
    # not the name of the target and more: that may be as long as the file system allows
    return folder / f"{PREFIX}{_kernel()}-{os.getpid()}-{os.urandom(8).hex()}{SUFFIX}"


@cache
def _kernel() -> str:
    """A word for the running kernel, which the containers of a machine share."""
    try:
        return Path(_BOOT).read_text(encoding="ascii")[:8]
    except OSError:  # not Linux
        return f"{zlib.crc32(os.uname().nodename.encode()):08x}"


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


# --- regular files --------------------------------------------------------------------------------
# What egparse looks for by itself, such as a journal or a compiled kernel: whoever puts a named
# pipe in its place must not make it wait for ever. What a user names as an input may be a pipe.


def open_regular(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """The descriptor of a regular file, opened as ``os.open`` does. Raises OSError, also for what
    is no regular file, such as a folder or a pipe.
    """
    # pipes: for reading without waiting for the other end, for writing an error without one
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return descriptor


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file. Raises OSError as ``open_regular``."""
    with open(open_regular(path), "rb") as file:
        return file.read()
