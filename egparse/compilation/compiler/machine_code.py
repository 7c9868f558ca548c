"""From LLVM's intermediate representation to object code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from llvmlite import binding as llvm

from egparse.compilation import stored

KNOWN_FUNCTIONS = frozenset((
    "malloc", "calloc", "free", "memset", "memcpy", "memmove", "memcmp", "bcmp", "exp", "expm1",
    "exp2", "log", "log1p", "log2", "log10", "pow", "sqrt", "tanh", "sin", "cos", "atan2",
    "hypot", "floor", "ceil", "fabs", "fmod", "ldexp", "frexp", "expf", "logf", "powf", "lgamma",
    "tgamma", "erf", "erfc", "cosh", "sinh", "nearbyint", "rint", "round",
))  # fmt: skip
"""Functions of the C library that compiled kernels may call."""


class CompilationError(Exception):
    """A kernel that cannot be compiled for other processes."""


class Program(NamedTuple):
    """A kernel for some types of arguments, with all that becomes part of it, as IR: ``bitcode``,
    of which only the ``exported`` names are seen outside. The other fields are those of
    ``stored.CompiledKernel``.
    """

    kernel: str
    types: str
    symbol: str
    exported: list[str]
    classes: list[str]
    sources: dict[str, bytes]
    needs: list[str]
    compiler: str
    bitcode: bytes


def compiled(program: Program, level: str) -> stored.CompiledKernel:
    """A program optimised and compiled for a level of processors.

    Raises:
        CompilationError: the kernel needs what other processes may lack.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=stored.llvm_processor(level), opt=3, reloc="pic", codemodel="default"
    )
    module = llvm.parse_bitcode(program.bitcode)
    module.data_layout = str(machine.target_data)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in program.exported:
            value.linkage = llvm.Linkage.internal
    _optimise(module, machine)
    _require_known_names(module)
    return stored.CompiledKernel(
        program.kernel,
        level,
        program.symbol,
        program.classes,
        program.sources,
        program.needs,
        program.compiler,
        sorted(function.name for function in module.functions if _is_outside(function)),
        machine.emit_object(module),
    )


def compile_into(folder: Path, program: Program, levels: Sequence[str]) -> list[str]:
    """Compile a program into a folder; returns the kernels that it needs besides.

    Raises:
        OSError: a file cannot be written.
    """
    for level in levels:
        name = stored.KernelName(program.kernel, program.types, level)
        stored.write(folder, name, compiled(program, level))
    return program.needs


def _require_known_names(program: llvm.ModuleRef) -> None:
    """Check that compiled code refers to nothing that other processes may lack.

    Raises:
        CompilationError: functions of numba's runtime, or addresses of this process.
    """
    functions = {function.name for function in program.functions if _is_outside(function)}
    unknown = {name for name in functions if not name.startswith("Py")} - KNOWN_FUNCTIONS
    unknown |= {v.name for v in program.global_variables if v.name.startswith("numba.dynamic")}
    if unknown:
        raise CompilationError(
            f"expected a kernel that needs nothing of numba's runtime, got one with "
            f"{', '.join(sorted(unknown))}"
        )


def _is_outside(function: llvm.ValueRef) -> bool:
    """Whether a function is one of the interpreter or of the C library."""
    return function.is_declaration and not function.name.startswith("llvm.")


def _optimise(program: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Optimise a program in place.

    numba's code counts references at each use of an array; most of these counts cancel out, which
    its pruning pass sees best in code that is inlined and in SSA form, but not yet optimised: in
    optimised code of long functions it would search for minutes. What is dropped first is not
    optimised later.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    simple = llvm.create_new_module_pass_manager()
    simple.add_global_dead_code_eliminate_pass()
    simple.add_sroa_pass()
    simple.add_simplify_cfg_pass()
    simple.add_instruction_combine_pass()
    simple.add_simplify_cfg_pass()
    simple.add_refprune_pass(llvm.RefPruneSubpasses.ALL)
    simple.run(program, builder)
    builder.getModulePassManager().run(program, builder)
