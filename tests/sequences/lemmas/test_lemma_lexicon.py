"""The lexicon of scripts: what it lists for a word, and that it survives the model file."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.sequences.edit_scripts import apply, script_of
from egparse.sequences.lemmatiser import NO_TAG, LemmaLexicon, Seen, suffixes_of
from egparse.storage.schema import Misfit, Stored

NOUN, VERB = 2, 3
WORDS = [
    *[("cats", NOUN, "cat")] * 3,
    ("Cats", NOUN, "cat"),
    ("dogs", NOUN, "dog"),
    ("runs", VERB, "run"),
    ("sees", VERB, "see"),
    ("saw", VERB, "see"),
    *[("saw", NOUN, "saw")] * 2,
    ("Paris", 4, "Paris"),
]


def counted(words: list[tuple[str, int, str]]) -> Counter[Seen]:
    return Counter(Seen(form, tag, script_of(form, lemma)) for form, tag, lemma in words)


def lexicon(**settings: Any) -> LemmaLexicon:
    wanted = {"size": 4, "longest": 3, "frequent": 30} | settings
    return LemmaLexicon.build(counted(WORDS), **wanted)


def lemmas_of(known: LemmaLexicon, form: str, tag: int) -> list[str | None]:
    return [apply(known.scripts[script], form) for script in known.of_word(form, tag)]


@pytest.mark.parametrize(
    ("form", "tag", "lemmas"),
    [
        ("cats", NOUN, ["cat"]),
        ("CATS", NOUN, ["cat"]),  # casing does not matter
        ("saw", VERB, ["see"]),
        ("saw", NOUN, ["saw"]),
        ("saw", 4, ["saw", "see"]),  # the scripts of its tags come first
        ("birds", NOUN, ["bird"]),
        ("walks", VERB, ["walk"]),
    ],
)
def test_the_scripts_of_a_word(form: str, tag: int, lemmas: list[str]) -> None:
    """Those that its form and tag were seen with, or those of its suffixes."""
    found = lemmas_of(lexicon(), form, tag)
    assert found[: len(lemmas)] == lemmas
    assert len(found) == len(lemmas) or (form, tag) in (("saw", 4), ("birds", 2), ("walks", 3))


def test_what_counts_where_words_lack_a_tag_or_were_not_seen() -> None:
    assert set(lemmas_of(lexicon(), "saw", NO_TAG)) == {"saw", "see"}
    # "saw" -> "see" was seen with one form only, and says nothing about others
    assert "see" not in lemmas_of(lexicon(), "draw", VERB)


def test_frequent_words_say_nothing_about_suffixes() -> None:
    assert lexicon(frequent=1).by_suffix == {}
    assert lemmas_of(lexicon(frequent=1), "birds", NOUN) == []


def test_a_lemma_is_known_if_another_form_has_it() -> None:
    known = lexicon()
    assert known.is_known("see", "sees")
    assert known.is_known("See", "seen")
    assert not known.is_known("cat", "cats")  # its only form
    assert known.is_known("cat", "catty")
    assert not known.is_known("bird", "birds")


def test_more_words_extend_a_lexicon() -> None:
    before = lexicon()
    more = counted([("mice", NOUN, "mouse"), ("cats", NOUN, "CATS")])
    after = LemmaLexicon.build(more, 4, 3, 30, before)
    assert after.scripts[: len(before.scripts)] == before.scripts
    assert after.pairs[: len(before.pairs)] == before.pairs
    assert lemmas_of(after, "mice", NOUN) == ["mouse"]
    assert lemmas_of(after, "cats", NOUN) == ["CATS", "cat"]
    assert lemmas_of(after, "dogs", NOUN) == ["dog"]


def test_suffixes() -> None:
    assert suffixes_of("Cats", 3) == ["Xats", "Xts", "Xs", "X", ""]
    assert suffixes_of("a", 5) == ["xa", "x", ""]


TEXTS = st.text("abcAB'", min_size=1, max_size=6)


@examples(100)
@given(
    st.lists(st.tuples(TEXTS, st.integers(0, 4), TEXTS), min_size=1, max_size=30),
    st.lists(st.tuples(TEXTS, st.integers(0, 4)), max_size=5),
)
def test_what_was_seen_is_a_candidate_and_survives_the_file(
    words: list[tuple[str, int, str]], others: list[tuple[str, int]]
) -> None:
    known = LemmaLexicon.build(counted(words), 3, 2, 30)
    stored = LemmaLexicon.from_payload(Stored(known.to_payload()), 5, 3, 2)
    for form, tag, lemma in words:
        assert lemma in lemmas_of(known, form, tag)
    for form, tag in [*others, *((form, tag) for form, tag, _ in words)]:
        found = known.of_word(form, tag)
        assert len(set(found)) == len(found)
        assert stored.of_word(form, tag) == found
        assert len(known.by_suffixes(form, tag)) <= 3
        for lemma in ("a", "ab", "B'"):
            has = {own.lower() for own, _, wanted in words if wanted.lower() == lemma.lower()}
            assert known.is_known(lemma, form) == bool(has - {form.lower()})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda own: own["scripts"].__setitem__(0, "?"), "scripts: expected edit scripts"),
        (lambda own: own.update(scripts=["l", "l"]), "scripts: expected texts that differ"),
        (lambda own: own.update(scripts=[]), "scripts: expected"),
        (lambda own: own.update(scripts=["l"]), "numbers: expected"),
        (lambda own: own["forms"].update(strings=["a"]), "forms"),
        (lambda own: own.pop("suffixes"), "suffixes"),
    ],
)
def test_a_faulty_file_is_refused(change: Any, text: str) -> None:
    payload = lexicon().to_payload()
    change(payload)
    with pytest.raises(Misfit, match=text):
        LemmaLexicon.from_payload(Stored(payload), 5, 4, 3)


def test_tags_of_a_file_are_values_of_upos() -> None:
    with pytest.raises(Misfit, match="tags: expected"):
        LemmaLexicon.from_payload(Stored(lexicon().to_payload()), 4, 4, 3)
