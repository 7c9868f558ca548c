"""Calls of compiled kernels from Python: what goes in and comes out, and what is not taken."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from compilation import small_kernels
from compilation.small_kernels import Nested, Nothing, Pair
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.compilation import njit, variants
from egparse.compilation.compiler.machine_code import CompilationError
from egparse.compilation.signatures import ELEMENTS, UnsupportedArgument, normalised

pytestmark = pytest.mark.compiled_only


def kernel(function: Any) -> Any:
    """A kernel as it is before its first call."""
    return njit(function.py_func)


@pytest.fixture
def requested() -> Iterator[list[str]]:
    """The types of arguments that are new meanwhile."""
    seen: list[str] = []

    def note(_kernel: str, types: str) -> None:
        seen.append(types)

    variants.requested.append(note)
    yield seen
    variants.requested.remove(note)


def assert_same(found: Any, expected: Any) -> None:
    """Equal, of the same types, in every item."""
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert found.flags.aligned
        assert not np.shares_memory(found, expected)
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("place", [0, 2, 3, 1 << 40, -(1 << 40)])
def test_what_is_asked_for_need_not_exist(place: int) -> None:
    array = np.arange(3) + 0.5
    expected = array[place] if 0 <= place < 3 else 0.0
    assert small_kernels.asked_for(array, place) == expected
    assert small_kernels.asked_for.py_func(array, place) == expected


PAIR = Pair(np.arange(3.0), np.arange(2), 0.5)


@pytest.mark.parametrize(
    "value",
    [
        0, -1, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1,
        0.5, -0.0, float("inf"), True, False, None, (), (1,), (1, 0.5, None, True), Nothing(),
        (((1 << 63, 2),), ((), None)),
        np.array(7), np.array(True), np.zeros(0), np.zeros((0, 3), dtype=np.int8),
        np.zeros((2, 0, 3)), np.arange(24.0).reshape(2, 3, 4),
        PAIR, Nested(PAIR, (1, True), None), Nested(PAIR, (1, False), PAIR), (PAIR, (PAIR,)),
    ],
    ids=repr,
)  # fmt: skip
def test_values_come_back_as_they_went_in(value: Any) -> None:
    assert_same(small_kernels.echo(value), value)


@pytest.mark.parametrize("element", ELEMENTS)
def test_arrays_of_each_type_come_back(element: str) -> None:
    array = np.arange(-3, 9).astype(element).reshape(3, 4)
    assert_same(small_kernels.echo(array), array)


@examples(50)
@given(
    shape=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    steps=st.tuples(st.sampled_from([-2, -1, 1, 2]), st.sampled_from([-2, -1, 1, 2])),
    is_turned=st.booleans(),
)
def test_strided_arrays_are_read_where_their_numbers_lie(
    shape: tuple[int, int], steps: tuple[int, int], is_turned: bool
) -> None:
    array = np.arange(float(shape[0] * shape[1])).reshape(shape)[:: steps[0], :: steps[1]]
    array = array.T if is_turned else array
    assert small_kernels.total_of_rows(array) == array.sum()


def test_strided_arrays_are_written_where_their_numbers_lie() -> None:
    array = np.zeros((3, 4), dtype=np.float32)
    small_kernels.fill(array[:, 1], 2.0)
    np.testing.assert_array_equal(array, np.eye(4)[[1, 1, 1]] * 2)


def test_parts_of_arrays_are_copied_from_where_they_begin() -> None:
    expected = np.zeros(5)
    expected[4] = 1.0
    assert_same(small_kernels.twice(5), (expected, expected, expected[2:].copy()))


def test_tuples_of_arrays_go_in_and_come_out() -> None:
    found = small_kernels.scaled(PAIR)
    assert_same(found, Pair(np.array([0.0, 0.5, 1.0]), np.arange(2), 1.5))


def test_kernels_with_code_of_their_own_are_called() -> None:
    array, pair = np.zeros(2), Pair(np.zeros(1), np.zeros(4, dtype=np.int64), 0.5)
    announced: list[str] = []
    variants.listeners.append(announced.append)
    found = [kernel(small_kernels.fill_both)(array, pair) for _ in range(2)]
    variants.listeners.pop()
    for each in found:
        assert_same(each, (3.0, np.full(4, 6)))
    np.testing.assert_array_equal(array, [0.5, 0.5])
    assert announced.count("compilation.small_kernels.fill_apart") <= 2
    assert_same(small_kernels.fill_apart(array, 1.0), (1.0, np.full(2, 2.0)))


def test_tuples_in_tuples_are_taken_apart() -> None:
    pairs = [small_kernels.size_of(Nested(PAIR, (1, True), more)) for more in (None, PAIR, None)]
    assert pairs == [104, 104, 104]


def test_types_met_before_are_not_compiled_again(requested: list[str]) -> None:
    add = kernel(small_kernels.add)
    for _ in range(3):
        assert (add(1, 2), add(1.0, 2.0), add(1, 2.0)) == (3, 3.0, 3.0)
    assert requested == ["(int, int)", "(float, float)", "(int, float)"]


@pytest.mark.parametrize("is_first", [False, True])
def test_other_forms_of_a_type_are_taken(is_first: bool, requested: list[str]) -> None:
    total, add = kernel(small_kernels.total), kernel(small_kernels.add)
    if not is_first:
        total(np.arange(3))
        add(1, 0.5)
    array = np.arange(3)
    forms = [array.view(np.longlong), np.ma.masked_array(array), pickle.loads(pickle.dumps(array))]
    assert [total(form) for form in forms] == [3.0] * 3
    numbers = [(np.int8(1), np.float32(0.5)), (np.uint64(1), np.float64(0.5))]
    assert [add(*pair) for pair in numbers] == [1.5] * 2
    assert requested == ["(i8[1])", "(int, float)"]


def test_arrays_that_were_pickled_are_taken_at_once() -> None:
    total = kernel(small_kernels.total)
    array = pickle.loads(pickle.dumps(np.arange(3.0)))
    total(array)
    assert array.dtype is not np.dtype(float)  # otherwise this shows nothing
    assert total._variants[0](array) == 3.0
    assert total._variants[0](np.float64(1)) is NotImplemented


def test_numbers_of_numpy_are_taken_at_once() -> None:
    add = kernel(small_kernels.add)
    add(1, 0.5)
    assert add._variants[0](np.int64(2), np.float64(0.5)) == 2.5


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, 1 << 63),
        (1, True),
        (1, 1.0),
        (np.zeros(3), np.zeros(3)[::2]),
        (np.zeros(3), np.zeros(3, dtype=np.float32)),
        (np.zeros(3, dtype=np.int8), np.zeros(3, dtype=bool)),
        (np.zeros(3), np.zeros((1, 3))),
        ((1, 2), (1, 2, 3)),
        (PAIR, (*PAIR,)),
        ((), Nothing()),
        (None, 0),
    ],
)
@pytest.mark.parametrize("is_turned", [False, True])
def test_each_value_has_one_variant_whatever_came_first(
    first: Any, second: Any, is_turned: bool, requested: list[str]
) -> None:
    """Otherwise the rounding of a sum would depend on earlier calls."""

    def shape(value: Any) -> int:
        return 0

    constant = njit(shape)
    values = (second, first) if is_turned else (first, second)
    for value in values:
        constant(value)
    assert len(set(requested)) == 2
    for value, variant in zip(values, reversed(constant._variants), strict=True):
        found = [other(value) for other in constant._variants if other is not variant]
        assert found == [NotImplemented]
        assert variant(value) == 0


@pytest.mark.parametrize(
    "value",
    ["text", b"text", [1], 1j, slice(3), int, np.zeros(3, dtype=">f8"), np.array(["a"]),
     np.zeros(17, dtype=np.int8)[1:].view(float), (1, "text"), Pair("text", 1, 2),  # type: ignore
     {1: 2}, range(3), np.datetime64("2026-01-01"), Ellipsis, NotImplemented],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("is_first", [False, True])
def test_what_no_kernel_takes_is_an_error(value: Any, is_first: bool) -> None:
    echo = kernel(small_kernels.echo) if is_first else small_kernels.echo
    if not is_first:
        for known in (np.zeros(3), 1, 0.5, PAIR, (1, 2), None):
            echo(known)
    with pytest.raises(UnsupportedArgument):
        echo(value)


KNOWN: list[Any] = [
    0, 1 << 63, 0.5, True, None, (), (1, 0.5), np.zeros(3), np.zeros((2, 2), dtype=np.int32),
    np.zeros(2, dtype=bool), np.array(0.5), PAIR, Nested(PAIR, (1, True), None), (PAIR, (1,)),
]  # fmt: skip


def arrays_of_any_kind() -> st.SearchStrategy[Any]:
    """Of all types of elements and byte orders, strided, unaligned, unwritable, empty."""

    def array(kind: str, shape: tuple[int, ...], step: int, shift: int) -> Any:
        room = np.zeros(1000, dtype=np.int8)
        made = room[shift : shift + 800 // np.dtype(kind).itemsize * np.dtype(kind).itemsize]
        made = made.view(kind)[: int(np.prod(shape))].reshape(shape)
        made = made[::step] if made.ndim else made
        made.flags.writeable = shift != 3
        return made

    kinds = [*ELEMENTS, "f2", "c8", "c16", ">f8", ">i4", "q", "Q", "U2", "S3", "M8[s]", "i4,f8"]
    shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
    return st.builds(
        array, st.sampled_from(kinds), shapes, st.sampled_from([1, 2, -1]), st.sampled_from([0, 3])
    )


ATOMS = st.one_of(
    st.integers(-(1 << 70), 1 << 70), st.floats(), st.booleans(), st.none(), st.text(max_size=2),
    st.sampled_from([np.int8, np.uint64, np.float32, np.float64, np.bool_, np.longdouble])
    .map(lambda scalar: scalar(1)),
    arrays_of_any_kind(), st.just([]), st.just(object()), st.just(np.ma.masked), st.just(int),
)  # fmt: skip
VALUES = st.recursive(
    ATOMS | st.sampled_from(KNOWN),
    lambda items: st.one_of(
        st.lists(items, max_size=3).map(tuple),
        st.tuples(items, items, items).map(lambda three: Pair(*three)),
        st.tuples(items, items, items).map(lambda three: Nested(*three)),
    ),
    max_leaves=6,
)


@examples(500)
@given(VALUES)
def test_code_for_other_types_declines_whatever_comes(value: Any) -> None:
    """And leaves no error behind; at most one variant takes a value."""
    for known in KNOWN:
        small_kernels.echo(known)
    variants_of_echo: Any = small_kernels.echo
    taken = [variant(value) for variant in variants_of_echo._variants]
    taken = [result for result in taken if result is not NotImplemented]
    assert len(taken) <= 1
    for result in taken:
        assert repr(result) == repr(normalised(value))


@pytest.mark.parametrize("number", [1 << 64, -(1 << 63) - 1, 1 << 1000])
def test_numbers_of_more_than_64_bits_are_an_error(number: int) -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedArgument, match="64 bits"):
            small_kernels.echo(number)


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3)])
def test_another_number_of_arguments_is_an_error(arguments: tuple[int, ...]) -> None:
    for add in (kernel(small_kernels.add), small_kernels.add):
        if add is small_kernels.add:
            add(1, 2)
        with pytest.raises(TypeError, match=rf"add: expected 2 arguments, got {len(arguments)}"):
            add(*arguments)


def test_kernels_have_no_keywords() -> None:
    with pytest.raises(TypeError, match="keyword"):
        small_kernels.add(left=1, right=2)


def test_results_that_are_not_contiguous_are_refused() -> None:
    with pytest.raises(CompilationError, match=r"result.*got array\(float64, 1d, A"):
        small_kernels.echo(np.zeros(4)[::2])


def test_an_error_in_a_kernel_is_an_error_in_python() -> None:
    assert small_kernels.refuse(3) == 3
    with pytest.raises(RuntimeError, match="in a kernel"):
        small_kernels.refuse(-3)
    assert small_kernels.refuse(3) == 3


@examples(30)
@given(rows=st.integers(1, 4), columns=st.integers(1, 4))
def test_it_computes_what_the_interpreter_computes(rows: int, columns: int) -> None:
    array = np.linspace(-1, 1, rows * columns)
    found = small_kernels.rearranged(array, rows)
    assert_same(found, small_kernels.rearranged.py_func(array, rows))  # type: ignore[attr-defined]


def test_kernels_are_pickled_and_copied_by_name() -> None:
    assert pickle.loads(pickle.dumps(small_kernels.add)) is small_kernels.add
    assert deepcopy(small_kernels.add) is small_kernels.add


def test_kernels_look_like_their_functions() -> None:
    assert small_kernels.add.__name__ == "add"
    assert small_kernels.add.__doc__ == "The sum of two numbers."
    assert small_kernels.add.__module__ == "compilation.small_kernels"


def test_kernels_of_one_name_keep_their_code() -> None:
    """As in a module that is loaded anew, or made by a function."""

    def made(constant: float) -> Any:
        @njit
        def add_constant(number: float) -> float:
            return number + constant

        return add_constant

    first, second = made(1.0), made(2.0)
    assert [first(1.0), second(1.0), made(3.0)(1.0)] == [2.0, 3.0, 4.0]
    assert [first(1.0), second(1.0)] == [2.0, 3.0]
