"""The interpreter as compiled kernels see it: where the fields of its objects lie, and the
addresses of what they name.

Fields are those of CPython's and NumPy's published C structures for 64-bit builds with an
interpreter lock (``PyObject``, ``PyTupleObject``, ``PyArrayObject_fields``), which all compiled
extension modules rely on; ``is_known`` checks them against objects of this process.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import sysconfig

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

INTERPRETER = "egparse_interpreter"
"""The symbol of the table of addresses."""

CLASSES, NEEDS, NATIVE = ".classes", ".needs", ".native"
"""What follows the symbol of a kernel in the names of its tables: the classes of NamedTuples, the
addresses of separate kernels that it calls, and its own address for kernels that call it.
"""

OBJECT_TYPE = 8
TUPLE_SIZE, TUPLE_ITEMS = 16, 24
ARRAY_DATA, ARRAY_AXES, ARRAY_DIMENSIONS, ARRAY_STRIDES, ARRAY_DESCRIPTOR, ARRAY_FLAGS = (
    16, 24, 32, 40, 56, 64,
)  # fmt: skip
"""Byte offsets of fields."""

DESCRIPTOR_BYTE_ORDER, DESCRIPTOR_NUMBER = 26, 28
"""Byte offsets of fields of NumPy's type of elements (``PyArray_Descr``)."""

CONTIGUOUS, ALIGNED = 0x1, 0x100
"""The flags of arrays that are contiguous by rows (``NPY_ARRAY_C_CONTIGUOUS``), and of those whose
elements lie where the processor wants them (``NPY_ARRAY_ALIGNED``).
"""

_ELEMENTS = {
    dtype.name: dtype
    for dtype in map(np.dtype, ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"))
}

TYPE_NUMBERS = {name: dtype.num for name, dtype in _ELEMENTS.items()}
"""NumPy's numbers of types of elements, by name."""

BYTE_ORDERS = {name: ord(dtype.byteorder) for name, dtype in _ELEMENTS.items()}
"""NumPy's characters for the byte order of this machine, by the type of elements."""

_OBJECTS = {
    "None": None,
    "True": True,
    "False": False,
    "NotImplemented": NotImplemented,
    "RuntimeError": RuntimeError,
    "tuple": tuple,
    "float": float,
    "float64": np.float64,
    "ndarray": np.ndarray,
}

ENTRIES = (*_OBJECTS, "PyArray_New")
"""What the table holds the addresses of."""

_PYARRAY_NEW = 93
"""The index of PyArray_New in NumPy's table of functions."""


@functools.cache
def table() -> ctypes.Array[ctypes.c_int64]:
    """The table of addresses of this process."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = get_pointer(_multiarray_umath._ARRAY_API, None)
    address = ctypes.cast(functions, ctypes.POINTER(ctypes.c_int64))[_PYARRAY_NEW]
    addresses = [id(object_) for object_ in _OBJECTS.values()] + [address]
    return (ctypes.c_int64 * len(addresses))(*addresses)


@functools.cache
def is_known() -> bool:
    """Whether objects of this process have their fields where compiled kernels look for them."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if struct.calcsize("P") != 8 or object.__basicsize__ != 16:
        return False
    array = np.zeros((3, 5), dtype=np.int16)[:, :4]

    def field(object_: object, offset: int, type_: type[ctypes._SimpleCData[int]]) -> int:
        return type_.from_address(id(object_) + offset).value

    strides = field(array, ARRAY_STRIDES, ctypes.c_int64)
    dimensions = field(array, ARRAY_DIMENSIONS, ctypes.c_int64)
    descriptor = id(array.dtype)
    items = (array, None)
    return (
        field(array, OBJECT_TYPE, ctypes.c_int64) == id(np.ndarray)
        and field(array, ARRAY_DATA, ctypes.c_int64) == array.ctypes.data
        and field(array, ARRAY_AXES, ctypes.c_int32) == 2
        and [ctypes.c_int64.from_address(dimensions + 8 * axis).value for axis in range(2)]
        == [3, 4]
        and [ctypes.c_int64.from_address(strides + 8 * axis).value for axis in range(2)] == [10, 2]
        and field(array, ARRAY_DESCRIPTOR, ctypes.c_int64) == id(np.dtype(np.int16))
        and ctypes.c_int32.from_address(descriptor + DESCRIPTOR_NUMBER).value == array.dtype.num
        and ctypes.c_char.from_address(descriptor + DESCRIPTOR_BYTE_ORDER).value == b"="
        and field(array, ARRAY_FLAGS, ctypes.c_int32) & (CONTIGUOUS | ALIGNED) == ALIGNED
        and field(np.zeros(3), ARRAY_FLAGS, ctypes.c_int32) & CONTIGUOUS == CONTIGUOUS
        and field(items, TUPLE_SIZE, ctypes.c_int64) == 2
        and field(items, TUPLE_ITEMS, ctypes.c_int64) == id(array)
    )
