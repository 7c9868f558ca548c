"""The code of a kernel for some types of arguments: found among those that were compiled before, or
compiled now. Object code is linked by llvmlite, which needs no compiler, and called as builtin
functions.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import binding as llvm

from egparse.compilation import interpreter, stored
from egparse.compilation.signatures import (
    ArgumentType,
    as_text,
    find_class,
    kernel_of,
    split,
    type_of,
)

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
    """The function for the types of these arguments. Raises UnsupportedArgument: an argument that
    no kernel takes.
    """
    types = tuple([type_of(value) for value in arguments])
    text = as_text(types)
    with _lock:
        if text not in kernel.variants:
            kernel.variants[text] = _new_variant(kernel, types, text)
        return kernel.variants[text]


def _new_variant(kernel: Kernel, types: tuple[ArgumentType, ...], text: str) -> Callable[..., Any]:
    name = kernel.full_name
    for listen in requested:
        listen(name, text)
    if JUST_IN_TIME or not interpreter.is_known():
        return _just_in_time(kernel)
    compiled = find(name, text, stored.levels())
    try:
        return _link(compiled or compile_now(kernel, types)).function
    except MissingFunction:
        return _just_in_time(kernel)


def _just_in_time(kernel: Kernel) -> Callable[..., Any]:
    """The kernel as numba compiles and calls it, without anything of this package."""
    from egparse.compilation.compiler.lowering import just_in_time

    _announce(kernel.full_name)
    return just_in_time(kernel)


_linked: dict[tuple[Kernel, str, str], Linked] = {}
"""Separate kernels in this process that others call, by name with types and by compiler."""


def _link(compiled: stored.CompiledKernel) -> Linked:
    """A compiled kernel in this process, with the separate kernels that it calls."""
    classes = [find_class(name) for name in compiled.classes]
    needs = [_address_of(need, compiled.compiler) for need in compiled.needs]
    return linked(compiled, classes, needs)


def _address_of(line: str, compiler: str) -> int:
    kernel, types = kernel_of(line)
    key = (kernel, line, compiler)
    if key not in _linked:
        compiled = find(*split(line), stored.levels(), compiler)
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
        for is_shipped, folder in ((True, stored.SHIPPED), (False, stored.user_folder())):
            found = stored.read(folder, name, is_shipped=is_shipped)
            if found is None or compiler not in (None, found.compiler):
                continue
            if all(find(*split(need), levels, found.compiler) for need in found.needs):
                return found
    return None


def compile_now(kernel: Kernel, types: tuple[ArgumentType, ...]) -> stored.CompiledKernel:
    """Compile a kernel for this processor, and keep it for the next process if that is possible."""
    from egparse.compilation.compiler.build import compile_kernel

    _announce(kernel.full_name)
    [compiled] = compile_kernel(kernel, types, stored.levels()[:1])
    if not all(compiled.sources.values()):  # it would fit sources that it was not made from
        return compiled
    with suppress(OSError):  # a disk that is full or cannot be written to
        folder = stored.claim_user_folder()
        name = stored.KernelName(kernel.full_name, as_text(types), compiled.level)
        stored.write(folder, name, compiled)
    return compiled


def _announce(kernel: str) -> None:
    for listen in listeners:
        listen(kernel)


# --- linking --------------------------------------------------------------------------------------

_linker_lock = threading.Lock()


class _MethodDefinition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_FASTCALL = 0x80
"""``METH_FASTCALL``"""

_kept: list[Any] = []
"""What compiled code refers to, for the life of the process."""


def _machine() -> llvm.TargetMachine:
    """The processor of this process, to LLVM; a linker owns it and frees it at the end."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.add_symbol(interpreter.INTERPRETER, ctypes.addressof(interpreter.table()))
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        reloc="pic", codemodel="default", jit=True
    )


def _new_engine() -> llvm.ExecutionEngine:
    """A linker, with symbols of its own."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    _kept.append(engine)
    return engine


_engines: list[tuple[llvm.ExecutionEngine, set[str]]] = []
"""The linkers of this process, with the symbols of each."""


def _engine_without(symbol: str) -> llvm.ExecutionEngine:
    """A linker that has no such symbol yet: it would go on to find the first of that name.

    One linker is enough, unless a module that defines a kernel is loaded anew.
    """
    for engine, symbols in _engines:
        if symbol not in symbols:
            symbols.add(symbol)
            return engine
    _engines.append((_new_engine(), {symbol}))
    return _engines[-1][0]


class Linked(NamedTuple):
    """A kernel in this process: the builtin function, and the address for other kernels; 0 for
    those that are not separate.
    """

    function: Callable[..., Any]
    address: int


class MissingFunction(Exception):
    """A function that compiled code calls, but this process lacks."""


@functools.cache
def _require(name: str) -> None:
    """Check that there is a function of a name: without it, LLVM would leave an address of zero.
    Raises MissingFunction: there is none.
    """
    if llvm.address_of_symbol(name) is None:
        raise MissingFunction(name)


def linked(compiled: stored.CompiledKernel, classes: list[type], needs: list[int]) -> Linked:
    """A compiled kernel in this process, which makes NamedTuples of ``classes`` and calls separate
    kernels at the addresses ``needs``. Raises MissingFunction: it calls a function that this
    process lacks.
    """
    symbol = compiled.symbol
    with _linker_lock:
        engine = _engine_without(symbol)
        for name in compiled.calls:
            _require(name)
        engine.add_object_file(llvm.ObjectFileRef.from_data(compiled.code))
        engine.finalize_object()
        table = engine.get_global_value_address(symbol + interpreter.CLASSES)
        calls = engine.get_global_value_address(symbol + interpreter.NEEDS)
        native = engine.get_global_value_address(symbol + interpreter.NATIVE)
        address = engine.get_function_address(symbol)
    for i, class_ in enumerate(classes):
        ctypes.c_void_p.from_address(table + 8 * i).value = id(class_)
    for i, called in enumerate(needs):
        ctypes.c_void_p.from_address(calls + 8 * i).value = called
    definition = _MethodDefinition(symbol.encode(), address, _FASTCALL, None)
    new_function = ctypes.pythonapi.PyCFunction_NewEx
    new_function.restype = ctypes.py_object
    new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    # The definition is also what the function is bound to (compiled code ignores that): when an
    # interpreter that ends frees the function, it reads the definition, which must still be there.
    builtin: Callable[..., Any] = new_function(ctypes.addressof(definition), definition, None)
    _kept.append((compiled.code, definition, classes))
    return Linked(builtin, ctypes.c_int64.from_address(native).value if native else 0)
