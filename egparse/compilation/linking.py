"""Compiled kernels as functions of this process: object code is linked by llvmlite, which needs no
compiler, and called as builtin functions.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import binding as llvm

from egparse.compilation import interpreter
from egparse.compilation.stored import CompiledKernel

_lock = threading.Lock()


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


@functools.cache
def _machine() -> llvm.TargetMachine:
    """The processor of this process, to LLVM."""
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


CLASSES, NEEDS, NATIVE = ".classes", ".needs", ".native"
"""What follows the symbol of a kernel in the names of its tables: the classes of NamedTuples, the
addresses of separate kernels that it calls, and its own address for kernels that call it.
"""


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

    Raises:
        MissingFunction: there is none.
    """
    if llvm.address_of_symbol(name) is None:
        raise MissingFunction(name)


def linked(compiled: CompiledKernel, classes: list[type], needs: list[int]) -> Linked:
    """A compiled kernel in this process, which makes NamedTuples of ``classes`` and calls separate
    kernels at the addresses ``needs``.

    Raises:
        MissingFunction: it calls a function that this process lacks.
    """
    symbol = compiled.symbol
    with _lock:
        engine = _engine_without(symbol)
        for name in compiled.calls:
            _require(name)
        engine.add_object_file(llvm.ObjectFileRef.from_data(compiled.code))
        engine.finalize_object()
        table = engine.get_global_value_address(symbol + CLASSES)
        calls = engine.get_global_value_address(symbol + NEEDS)
        native = engine.get_global_value_address(symbol + NATIVE)
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
