"""Where compiled kernels are kept: those that come with the package, and those of this user."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]

SHIPPED = _PACKAGE / "compiled"
"""The kernels that were compiled when the package was built."""

FOLDER_VARIABLE = "EGPARSE_KERNELS"
"""The environment variable that names another folder for the kernels of this user."""

_OWNER = "installation.txt"


@functools.cache
def user_folder() -> Path:
    """The folder for what this installation compiles: in ``EGPARSE_KERNELS`` or the user's cache.

    Each installation has its own folder in there, so that two versions of a kernel do not replace
    each other all the time.
    """
    mine = hashlib.blake2b(os.fsencode(_PACKAGE), digest_size=8).hexdigest()
    return all_user_folders() / mine


def all_user_folders() -> Path:
    """The folder that holds the kernels of all installations of this user."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    import platformdirs

    return platformdirs.user_cache_path("egparse", appauthor=False) / "kernels"


@functools.cache
def claim_user_folder() -> None:
    """Write down whose folder it is, and remove those of installations that are gone.

    Raises:
        OSError: the folder cannot be made.
    """
    folder = user_folder()
    folder.mkdir(parents=True, exist_ok=True)
    owner = folder / _OWNER
    if not owner.exists():
        owner.write_text(str(_PACKAGE), encoding="utf-8")
    with suppress(OSError):
        for other in folder.parent.iterdir():
            with suppress(OSError, ValueError):
                if not Path((other / _OWNER).read_text(encoding="utf-8")).exists():
                    shutil.rmtree(other)
