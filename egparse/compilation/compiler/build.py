"""Compile many kernels side by side: when a wheel is built, and for ``egparse warm``.

    python -m egparse.compilation.compiler.build FOLDER [KERNEL(TYPES) ...]

compiles the kernels of everyday use, or those named, for all levels of this family of processors.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from egparse.compilation import processors
from egparse.compilation.compiler.ahead import compile_to, known_variants


def compile_all(
    folder: Path, lines: Sequence[str], levels: Sequence[str], jobs: int | None = None
) -> Iterator[str]:
    """Compile kernels, named as ``compile_to`` takes them, into a folder; yields each name when it
    is there.

    ``jobs`` is the number of processes; by default, one for each core.
    """
    # Kernels with long lists of arguments contain most code: they come first, so that no process
    # is left with one at the end.
    ordered = sorted(lines, key=len, reverse=True)
    n_jobs = min(jobs or _n_cores(), max(1, len(ordered)))
    # a forked child of a process with threads may hang
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(compile_to, folder, line, levels): line for line in ordered}
        for done in as_completed(waiting):
            done.result()
            yield waiting[done]


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def main(arguments: Sequence[str]) -> None:
    """Compile into the folder that the first argument names."""
    folder, *lines = arguments
    for _ in compile_all(Path(folder), lines or known_variants(), processors.levels_of_family()):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
