"""Compiled kernels as files: one file for one kernel and types of arguments, with a check that it
fits.

A file is used only if it was compiled from the sources that are there now, for the operating system
and processor at hand, and is whole; any other is as if it were not there.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgpack

from egparse.compilation.kernel import IMPORTED_AT, Kernel
from egparse.compilation.places import content_of, trusted_content_of

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
    data = content_of(path) if is_shipped else trusted_content_of(path)
    if data is None:
        return None
    check, content = data[:_CHECK_BYTES], data[_CHECK_BYTES:]
    if check != _check(name, content):  # a file that was cut, changed or renamed
        return None
    found = CompiledKernel(**msgpack.unpackb(content))
    is_current = all(digest == digest_of(path) != b"" for path, digest in found.sources.items())
    return found if is_current else None


def write(folder: Path, name: KernelName, compiled: CompiledKernel) -> None:
    """Write a compiled kernel; the file appears whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    content = msgpack.packb(compiled._asdict())
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)  # the mask may let a group write
    descriptor, temporary = tempfile.mkstemp(dir=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(_check(name, content) + content)
        os.chmod(temporary, 0o644)  # so far only this user may read it
        os.replace(temporary, folder / (name.digest + SUFFIX))
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


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
