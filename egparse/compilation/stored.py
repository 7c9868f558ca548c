"""Compiled kernels as files: one file for one kernel and types of arguments, with a check that it
fits; and where they are kept: those that come with the package, and those of this user.

A file is used only if it was compiled from the sources that are there now, for the operating system
and processor at hand, and is whole; any other is as if it were not there.

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
import platform
import shutil
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgpack

from egparse.compilation.kernel import IMPORTED_AT, Kernel
from egparse.storage.files import open_regular, temporary_file

FORMAT = 3
"""The version of these files and of how compiled kernels are called."""

SUFFIX = ".kernel"

_PACKAGE = Path(__file__).parents[1]
_CHECK_BYTES = 16


class CompiledKernel(NamedTuple):
    """The object code of one kernel for some types of arguments.

    ``symbol`` is the function to call in it; ``classes`` are the NamedTuples that it makes;
    ``sources`` are the files of the package that it was made from, with their digests; an empty one
    stands for code that no file of the package accounts for. ``needs`` are the separate kernels
    that it calls, by name and types of arguments; they are called as this version of the
    ``compiler`` calls functions, which must be theirs too. ``calls`` are the functions of the
    interpreter and of the C library in it.
    """

    kernel: str
    level: str
    symbol: str
    classes: list[str]
    sources: dict[str, bytes]
    needs: list[str]
    compiler: str
    calls: list[str]
    code: bytes


class KernelName(NamedTuple):
    """What a compiled kernel is compiled for: module and name of the function, types of arguments,
    level of the processor.
    """

    kernel: str
    types: str
    level: str

    @property
    def digest(self) -> str:
        """The name as a short hexadecimal number."""
        text = "\n".join((str(FORMAT), *self, system()))
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def system() -> str:
    """Operating system and processor family, as ``linux-x86_64``."""
    return f"{sys.platform}-{platform.machine().lower()}"


def read(folder: Path, name: KernelName, *, is_shipped: bool = False) -> CompiledKernel | None:
    """The compiled kernel of a name in a folder, which comes with the package or is checked by
    ``trust``; None if there is none that fits.
    """
    path = folder / (name.digest + SUFFIX)
    data = _read(path)[0] if is_shipped else _trusted_content_of(path)
    if data is None:
        return None
    check, content = data[:_CHECK_BYTES], data[_CHECK_BYTES:]
    if check != _check(name, content):  # a file that was cut, changed or renamed
        return None
    found = CompiledKernel(**msgpack.unpackb(content))
    is_current = all(digest == digest_of(path) != b"" for path, digest in found.sources.items())
    return found if is_current else None


def write(folder: Path, name: KernelName, compiled: CompiledKernel) -> None:
    """Write a compiled kernel; the file appears whole or not at all. Raises OSError: the file
    cannot be written.
    """
    content = msgpack.packb(compiled._asdict())
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)  # the mask may let a group write
    with temporary_file(folder) as (temporary, descriptor):
        with open(descriptor, "wb", closefd=False) as file:
            file.write(_check(name, content) + content)
        os.fchmod(descriptor, 0o644)
        # a link in its place is not followed, as write_atomically would
        temporary.replace(folder / (name.digest + SUFFIX))


def _check(name: KernelName, content: bytes) -> bytes:
    return hashlib.blake2b(name.digest.encode() + content, digest_size=_CHECK_BYTES).digest()


def digest_of(path: str) -> bytes:
    """The digest of a file of the package, by its path within it; empty if it cannot be read."""
    return _digest_of(path, Kernel.redefined)


@functools.cache
def _digest_of(path: str, _redefined: int) -> bytes:
    try:
        return hashlib.blake2b((_PACKAGE / path).read_bytes(), digest_size=8).digest()
    except OSError:
        return b""


def digest_as_imported(path: str) -> bytes:
    """The digest of a file that this process has imported a module from; empty if the file has
    changed since then, so that the module is not what the file says.
    """
    try:
        status = (_PACKAGE / path).stat()
    except OSError:
        return b""
    return digest_of(path) if max(status.st_mtime, status.st_ctime) < IMPORTED_AT else b""


# --- folders --------------------------------------------------------------------------------------

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
    Each installation has its own, so that two versions of a kernel do not replace each other all
    the time.
    """
    return all_user_folders() / _folder_of(str(_PACKAGE))


def _folder_of(installation: str) -> str:
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
    if fault := _fault_of(folder.stat()):
        raise OSError(errno.EPERM, f"the folder {fault}", str(folder))
    owner = folder / _OWNER
    if not owner.exists():
        owner.write_bytes(os.fsencode(_PACKAGE))
    with suppress(OSError):
        for other in folder.parent.iterdir():
            with suppress(OSError):
                installation = os.fsdecode(_read(other / _OWNER)[0] or b"")
                # the name shows that it is not another folder which has such a file
                if other.name == _folder_of(installation) and not Path(installation).exists():
                    shutil.rmtree(other)
    return folder


# --- trust ----------------------------------------------------------------------------------------

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_refused: set[Path] = set()


class KernelsWarning(UserWarning):
    """Kernels that are there were not read, because others may have written them."""


def _trusted_content_of(path: Path) -> bytes | None:
    """The content of a regular file that only this user or root can have written, in a folder of
    which the same holds; None if there is none. Warns, once for each folder, where it is not read.
    """
    with suppress(OSError):
        fault = _fault_of(os.stat(path.parent))
        if fault:
            _refuse(path.parent, path.parent, fault)
            return None
    content, status = _read(path)
    if content is not None and status is not None and (fault := _fault_of(status)):
        _refuse(path.parent, path, fault)
        return None
    return content


def _fault_of(status: os.stat_result) -> str:
    """Why a file or folder is not trusted; empty if it is."""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to user {status.st_uid}, neither this one nor root"
    if status.st_mode & _OTHERS_WRITE:
        writers = "all" if status.st_mode & stat.S_IWOTH else "its group"
        return f"can be written by {writers}"
    return ""


def _read(path: Path) -> tuple[bytes | None, os.stat_result | None]:
    """Content and status of a regular file; None for what is none, such as a named pipe, which
    would be waited for. The status is that of what was opened.
    """
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


# --- processors -----------------------------------------------------------------------------------
# Kernels are compiled for a level of processors instead of for one, so that they can be shared.

X86_64_V3 = (
    "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave",
)  # fmt: skip
"""What a processor of the level x86-64-v3 has, in LLVM's names."""

GENERIC = "generic"
"""The level of processors of which nothing is known but their family."""


def levels_of_family() -> tuple[str, ...]:
    """The levels of this family of processors, the most capable first."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        return "x86-64-v3", "x86-64"
    return (GENERIC,)


@functools.cache
def levels() -> tuple[str, ...]:
    """The levels of this processor, the most capable first."""
    family = levels_of_family()
    if family[0] != "x86-64-v3":
        return family
    from llvmlite import binding as llvm

    features = llvm.get_host_cpu_features()
    return family if all(features.get(name) for name in X86_64_V3) else family[1:]


def llvm_processor(level: str) -> str:
    """LLVM's name of a level."""
    return "" if level == GENERIC else level
