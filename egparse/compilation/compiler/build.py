"""Kernels compiled for types of arguments that are known by name: when a kernel is first called,
when a wheel is built, and for ``egparse warm``.

    python -m egparse.compilation.compiler.build FOLDER here|all

compiles the kernels of everyday use, for this processor or for all levels of its family.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from egparse.compilation import interpreter, stored
from egparse.compilation.compiler import lowering, machine_code, wrapper
from egparse.compilation.kernel import Kernel
from egparse.compilation.signatures import ArgumentType, TupleType, as_text, kernel_of
from egparse.storage.collector import collector_paused

VARIANTS = Path(__file__).with_name("variants.txt")
"""The kernels and types that the package is built with, one a line."""

_PACKAGE = Path(__file__).parents[2]


def known_variants() -> list[str]:
    """The lines of ``VARIANTS``."""
    return VARIANTS.read_text(encoding="utf-8").splitlines()


def compile_kernel(
    kernel: Kernel, types: tuple[ArgumentType, ...], levels: Sequence[str]
) -> list[stored.CompiledKernel]:
    """The code of a kernel for some types of arguments, for each of the levels of processors."""
    program = program_of(kernel, types)
    return [machine_code.compiled(program, level) for level in levels]


def program_of(kernel: Kernel, types: tuple[ArgumentType, ...]) -> machine_code.Program:
    """A kernel for some types of arguments as a program that is still to be optimised."""
    text = as_text(types)
    symbol = "egparse_" + stored.KernelName(kernel.full_name, text, "").digest
    with collector_paused():  # nearly all that numba makes lives on: a fifth of the time
        lowered = lowering.lower(kernel, types)
    needs = lowering.needs_of(lowered)
    written = wrapper.Wrapper(lowered, symbol)
    texts = [written.text(), lowering.stubs_of(needs, symbol + interpreter.NEEDS)]
    exported = [symbol, symbol + interpreter.CLASSES, symbol + interpreter.NEEDS]
    if kernel.separate:
        address = f'@{symbol}{interpreter.NATIVE} = global ptr @"{lowered.name}"'
        texts.append(f"{lowered.declaration}\n{address}")
        exported.append(symbol + interpreter.NATIVE)
    return machine_code.Program(
        kernel.full_name,
        text,
        symbol,
        exported,
        written.classes,
        sources_of(kernel, types),
        [need.line for need in needs],
        lowering.COMPILER,
        lowering.link(lowered, texts).as_bitcode(),
    )


# --- sources --------------------------------------------------------------------------------------


def sources_of(kernel: Kernel, types: tuple[ArgumentType, ...]) -> dict[str, bytes]:
    """The files of the package that a kernel is made from, with their digests.

    A kernel contains the kernels that it calls, the constants that it names and the layout of the
    classes of its arguments: all of them come from the modules of these and what they import.
    Functions within functions may contain values that are in no file.
    """
    modules = {kernel.__module__, *_modules_of_classes(types)}
    outside = {module for module in modules if module.partition(".")[0] != "egparse"}
    if "<locals>" in kernel.full_name:
        outside.add(kernel.full_name)
    files = {path for module in modules - outside for path in _files_of(module)}
    digests = {path: stored.digest_as_imported(path) for path in sorted(files | _COMPILER)}
    return digests | dict.fromkeys(sorted(outside), b"")


def _modules_of_classes(types: tuple[ArgumentType, ...]) -> Iterator[str]:
    for type_ in types:
        if isinstance(type_, TupleType):
            if type_.class_name:
                yield type_.class_name.rpartition(".")[0]
            yield from _modules_of_classes(type_.items)


_COMPILER = {
    *(f"compilation/{name}.py" for name in ("interpreter", "kernel", "signatures")),
    *(f"compilation/compiler/{path.name}" for path in Path(__file__).parent.glob("*.py")),
}
"""The files that decide what becomes of a kernel; what finds and reads kernels does not."""


@functools.cache
def _files_of(module: str) -> list[str]:
    """The files of the package that a module and what it imports come from, by their paths within
    the package.
    """
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        file = _file_of(waiting.pop())
        if file is not None and file not in seen:
            seen.add(file)
            waiting += _imports_of(_PACKAGE / file)
    return sorted(seen)


def _file_of(module: str) -> str | None:
    """The file of a module of the package, by its path within it; None if there is none."""
    path = Path(*module.split(".")[1:])
    for candidate in (path.with_suffix(".py") if path.name else path, path / "__init__.py"):
        if (_PACKAGE / candidate).is_file():
            return candidate.as_posix()
    return None


def _imports_of(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports when it is imported."""
    waiting: list[ast.AST] = [ast.parse(path.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "egparse":
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (n.name for n in node.names if n.name.split(".")[0] == "egparse")
        elif not isinstance(node, ast.FunctionDef):
            waiting += ast.iter_child_nodes(node)


# --- many at a time -------------------------------------------------------------------------------


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
    with _pool(jobs or _n_cores()) as pool:
        for room in rooms.values():
            if room is not largest:
                running[pool.submit(_compile_room, folder, room, levels)] = room
        while waiting or running:
            if waiting:
                line = waiting.popleft()
                program = program_of(*kernel_of(line))
                done_now = pool.submit(machine_code.compile_into, folder, program, levels)
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

    def wait_for_end() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait_for_end, daemon=True).start()


def _compile_room(folder: Path, lines: Sequence[str], levels: Sequence[str]) -> list[str]:
    """Lower and compile kernels in this process; returns those that they need."""
    programs = (program_of(*kernel_of(line)) for line in lines)
    return [
        need for program in programs for need in machine_code.compile_into(folder, program, levels)
    ]


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
