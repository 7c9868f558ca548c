"""Compiled kernels as functions of this process: object code is linked by llvmlite, which needs no
compiler, and called as builtin functions.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any

from llvmlite import binding as llvm

from egparse.compilation import interpreter

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
def _engine() -> llvm.ExecutionEngine:
    """The linker of this process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        reloc="pic", codemodel="default", jit=True
    )
    llvm.add_symbol(interpreter.INTERPRETER, ctypes.addressof(interpreter.table()))
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def load_object(code: bytes) -> None:
    """Link object code into this process."""
    with _lock:
        engine = _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
    _kept.append(code)


def function(symbol: str, classes: list[type]) -> Callable[..., Any]:
    """The builtin function of a symbol of linked object code, which makes NamedTuples of
    ``classes``.
    """
    engine = _engine()
    table = engine.get_global_value_address(symbol + ".classes")
    for i, class_ in enumerate(classes):
        ctypes.c_void_p.from_address(table + 8 * i).value = id(class_)
    definition = _MethodDefinition(
        symbol.encode(), engine.get_function_address(symbol), _FASTCALL, None
    )
    new_function = ctypes.pythonapi.PyCFunction_NewEx
    new_function.restype = ctypes.py_object
    new_function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    builtin: Callable[..., Any] = new_function(ctypes.addressof(definition), None, None)
    _kept.append((definition, classes))
    return builtin
