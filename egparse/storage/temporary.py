"""Temporary files and folders, which do not outlive the program for long.

A process locks (flock) what it is writing, so another process can see whether its writer lives.
What a killed process left behind is removed by the next one that writes into the same folder:

* made under this running kernel, which the name tells, and not locked: at once;
* of another machine that shares the file system, whose locks may be invisible here, or from before
  a restart: once nobody has written to it for a day.

Process numbers would not do: they are reused, and differ between containers.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

PREFIX, SUFFIX = ".egparse-", ".tmp"

ABANDONED_AFTER = 24 * 3600.0
"""Seconds without a change after which a file of unknown origin counts as left behind."""

_BOOT = "/proc/sys/kernel/random/boot_id"

_unfinished: set[tuple[int, Path]] = set()
"""What is being written, with the process that writes it: forks inherit the list."""

_cleared: set[Path] = set()


@contextmanager
def temporary_file(folder: Path) -> Iterator[tuple[Path, int]]:
    """The path and the open descriptor of a new, empty file in a folder; removed at the end of the
    block unless it has another name by then.

    Raises:
        OSError: the file cannot be created.
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
    """A new folder within a folder, removed with its content at the end of the block.

    Raises:
        OSError: the folder cannot be created.
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
    """Remove a folder with its content: it is there as a whole, or no longer.

    Raises:
        OSError: it cannot be renamed.
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
    """Lock an open file or folder until it is closed.

    Returns:
        Whether nobody else has it locked; also true where the file system has no locks.
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
        names = [entry.name for entry in entries if entry.name.startswith(PREFIX)]
        for name in names:
            if name.endswith(SUFFIX):
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
