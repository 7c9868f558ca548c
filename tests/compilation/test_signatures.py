"""The types of arguments: found, normalised, as text and back."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from compilation.small_kernels import Nested, Nothing, Pair
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.compilation.signatures import (
    ELEMENTS,
    SCALARS,
    ArgumentType,
    ArrayType,
    TupleType,
    UnsupportedArgument,
    as_text,
    from_text,
    normalised,
    type_of,
)

NAMES = st.from_regex(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", fullmatch=True)
ARRAYS = st.builds(ArrayType, st.sampled_from(ELEMENTS), st.integers(0, 12), st.booleans())
TYPES: st.SearchStrategy[ArgumentType] = st.recursive(
    st.sampled_from(SCALARS) | ARRAYS,
    lambda items: st.builds(TupleType, st.just("") | NAMES, st.lists(items, max_size=3).map(tuple)),
    max_leaves=6,
)


@examples(60)
@given(st.lists(TYPES, max_size=5).map(tuple))
def test_text_and_back(types: tuple[ArgumentType, ...]) -> None:
    assert from_text(as_text(types)) == types


@pytest.mark.parametrize(
    "text",
    ["", "int", "(int", "int)", "(int))", "(int,,int)", "(int int)", "(f8[])", "(f8[1)", "(,)",
     "(whole)", "(g8[1])", "(f8[1]))", "mod.Name(int)", "mod.Name(int)x", "((int)", "(int,int)"],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        from_text(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "int"),
        (-(1 << 63), "int"),
        ((1 << 63) - 1, "int"),
        (1 << 63, "uint"),
        (3.0, "float"),
        (True, "bool"),
        (None, "none"),
        (np.int8(3), "int"),
        (np.uint64(3), "int"),
        (np.uint64(1 << 63), "uint"),
        (np.float32(3), "float"),
        (np.bool_(True), "bool"),
        (IntEnum("Kind", "FIRST SECOND")(1), "int"),
        (np.zeros(3), "f8[1]"),
        (np.zeros((3, 4))[:, :2], "f8[2:]"),
        (np.zeros((3, 4)).T, "f8[2:]"),
        (np.zeros(1)[::-1], "f8[1]"),
        (np.zeros((0, 4), dtype=np.int16), "i2[2]"),
        (np.array(3, dtype=bool), "b1[0]"),
        (np.zeros(2, dtype=np.longlong), "i8[1]"),
        ((1, np.zeros(1)), "(int, f8[1])"),
        ((), "()"),
        (Nothing(), "compilation.small_kernels.Nothing()"),
        (
            Nested(Pair(np.zeros(1), np.arange(2)[::2], 0.5), (1, True), None),
            "compilation.small_kernels.Nested(compilation.small_kernels.Pair(f8[1], i8[1], float), "
            "(int, bool), none)",
        ),
    ],
)
def test_types_of_values(value: Any, text: str) -> None:
    assert as_text((type_of(normalised(value)),)) == f"({text})"


class Within:
    """Holds a NamedTuple that cannot be imported by its name."""

    class Inner(NamedTuple):
        """One number."""

        number: int


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("text", "got 'text'"),
        ([1, 2], "got [1, 2]"),
        (1j, "got 1j"),
        ({}, "got {}"),
        (np.float64, "numpy.float64"),
        (np.array(["a"]), "got <U1"),
        (np.zeros(2, dtype=complex), "got complex128"),
        (np.zeros(2, dtype=">f8"), "got >f8"),
        (np.zeros(2, dtype="f2"), "got float16"),
        (np.zeros(17, dtype=np.int8)[1:].view(np.float64), "an aligned array, got"),
        ((1, ["deep"]), "got ['deep']"),
        (Within.Inner(1), "expected a NamedTuple of a module, got"),
    ],
)
def test_what_no_kernel_takes_is_named(value: Any, said: str) -> None:
    with pytest.raises(UnsupportedArgument) as refused:
        type_of(normalised(value))
    assert said in str(refused.value)


class Halves(np.ndarray[Any, Any]):
    """A class of arrays that is not numpy's."""


class Real(float):
    """A class of numbers that is not Python's."""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.uint64(1 << 63), 1 << 63),
        (np.bool_(False), False),
        (Real(0.5), 0.5),
        ((np.int8(1), (np.float32(0.5),)), (1, (0.5,))),
        (Pair(1, np.float32(2), None), Pair(1, 2.0, None)),  # type: ignore[arg-type]
    ],
)
def test_scalars_become_those_of_python(value: Any, expected: Any) -> None:
    found = normalised(value)
    assert found == expected
    assert type(found) is type(expected)
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    "other_class",
    [
        lambda array: array.view(Halves),
        lambda array: array.view(np.longlong),
        lambda array: np.ma.masked_array(array),
    ],
)
def test_arrays_become_those_of_numpy_and_share_their_memory(
    other_class: Callable[[Any], Any],
) -> None:
    array = np.arange(6)
    found = normalised(other_class(array))
    assert type(found) is np.ndarray
    assert found.dtype is np.dtype(np.int64)
    found[2] = 17
    assert array[2] == 17
