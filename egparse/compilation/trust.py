"""Whose kernels are read: object code is run, so nobody but this user and root may have written it.

The kernels of the package are trusted as its Python files beside them, which nobody checks either:
an installation may belong to anyone, and to a group. Elsewhere, a folder and a file in it must
belong to this user or to root, and neither group nor others may write to them. So root, or a build
as root, can compile for all users of a machine or an image.
"""

from __future__ import annotations

import os
import stat
import warnings
from contextlib import suppress
from pathlib import Path

from egparse.storage.regular_files import open_regular

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_refused: set[Path] = set()


class KernelsWarning(UserWarning):
    """Kernels that are there were not read, because others may have written them."""


def content_of(path: Path) -> bytes | None:
    """The content of a regular file; None if there is none, such as for a named pipe, which would
    be waited for.
    """
    content, _ = _read(path)
    return content


def trusted_content_of(path: Path) -> bytes | None:
    """The content of a regular file that only this user or root can have written, in a folder of
    which the same holds; None if there is none. Warns, once for each folder, where it is not read.
    """
    with suppress(OSError):
        fault = fault_of(os.stat(path.parent))
        if fault:
            _refuse(path.parent, path.parent, fault)
            return None
    content, status = _read(path)
    if content is not None and status is not None and (fault := fault_of(status)):
        _refuse(path.parent, path, fault)
        return None
    return content


def fault_of(status: os.stat_result) -> str:
    """Why a file or folder is not trusted; empty if it is."""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to user {status.st_uid}, neither this one nor root"
    if status.st_mode & _OTHERS_WRITE:
        writers = "all" if status.st_mode & stat.S_IWOTH else "its group"
        return f"can be written by {writers}"
    return ""


def _read(path: Path) -> tuple[bytes | None, os.stat_result | None]:
    """Content and status of a regular file; the status is that of what was opened."""
    try:
        with open(open_regular(path), "rb") as file:
            return file.read(), os.fstat(file.fileno())
    except OSError:
        return None, None


def _refuse(folder: Path, path: Path, fault: str) -> None:
    if folder not in _refused:
        _refused.add(folder)
        warnings.warn(
            f"compiled kernels in {folder} are not read: {path} {fault}",
            KernelsWarning,
            stacklevel=2,
        )
