"""Whether the kernels have been compiled on this machine: the first run has to, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NOTICE = "Compiling kernels for this machine: once, up to a minute."

_ROOMS = ("structures", "features", "learners", "tasks")


def kernels_are_compiled() -> bool:
    """Whether numba's cache has kernels of this package, or will not be asked."""
    import numba

    import egparse.compilation  # decides where the cache is

    settings: Any = numba.config  # declares nothing to a type checker
    if settings.DISABLE_JIT:
        return True
    package = Path(egparse.compilation.__file__).parent
    return cache_has_kernels(package, Path(settings.CACHE_DIR) if settings.CACHE_DIR else None)


def cache_has_kernels(package: Path, cache: Path | None) -> bool:
    """Whether there is an index of numba's: beside the modules, or below ``cache`` in folders named
    alike.
    """
    if cache is None:
        return any(package.glob("*/__pycache__/*.nbi"))
    return any(next(cache.glob(f"{room}_*/*.nbi"), None) is not None for room in _ROOMS)
