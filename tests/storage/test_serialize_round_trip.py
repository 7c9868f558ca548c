"""What is written is what is read."""

from __future__ import annotations

import math
from collections import OrderedDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from properties import examples
from storage.crafted import MAGIC, array_of, file_of, header_of

from egparse import __version__
from egparse.storage.model_file import DTYPES, FORMAT_KEYS, read_header, read_model, write_model

ON_ONE_FILE = examples(
    60,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture
    ],  # every example overwrites the same file
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ARRAYS = hnp.arrays(
    dtype=st.sampled_from(sorted(DTYPES)).flatmap(
        lambda name: st.sampled_from([np.dtype(name), big_endian(name)])
    ),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | TEXT
    | st.binary(max_size=300)
)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(TEXT, inner, max_size=20),
    max_leaves=40,
)
WITH_ARRAYS = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(TEXT, inner, max_size=20),
    max_leaves=40,
)


def big_endian(name: str) -> np.dtype[Any]:
    return np.dtype(name).newbyteorder(">")


def assert_same(got: object, expected: object) -> None:
    """Equality in which types, order of keys, nan, the sign of zero and every element's bits
    count.
    """
    if isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray)
        assert got.dtype == np.dtype(expected.dtype.name)
        assert got.shape == expected.shape
        assert got.tobytes() == expected.astype(got.dtype).tobytes()
    elif isinstance(expected, dict):
        assert isinstance(got, dict)
        assert list(got) == list(expected)
        for key in expected:
            assert_same(got[key], expected[key])
    elif isinstance(expected, list):
        assert isinstance(got, list)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, float):
        assert isinstance(got, float)
        assert got == expected or (math.isnan(got) and math.isnan(expected))
        assert math.copysign(1.0, got) == math.copysign(1.0, expected) or math.isnan(expected)
    else:
        assert type(got) is type(expected)
        assert got == expected


@ON_ONE_FILE
@given(
    header=st.dictionaries(TEXT.filter(lambda key: key not in FORMAT_KEYS), PLAIN, max_size=5),
    payload=st.dictionaries(TEXT, WITH_ARRAYS, max_size=5),
)
def test_any_nested_structure_comes_back(
    tmp_path: Path, header: dict[str, Any], payload: dict[str, Any]
) -> None:
    path = tmp_path / "model.msgpack"
    write_model(path, header, payload)
    got_header, got_payload = read_model(path)
    assert_same(got_payload, payload)
    assert_same({key: got_header[key] for key in header}, header)
    assert_same(read_header(path), got_header)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_arrays_come_back_native_aligned_and_read_only(tmp_path: Path, name: str) -> None:
    array = np.arange(7).astype(name)
    write_model(tmp_path / "m", {}, {"odd": "x", "array": array})
    got = read_model(tmp_path / "m")[1]["array"]
    assert got.dtype.isnative
    assert got.flags.aligned
    assert got.flags.c_contiguous
    assert not got.flags.writeable
    assert not got.flags.owndata  # a view: nothing was copied
    np.testing.assert_array_equal(got, array)


def test_layouts_of_memory_do_not_matter(tmp_path: Path) -> None:
    grid = np.arange(24, dtype=np.int32).reshape(4, 6)
    payload = {
        "fortran": np.asfortranarray(grid),
        "strided": grid[::2, ::-1],
        "transposed": grid.T,
        "broadcast": np.broadcast_to(np.float32(2.5), (3, 2)),
        "big": grid.astype(">i4"),
        "scalar": np.array(1.5),
        "empty": np.zeros((0, 5), np.float16),
    }
    write_model(tmp_path / "m", {}, payload)
    assert_same(read_model(tmp_path / "m")[1], payload)


def test_tuples_mappings_and_numpy_scalars_become_plain(tmp_path: Path) -> None:
    payload = {
        "tuple": (1, ("a",)),
        "mapping": MappingProxyType({"b": 1}),
        "ordered": OrderedDict(z=1, a=2),
        "integer": np.int32(-3),
        "float": np.float32(0.5),
        "bool": np.True_,
    }
    write_model(
        tmp_path / "m", MappingProxyType({"C": np.float64(10.0)}), MappingProxyType(payload)
    )
    header, got = read_model(tmp_path / "m")
    expected = {
        "tuple": [1, ["a"]],
        "mapping": {"b": 1},
        "ordered": {"z": 1, "a": 2},
        "integer": -3,
    }
    assert_same(got, expected | {"float": 0.5, "bool": True})
    assert header["C"] == 10.0


def test_the_bytes_are_those_of_the_description(tmp_path: Path) -> None:
    """The layout is a promise to later versions: spelled out here a second time."""
    array = np.array([[1, 2, 3]], dtype=np.uint16)
    write_model(tmp_path / "m", {"language": "en"}, {"words": ["a", "b"], "ids": array})
    stored = array_of("uint16", (1, 3), bytes([1, 0, 2, 0, 3, 0]))
    payload = msgpack.packb({"words": ["a", "b"], "ids": stored})
    header = msgpack.packb(header_of(payload, package_version=__version__, language="en"))
    assert (tmp_path / "m").read_bytes() == file_of(header, payload)
    assert MAGIC == b"\x89egp\r\n\x1a\n"


def test_a_header_that_was_read_can_be_written_again(tmp_path: Path) -> None:
    write_model(tmp_path / "one", {"C": 10.0, "labels": ["a"]}, {"w": np.ones(3)})
    header, _ = read_model(tmp_path / "one")
    write_model(tmp_path / "two", header, {"w": np.ones(4)})
    again, payload = read_model(tmp_path / "two")
    assert again["labels"] == ["a"]
    assert again["payload_sha256"] != header["payload_sha256"]
    assert payload["w"].shape == (4,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"x": {1, 2}}, "type set"),
        ({"x": object()}, "type object"),
        ({"x": 1j}, "type complex"),
        ({"x": 2**64}, "integer beyond 64 bits: 18446744073709551616"),
        ({"x": "\ud800"}, "surrogates not allowed"),
        ({1: "x"}, "key that is not text"),
        ({"x": {b"y": 1}}, "key that is not text"),
        ({"x": np.array(["a"])}, "type <U1 array"),
        ({"x": np.array([1 + 2j])}, "type complex128 array"),
        ({"x": np.array([object()])}, "type object array"),
        ({"x": np.zeros(2, [("a", "i4")])}, "array"),
        ({"x": np.array(["2020-01-01"], "M8[D]")}, "type datetime64"),
        ({"x": np.datetime64("2020-01-01")}, "type datetime64"),
        ({"x": np.ma.masked_array([1], [True])}, "array"),
        ({"x": msgpack.Timestamp(1)}, "kind of value"),
        ({"x": msgpack.ExtType(1, b"short")}, "shorter than any"),
        ({"x": [[]] * 100_001}, "more than 100000 lists"),
    ],
)
def test_content_that_the_format_cannot_hold_is_refused(
    tmp_path: Path, content: dict[Any, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write_model(tmp_path / "m", {}, content)
    assert list(tmp_path.iterdir()) == []


def test_too_deep_and_cyclic_content_is_refused(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(64):
        deep = [deep]
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    with pytest.raises(ValueError, match="more than 64 deep"):
        write_model(tmp_path / "m", {}, {"x": deep})
    with pytest.raises(ValueError, match="recursion limit"):
        write_model(tmp_path / "m", {}, {"x": cyclic})


def test_the_header_holds_no_arrays(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="type float64 array"):
        write_model(tmp_path / "m", {"w": np.ones(2)}, {})
