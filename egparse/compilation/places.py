"""Where compiled kernels are kept: those that come with the package, and those of this user.

Object code is run, so nobody but this user and root may have written it. The kernels of the package
are trusted as its Python files beside them, which nobody checks either: an installation may belong
to anyone, and to a group. Elsewhere, a folder and a file in it must belong to this user or to root,
and neither group nor others may write to them. So root, or a build as root, can compile for all
users of a machine or an image.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import shutil
import stat
import warnings
from contextlib import suppress
from pathlib import Path

from egparse.storage.regular_files import open_regular

_PACKAGE = Path(__file__).parents[1]

SHIPPED = _PACKAGE / "compiled"
"""The kernels that were compiled when the package was built."""

FOLDER_VARIABLE = "EGPARSE_KERNELS"
"""The environment variable that names another folder for the kernels of this user."""

_NOWHERE = Path(os.devnull)
"""No folder: nothing is found in it, and nothing can be made."""

_OWNER = "installation.txt"


@functools.cache
def user_folder() -> Path:
    """The folder for what this installation compiles: in ``EGPARSE_KERNELS`` or the user's cache.

    Each installation has its own folder in there, so that two versions of a kernel do not replace
    each other all the time.
    """
    return all_user_folders() / _folder_of(str(_PACKAGE))


def _folder_of(installation: str) -> str:
    """The name of the folder of an installation."""
    return hashlib.blake2b(os.fsencode(installation), digest_size=8).hexdigest()


def all_user_folders() -> Path:
    """The folder that holds the kernels of all installations of this user."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    import platformdirs

    try:
        cache = platformdirs.user_cache_path("egparse", appauthor=False)
    except RuntimeError:
        cache = Path()
    # A user without a home; older versions make that a folder "~" in the working directory.
    return (cache if cache.is_absolute() else _NOWHERE) / "kernels"


@functools.cache
def claim_user_folder() -> Path:
    """The folder for what this installation compiles, made if it is not there.

    Writes down whose folder it is, and removes those of installations that are gone. In the user's
    cache it is for this user alone; a folder that is named may be for others to read.

    Raises:
        OSError: the folder cannot be made, or kernels in it would not be trusted.
    """
    folder = user_folder()
    mode = 0o755 if os.environ.get(FOLDER_VARIABLE) else 0o700
    folder.parent.mkdir(parents=True, exist_ok=True, mode=mode)
    folder.mkdir(exist_ok=True, mode=mode)
    status = folder.stat()
    if status.st_uid == os.geteuid():
        # an older version left it to the mask, which lets a group write
        folder.chmod(stat.S_IMODE(status.st_mode) & mode)
    if fault := fault_of(folder.stat()):
        raise OSError(errno.EPERM, f"the folder {fault}", str(folder))
    owner = folder / _OWNER
    if not owner.exists():
        owner.write_bytes(os.fsencode(_PACKAGE))
    with suppress(OSError):
        for other in folder.parent.iterdir():
            with suppress(OSError):
                installation = os.fsdecode(content_of(other / _OWNER) or b"")
                # the name shows that it is not another folder which has such a file
                if other.name == _folder_of(installation) and not Path(installation).exists():
                    shutil.rmtree(other)
    return folder


# --- trust ----------------------------------------------------------------------------------------

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
