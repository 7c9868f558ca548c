"""The code of a kernel for some types of arguments: found among those that were compiled before, or
compiled now.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from egparse.compilation import interpreter, linking, places, processors, stored
from egparse.compilation.signatures import ArgumentType, as_text, from_text, type_of

if TYPE_CHECKING:
    from egparse.compilation.kernel import Kernel

JUST_IN_TIME = any(
    os.environ.get(name, "0") not in ("", "0") for name in ("EGPARSE_JIT", "NUMBA_BOUNDSCHECK")
)
"""Whether numba compiles, links and calls all kernels itself, in each process anew: the way for
interpreters that compiled kernels do not know, for checks of indices, and to check the other way.
"""

_lock = threading.RLock()

listeners: list[Callable[[str], None]] = []
"""Called with the name of each kernel that is about to be compiled."""

requested: list[Callable[[str, str], None]] = []
"""Called with each kernel and types of arguments that are used for the first time."""


def variant_for(kernel: Kernel, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function for the types of these arguments.

    Raises:
        UnsupportedArgument: an argument that no kernel takes.
    """
    types = tuple([type_of(value) for value in arguments])
    text = as_text(types)
    with _lock:
        if text not in kernel.variants:
            kernel.variants[text] = _new_variant(kernel, types, text)
        return kernel.variants[text]


def _new_variant(kernel: Kernel, types: tuple[ArgumentType, ...], text: str) -> Callable[..., Any]:
    """The function for types of arguments that are new in this process."""
    name = kernel.full_name
    for listen in requested:
        listen(name, text)
    if JUST_IN_TIME or not interpreter.is_known():
        return _just_in_time(kernel)
    compiled = find(name, text, processors.levels())
    try:
        return _link(compiled or compile_now(kernel, types)).function
    except linking.MissingFunction:
        return _just_in_time(kernel)


def _just_in_time(kernel: Kernel) -> Callable[..., Any]:
    """The kernel as numba compiles and calls it, without anything of this package."""
    from egparse.compilation.compiler.lowering import just_in_time

    _announce(kernel.full_name)
    return just_in_time(kernel)


_linked: dict[tuple[Kernel, str, str], linking.Linked] = {}
"""Separate kernels in this process that others call, by name with types and by compiler."""


def _link(compiled: stored.CompiledKernel) -> linking.Linked:
    """A compiled kernel in this process, with the separate kernels that it calls."""
    classes = [find_class(name) for name in compiled.classes]
    needs = [_address_of(need, compiled.compiler) for need in compiled.needs]
    return linking.linked(compiled, classes, needs)


def _address_of(line: str, compiler: str) -> int:
    """The address of a separate kernel, named with the types of its arguments."""
    kernel, types = kernel_of(line)
    key = (kernel, line, compiler)
    if key not in _linked:
        compiled = find(*split(line), processors.levels(), compiler)
        if compiled is None:  # the compiler at hand, or the kernel that needs it would not be here
            compiled = compile_now(kernel, types)
        _linked[key] = _link(compiled)
    return _linked[key].address


def find(
    kernel: str, types: str, levels: Sequence[str], compiler: str | None = None
) -> stored.CompiledKernel | None:
    """A compiled kernel for one of the ``levels`` of processors, the first that is there with all
    that it needs; made by a version of the ``compiler``, or by any.
    """
    for level in levels:
        name = stored.KernelName(kernel, types, level)
        for is_shipped, folder in ((True, places.SHIPPED), (False, places.user_folder())):
            found = stored.read(folder, name, is_shipped=is_shipped)
            if found is None or compiler not in (None, found.compiler):
                continue
            if all(find(*split(need), levels, found.compiler) for need in found.needs):
                return found
    return None


def split(line: str) -> tuple[str, str]:
    """The name of the kernel and the types of its arguments in a line that names both."""
    kernel, bracket, types = line.partition("(")
    return kernel, bracket + types


def kernel_of(line: str) -> tuple[Kernel, tuple[ArgumentType, ...]]:
    """The kernel that a line names, and the types of its arguments."""
    full_name, types = split(line)
    module, _, name = full_name.rpartition(".")
    kernel = getattr(importlib.import_module(module), name)
    if not hasattr(kernel, "py_func"):
        raise TypeError(f"expected a kernel, got {full_name}")
    return kernel, from_text(types)


def compile_now(kernel: Kernel, types: tuple[ArgumentType, ...]) -> stored.CompiledKernel:
    """Compile a kernel for this processor, and keep it for the next process if that is possible."""
    from egparse.compilation.compiler.ahead import compile_kernel

    _announce(kernel.full_name)
    [compiled] = compile_kernel(kernel, types, processors.levels()[:1])
    if not all(compiled.sources.values()):  # it would fit sources that it was not made from
        return compiled
    with suppress(OSError):  # a disk that is full or cannot be written to
        folder = places.claim_user_folder()
        name = stored.KernelName(kernel.full_name, as_text(types), compiled.level)
        stored.write(folder, name, compiled)
    return compiled


def _announce(kernel: str) -> None:
    for listen in listeners:
        listen(kernel)


def find_class(name: str) -> type:
    """A class by its module and name."""
    module, _, qualname = name.rpartition(".")
    found = getattr(importlib.import_module(module), qualname)
    assert isinstance(found, type)
    return found
