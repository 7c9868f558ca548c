"""Disks that are full: one that refuses everything from the k-th write of a process on, and a small
file system of the kernel's.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PAGE = 4096
"""What a tmpfs hands out at a time."""


class FullDisk:
    """Refuses, from the write with number ``room`` on, whatever needs space below ``folder``:
    bytes, new files and folders, and flushing to the disk. ``output``: standard output lies on the
    disk too. ``install`` changes this process for good, so call it in a fork.
    """

    def __init__(self, folder: Path, room: float, *, output: bool = False) -> None:
        self.folder, self.room, self.output = os.path.realpath(folder), room, output
        self.writes = 0
        self._output = 0

    def install(self) -> None:
        """Replace the functions by which Python writes."""
        disk, really_open = self, builtins.open
        self._output = os.fstat(1).st_ino

        class File(io.FileIO):
            def write(self, data: Any) -> int:
                if disk.holds(self.fileno()):
                    disk.spend()
                return super().write(data)

        for kind in io.FileIO.__subclasses__():
            if kind is not File:
                kind.__bases__ = (File,)

        def opened(
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
            closefd: bool = True,
            opener: Any = None,
        ) -> Any:
            if not set(mode) & set("wax+") or not disk.holds(file):
                return really_open(
                    file, mode, buffering, encoding, errors, newline, closefd, opener
                )
            if not isinstance(file, int) and not os.path.exists(file):
                disk.spend(file)
            raw = File(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
            if buffering == 0:
                return raw
            stream: Any = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw, size)
            if "b" in mode:
                return stream
            return io.TextIOWrapper(stream, encoding, errors, newline, buffering == 1)

        builtins.open = opened
        io.open = opened
        for name in ("mkdir", "write", "fsync", "sendfile"):
            setattr(os, name, self._costly(getattr(os, name)))
        os.open = self._creating(os.open)
        if self.output:
            sys.stdout = opened(1, "w", encoding="utf-8", closefd=False)

    def holds(self, file: Any) -> bool:
        """Whether a path or a number of an open file is on this disk."""
        if file == 1:  # unless it has been pointed elsewhere since
            return self.output and os.fstat(1).st_ino == self._output
        if isinstance(file, int):
            try:
                path = os.readlink(f"/proc/self/fd/{file}")
            except OSError:
                return False
        else:
            path = os.path.realpath(os.fsdecode(file))
        return path == self.folder or path.startswith(self.folder + os.sep)

    def spend(self, path: Any = None) -> None:
        """One more write. Raises OSError as the system does: with the path if the call has one."""
        self.writes += 1
        if self.writes > self.room:
            named = () if path is None or isinstance(path, int) else (os.fspath(path),)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *named)

    def _costly(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def costly(first: Any, *others: Any, **options: Any) -> Any:
            if self.holds(first):
                self.spend(first)
            return function(first, *others, **options)

        return costly

    def _creating(self, function: Callable[..., int]) -> Callable[..., int]:
        def creating(path: Any, flags: int, *others: Any, **options: Any) -> int:
            if flags & os.O_CREAT and not os.path.exists(path) and self.holds(path):
                self.spend(path)
            return function(path, flags, *others, **options)

        return creating


@contextmanager
def small_file_system(folder: Path, pages: int) -> Iterator[Callable[[int | None], None]]:
    """A tmpfs at ``folder``; call what it yields with the number of pages that shall be free, or
    None for all. Raises PermissionError where this process may not mount.
    """
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={pages * PAGE}", "none", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        raise PermissionError("no file system can be mounted here")
    filler = folder / ".filler"

    def leave(free: int | None) -> None:
        filler.unlink(missing_ok=True)
        if free is None:
            return
        with open(filler, "wb") as stream:
            there = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize // PAGE
            if there > free:
                os.posix_fallocate(stream.fileno(), 0, (there - free) * PAGE)

    try:
        yield leave
    finally:
        subprocess.run(["umount", str(folder)], check=True)
