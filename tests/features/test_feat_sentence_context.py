"""Columns of context on sentences where the answer can be read off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from egparse.features.sentence_context import (
    COLUMNS,
    FINITE,
    INFINITIVAL,
    N_BETWEEN,
    QUESTION,
    TAGS,
    fill_context,
    tag_kinds,
)
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary


def context(words: str) -> dict[str, list[int]]:
    """Columns of a sentence written as form/UPOS/XPOS, and the vocabulary value of each form under
    ``forms``.
    """
    cells = [word.rsplit("/", 2) for word in words.split()]
    columns = [[cell[place] for cell in cells] for place in range(3)]
    vocabularies = [Vocabulary.of(column) for column in columns]
    forms, upos, xpos = (
        np.array(vocabulary.encode(column), dtype=np.int32)
        for vocabulary, column in zip(vocabularies, columns, strict=True)
    )
    kinds = tag_kinds(
        vocabularies[1].strings, vocabularies[2].strings, (), vocabularies[0].strings, FIRST_VALUE
    )
    out = np.zeros((len(cells), len(COLUMNS)), dtype=np.int32)
    starts = np.array([0, len(cells)], dtype=np.int64)
    fill_context(upos, xpos, np.zeros_like(upos), forms, starts, kinds, out)
    return {
        "forms": forms.tolist(),
        **{name: out[:, place].tolist() for place, name in enumerate(COLUMNS)},
    }


def test_a_noun_is_marked_by_its_preposition_and_a_verb_stops_the_search() -> None:
    found = context("I/PRON/PRP slept/VERB/VBD in/ADP/IN the/DET/DT old/ADJ/JJ car/NOUN/NN")
    preposition = 64 + found["forms"][2]
    assert found["marker"][3:] == [preposition] * 3
    assert found["marker"][2] == TAGS.index("VERB")
    assert (
        found["marker"][0] == found["marker"][1] == 41
    )  # nothing but the beginning of the sentence


def test_a_question_word_marks_what_follows_it() -> None:
    found = context("who/PRON/WP you/PRON/PRP saw/VERB/VBD")
    assert found["marker"][1:] == [64 + found["forms"][0]] * 2


def test_brackets_and_quotes_enclose() -> None:
    found = context(
        "a/X/X (/PUNCT/-LRB- b/X/X )/PUNCT/-RRB- c/X/X \"/PUNCT/`` d/X/X \"/PUNCT/'' e/X/X"
    )
    a, opening, b, closing, c, quote, d, unquote, e = found["bracket"]
    assert a == c == e == 0
    assert opening == b == closing > 0
    assert quote == unquote == 5
    assert d == 4


def test_classes_in_between_are_finer_than_tags() -> None:
    found = context(
        "saw/VERB/VBD seen/VERB/VBN ,/PUNCT/, ./PUNCT/. to/PART/TO not/PART/RB which/DET/WDT "
        "the/DET/DT"
    )
    assert len(set(found["between"])) == 8


@pytest.mark.parametrize(
    ("bundle", "kinds"),
    [
        ("PronType=Rel", (QUESTION, QUESTION)),
        ("Case=Nom|PronType=Int,Rel", (QUESTION, QUESTION)),
        ("PronType=Dem,Int", (0, QUESTION)),
        ("PronType=Ind", (0, 0)),
        ("Mood=Ind|VerbForm=Fin", (FINITE, FINITE)),
        ("VerbForm=Inf", (FINITE, FINITE)),
        ("VerbForm=Part", (0, 0)),
        ("PartType=Inf", (0, INFINITIVAL)),
        ("_", (0, 0)),
    ],
)
def test_features_say_the_same_in_every_language(bundle: str, kinds: tuple[int, int]) -> None:
    for version, kind in zip((1, 2), kinds, strict=True):
        found = tag_kinds((), (), (bundle,), (), FIRST_VALUE, version)
        assert found.kind_of_feats.tolist() == [0, 0, kind]


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 4), max_size=40))
def test_any_values_are_taken(cells: list[tuple[int, int, int, int]]) -> None:
    table = np.array(cells, dtype=np.int32).reshape(-1, 4)
    columns = [np.ascontiguousarray(table[:, place]) for place in range(4)]
    out = np.zeros((len(cells), len(COLUMNS)), dtype=np.int32)
    kinds = tag_kinds(
        TAGS[1:],
        ("TO", "WP", "VBD"),
        ("VerbForm=Fin", "PronType=Rel"),
        (",", "(", ")", '"'),
        FIRST_VALUE,
    )
    fill_context(*columns, np.array([0, len(cells)], dtype=np.int64), kinds, out)
    assert (out >= 0).all()
    assert (out[:, COLUMNS.index("between")] < N_BETWEEN).all()
