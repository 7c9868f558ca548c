"""Compile many kernels side by side: when a wheel is built, and for ``egparse warm``.

    python -m egparse.compilation.compiler.build FOLDER here|all

compiles the kernels of everyday use, for this processor or for all levels of its family.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from egparse.compilation import stored
from egparse.compilation.compiler.ahead import known_variants, program_of
from egparse.compilation.compiler.machine_code import compile_into
from egparse.compilation.variants import kernel_of
from egparse.storage.collector import collector_paused


def compile_all(
    folder: Path, lines: Sequence[str], levels: Sequence[str], jobs: int | None = None
) -> Iterator[str]:
    """Compile kernels, each named with the types of its arguments, and those that they need, into a
    folder; yields each name when it is there.

    Kernels of one room call the same others, which one process then lowers once. So this process
    lowers those of the room that has most, which ``jobs`` others (by default, one for each core)
    optimise and compile meanwhile; each of the other rooms is left to one of these.

    Raises:
        OSError: a file cannot be written.
    """
    rooms: dict[str, list[str]] = defaultdict(list)
    for line in sorted(lines, key=len, reverse=True):
        rooms[line.split(".")[1]].append(line)
    largest = max(rooms.values(), key=lambda room: sum(map(len, room)), default=[])
    waiting, known = deque(largest), set(lines)
    running: dict[Future[list[str]], list[str]] = {}
    # nearly all that numba's front end makes lives on: looking for garbage is a fifth of its time
    with _pool(jobs or _n_cores()) as pool, collector_paused():
        for room in rooms.values():
            if room is not largest:
                running[pool.submit(_compile_room, folder, room, levels)] = room
        while waiting or running:
            if waiting:
                line = waiting.popleft()
                program = program_of(*kernel_of(line))
                done_now = pool.submit(compile_into, folder, program, levels)
                running[done_now] = [line]
                waiting += [need for need in program.needs if need not in known]
                known.update(program.needs)
            done, _ = wait(running, timeout=0 if waiting else None, return_when=FIRST_COMPLETED)
            for each in done:
                waiting += [need for need in each.result() if need not in known]
                known.update(each.result())
                yield from running.pop(each)


def _pool(jobs: int) -> ProcessPoolExecutor:
    # a forked child of a process with threads may hang
    return ProcessPoolExecutor(jobs, get_context("spawn"), _end_with_parent)


def _end_with_parent() -> None:
    """Have this process end when the one that started it has been killed: the pool's own pipes do
    not tell, as each worker holds both ends of them.
    """
    parent = parent_process()
    assert parent is not None
    gc.disable()

    def wait_for_end() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait_for_end, daemon=True).start()


def _compile_room(folder: Path, lines: Sequence[str], levels: Sequence[str]) -> list[str]:
    """Lower and compile kernels in this process; returns those that they need."""
    needs: list[str] = []
    for line in lines:
        program = program_of(*kernel_of(line))
        needs += compile_into(folder, program, levels)
    return needs


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def main(arguments: Sequence[str]) -> None:
    """Compile into the folder that the first argument names."""
    folder, extent = arguments
    levels = stored.levels_of_family() if extent == "all" else stored.levels()[:1]
    for _ in compile_all(Path(folder), known_variants(), levels):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
