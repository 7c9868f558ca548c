"""The code of a kernel for some types of arguments: found among those that were compiled before, or
compiled now.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from egparse.compilation import linking, places, processors, stored
from egparse.compilation.signatures import ArgumentType, as_text, type_of

if TYPE_CHECKING:
    from egparse.compilation.kernel import Kernel

_lock = threading.RLock()

listeners: list[Callable[[str], None]] = []
"""Called with the name of each kernel that is about to be compiled."""

requested: list[Callable[[str, str], None]] = []
"""Called with each kernel and types of arguments that are used for the first time."""


def variant_for(kernel: Kernel, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The function for the types of these arguments.

    Raises:
        UnsupportedArgument: an argument that no kernel takes.
    """
    types = tuple([type_of(value) for value in arguments])
    name, text = kernel.full_name, as_text(types)
    for listen in requested:
        listen(name, text)
    with _lock:
        compiled = find(name, text)
        if compiled is None:
            compiled = compile_now(kernel, types)
        linking.load_object(compiled.code)
        return linking.function(
            compiled.symbol, [find_class(class_name) for class_name in compiled.classes]
        )


def find(kernel: str, types: str) -> stored.CompiledKernel | None:
    """A compiled kernel that fits this processor, if there is one."""
    for level in processors.levels():
        name = stored.KernelName(kernel, types, level)
        for folder in _folders():
            found = stored.read(folder, name)
            if found is not None:
                return found
    return None


def _folders() -> Iterator[Path]:
    yield places.SHIPPED
    yield places.user_folder()


def compile_now(kernel: Kernel, types: tuple[ArgumentType, ...]) -> stored.CompiledKernel:
    """Compile a kernel for this processor, and keep it for the next process if that is possible."""
    from egparse.compilation.compiler.ahead import compile_kernel

    for listen in listeners:
        listen(kernel.full_name)
    [compiled] = compile_kernel(kernel, types, processors.levels()[:1])
    with suppress(OSError):  # a disk that is full or cannot be written to
        places.claim_user_folder()
        name = stored.KernelName(kernel.full_name, as_text(types), compiled.level)
        stored.write(places.user_folder(), name, compiled)
    return compiled


def find_class(name: str) -> type:
    """A class by its module and name."""
    module, _, qualname = name.rpartition(".")
    found = getattr(importlib.import_module(module), qualname)
    assert isinstance(found, type)
    return found
