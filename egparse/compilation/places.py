"""Where compiled kernels are kept: those that come with the package, and those of this user."""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from egparse.compilation.trust import content_of, fault_of

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
