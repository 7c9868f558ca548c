"""How kernels are compiled: one guarded ``njit`` for the whole package, and where the compiled code
is cached.

numba refuses ``cache=True`` at import time where it finds no place to write (a read-only
installation without a home); then we compile without a cache rather than fail. A user who sets
``NUMBA_CACHE_DIR`` keeps it.

Processes that compile at the same time take turns at saving: numba reads the index of a kernel and
writes it anew with one entry more, and of two that do so at once with different versions one would
leave its code under the other's entry.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

SAFE_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}
"""Floating-point freedoms that keep ``nan`` and ``inf`` meaningful: forbidden parts score ``-inf``.
"""


def _package_is_writable() -> bool:
    return os.access(Path(__file__).parent, os.W_OK)


if not os.environ.get("NUMBA_CACHE_DIR") and not _package_is_writable():
    import platformdirs

    numba.config.CACHE_DIR = str(platformdirs.user_cache_path("egparse") / "kernels")  # type: ignore[attr-defined]


LOCK = "egparse.lock"
"""The file beside cached kernels that is locked while one is saved."""

LOCK_SECONDS = 60.0
"""A process that has waited so long for others saves all the same."""


def _save_in_turn(compiled: Any) -> None:
    """Let a kernel's cache be saved by one process at a time; where numba's cache is not as it was,
    it stays as it is.
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


@overload
def njit(function: Function) -> Function:  # noqa: D418
    """As a plain decorator."""


@overload
def njit(*, fast: bool = ..., inline: bool = ...) -> Callable[[Function], Function]:  # noqa: D418
    """As a decorator with options."""


def njit(function: Function | None = None, *, fast: bool = False, inline: bool = False) -> Any:
    """Compile ``function`` without the interpreter lock and with an on-disk cache where one can be
    had.

    ``fast`` allows ``SAFE_FASTMATH`` (reassociation: sums vectorise). ``inline`` asks LLVM's caller
    to inline at the numba level, for small helpers of hot loops.
    """

    def compile_(target: Function) -> Function:
        # said even where it is off: numba lets a kernel without the option inherit it from
        # whichever caller compiles it first
        fastmath: set[str] | bool = SAFE_FASTMATH if fast else False
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
        if inline:
            options["inline"] = "always"
        try:
            compiled = numba.njit(cache=True, **options)(target)
            _save_in_turn(compiled)
            return cast(Function, compiled)
        except RuntimeError:  # numba: "cannot cache function ...: no locator available"
            return cast(Function, numba.njit(**options)(target))

    return compile_ if function is None else compile_(function)
