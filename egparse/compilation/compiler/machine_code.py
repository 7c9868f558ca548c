"""From LLVM's intermediate representation to object code."""

from __future__ import annotations

from llvmlite import binding as llvm

KNOWN_PREFIXES = ("Py", "llvm.")
"""How functions of the interpreter and LLVM's own begin."""

KNOWN_FUNCTIONS = frozenset(
    [
        "malloc",
        "calloc",
        "free",
        "memset",
        "memcpy",
        "memmove",
        "memcmp",
        "bcmp",
        "exp",
        "expm1",
        "exp2",
        "log",
        "log1p",
        "log2",
        "log10",
        "pow",
        "sqrt",
        "tanh",
        "sin",
        "cos",
        "atan2",
        "hypot",
        "floor",
        "ceil",
        "fabs",
        "fmod",
        "ldexp",
        "frexp",
        "expf",
        "logf",
        "powf",
        "lgamma",
        "tgamma",
        "erf",
        "erfc",
        "cosh",
        "sinh",
        "nearbyint",
        "rint",
        "round",
    ]
)
"""Functions of the C library that compiled kernels may call."""


class CompilationError(Exception):
    """A kernel that cannot be compiled for other processes."""


def emit(program: llvm.ModuleRef, exported: set[str], processor: str) -> bytes:
    """Optimise a program and compile it, for a processor; only ``exported`` names are seen outside.

    Raises:
        CompilationError: the kernel needs what other processes may lack.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=processor, opt=3, reloc="pic", codemodel="default"
    )
    program.data_layout = str(machine.target_data)
    for function in program.functions:
        if not function.is_declaration and function.name not in exported:
            function.linkage = llvm.Linkage.internal
    for variable in program.global_variables:
        if not variable.is_declaration and variable.name not in exported:
            variable.linkage = llvm.Linkage.internal
    _optimise(program, machine)
    _require_known_names(program)
    return machine.emit_object(program)


def _require_known_names(program: llvm.ModuleRef) -> None:
    """Check that compiled code refers to nothing that other processes may lack.

    Raises:
        CompilationError: functions of numba's runtime, or addresses of this process.
    """
    functions = {f.name for f in program.functions if f.is_declaration}
    unknown = {name for name in functions if not name.startswith(KNOWN_PREFIXES)} - KNOWN_FUNCTIONS
    unknown |= {v.name for v in program.global_variables if v.name.startswith("numba.dynamic")}
    if unknown:
        raise CompilationError(
            f"expected a kernel that needs nothing of numba's runtime, got one with "
            f"{', '.join(sorted(unknown))}"
        )


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
