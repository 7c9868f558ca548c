"""Tables of word classes: which path a form has, what may be left out, and how a model holds it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.classes.packed import PackedTable, fingerprints_of
from egparse.classes.table import ClassTable, Origin, normal
from egparse.storage.arrays import compress_array
from egparse.storage.schema import Misfit, Stored

FORMS = ["".join(letters) for size in (1, 2, 3) for letters in product("aA07", repeat=size)]
"""Every form of up to three of these letters: all ways in which one falls back to another."""


def path_by_definition(paths: dict[str, str], form: str) -> str | None:
    """The form itself, else in lower case, else with digits as 0."""
    lower = form.lower()
    zeros = "".join("0" if letter.isdigit() else letter for letter in lower)
    found = [paths[key] for key in (form, lower, zeros) if key in paths]
    return found[0] if found else None


TABLES = st.dictionaries(
    st.sampled_from(FORMS), st.sampled_from(["0", "10", "110", "111"]), min_size=1, max_size=40
)


@given(TABLES)
@examples(200)
def test_every_form_has_the_path_that_the_rule_says(paths: dict[str, str]) -> None:
    table = ClassTable(paths)
    reduced = table.without_repetitions()
    packed = PackedTable.of(table)
    found = packed.find(FORMS)
    for form, number in zip(FORMS, found.tolist(), strict=True):
        wanted = path_by_definition(paths, form)
        assert table.path(form) == wanted
        assert reduced.path(form) == wanted
        assert (packed.paths[number] if number >= 0 else None) == wanted


@given(TABLES)
@examples(100)
def test_no_form_is_kept_that_could_be_left_out(paths: dict[str, str]) -> None:
    kept = dict(ClassTable(paths).without_repetitions().paths)
    for form, path in kept.items():
        others = {key: value for key, value in kept.items() if key != form}
        assert path_by_definition(others, form) != path


@given(TABLES)
@examples(50)
def test_a_table_is_read_as_it_was_stored(paths: dict[str, str]) -> None:
    table = PackedTable.of(ClassTable(paths, {}, Origin("name", "source", "licence")))
    again = PackedTable.from_payload(Stored(table.to_payload()))
    assert again.origin == table.origin
    assert again.paths == table.paths
    assert again.fingerprints.tolist() == table.fingerprints.tolist()
    assert again.classes.tolist() == table.classes.tolist()


@given(TABLES)
@examples(100)
def test_what_forms_fall_back_to_has_their_commonest_path(paths: dict[str, str]) -> None:
    wide = dict(ClassTable(paths).generalised().paths)
    assert wide | paths == wide
    wanted = {form.lower() for form in paths} | {normal(form) for form in paths}
    assert set(wide) == set(paths) | wanted
    for key in set(wide) - set(paths):
        alike = [path for form, path in paths.items() if key in (form.lower(), normal(form))]
        assert alike.count(wide[key]) == max(map(alike.count, alike))


def test_the_commonest_path_is_by_counts_where_there_are_some() -> None:
    paths = {"Abc": "0", "ABC": "1", "aBC": "1", "12": "00", "34": "01", "56": "01"}
    assert ClassTable(paths).generalised().paths == paths | {"abc": "1", "00": "01"}
    counts = {"Abc": 9, "ABC": 1, "aBC": 1, "12": 3, "34": 1, "56": 1}
    wide = ClassTable(paths, counts).generalised()
    assert wide.paths == paths | {"abc": "0", "00": "00"}
    assert wide.path("abC") == "0"
    assert wide.path("78") == "00"


def test_rare_forms_are_left_out_where_there_are_counts() -> None:
    paths = {"a": "0", "b": "10", "c": "11"}
    counted = ClassTable(paths, {"a": 3, "b": 2, "c": 1})
    assert dict(counted.frequent(2).paths) == {"a": "0", "b": "10"}
    assert counted.frequent(1).paths == paths
    assert ClassTable(paths).frequent(9).paths == paths


def test_fingerprints_are_forty_bits_of_any_text() -> None:
    texts = ["", "a", "A", "\ud800", "é" * 1000, *map(str, range(20_000))]
    found = fingerprints_of(texts)
    assert int(found.max()) < 1 << 40
    assert len(set(found.tolist())) == len(texts)  # 2e8 pairs, each equal with 2^-40
    # spread evenly: each of 16 parts has a sixteenth, with a standard deviation of 2.4 %
    counts = np.bincount((found >> np.uint64(36)).astype(np.int64), minlength=16)
    assert abs(counts / (len(texts) / 16) - 1).max() < 0.15


def test_a_table_takes_five_bytes_a_form() -> None:
    table = ClassTable({f"word{k}": f"{k % 256:08b}" for k in range(1, 20_001) if k % 10})
    stored = PackedTable.of(table).to_payload()
    size = sum(
        len(part["deflated"]) if isinstance(part, dict) else part.nbytes
        for part in (stored["buckets"], stored["low"], stored["classes"])
    )
    assert size < 5.2 * len(table.paths)


def test_what_does_not_show_is_escaped_in_an_origin() -> None:
    table = ClassTable({"a": "0"}, {}, Origin("a\nb", "x" * 2000, "\u2028"))
    assert PackedTable.of(table).origin == Origin("a\\nb", "x" * 1000, "\\u2028")


def sound() -> dict[str, Any]:
    return PackedTable.of(ClassTable({"a": "0", "b": "10", "c": "11"})).to_payload()


def buckets(*counts: int) -> dict[str, Any]:
    return compress_array(np.array([*counts, *[0] * (65_536 - len(counts))], dtype=np.uint16))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"paths": ["0", "10", "12"]}, "paths: expected texts of the bits 0 and 1"),
        ({"paths": ["0", "10", ""]}, "paths: expected texts of the bits 0 and 1"),
        ({"paths": ["0", "10", "10"]}, "paths: expected texts that differ"),
        ({"paths": ["0", "10"]}, "classes: expected numbers from 0 to 1, got 2"),
        ({"paths": []}, "paths: expected a list of at least 1"),
        ({"paths": ["0", "10", "1" * 33]}, "paths: expected texts of at most 32 characters"),
        ({"paths": [str(k) for k in range(16_385)]}, "paths: expected a list of at most 16384"),
        ({"buckets": buckets(1, 1)}, "low: expected 2 entries, got 3"),
        ({"buckets": buckets(65_535, 65_535)}, "low: expected 131070 entries"),
        (
            {"buckets": compress_array(np.array([3], dtype=np.uint16))},
            "buckets: expected 65536 buckets, got 1",
        ),
        ({"low": np.zeros((3, 3), dtype=np.uint8), "buckets": buckets(3)}, "low: expected ascend"),
        ({"low": np.zeros((3, 4), dtype=np.uint8)}, "low: expected 3, got 4"),
        (
            {"classes": compress_array(np.array([0, 1], dtype=np.uint16))},
            "classes: expected 3 entries, got 2",
        ),
        ({"name": "a\nb"}, "name: expected one line"),
        ({"licence": 3}, "licence: expected one line"),
        ({"others": 3}, "expected the fields name, "),
    ],
)
def test_hostile_tables_are_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(Misfit) as raised:
        PackedTable.from_payload(Stored(sound() | change))
    assert fault in str(raised.value)


def test_an_empty_table_is_refused() -> None:
    empty = {
        "buckets": buckets(),
        "low": np.zeros((0, 3), dtype=np.uint8),
        "classes": compress_array(np.zeros(0, dtype=np.uint16)),
    }
    with pytest.raises(Misfit, match="buckets: expected at least one fingerprint"):
        PackedTable.from_payload(Stored(sound() | empty))
