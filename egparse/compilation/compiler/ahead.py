"""Kernels compiled for types of arguments that are known by name, when the package is built or
before it is used.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from egparse.compilation import interpreter, stored
from egparse.compilation.compiler import lowering, machine_code, wrapper
from egparse.compilation.kernel import Kernel
from egparse.compilation.signatures import ArgumentType, TupleType, as_text

_PACKAGE = Path(__file__).parents[2]


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


def known_variants() -> list[str]:
    """The kernels and types that the package is built with, one a line."""
    return (Path(__file__).parent / "variants.txt").read_text(encoding="utf-8").splitlines()


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
    digests = {path: stored.digest_as_imported(path) for path in sorted(files)}
    return digests | dict.fromkeys(sorted(outside), b"")


def _modules_of_classes(types: tuple[ArgumentType, ...]) -> Iterator[str]:
    for type_ in types:
        if isinstance(type_, TupleType):
            if type_.class_name:
                yield type_.class_name.rpartition(".")[0]
            yield from _modules_of_classes(type_.items)


@functools.cache
def _files_of(module: str) -> list[str]:
    """The files of the package that a module and what it imports come from, and the compiler, by
    their paths within the package.
    """
    seen: set[str] = set()
    waiting = [module, __name__]
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
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
