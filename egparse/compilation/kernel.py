"""Kernels: functions that are compiled, ahead of time or when they are first called."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Function = TypeVar("Function", bound=Callable[..., Any])

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether kernels stay plain Python functions, as numba's setting asks for."""

IMPORTED_AT = time.time()
"""When this process began to import kernels, in seconds as files have them."""


_defined: set[str] = set()


class Kernel:
    """A compiled function. Called from Python it runs the code for the types of its arguments,
    which was compiled before or is compiled now; called in another kernel it becomes part of that
    one.
    """

    # what is imported only where it is needed; ``egparse.compilation`` says what it is
    variant_for: ClassVar[Callable[[Kernel, tuple[Any, ...]], Callable[..., Any]]]
    numba_function: ClassVar[Callable[[Kernel], Any]]

    redefined = 0
    """How many kernels were defined once more, because a module was loaded anew: its source may
    have changed.
    """

    def __init__(
        self, function: Callable[..., Any], *, fast: bool, inline: bool, separate: bool
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.fast = fast
        self.inline = inline
        self.separate = separate
        self.full_name = f"{function.__module__}.{function.__qualname__}"
        Kernel.redefined += self.full_name in _defined
        _defined.add(self.full_name)
        self.variants: dict[str, Callable[..., Any]] = {}
        self._variants: tuple[Callable[..., Any], ...] = ()

    def __call__(self, *arguments: Any) -> Any:
        for variant in self._variants:
            result = variant(*arguments)
            if result is not NotImplemented:
                return result
        return self._call_first(arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled by its name, as functions are

    def _call_first(self, arguments: tuple[Any, ...]) -> Any:
        """Call the kernel with arguments of types that it has not met in this form."""
        from egparse.compilation import signatures

        if len(arguments) != self.py_func.__code__.co_argcount:
            raise TypeError(
                f"{self.full_name}: expected {self.py_func.__code__.co_argcount} arguments, "
                f"got {len(arguments)}"
            )
        arguments = signatures.normalised(arguments)
        for variant in self._variants:
            result = variant(*arguments)
            if result is not NotImplemented:
                return result
        variant = Kernel.variant_for(self, arguments)
        if variant not in self._variants:
            self._variants = (variant, *self._variants)
        result = variant(*arguments)
        if result is NotImplemented:
            raise TypeError(f"{self.full_name}: its code does not take {arguments!r:.200}")
        return result

    # What numba asks of a kernel that another one calls:

    @property
    def targetoptions(self) -> dict[str, str]:
        """Whether numba is to inline the kernel."""
        return {"inline": "always" if self.inline else "never"}

    @property
    def _numba_type_(self) -> Any:
        """The kernel in numba's type inference."""
        return Kernel.numba_function(self)


@overload
def njit(function: Function) -> Function:  # noqa: D418
    """As a plain decorator."""


@overload
def njit(  # noqa: D418
    *, fast: bool = ..., inline: bool = ..., separate: bool = ...
) -> Callable[[Function], Function]:
    """As a decorator with options."""


def njit(
    function: Function | None = None,
    *,
    fast: bool = False,
    inline: bool = False,
    separate: bool = False,
) -> Any:
    """Make ``function`` a kernel, which runs without the interpreter lock.

    ``fast`` permits ``SAFE_FASTMATH`` (reassociation, so that sums are vectorised). ``inline`` lets
    numba inline the function into its callers, for small functions in hot loops. ``separate`` keeps
    its code apart, for functions that do much in a call: it is compiled once, not once more with
    each caller.
    """

    def kernel(target: Function) -> Function:
        if INTERPRETED:
            return target
        return cast(Function, Kernel(target, fast=fast, inline=inline, separate=separate))

    return kernel if function is None else kernel(function)


class Prefetch:
    """Asks for the line of the cache in which an element of a flat array lies, and does not wait
    for it: ``prefetch(array, place)``, in kernels alone. The place need not exist.
    """

    numba_type: ClassVar[Callable[[], Any]]

    def __call__(self, array: npt.NDArray[Any], place: Any) -> None:
        """Do nothing, where kernels stay plain Python functions."""

    @property
    def _numba_type_(self) -> Any:
        return Prefetch.numba_type()


prefetch = Prefetch()


@njit
def copy_numbers(numbers: npt.NDArray[np.generic], out: npt.NDArray[Any]) -> None:
    """Write ``numbers`` (n,) to the first n places of ``out``.

    For ``out[:] = numbers`` numba would compile an error message with the two shapes as well, which
    takes two seconds.
    """
    for r in range(numbers.shape[0]):
        out[r] = numbers[r]
