"""From kernels to LLVM's intermediate representation (IR), by numba.

numba is used as a front end only: it infers types and lowers each kernel to IR once. What it would
do next, to optimise and compile each kernel together with all kernels that it calls, and then each
of these alone, is left out: ``machine_code`` does that once, for all kernels of a program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import cgutils, codegen, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.datamodel import models
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.extending import intrinsic
from numba.np import numpy_support

from egparse.compilation.compiler.memory import RUNTIME
from egparse.compilation.interpreter import TYPE_NUMBERS
from egparse.compilation.kernel import Kernel
from egparse.compilation.signatures import (
    ArgumentType,
    ArrayType,
    TupleType,
    as_text,
    find_class,
)
from egparse.storage.collector import collector_paused

COMPILER = f"numba {numba.__version__}"
"""The version of numba, which decides how kernels call each other."""

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


_separate: list[Kernel] = []
"""The separate kernels that others call."""


class _SeparateFunction(types.Dispatcher):
    """numba's type of a separate kernel, which is the same code for all values of an argument:
    numba would compile it once more for each constant that it is called with.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(type_) for name, type_ in kws.items()}
        return super().get_call_type(context, tuple(map(types.unliteral, args)), plain)


models.register_default(_SeparateFunction)(models.OpaqueModel)


def numba_function(kernel: Kernel) -> types.Type:
    """numba's type of a kernel, by which other kernels call it."""
    if not kernel.separate:
        return types.Dispatcher(_dispatcher_of(kernel))
    if kernel not in _separate:
        _separate.append(kernel)
    return _SeparateFunction(_dispatcher_of(kernel))


@intrinsic
def _prefetch(_: Any, array: types.Type, place: types.Type) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        flat = context.make_array(signature.args[0])(context, builder, given[0])
        line = builder.bitcast(builder.gep(flat.data, [given[1]]), cgutils.voidptr_t)
        number = cgutils.int32_t
        function = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [line.type],
            ir.FunctionType(ir.VoidType(), [line.type, number, number, number]),
        )
        # to be read, kept as near as possible, data
        builder.call(function, [line, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, place), generate


def prefetch_type() -> types.Type:
    """numba's type of ``kernel.prefetch``."""
    found: types.Type = cpu_target.typing_context.resolve_value_type(_prefetch)
    return found


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


def argument_type(type_: types.Type) -> ArgumentType | None:
    """The reverse of ``numba_type``; None for types that arguments from Python do not have."""
    if isinstance(type_, types.Array):
        element = str(type_.dtype)
        if element not in TYPE_NUMBERS or not type_.mutable or not type_.aligned:
            return None
        kind = np.dtype(element)
        return ArrayType(f"{kind.kind}{kind.itemsize}", type_.ndim, type_.layout == "C")
    if isinstance(type_, types.BaseTuple):
        items = [argument_type(item) for item in iter(cast("Any", type_))]
        class_ = getattr(type_, "instance_class", None)
        name = f"{class_.__module__}.{class_.__qualname__}" if class_ else ""
        known = tuple(item for item in items if item is not None)
        return TupleType(name, known) if len(known) == len(items) else None
    return next((name for name, scalar in _SCALARS.items() if scalar == type_), None)


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
        module = result.library._final_module
        self.declaration = _declaration(module.get_function(self.name))
        self.arguments = tuple(result.signature.args)
        self.returned = result.signature.return_type


def lower(kernel: Kernel, argument_types: tuple[ArgumentType, ...]) -> LoweredKernel:
    """Infer types and lower a kernel, with all that it calls."""
    signature = tuple(numba_type(type_) for type_ in argument_types)
    dispatcher = _dispatcher_of(kernel)
    # numba would spend a fifth of its time in looking for garbage
    with global_compiler_lock, _front_end_only(), collector_paused():
        dispatcher.compile(signature)
    return LoweredKernel(dispatcher.overloads[signature])


class SeparateKernel(NamedTuple):
    """A kernel that is called but has code of its own: for which types of arguments, and the name
    and type of its function in the IR.
    """

    kernel: Kernel
    types: tuple[ArgumentType, ...]
    name: str
    library: Any

    @property
    def line(self) -> str:
        """Kernel and types, as ``signatures.kernel_of`` reads them."""
        return self.kernel.full_name + as_text(self.types)


def needs_of(lowered: LoweredKernel) -> list[SeparateKernel]:
    """The separate kernels that a kernel calls, in or through others that become part of it."""
    separate = _separate_kernels()
    return [
        separate[id(library)]
        for library in _libraries_from(lowered.result.library, set(separate))
        if id(library) in separate and library is not lowered.result.library
    ]


def _separate_kernels() -> dict[int, SeparateKernel]:
    """The separate kernels lowered so far, by the identity of their library."""
    found: dict[int, SeparateKernel] = {}
    for kernel in _separate:
        for arguments, result in _dispatcher_of(kernel).overloads.items():
            types = [argument_type(type_) for type_ in arguments]
            known = tuple(type_ for type_ in types if type_ is not None)
            if len(known) == len(types):  # otherwise Python could not call it, nor load it
                name = result.fndesc.llvm_func_name
                found[id(result.library)] = SeparateKernel(kernel, known, name, result.library)
    return found


def link(lowered: LoweredKernel, texts: Sequence[str]) -> llvm.ModuleRef:
    """One module of a kernel, all that it calls but what it needs, and more ``texts`` of IR."""
    empty = cpu_target.target_context.codegen()._create_empty_module("egparse")
    program = llvm.parse_assembly(str(empty))
    defined: set[str] = set()
    apart = {id(need.library) for need in needs_of(lowered)}
    for library in _libraries_from(lowered.result.library, apart):
        if id(library) not in apart:
            program.link_in(_part_of(library, defined), preserve=True)
    for text in (*texts, RUNTIME):
        program.link_in(llvm.parse_assembly(text))
    return program


def _declaration(function: Any) -> str:
    returned, _, parameters = str(function.global_value_type).partition(" (")
    return f'declare {returned} @"{function.name}"({parameters}'


def stubs_of(needs: Sequence[SeparateKernel], table: str) -> str:
    """IR of the functions of separate kernels, as calls of addresses in a ``table``."""
    lines = [f"@{table} = global [{len(needs)} x ptr] zeroinitializer"]
    for i, need in enumerate(needs):
        function = need.library._final_module.get_function(need.name)
        returned, _, parameters = str(function.global_value_type).partition(" (")
        typed = [f"{each} %a{k}" for k, each in enumerate(parameters.removesuffix(")").split(", "))]
        place = f"getelementptr ([{len(needs)} x ptr], ptr @{table}, i64 0, i64 {i})"
        lines += [
            f'define {returned} @"{need.name}"({", ".join(typed)}) alwaysinline {{',
            f"  %function = load ptr, ptr {place}",
            f"  %returned = tail call {returned} %function({', '.join(typed)})",
            f"  ret {returned} %returned",
            "}",
        ]
    return "\n".join(lines)


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


def _libraries_from(first: Any, ends: Container[int] = ()) -> list[Any]:
    """A library of numba and those of the functions that it calls, without numba's runtime; those
    whose identities are ``ends`` come without what they call.
    """
    seen: dict[int, Any] = {}
    waiting = [first]
    while waiting:
        library = waiting.pop()
        if library is not rtsys.library and id(library) not in seen:
            seen[id(library)] = library
            if library is first or id(library) not in ends:
                waiting += library._linking_libraries
    return list(seen.values())
