"""Levels of processors: kernels are compiled for a level instead of for one processor, so that
compiled kernels can be shipped and shared.
"""

from __future__ import annotations

import functools
import platform

X86_64_V3 = (
    "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave",
)  # fmt: skip
"""What a processor of the level x86-64-v3 has, in LLVM's names."""

GENERIC = "generic"
"""The level of processors of which nothing is known but their family."""


def levels_of_family() -> tuple[str, ...]:
    """The levels of this family of processors, the most capable first."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        return "x86-64-v3", "x86-64"
    return (GENERIC,)


@functools.cache
def levels() -> tuple[str, ...]:
    """The levels of this processor, the most capable first."""
    family = levels_of_family()
    if family[0] != "x86-64-v3":
        return family
    from llvmlite import binding as llvm

    features = llvm.get_host_cpu_features()
    return family if all(features.get(name) for name in X86_64_V3) else family[1:]


def llvm_processor(level: str) -> str:
    """LLVM's name of a level."""
    return "" if level == GENERIC else level
