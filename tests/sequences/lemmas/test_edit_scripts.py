"""Edit scripts: what they look like, that they give back what they were made of, and when they do
not apply.
"""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.io.conllu import read_conllu
from egparse.sequences.edit_scripts import (
    apply,
    is_script,
    longest_common_substring,
    script_of,
)

UD = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "ud"

STRINGS = st.one_of(
    st.text(max_size=12),
    st.text("aAbBßẞİıIiΣσςǅǆŉΐ|\\+-^=09'", max_size=10),
    st.text("abA", max_size=6),
)


@pytest.mark.parametrize(
    ("form", "lemma", "script"),
    [
        ("The", "the", "l"),
        ("the", "the", "l"),
        ("Cities", "city", "l-3+y"),
        ("gesagt", "sagt", "l^2+|"),
        ("gesagt", "sagen", "l^2+|-1+en"),
        ("PARIS", "Paris", "t"),
        ("Paris", "Paris", "t"),
        ("nato", "NATO", "u"),
        ("I", "I", "t"),
        ("iPhones", "iPhone", "k-1"),
        ("McDonald", "McDonald", "k"),
        ("was", "be", "l=be"),
        ("Were", "", "l="),
        ("", "a", "l=a"),
        ("l'", "le", "l-1+e"),
        ("x", "|\\x", "l^0+\\|\\\\|"),
        ("2,000", "2,000", "l"),
        ("日本", "日本語", "l+語"),
        ("İstanbul", "İstanbul", "k"),
    ],
)
def test_scripts_as_they_are_written(form: str, lemma: str, script: str) -> None:
    assert script_of(form, lemma) == script
    assert apply(script, form) == lemma
    assert is_script(script)


@examples(200)
@given(STRINGS, STRINGS)
def test_a_script_gives_back_what_it_was_made_of(form: str, lemma: str) -> None:
    script = script_of(form, lemma)
    assert is_script(script)
    assert apply(script, form) == lemma


@examples(200)
@given(STRINGS, STRINGS, STRINGS)
def test_a_script_applies_to_other_forms_or_says_that_it_does_not(
    form: str, lemma: str, other: str
) -> None:
    script = script_of(form, lemma)
    made = apply(script, other)
    if made is None:
        assert "=" not in script[1:2]
    elif is_script(again := script_of(other, made)):
        assert apply(again, other) == made


def test_a_form_must_keep_a_character() -> None:
    assert apply("l-3+y", "ies") is None
    assert apply("l-3+y", "xies") == "xy"
    assert apply("l^1+|-1", "ab") is None
    assert apply("l", "") is None
    assert apply("l=be", "") == "be"


@pytest.mark.parametrize(
    "text", ["", "x", "l-", "l+", "l-3y", "l^1", "l^1+a", "l^1+a\\b|", "L", "l-1234567", "l\n"]
)
def test_other_texts_are_no_scripts(text: str) -> None:
    assert not is_script(text)
    with pytest.raises(ValueError, match="expected an edit script such as"):
        apply(text, "form")


def test_the_common_substring_is_the_longest_and_the_leftmost() -> None:
    words = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
    for first in words:
        for second in words:
            every = [
                (start, end)
                for start in range(len(first))
                for end in range(start + 1, len(first) + 1)
                if first[start:end] in second
            ]
            longest = max((end - start for start, end in every), default=0)
            found, length = longest_common_substring(first, second)
            assert length == longest
            if longest:
                assert found == min(start for start, end in every if end - start == longest)


@pytest.mark.parametrize("name", ["fr_sequoia", "en_ewt", "la_perseus"])
def test_lemmas_of_treebanks_come_back(name: str) -> None:
    path = UD / f"{name}-ud-{'test' if name == 'la_perseus' else 'dev'}.conllu"
    if not path.exists():
        pytest.skip(f"no treebank at {path}")
    text = io.StringIO(path.read_text(encoding="utf-8"))
    pairs = {pair for one in read_conllu(text) for pair in zip(one.forms, one.lemmas, strict=True)}
    scripts = {pair: script_of(*pair) for pair in pairs}
    assert all(apply(script, form) == lemma for (form, lemma), script in scripts.items())
    assert len(set(scripts.values())) < len(pairs) / 5
