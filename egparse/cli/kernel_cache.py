"""Whether the kernels have been compiled on this machine: the first run has to, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from egparse.cli.notices import Say, say

NOTICE = "Compiling kernels for this machine: once, up to a minute."


def announce_compilation(say: Say = say) -> None:
    """Write a notice if kernels are about to be compiled."""
    if not kernels_are_compiled():
        say(NOTICE)


def kernels_are_compiled() -> bool:
    """Whether numba's cache has kernels of this package, or numba will not compile anything."""
    import numba

    import egparse.compilation  # decides where the cache is

    settings: Any = numba.config  # declares nothing to a type checker
    if settings.DISABLE_JIT:
        return True
    package = Path(egparse.compilation.__file__).parent
    return cache_has_kernels(package, Path(settings.CACHE_DIR) if settings.CACHE_DIR else None)


def cache_has_kernels(package: Path, cache: Path | None) -> bool:
    """Whether numba has written an index of compiled kernels: into ``__pycache__`` beside the
    modules, or with a ``cache`` folder into ``FOLDER_HASH`` there, FOLDER being that of the module.
    """
    if cache is None:
        return any(package.rglob("__pycache__/*.nbi"))
    folders = {module.parent.name for module in package.rglob("*.py")} - {package.name}
    return any(any(cache.glob(f"{folder}_*/*.nbi")) for folder in folders)
