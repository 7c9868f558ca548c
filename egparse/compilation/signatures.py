"""The types of a kernel's arguments, as plain values with a text form: the name under which
compiled code is kept.

| text | argument |
|---|---|
| `int`, `float`, `bool`, `none` | int64, float64, a truth value, None |
| `uint` | uint64, of an integer that is too large for int64 |
| `f8[2]` | array of float64 with two axes, contiguous by rows |
| `i4[1:]` | the same of int32 with one axis, with any strides |
| `(int, f8[1])` | tuple |
| `egparse.parsing.candidates.Labels(i8[1], i2[1])` | NamedTuple, by module and class |

A kernel does not know whether an array may be written to: the same code serves both. Scalars of
numpy count as those of Python.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class ArrayType(NamedTuple):
    """An array: its type of elements as numpy spells it (``f8``), and its number of axes."""

    element: str
    axes: int
    contiguous: bool


class TupleType(NamedTuple):
    """A tuple or NamedTuple; ``class_name`` is empty for a tuple, else module and class."""

    class_name: str
    items: tuple[ArgumentType, ...]


ArgumentType: TypeAlias = "str | ArrayType | TupleType"
"""The type of one argument: a scalar by its name, an array or a tuple."""

SCALARS = ("int", "uint", "float", "bool", "none")
"""The names of scalar types."""

ELEMENTS = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")
"""The types of elements that kernels take, as numpy spells them."""

_ELEMENT_OF = {np.dtype(element): element for element in ELEMENTS}


class UnsupportedArgument(TypeError):
    """An argument that no kernel can take."""


def type_of(value: Any) -> ArgumentType:
    """The type of an argument.

    Raises UnsupportedArgument for what kernels cannot take.
    """
    if isinstance(value, np.ndarray):
        element = _ELEMENT_OF.get(value.dtype)
        if element is None:
            raise UnsupportedArgument(
                f"expected an array of {', '.join(ELEMENTS)} in native order, got {value.dtype}"
            )
        if not value.flags.aligned:
            raise UnsupportedArgument(f"expected an aligned array, got {value!r:.80}")
        return ArrayType(element, value.ndim, value.flags.c_contiguous)
    if isinstance(value, tuple):
        return TupleType(_class_name(value), tuple(type_of(item) for item in value))
    if value is None:
        return "none"
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return _type_of_integer(int(value))
    if isinstance(value, float | np.floating):
        return "float"
    raise UnsupportedArgument(f"expected an array, a number, a tuple or None, got {value!r:.80}")


def _type_of_integer(value: int) -> str:
    if not -(1 << 63) <= value < 1 << 64:
        raise UnsupportedArgument(f"expected an integer of 64 bits, got {value.bit_length()} bits")
    return "int" if value < 1 << 63 else "uint"


def _class_name(value: tuple[Any, ...]) -> str:
    if not hasattr(value, "_fields"):
        return ""
    class_ = type(value)
    if "." in class_.__qualname__:  # within a class or function, where it cannot be imported
        raise UnsupportedArgument(
            f"expected a NamedTuple of a module, got {class_.__module__}.{class_.__qualname__}"
        )
    return f"{class_.__module__}.{class_.__qualname__}"


def normalised(value: Any) -> Any:
    """An argument in the one form of its type that compiled kernels take: no subclass of arrays, no
    second name of a type of elements (``longlong`` for ``int64``), scalars of Python.
    """
    if isinstance(value, np.ndarray):
        element = _ELEMENT_OF.get(value.dtype)
        return value if element is None else np.asarray(value).view(np.dtype(element))
    if isinstance(value, tuple):
        items = [normalised(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.generic):
        return value.item()
    return float(value) if isinstance(value, float) else value


def as_text(types: tuple[ArgumentType, ...]) -> str:
    """The types of all arguments of a call, as text."""
    return "(" + ", ".join(map(_type_as_text, types)) + ")"


def _type_as_text(type_: ArgumentType) -> str:
    if isinstance(type_, ArrayType):
        return f"{type_.element}[{type_.axes}{'' if type_.contiguous else ':'}]"
    if isinstance(type_, TupleType):
        return type_.class_name + as_text(type_.items)
    return type_


_ARRAY = re.compile(rf"({'|'.join(ELEMENTS)})\[(\d+)(:?)\]")
_NAME = re.compile(r"(\w+(\.\w+)*)?")


def from_text(text: str) -> tuple[ArgumentType, ...]:
    """The reverse of ``as_text``.

    Raises:
        ValueError: other text.
    """
    parsed, end = _parse(text, 0)
    if end != len(text) or not isinstance(parsed, TupleType) or parsed.class_name:
        raise ValueError(f"expected the types of arguments in brackets, got {text!r}")
    return parsed.items


def _parse(text: str, start: int) -> tuple[ArgumentType, int]:
    if array := _ARRAY.match(text, start):
        element, axes, strided = array.groups()
        return ArrayType(element, int(axes), not strided), array.end()
    name = _NAME.match(text, start)
    assert name is not None  # it may be empty
    end = name.end()
    if not text.startswith("(", end):
        if name[0] not in SCALARS:
            raise ValueError(f"expected a type at {start} of {text!r}")
        return name[0], end
    end += 1
    items: list[ArgumentType] = []
    while not text.startswith(")", end):
        if items:
            if not text.startswith(", ", end):
                raise ValueError(f"expected a comma or closing bracket at {end} of {text!r}")
            end += 2
        item, end = _parse(text, end)
        items.append(item)
    return TupleType(name[0], tuple(items)), end + 1


def find_class(name: str) -> type:
    """A class by its module and name."""
    module, _, qualname = name.rpartition(".")
    found = getattr(importlib.import_module(module), qualname)
    assert isinstance(found, type)
    return found


def split(line: str) -> tuple[str, str]:
    """The name of the kernel and the types of its arguments in a line that names both."""
    kernel, bracket, types = line.partition("(")
    return kernel, bracket + types


def kernel_of(line: str) -> tuple[Any, tuple[ArgumentType, ...]]:
    """The kernel that a line names, and the types of its arguments."""
    full_name, types = split(line)
    module, _, name = full_name.rpartition(".")
    kernel = getattr(importlib.import_module(module), name)
    if not hasattr(kernel, "py_func"):
        raise TypeError(f"expected a kernel, got {full_name}")
    return kernel, from_text(types)
