"""How kernels are compiled: one guarded ``njit`` for the whole package, and where the compiled code is cached.

numba refuses ``cache=True`` at import time where it finds no place to write (a read-only installation without a home);
then we compile without a cache rather than fail. A user who sets ``NUMBA_CACHE_DIR`` keeps it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

SAFE_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}
"""Floating-point freedoms that keep ``nan`` and ``inf`` meaningful: forbidden parts score ``-inf``."""


def _package_is_writable() -> bool:
    return os.access(Path(__file__).parent, os.W_OK)


if not os.environ.get("NUMBA_CACHE_DIR") and not _package_is_writable():
    import platformdirs

    numba.config.CACHE_DIR = str(platformdirs.user_cache_path("egparse") / "kernels")  # type: ignore[attr-defined]


@overload
def njit(function: Function) -> Function:  # noqa: D418
    """As a plain decorator."""


@overload
def njit(*, fast: bool = ..., inline: bool = ...) -> Callable[[Function], Function]:  # noqa: D418
    """As a decorator with options."""


def njit(function: Function | None = None, *, fast: bool = False, inline: bool = False) -> Any:
    """Compile ``function`` without the interpreter lock and with an on-disk cache where one can be had.

    ``fast`` allows ``SAFE_FASTMATH`` (reassociation: sums vectorise). ``inline`` asks LLVM's caller to inline at the
    numba level, for small helpers of hot loops.
    """

    def compile_(target: Function) -> Function:
        # said even where it is off: numba lets a kernel without the option inherit it from whichever caller compiles it first
        fastmath: set[str] | bool = SAFE_FASTMATH if fast else False
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
        if inline:
            options["inline"] = "always"
        try:
            return cast(Function, numba.njit(cache=True, **options)(target))
        except RuntimeError:  # numba: "cannot cache function ...: no locator available"
            return cast(Function, numba.njit(**options)(target))

    return compile_ if function is None else compile_(function)
