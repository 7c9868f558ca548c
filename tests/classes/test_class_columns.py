"""The columns of word classes: their names in templates, and their values."""

from __future__ import annotations

import numpy as np
import pytest

from egparse.classes.tables import (
    MAX_TABLES,
    ClassColumn,
    ClassColumns,
    ClassTable,
    PackedTable,
    class_columns_of,
    columns_in,
    for_each_table,
    is_as_fine_as_words,
    parse_column,
)
from egparse.features.arcs import compile_arc_templates
from egparse.features.forms import Lexicon
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns
from egparse.storage.schema import Misfit, Stored

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
    others = (
        "class0",
        "class33",
        "class06",
        "class_1",
        "class_0",
        "class_10",
        "classes",
        "class6_",
    )
    assert [parse_column(name) for name in (*others, "head_class", "klass")] == [None] * 10


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
    fine = [
        name for name in ("class", "class_2", "class9", "class12_3") if is_as_fine_as_words(name)
    ]
    assert fine == ["class", "class_2", "class9", "class12_3"]
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
