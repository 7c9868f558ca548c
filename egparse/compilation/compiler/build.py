"""Compile many kernels side by side: when a wheel is built, and for ``egparse warm``.

    python -m egparse.compilation.compiler.build FOLDER here|all

compiles the kernels of everyday use, for this processor or for all levels of its family.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from egparse.compilation import processors
from egparse.compilation.compiler.ahead import known_variants, program_of
from egparse.compilation.compiler.machine_code import compile_into
from egparse.compilation.variants import kernel_of


def compile_all(
    folder: Path, lines: Sequence[str], levels: Sequence[str], jobs: int | None = None
) -> Iterator[str]:
    """Compile kernels, each named with the types of its arguments, and those that they need, into a
    folder; yields each name when it is there.

    This process lowers one kernel after the other, because those that many call are then lowered
    once; ``jobs`` others (by default, one for each core) optimise and compile meanwhile.

    Raises:
        OSError: a file cannot be written.
    """
    # Kernels with long lists of arguments contain most code: they come first, so that no process
    # is left with one at the end.
    waiting = deque(sorted(lines, key=len, reverse=True))
    known = set(lines)
    running: dict[Future[None], str] = {}
    # a forked child of a process with threads may hang
    with ProcessPoolExecutor(jobs or _n_cores(), mp_context=get_context("spawn")) as pool:
        while waiting or running:
            if waiting:
                line = waiting.popleft()
                program = program_of(*kernel_of(line))
                for level in levels:
                    running[pool.submit(compile_into, folder, program, level)] = line
                waiting += [need for need in program.needs if need not in known]
                known.update(program.needs)
            done, _ = wait(running, timeout=0 if waiting else None, return_when=FIRST_COMPLETED)
            for each in done:
                each.result()
                yield running.pop(each)


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def main(arguments: Sequence[str]) -> None:
    """Compile into the folder that the first argument names."""
    folder, extent = arguments
    levels = processors.levels_of_family() if extent == "all" else processors.levels()[:1]
    for _ in compile_all(Path(folder), known_variants(), levels):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
