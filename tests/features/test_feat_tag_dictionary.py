"""Candidate tags: what is seen with a frequent form, and suffixes for the others."""

from __future__ import annotations

import numpy as np

from egparse.features.tag_dictionary import TagDictionary, all_labels

FORMS = ["the"] * 30 + ["walked", "talked", "jumped", "table"]
LABELS = [0] * 30 + [1, 1, 2, 3]


def lists(forms: list[str], dictionary: TagDictionary) -> list[list[int]]:
    distinct = list(dict.fromkeys(forms))
    ids = np.array([distinct.index(form) for form in forms], dtype=np.int32)
    found = dictionary.candidates(distinct, ids)
    return [
        found.labels[first:end].tolist()
        for first, end in zip(found.starts, found.starts[1:], strict=False)
    ]


def test_a_frequent_form_has_only_the_tags_seen_with_it() -> None:
    assert lists(["the", "the"], TagDictionary.build(FORMS, LABELS)) == [[0], [0]]


def test_a_rare_or_unknown_form_has_those_of_its_suffixes() -> None:
    (unknown, rare) = lists(["asked", "walked"], TagDictionary.build(FORMS, LABELS, size=2))
    assert unknown == [1, 2]
    assert set(rare) >= {1}


def test_every_form_has_a_candidate() -> None:
    assert all(lists(["", "☃", "Zzz", "a"], TagDictionary.build(FORMS, LABELS)))


def test_the_correct_label_is_added_where_it_is_missing() -> None:
    dictionary = TagDictionary.build(FORMS, LABELS)
    ids = np.array([0, 0], dtype=np.int32)
    found = dictionary.with_correct(
        dictionary.candidates(["the"], ids), np.array([3, 0], dtype=np.int32)
    )
    assert found.labels.tolist() == [0, 3, 0]
    assert found.starts.tolist() == [0, 2, 3]


def test_all_labels() -> None:
    assert all_labels(2, 3).labels.tolist() == [0, 1, 2, 0, 1, 2]


def test_unknown_forms_have_candidates_even_if_every_form_is_frequent() -> None:
    dictionary = TagDictionary.build(FORMS, LABELS, frequent=1)
    (known, unknown, strange) = lists(["walked", "asked", "☃"], dictionary)
    assert known == [1]
    assert set(unknown) >= {1, 2}
    assert strange


def test_a_symbol_that_was_never_seen_has_the_labels_of_other_symbols() -> None:
    dictionary = TagDictionary.build(["£", "+", "dog", "cat", "mat"], [1, 1, 0, 0, 0], size=1)
    assert lists(["\N{GRINNING FACE}", "\N{HEAVY BLACK HEART}\ufe0f"], dictionary) == [[1], [1]]
