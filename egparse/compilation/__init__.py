"""Compilation of kernels (see kernel.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from egparse.compilation.kernel import Kernel, Prefetch
from egparse.compilation.kernel import copy_numbers as copy_numbers
from egparse.compilation.kernel import njit as njit
from egparse.compilation.kernel import prefetch as prefetch


def _variant_for(kernel: Kernel, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    from egparse.compilation.variants import variant_for

    return variant_for(kernel, arguments)


def _numba_function(kernel: Kernel) -> Any:
    from egparse.compilation.compiler.lowering import numba_function

    return numba_function(kernel)


def _prefetch_type() -> Any:
    from egparse.compilation.compiler.lowering import prefetch_type

    return prefetch_type()


Kernel.variant_for = staticmethod(_variant_for)
Kernel.numba_function = staticmethod(_numba_function)
Prefetch.numba_type = staticmethod(_prefetch_type)
