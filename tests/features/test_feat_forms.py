"""Observables of forms, the lexicon, templates and the index of attribute keys."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from egparse.errors import ConfigError
from egparse.features.arcs import compile_arc_templates
from egparse.features.forms import OBSERVABLES, Lexicon, normal, shape
from egparse.features.index import ABSENT, KeyIndex
from egparse.features.templates import columns_of, compile_templates, extract_keys
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, UNKNOWN, Vocabulary


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("McDonald's", "XxXxx'x"),
        ("1984", "00"),
        ("USA", "XX"),
        ("a-b", "x-x"),
        ("", ""),
        ("...", ".."),
    ],
)
def test_shape_cuts_runs_to_two(form: str, expected: str) -> None:
    assert shape(form) == expected


def test_normal_is_lower_case_with_digits_as_zero() -> None:
    assert normal("Ab12") == "ab00"


def test_a_known_form_and_the_same_form_computed_anew_have_the_same_values() -> None:
    counts = Counter({"House": 3, "houses": 1, "12-inch": 1})
    lexicon = Lexicon.build(counts, list(OBSERVABLES), {})
    without = Lexicon(lexicon.vocabularies, ())
    np.testing.assert_array_equal(lexicon.encode(list(counts)), without.encode(list(counts)))


def test_an_unknown_form_keeps_what_is_known_of_it_and_a_rare_value_is_unknown() -> None:
    lexicon = Lexicon.build(Counter({"walked": 2, "Zog": 1}), ["form", "suffix2"], {"form": 2})
    values = lexicon.encode(["talked", "Zog", "walked"])
    assert values[0, 0] == UNKNOWN
    assert lexicon.vocabularies["suffix2"].string(values[0, 1]) == "ed"
    assert values[1, 0] == UNKNOWN
    assert values[2, 0] == FIRST_VALUE
    assert "Zog" in lexicon
    assert "talked" not in lexicon


def test_an_unknown_observable_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="got 'colour'"):
        Lexicon({"colour": Vocabulary(())}, ())


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("form[x]", "expected 'bias' or at most 3 cells"),
        ("form[0]|form[1]|form[2]|form[3]", "expected 'bias' or at most 3 cells"),
        ("lemma[0]", "expected one of the columns form, tag, got 'lemma'"),
    ],
)
def test_a_template_that_cannot_be_read_is_refused_with_its_text(template: str, text: str) -> None:
    with pytest.raises(ConfigError) as fault:
        compile_templates([template], ["form", "tag"])
    assert template in str(fault.value)
    assert text in str(fault.value)


def test_cells_are_written_in_one_way_for_all_features() -> None:
    columns = ["upos", "head_upos", "grand_upos"]
    expected = compile_templates(["upos[0]|head_upos[0]|grand_upos[-1]"], columns)
    for text in (
        "d.upos h.upos g.upos[-1]",
        "d.upos + h.upos+g.upos[-1]",
        "upos | h.upos|g.upos[-1]",
    ):
        found = compile_templates([text], columns)
        np.testing.assert_array_equal(found.columns, expected.columns)
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        assert columns_of([text]) == columns
    of_arcs = [compile_arc_templates([text, "h.a", "d.b"], ["a", "b"], "a") for text in _EQUAL]
    for other in of_arcs[1:]:
        for array, wanted in zip(other, of_arcs[0], strict=True):
            np.testing.assert_array_equal(array, wanted)


_EQUAL = ("h.a h.b[+1] + d.b[-1]", "h.a|h.b[1]|d.b[-1]", "h.a[0]+h.b[+1] | d.b[-1]")


def _keys(texts: list[str], values: np.ndarray, starts: list[int], pads: bool) -> np.ndarray:
    templates = compile_templates(texts, ["form", "tag"], pads)
    keys = np.empty((len(values), len(texts)), dtype=np.uint64)
    extract_keys(
        values.astype(np.int32),
        np.array(starts, dtype=np.int64),
        templates.columns,
        templates.offsets,
        pads,
        keys,
    )
    return keys


def test_keys_do_not_cross_sentences_and_unknown_values_yield_none() -> None:
    values = np.array([[5, 2], [UNKNOWN, 3], [5, 2]])
    padded = _keys(["form[0]", "form[-1]"], values, [0, 2, 3], True)
    bare = _keys(["form[0]", "form[-1]"], values, [0, 2, 3], False)
    assert padded[0, 0] == padded[2, 0] != 0
    assert padded[1, 0] == 0
    assert padded[0, 1] == padded[2, 1] != 0  # both follow the boundary
    assert bare[0, 1] == bare[2, 1] == 0
    assert padded[1, 1] == bare[1, 1] != 0


@given(
    st.lists(
        st.tuples(st.integers(1, 2**19 - 1), st.integers(1, 2**19 - 1)), min_size=1, max_size=6
    )
)
def test_a_key_can_be_read_back(cells: list[tuple[int, int]]) -> None:
    texts = ["form[0]", "form[0]|tag[0]", "bias"]
    templates = compile_templates(texts, ["form", "tag"])
    keys = _keys(texts, np.array(cells), [0, len(cells)], True)
    for (form, tag), (single, pair, bias) in zip(cells, keys.tolist(), strict=True):
        assert (
            templates.describe(single, lambda column, value: f"{column}:{value}")
            == f"form[0]=form:{form}"
        )
        assert (
            templates.describe(pair, lambda _, value: str(value)) == f"form[0]={form} tag[0]={tag}"
        )
        assert templates.describe(bias, lambda _, value: str(value)) == "bias"
    assert len(np.unique(keys)) == len({c[0] for c in cells}) + len(set(cells)) + 1


@given(
    st.sets(st.integers(1, 2**64 - 1), max_size=200),
    st.lists(st.integers(0, 2**64 - 1), max_size=50),
)
def test_the_index_finds_exactly_its_keys(keys: set[int], others: list[int]) -> None:
    ordered = sorted(keys)
    index = KeyIndex(np.array(ordered, dtype=np.uint64))
    asked = np.array(ordered + others, dtype=np.uint64)
    expected = [ordered.index(key) if key in keys else ABSENT for key in asked.tolist()]
    assert index.numbers(asked).tolist() == expected
    assert len(index) == len(keys)


def test_the_boundary_has_a_name() -> None:
    assert Vocabulary(["a"]).string(BOUNDARY) == "<boundary>"
