"""The function through which Python calls a compiled kernel.

It takes arguments apart and puts results together by the C interfaces of CPython and NumPy, so
that a process that calls compiled kernels does not need numba. It has the signature of a builtin
function (``METH_FASTCALL``):

    PyObject *wrapper(PyObject *self, PyObject *const *arguments, Py_ssize_t count)

and returns NotImplemented if the arguments have other types than the kernel was compiled for.
Arrays are borrowed for the time of the call: the caller holds them. Arrays in the result are copied
into new arrays of NumPy.

What differs from process to process (addresses of types, of functions, of classes) is read from two
tables, ``egparse_interpreter`` and the one of the wrapper's classes (see ``variants``).
"""

from __future__ import annotations

from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.np import arrayobj

from egparse.compilation.compiler.lowering import LoweredKernel
from egparse.compilation.compiler.machine_code import CompilationError
from egparse.compilation.interpreter import (
    ALIGNED,
    ARRAY_AXES,
    ARRAY_DATA,
    ARRAY_DESCRIPTOR,
    ARRAY_DIMENSIONS,
    ARRAY_FLAGS,
    ARRAY_STRIDES,
    BYTE_ORDERS,
    CLASSES,
    CONTIGUOUS,
    DESCRIPTOR_BYTE_ORDER,
    DESCRIPTOR_NUMBER,
    ENTRIES,
    INTERPRETER,
    OBJECT_TYPE,
    TUPLE_ITEMS,
    TUPLE_SIZE,
    TYPE_NUMBERS,
)

_byte = ir.IntType(8)
_int = ir.IntType(32)
_long = ir.IntType(64)
_pointer = _byte.as_pointer()
_double = ir.DoubleType()

_FUNCTIONS = {
    "PyLong_AsLongLong": ir.FunctionType(_long, [_pointer]),
    "PyLong_AsUnsignedLongLong": ir.FunctionType(_long, [_pointer]),
    "PyLong_FromLongLong": ir.FunctionType(_pointer, [_long]),
    "PyLong_FromUnsignedLongLong": ir.FunctionType(_pointer, [_long]),
    "PyFloat_AsDouble": ir.FunctionType(_double, [_pointer]),
    "PyFloat_FromDouble": ir.FunctionType(_pointer, [_double]),
    "PyBool_FromLong": ir.FunctionType(_pointer, [_long]),
    "PyErr_Occurred": ir.FunctionType(_pointer, []),
    "PyErr_Clear": ir.FunctionType(ir.VoidType(), []),
    "PyErr_SetString": ir.FunctionType(ir.VoidType(), [_pointer, _pointer]),
    "PyTuple_New": ir.FunctionType(_pointer, [_long]),
    "PyTuple_SetItem": ir.FunctionType(_int, [_pointer, _long, _pointer]),
    "PyObject_CallObject": ir.FunctionType(_pointer, [_pointer, _pointer]),
    "PyEval_SaveThread": ir.FunctionType(_pointer, []),
    "PyEval_RestoreThread": ir.FunctionType(ir.VoidType(), [_pointer]),
    "Py_IncRef": ir.FunctionType(ir.VoidType(), [_pointer]),
    "Py_DecRef": ir.FunctionType(ir.VoidType(), [_pointer]),
    "NRT_decref": ir.FunctionType(ir.VoidType(), [_pointer]),
}
_NEW_ARRAY = ir.FunctionType(
    _pointer, [_pointer, _int, _pointer, _int, _pointer, _pointer, _int, _int, _pointer]
)
"""PyArray_New(type, axes, dimensions, type number, strides, data, element size, flags, object)."""


def _items(type_: types.BaseTuple) -> list[types.Type]:
    """The types of the items of a tuple."""
    return list(iter(cast("Any", type_)))


class Wrapper:
    """Writes the wrapper of one kernel. ``classes`` are the classes of NamedTuples that it makes,
    in the order of their table.
    """

    def __init__(self, kernel: LoweredKernel, symbol: str) -> None:
        self.context = cpu_target.target_context
        self.kernel = kernel
        self.symbol = symbol
        self.module = self.context.create_module(symbol)
        self.classes: list[str] = []
        self.class_table = ir.GlobalVariable(
            self.module, ir.ArrayType(_pointer, 64), symbol + CLASSES
        )
        self.class_table.initializer = ir.Constant(ir.ArrayType(_pointer, 64), None)
        self.interpreter = ir.GlobalVariable(
            self.module, ir.ArrayType(_long, len(ENTRIES)), INTERPRETER
        )

    def text(self) -> str:
        """The wrapper as IR."""
        kernel = self.kernel
        function = ir.Function(
            self.module,
            ir.FunctionType(_pointer, [_pointer, _pointer.as_pointer(), _long]),
            self.symbol,
        )
        self.builder = builder = ir.IRBuilder(function.append_basic_block("entry"))
        _, arguments, count = function.args
        self.other_types = function.append_basic_block("other_types")
        right_count = builder.icmp_unsigned("==", count, _long(len(kernel.arguments)))
        self._require(right_count)
        # Every argument is checked and taken apart before anything is written.
        values = [
            self._unbox(type_, builder.load(builder.gep(arguments, [_long(i)])))
            for i, type_ in enumerate(kernel.arguments)
        ]
        thread = self._call("PyEval_SaveThread")
        callee = ir.Function(
            self.module,
            self.context.call_conv.get_function_type(kernel.returned, kernel.arguments),
            kernel.name,
        )
        status, result = self.context.call_conv.call_function(
            builder, callee, kernel.returned, kernel.arguments, values
        )
        self._call("PyEval_RestoreThread", thread)
        with builder.if_then(status.is_error, likely=False):
            message = self._constant_string(
                "out of memory, or arrays of unequal shapes, in a kernel"
            )
            self._call("PyErr_SetString", self._entry("RuntimeError"), message)
            builder.ret(ir.Constant(_pointer, None))
        builder.ret(self._box(kernel.returned, result))
        builder.position_at_end(self.other_types)
        other = self._entry("NotImplemented")
        self._call("Py_IncRef", other)
        builder.ret(other)
        return str(self.module)

    # Small pieces of IR.

    def _call(self, name: str, *arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(self.module, _FUNCTIONS[name], name)
        return self.builder.call(function, arguments)

    def _constant_string(self, text: str) -> Any:
        return self.context.insert_const_string(self.module, text)

    def _entry(self, name: str) -> Any:
        address = self.builder.gep(self.interpreter, [_long(0), _long(ENTRIES.index(name))])
        return self.builder.inttoptr(self.builder.load(address), _pointer)

    def _field(self, object_: Any, offset: int, type_: Any) -> Any:
        """The field at a byte offset of an object."""
        address = self.builder.gep(object_, [_long(offset)], source_etype=_byte)
        return self.builder.load(self.builder.bitcast(address, type_.as_pointer()), typ=type_)

    def _require(self, condition: Any) -> None:
        """Go on if the condition holds, otherwise return NotImplemented."""
        further = self.builder.append_basic_block()
        self.builder.cbranch(condition, further, self.other_types)
        self.builder.position_at_end(further)

    def _is(self, pointer: Any, name: str) -> Any:
        return self.builder.icmp_unsigned("==", pointer, self._entry(name))

    # Arguments.

    def _unbox(self, type_: types.Type, object_: Any) -> Any:
        """The value of an argument; leaves the wrapper if it has another type."""
        builder = self.builder
        if isinstance(type_, types.Array):
            return self._unbox_array(type_, object_)
        if isinstance(type_, types.BaseTuple):
            return self._unbox_tuple(type_, object_)
        if isinstance(type_, types.NoneType):
            self._require(self._is(object_, "None"))
            return self.context.get_dummy_value()
        if isinstance(type_, types.Boolean):
            is_true, is_false = self._is(object_, "True"), self._is(object_, "False")
            self._require(builder.or_(is_true, is_false))
            return is_true
        if isinstance(type_, types.Integer):
            # what else counts as an integer: truth values, and arrays without axes
            kind = self._field(object_, OBJECT_TYPE, _pointer)
            is_other = builder.or_(self._is_bool(object_), self._is(kind, "ndarray"))
            self._require(builder.not_(is_other))
            name = "PyLong_AsLongLong" if type_.signed else "PyLong_AsUnsignedLongLong"
            value = self._call(name, object_)
            self._require_no_error(builder.icmp_signed("==", value, _long(-1)))
            if not type_.signed:  # only what is too large for the other type
                self._require(builder.icmp_signed("<", value, _long(0)))
            return value
        assert isinstance(type_, types.Float)
        kind = self._field(object_, OBJECT_TYPE, _pointer)
        self._require(builder.or_(self._is(kind, "float"), self._is(kind, "float64")))
        return self._call("PyFloat_AsDouble", object_)

    def _is_bool(self, object_: Any) -> Any:
        return self.builder.or_(self._is(object_, "True"), self._is(object_, "False"))

    def _require_no_error(self, is_suspect: Any) -> None:
        """Clear the error of a conversion that failed, and return NotImplemented."""
        builder = self.builder
        with builder.if_then(is_suspect, likely=False):
            error = self._call("PyErr_Occurred")
            with builder.if_then(cgutils.is_not_null(builder, error)):
                self._call("PyErr_Clear")
                builder.branch(self.other_types)

    def _unbox_array(self, type_: types.Array, object_: Any) -> Any:
        builder = self.builder
        self._require(self._is(self._field(object_, OBJECT_TYPE, _pointer), "ndarray"))
        # not the address of the type: arrays that were pickled have types of their own
        descriptor = self._field(object_, ARRAY_DESCRIPTOR, _pointer)
        number = self._field(descriptor, DESCRIPTOR_NUMBER, _int)
        self._require(builder.icmp_signed("==", number, _int(TYPE_NUMBERS[str(type_.dtype)])))
        order = self._field(descriptor, DESCRIPTOR_BYTE_ORDER, _byte)
        self._require(builder.icmp_signed("==", order, _byte(BYTE_ORDERS[str(type_.dtype)])))
        axes = self._field(object_, ARRAY_AXES, _int)
        self._require(builder.icmp_signed("==", axes, _int(type_.ndim)))
        # Contiguous arrays have code of their own. If code for any strides took them as well, the
        # rounding of their sums would depend on which arrays came first.
        flags = self._field(object_, ARRAY_FLAGS, _int)
        expected = ALIGNED | (CONTIGUOUS if type_.layout == "C" else 0)
        set_flags = builder.and_(flags, _int(ALIGNED | CONTIGUOUS))
        self._require(builder.icmp_unsigned("==", set_flags, _int(expected)))
        dimensions = self._field(object_, ARRAY_DIMENSIONS, _pointer)
        shape = [self._field(dimensions, 8 * axis, _long) for axis in range(type_.ndim)]
        size = self.context.get_abi_sizeof(self.context.get_data_type(type_.dtype))
        strides = [_long(size)] * type_.ndim
        if type_.layout == "C":
            for axis in reversed(range(type_.ndim - 1)):
                strides[axis] = builder.mul(strides[axis + 1], shape[axis + 1])
        else:
            steps = self._field(object_, ARRAY_STRIDES, _pointer)
            strides = [self._field(steps, 8 * axis, _long) for axis in range(type_.ndim)]
        array = arrayobj.make_array(type_)(self.context, builder)
        data = builder.bitcast(
            self._field(object_, ARRAY_DATA, _pointer),
            self.context.get_data_type(type_.dtype).as_pointer(),
        )
        arrayobj.populate_array(
            array, data=data, shape=shape, strides=strides, itemsize=_long(size), meminfo=None
        )
        return array._getvalue()

    def _unbox_tuple(self, type_: types.BaseTuple, object_: Any) -> Any:
        builder = self.builder
        kind = self._field(object_, OBJECT_TYPE, _pointer)
        self._require(builder.icmp_unsigned("==", kind, self._class_of(type_)))
        size = self._field(object_, TUPLE_SIZE, _long)
        self._require(builder.icmp_signed("==", size, _long(len(type_))))
        items = [
            self._unbox(item, self._field(object_, TUPLE_ITEMS + 8 * i, _pointer))
            for i, item in enumerate(_items(type_))
        ]
        return self.context.make_tuple(builder, type_, items)

    def _class_of(self, type_: types.BaseTuple) -> Any:
        if not isinstance(type_, types.BaseNamedTuple):
            return self._entry("tuple")
        class_ = type_.instance_class
        name = f"{class_.__module__}.{class_.__qualname__}"
        if name not in self.classes:
            self.classes.append(name)
        address = self.builder.gep(self.class_table, [_long(0), _long(self.classes.index(name))])
        return self.builder.load(address)

    # Results.

    def _box(self, type_: types.Type, value: Any) -> Any:
        builder = self.builder
        if isinstance(type_, types.Array):
            return self._box_array(type_, value)
        if isinstance(type_, types.BaseTuple):
            return self._box_tuple(type_, value)
        if isinstance(type_, types.NoneType):
            none = self._entry("None")
            self._call("Py_IncRef", none)
            return none
        if isinstance(type_, types.Boolean):
            return self._call("PyBool_FromLong", builder.zext(value, _long))
        if isinstance(type_, types.Integer):
            if type_.signed:
                wide = builder.sext(value, _long) if type_.bitwidth < 64 else value
                return self._call("PyLong_FromLongLong", wide)
            wide = builder.zext(value, _long) if type_.bitwidth < 64 else value
            return self._call("PyLong_FromUnsignedLongLong", wide)
        if not isinstance(type_, types.Float):
            raise CompilationError(f"expected numbers or arrays as result, got {type_}")
        wide = builder.fpext(value, _double) if type_.bitwidth < 64 else value
        return self._call("PyFloat_FromDouble", wide)

    def _box_array(self, type_: types.Array, value: Any) -> Any:
        if type_.layout != "C":
            raise CompilationError(f"expected a contiguous array as result, got {type_}")
        builder = self.builder
        array = arrayobj.make_array(type_)(self.context, builder, value)
        dimensions = cgutils.alloca_once(builder, _long, size=_long(max(1, type_.ndim)))
        size: Any = _long(self.context.get_abi_sizeof(self.context.get_data_type(type_.dtype)))
        for axis, length in enumerate(cgutils.unpack_tuple(builder, array.shape, type_.ndim)):
            builder.store(length, builder.gep(dimensions, [_long(axis)]))
            size = builder.mul(size, length)
        none = ir.Constant(_pointer, None)
        new = builder.call(
            builder.bitcast(self._entry("PyArray_New"), _NEW_ARRAY.as_pointer()),
            [
                self._entry("ndarray"), _int(type_.ndim), builder.bitcast(dimensions, _pointer),
                _int(TYPE_NUMBERS[str(type_.dtype)]), none, none, _int(0), _int(0), none,
            ],
        )  # fmt: skip
        is_made = cgutils.is_not_null(builder, new)
        with builder.if_then(is_made):
            data = self._field(new, ARRAY_DATA, _pointer)
            cgutils.raw_memcpy(builder, data, builder.bitcast(array.data, _pointer), size, 1)
        self._call("NRT_decref", builder.bitcast(array.meminfo, _pointer))
        return new

    def _box_tuple(self, type_: types.BaseTuple, value: Any) -> Any:
        builder = self.builder
        items = [
            self._box(item, builder.extract_value(value, i)) for i, item in enumerate(_items(type_))
        ]
        tuple_ = self._call("PyTuple_New", _long(len(type_)))
        is_whole = cgutils.is_not_null(builder, tuple_)
        for item in items:
            is_whole = builder.and_(is_whole, cgutils.is_not_null(builder, item))
        with builder.if_then(builder.not_(is_whole), likely=False):  # out of memory
            for object_ in (tuple_, *items):
                self._call("Py_DecRef", object_)
            builder.ret(ir.Constant(_pointer, None))
        for i, item in enumerate(items):
            self._call("PyTuple_SetItem", tuple_, _long(i), item)
        if not isinstance(type_, types.BaseNamedTuple):
            return tuple_
        named = self._call("PyObject_CallObject", self._class_of(type_), tuple_)
        self._call("Py_DecRef", tuple_)
        return named
