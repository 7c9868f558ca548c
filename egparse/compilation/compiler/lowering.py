"""From kernels to LLVM's intermediate representation (IR), by numba.

numba is used as a front end only: it infers types and lowers each kernel to IR once. What it would
do next, to optimise and compile each kernel together with all kernels that it calls, and then each
of these alone, is left out: ``machine_code`` does that once, for all kernels of a program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from numba.core import codegen, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.np import numpy_support

from egparse.compilation.compiler.memory import RUNTIME
from egparse.compilation.kernel import Kernel
from egparse.compilation.signatures import ArgumentType, ArrayType, TupleType
from egparse.compilation.variants import find_class

SAFE_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}
"""The fast-math flags of LLVM that respect ``nan`` and ``inf``: forbidden parts score ``-inf``."""

_SCALARS = {
    "int": types.int64,
    "uint": types.uint64,
    "float": types.float64,
    "bool": types.boolean,
    "none": types.none,
}


@functools.cache
def _dispatcher_of(kernel: Kernel, is_called_from_python: bool = False) -> Any:
    """numba's object for a kernel."""
    return numba.njit(
        nogil=True,
        error_model="numpy",
        # explicit even where it is off: otherwise a kernel inherits the option from the caller
        # that happens to compile it first
        fastmath=SAFE_FASTMATH if kernel.fast else False,
        inline="always" if kernel.inline else "never",
        no_cpython_wrapper=not is_called_from_python,
        no_cfunc_wrapper=True,
    )(kernel.py_func)


def just_in_time(kernel: Kernel) -> Callable[..., Any]:
    """The kernel as numba compiles, links and calls it by itself."""
    function: Callable[..., Any] = _dispatcher_of(kernel, is_called_from_python=True)
    return function


def numba_function(kernel: Kernel) -> types.Type:
    """numba's type of a kernel, by which other kernels call it."""
    return types.Dispatcher(_dispatcher_of(kernel))


def numba_type(type_: ArgumentType) -> types.Type:
    """numba's type for the type of an argument."""
    if isinstance(type_, ArrayType):
        element = numpy_support.from_dtype(np.dtype(type_.element))
        return types.Array(element, type_.axes, "C" if type_.contiguous else "A")
    if isinstance(type_, TupleType):
        items = [numba_type(item) for item in type_.items]
        if not type_.class_name:
            return types.BaseTuple.from_types(items)
        return types.BaseTuple.from_types(items, find_class(type_.class_name))
    return _SCALARS[type_]


class _UncompiledLibrary(codegen.JITCodeLibrary):
    """A library of numba that holds the IR of one function, and is never compiled."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def _get_module_for_linking(self) -> Any:
        """The function with all that it calls, for other users of numba in this process: numba
        shares its functions, such as ``np.median``, among all that call them.
        """
        whole = super()._get_module_for_linking().clone()
        for library in _libraries_from(self):
            if library is not self:
                part = super(codegen.JITCodeLibrary, library)._get_module_for_linking()
                whole.link_in(part, preserve=True)
        return whole

    def get_pointer_to_function(self, name: str) -> int:
        return 0


@contextmanager
def _front_end_only() -> Iterator[None]:
    """Keep numba from compiling what it lowers."""
    context = cpu_target.target_context
    generator = context.codegen()
    generator._library_class = _UncompiledLibrary
    # numba tells functions apart by their builtin function objects: here those of as many lists
    context.get_executable = lambda library, fndesc, env: [].append
    try:
        yield
    finally:
        del generator._library_class, context.get_executable


class LoweredKernel:
    """A kernel lowered for some types of arguments: the name of its function in the IR, and the
    libraries that hold it and what it calls.
    """

    def __init__(self, result: Any) -> None:
        self.result = result
        self.name: str = result.fndesc.llvm_func_name
        self.arguments = tuple(result.signature.args)
        self.returned = result.signature.return_type


def lower(kernel: Kernel, argument_types: tuple[ArgumentType, ...]) -> LoweredKernel:
    """Infer types and lower a kernel, with all that it calls."""
    signature = tuple(numba_type(type_) for type_ in argument_types)
    dispatcher = _dispatcher_of(kernel)
    with global_compiler_lock, _front_end_only():
        dispatcher.compile(signature)
    return LoweredKernel(dispatcher.overloads[signature])


def link(lowered: LoweredKernel, wrapper: str) -> llvm.ModuleRef:
    """One module of a kernel, all that it calls, and its wrapper (as IR)."""
    empty = cpu_target.target_context.codegen()._create_empty_module("egparse")
    program = llvm.parse_assembly(str(empty))
    defined: set[str] = set()
    for library in _libraries_from(lowered.result.library):
        program.link_in(_part_of(library, defined), preserve=True)
    for text in (wrapper, RUNTIME):
        program.link_in(llvm.parse_assembly(text))
    return program


def _part_of(library: Any, defined: set[str]) -> Any:
    """The module of a library, without a function that is ``defined`` already; adds its functions.

    Several libraries may define the same function, to format an error. Libraries that others have
    had compiled in this process define functions that are left out unless they are known to be
    called, and callers may come later.
    """
    is_uncompiled = isinstance(library, _UncompiledLibrary)
    part = library._final_module if is_uncompiled else library._get_module_for_linking()
    names = {function.name for function in part.functions if not function.is_declaration}
    if not is_uncompiled or names & defined:
        part = part.clone()
        for name in names:
            is_again = name in defined
            linkage = llvm.Linkage.internal if is_again else llvm.Linkage.external
            part.get_function(name).linkage = linkage
    defined |= names
    return part


def _libraries_from(library: Any) -> list[Any]:
    """A library of numba and those of the functions that it calls, without numba's runtime."""
    seen: dict[int, Any] = {}
    waiting = [library]
    while waiting:
        library = waiting.pop()
        if library is not rtsys.library and id(library) not in seen:
            seen[id(library)] = library
            waiting += library._linking_libraries
    return list(seen.values())
