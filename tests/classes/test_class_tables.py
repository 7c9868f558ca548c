"""Tables of word classes: which path a form has, what may be left out, how a model holds it, and
the columns that templates name.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.classes.tables import (
    MAX_TABLES,
    ClassColumn,
    ClassColumns,
    ClassTable,
    Origin,
    PackedTable,
    class_columns_of,
    columns_in,
    fingerprints_of,
    for_each_table,
    is_as_fine_as_words,
    normal,
    parse_column,
)
from egparse.features.arcs import compile_arc_templates
from egparse.features.forms import Lexicon
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns
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
        len(part["planes"]) if isinstance(part, dict) else part.nbytes
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
        (
            {
                "buckets": buckets(),
                "low": np.zeros((0, 3), dtype=np.uint8),
                "classes": compress_array(np.zeros(0, dtype=np.uint16)),
            },
            "buckets: expected at least one fingerprint",
        ),
    ],
)
def test_hostile_tables_are_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(Misfit) as raised:
        PackedTable.from_payload(Stored(sound() | change))
    assert fault in str(raised.value)


FIRST = {"the": "000", "a": "001", "dog": "0100", "cat": "0101", "runs": "1"}
SECOND = {"dog": "0", "runs": "10", "9": "11"}
FORMS = ["the", "The", "dog", "cat", "runs", "9", "unknown"]
NAMES = ("class2", "class", "class3", "class32", "class_2", "class1_2")


def columns() -> ClassColumns:
    tables = [PackedTable.of(ClassTable(paths)) for paths in (FIRST, SECOND)]
    return ClassColumns(tables, NAMES)


def test_names() -> None:
    assert parse_column("class") == ClassColumn(0, 0)
    assert parse_column("class1") == ClassColumn(0, 1)
    assert parse_column("class32") == ClassColumn(0, 32)
    assert parse_column("class_2") == ClassColumn(1, 0)
    assert parse_column(f"class6_{MAX_TABLES}") == ClassColumn(MAX_TABLES - 1, 6)
    others = "class0 class33 class06 class_1 class_0 class_10 classes class6_ head_class klass"
    assert not any(map(parse_column, others.split()))


def test_templates_of_further_tables() -> None:
    templates = ("class[0]|head_class6[0]|upos[0]", "h.class4[-1] h.xpos + d.class", "lower[0]")
    assert for_each_table(templates, 0) == ()
    assert for_each_table(templates, 1) == templates
    assert for_each_table(templates, 3)[3:] == (
        "class_2[0]|head_class6_2[0]|upos[0]",
        "h.class4_2[-1] h.xpos + d.class_2",
        "lower[0]",
        "class_3[0]|head_class6_3[0]|upos[0]",
        "h.class4_3[-1] h.xpos + d.class_3",
        "lower[0]",
    )


def test_columns_that_templates_name() -> None:
    templates = ("class[0]|head_class6_2[0]|upos[0]", "h.class4[-1] + d.class", "class99[0]")
    assert columns_in(templates) == ["class", "class6_2", "class4"]


def test_whole_classes_count_as_words() -> None:
    assert all(map(is_as_fine_as_words, ("class", "class_2", "class9", "class12_3")))
    assert not any(map(is_as_fine_as_words, ("class1", "class8", "class8_2", "form", "upos")))
    texts = ("h.upos + d.upos", "h.class8 + d.class6", "h.class + d.upos", "h.upos + d.form")
    names = ("upos", "form", "class", "class8", "class6")
    assert compile_arc_templates(texts, names, "upos").n_with_length == 2


def test_values_are_equal_where_the_prefixes_are() -> None:
    found = columns()
    values = found.values(FORMS)
    for place, name in enumerate(NAMES):
        column = parse_column(name)
        assert column is not None
        paths = ClassTable((FIRST, SECOND)[column.table])
        wanted = [(paths.path(form) or "")[: column.bits or 32] for form in FORMS]
        shown = [found.prefix(name, value) for value in values[:, place].tolist()]
        assert shown == wanted
        assert [value == 0 for value in values[:, place]] == [not prefix for prefix in wanted]


def test_further_columns_come_last() -> None:
    more = columns().with_names(["class", "class5", "class5"])
    assert more.names == (*NAMES, "class5")
    assert (more.values(FORMS)[:, : len(NAMES)] == columns().values(FORMS)).all()


def test_known_and_unknown_forms_have_the_same_values() -> None:
    vocabulary = {"lower": Vocabulary(("the", "dog"))}
    known, unknown = Lexicon(vocabulary, FORMS, columns()), Lexicon(vocabulary, (), columns())
    assert known.names == ("lower", *NAMES)
    values = known.encode(FORMS)
    assert (values == unknown.encode(FORMS)).all()
    assert (values == known.encode(FORMS)).all()  # from the cache
    of_classes = columns().values(FORMS)
    assert (values[:, 1:] == np.where(of_classes > 0, of_classes + FIRST_VALUE - 1, 0)).all()


def test_values_are_described() -> None:
    words = Columns(Lexicon({}, (), columns()), {})
    value = int(words.words([["cat"]]).values[0, words.number("class2")])
    assert words.describe("class2", value) == "01"
    assert words.describe("head_class2", value) == "01"
    assert words.describe("class2", BOUNDARY) == "<boundary>"
    assert words.describe("class2", 99) == "<unknown>"
    assert (words.n_class_tables, words.class_names) == (2, NAMES)


@pytest.mark.parametrize("name", ["class_3", "class40", "lower", ""])
def test_columns_without_a_table_are_refused(name: str) -> None:
    with pytest.raises(Misfit, match="expected columns of 2 tables of word classes"):
        class_columns_of(Stored(["class", name]), columns().tables)
    with pytest.raises(ValueError, match="expected a column of 2 tables"):
        ClassColumns(columns().tables, [name])
