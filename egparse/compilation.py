"""Compilation of kernels: one ``njit`` for the whole package, with a cache on disk.

numba raises an error for ``cache=True`` at import time if it finds no directory to write to (a
read-only installation without a home directory); kernels are then compiled without a cache. If the
environment sets ``NUMBA_CACHE_DIR``, the cache is there.

Processes that compile at the same time save one after the other: numba reads the index of a kernel,
adds an entry and writes the index again. If two processes did so at once for different signatures,
the compiled code of one could end up under the entry of the other.

Where a kernel cannot be saved, because a disk is full or a quota is used up, the process goes on
with what it has compiled, and the next one compiles it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

SAFE_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}
"""The fast-math flags of LLVM that respect ``nan`` and ``inf``: forbidden parts score ``-inf``."""


def _package_is_writable() -> bool:
    return os.access(Path(__file__).parent, os.W_OK)


if not os.environ.get("NUMBA_CACHE_DIR") and not _package_is_writable():
    import platformdirs

    numba.config.CACHE_DIR = str(platformdirs.user_cache_path("egparse") / "kernels")  # type: ignore[attr-defined]


LOCK = "egparse.lock"
"""The file beside cached kernels that is locked while one is saved."""

LOCK_SECONDS = 60.0
"""A process that has waited so long for the lock saves without it."""


def _save_in_turn(compiled: Any) -> None:
    """Let one process at a time save a kernel to the cache.

    This replaces a method of numba's private cache object; a version of numba without that method
    is left as it is.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    save, folder = getattr(file, "save", None), getattr(file, "_cache_path", None)
    if file is None or save is None or folder is None:
        return

    def locked(key: Any, data: Any) -> None:
        from filelock import FileLock, Timeout

        lock = FileLock(os.path.join(folder, LOCK), timeout=LOCK_SECONDS)
        try:
            lock.acquire()
        except (OSError, Timeout):  # a file system without locks
            save(key, data)
            return
        try:
            save(key, data)
        finally:
            lock.release()

    file.save = locked


def _go_on_unsaved(compiled: Any) -> None:
    """Let a process use a kernel that it cannot save; numba would raise an OSError in the caller.

    This replaces a method of numba's private cache object; a version of numba without that method
    is left as it is.
    """
    cache = getattr(compiled, "_cache", None)
    save = getattr(cache, "save_overload", None)
    if cache is None or save is None:
        return

    def attempted(signature: Any, data: Any) -> None:
        with suppress(OSError):
            save(signature, data)

    cache.save_overload = attempted


@overload
def njit(function: Function) -> Function:  # noqa: D418
    """As a plain decorator."""


@overload
def njit(*, fast: bool = ..., inline: bool = ...) -> Callable[[Function], Function]:  # noqa: D418
    """As a decorator with options."""


def njit(function: Function | None = None, *, fast: bool = False, inline: bool = False) -> Any:
    """Compile ``function`` to run without the interpreter lock, with a cache on disk if possible.

    ``fast`` permits ``SAFE_FASTMATH`` (reassociation, so that sums are vectorised). ``inline`` lets
    numba inline the function into its callers, for small functions in hot loops.
    """

    def compile_(target: Function) -> Function:
        # explicit even where it is off: otherwise a kernel inherits the option from the caller that
        # happens to compile it first
        fastmath: set[str] | bool = SAFE_FASTMATH if fast else False
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
        if inline:
            options["inline"] = "always"
        try:
            compiled = numba.njit(cache=True, **options)(target)
            _save_in_turn(compiled)
            _go_on_unsaved(compiled)
            return cast(Function, compiled)
        except RuntimeError:  # numba: "cannot cache function ...: no locator available"
            return cast(Function, numba.njit(**options)(target))

    return compile_ if function is None else compile_(function)
