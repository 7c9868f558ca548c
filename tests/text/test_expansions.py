"""Expansion scripts: what they look like, that they give back what they were made of, and when they
do not apply; expansions of forms that were not seen: prefixes and clitics that were, stems of any
kind.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.io.conllu import read_conllu
from egparse.text.expansion_lexicon import GRADES, ExpansionLexicon, Slots, known_words
from egparse.text.expansion_scripts import choose_scripts, expand, is_script, scripts_of, slots_of
from egparse.types import UInt8s

UD = Path(__file__).resolve().parents[3] / "shared" / "data" / "ud"

STRINGS = st.one_of(
    st.text(min_size=1, max_size=8),
    st.text("aAbBßẞİıΣσςǅŉ|\\[]:-='1", min_size=1, max_size=8),
    st.text("abA", min_size=1, max_size=6),
)
WORDS = st.lists(STRINGS, min_size=1, max_size=6).map(tuple)


@pytest.mark.parametrize(
    ("form", "words", "script"),
    [
        ("don't", "do n't", "a[:-3]|[-3:]"),
        ("DON'T", "DO N'T", "a[:-3]|[-3:]"),
        ("du", "de le", "a[:-1]e|=le"),
        ("Du", "De le", "a[:-1]e|=le"),
        ("DU", "DE LE", "a[:-1]e|=le"),
        ("Du", "de le", "l[:-1]e|=le"),
        ("nos", "em os", "a=em|[-2:]"),
        ("Nos", "Em os", "a=em|[-2:]"),
        ("Neste", "Em este", "a=em|[-4:]"),
        ("Pelo", "Por o", "a[:-3]or|[-1:]"),
        ("fazê-lo", "fazer lo", "a[:-4]er|[-2:]"),
        ("juntar-se-ão", "juntarão se", "a[:-6]ão|[-5:-3]"),
        ("À", "A a", "a=a|=a"),
        ("À", "A A", "k=A|=A"),
        ("x|", "x | \\", "a[:-1]|[-1:]|=\\\\"),
        ("neque", "ne que", "a[:-3]|[-3:]"),
        ("İs", "İ s", "k[:-1]|[-1:]"),
    ],
)
def test_scripts_as_they_are_written(form: str, words: str, script: str) -> None:
    scripts = scripts_of(form, words.split())
    assert scripts[0] == script
    assert {expand(one, form) for one in scripts} == {tuple(words.split())}


@examples(500)
@given(STRINGS, WORDS)
def test_every_script_gives_back_what_it_was_made_of(form: str, words: tuple[str, ...]) -> None:
    for script in scripts_of(form, words):
        assert is_script(script)
        assert expand(script, form) == words


@examples(200)
@given(STRINGS, WORDS, STRINGS)
def test_a_script_applies_to_other_forms_or_says_that_it_does_not(
    form: str, words: tuple[str, ...], other: str
) -> None:
    for script in scripts_of(form, words):
        made = expand(script, other)
        assert made is None or (len(made) == len(words) and all(made))


def test_a_script_that_does_not_fit_a_form() -> None:
    scripts = ("a[:-3]|[-3:]", "n't"), ("a[:2]|[2:]", "ab"), ("a[3:]", "ab"), ("a[-3:-2]", "ab")
    assert [expand(script, form) for script, form in scripts] == [None] * 4


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a[:]x|", "b=x", "a[1]", "a[:-3]|[-3:", "a=x\\y", "a[-:]", "a[:-]", "a[12345:]"),
        *("a" + "|".join(["=x"] * 21), "a=" + "x" * 200),
    ],
)
def test_other_texts_are_no_scripts(text: str) -> None:
    assert not is_script(text)


def test_what_is_no_script_is_not_applied() -> None:
    with pytest.raises(ValueError, match=r"expected a script of an expansion such as a\[:-3\]"):
        expand("[:-3]", "form")


def test_of_several_scripts_the_one_that_more_forms_share_is_chosen() -> None:
    suffixes = Counter({(f"{stem}n't", (stem, "n't")): 1 for stem in ("is", "does", "could", "a")})
    assert set(choose_scripts(suffixes).values()) == {"a[:-3]|[-3:]"}
    prefixes = Counter({(f"w{stem}", ("w", stem)): 1 for stem in ("ktb", "hw", "dxl", "a")})
    assert set(choose_scripts(prefixes).values()) == {"a[:1]|[1:]"}


@pytest.mark.parametrize("name", ["fr_sequoia-ud-dev", "pt_bosque-ud-dev", "en_ewt-ud-dev"])
def test_multiword_tokens_of_treebanks_come_back(name: str) -> None:
    path = UD / f"{name}.conllu"
    if not path.exists():
        pytest.skip(f"no treebank at {path}")
    pairs = Counter(
        (token.form, tuple(sentence.forms[token.first : token.last + 1]))
        for sentence in read_conllu(path)
        for token in sentence.tokens
    )
    scripts = choose_scripts(pairs)
    assert all(expand(script, form) == words for (form, words), script in scripts.items())
    assert len(set(scripts.values())) < len(pairs)


NOTHING = known_words({})

# Hebrew: in the, and, that, from; "his, her" at the end
EXPANSIONS = {
    "בבית": ("ב", "בית"),
    "בילדים": ("ב", "ילדים"),
    "ובית": ("ו", "בית"),
    "ומדינה": ("ו", "מדינה"),
    "משיר": ("מ", "שיר"),
    "מילדים": ("מ", "ילדים"),
    "ובעיר": ("ו", "ב", "עיר"),
    "ובילדים": ("ו", "ב", "ילדים"),
    "ספרו": ("ספר", "ו"),
    "בנו": ("בנ", "ו"),
    "ספרה": ("ספר", "ה"),
    "תרבותה": ("תרבות", "ה"),
}


def learned(known: UInt8s = NOTHING) -> ExpansionLexicon:
    of_pairs = choose_scripts(EXPANSIONS.items())
    scripts = sorted(set(of_pairs.values()))
    seen = {pair[0]: Counter({scripts.index(one) + 1: 1}) for pair, one in of_pairs.items()}
    return ExpansionLexicon.learn(scripts, seen, 0.1, known)


def candidates(lexicon: ExpansionLexicon, form: str) -> set[tuple[str, ...]]:
    return {lexicon.words(form, label) for label in lexicon.candidates(form)}


def test_slots_are_the_texts_of_words() -> None:
    assert slots_of("a[:-4]er|[-2:]") == ("[:-4]er", "[-2:]")
    assert slots_of("l[:1]e|=le") == ("[:1]e", "=le")
    assert slots_of("k[:2]\\||=\\|") == ("[:2]\\|", "=\\|")


def test_slots_of_prefixes_and_clitics_are_closed_and_those_of_stems_open() -> None:
    slots = learned().slots
    assert slots is not None
    assert slots.closed["[:1]"] == set("בומ")
    assert slots.closed["[-1:]"] == set("וה")
    assert not {"[1:]", "[:-1]", "[2:]"} & slots.closed.keys()


def test_stems_that_recur_stay_open() -> None:
    forms = [prefix + stem for prefix in "ab" for stem in ("xy", "yz", "zz")]
    slots = Slots.learn([("a[:1]|[1:]", form) for form in forms], NOTHING)
    assert slots.closed == {"[:1]": set("ab")}


def test_an_unknown_form_loses_no_letter_that_was_never_a_prefix() -> None:
    lexicon = learned()
    assert candidates(lexicon, "ובכפר") == {("ובכפר",), ("ו", "בכפר"), ("ו", "ב", "כפר")}
    assert candidates(lexicon, "קילדים") == {("קילדים",)}
    assert candidates(lexicon, "בכפר") == {("בכפר",), ("ב", "כפר")}
    assert candidates(lexicon, "בבית") == {("ב", "בית")}


def test_affixes_are_kept_if_enough_forms_share_them() -> None:
    seen = {form: Counter({1: 1}) for form in ("a's", "b's", "c's")}
    seen |= {form: Counter({0: 1}) for form in ("as", "bs", "cs", "ds", "es", "fs", "gs")}
    seen["l'x"] = Counter({2: 5})
    scripts = ["a[:-2]|[-2:]", "a[:2]|[2:]"]
    lexicon = ExpansionLexicon.learn(scripts, seen, 0.5, NOTHING)
    assert lexicon.by_affix == {"-'s": (0, 1)}
    assert candidates(lexicon, "x's") == {("x's",), ("x", "'s")}
    assert lexicon.candidates("xs") == (0,)
    assert lexicon.candidates("'s") == (0,)  # no form remains before it
    assert candidates(lexicon, "l'x") == {("l'", "x")}
    assert candidates(lexicon, "L'X") == {("L'", "X")}
    wider = ExpansionLexicon.learn(scripts, seen, 0.3, NOTHING)
    assert wider.by_affix == {"-s": (0, 1)}


def test_candidates_say_how_often_their_stems_were_seen() -> None:
    lexicon = learned(known_words({"כפר": 7, "בכפר": 1}))
    grades = {lexicon.words("בכפר", label): label % GRADES for label in lexicon.candidates("בכפר")}
    assert grades == {("בכפר",): 2, ("ב", "כפר"): 4}
    assert {label % GRADES for label in lexicon.candidates("בגדר")} == {1}
    assert {label % GRADES for label in lexicon.candidates("בבית")} == {0}


def test_without_slots_the_longest_affixes_say_all() -> None:
    """As in model files of egparse 0.1.0."""
    now = learned()
    before = ExpansionLexicon(now.scripts, now.by_form, now.by_affix)
    assert ("ק", "ילדים") in candidates(before, "קילדים")
    assert before.candidates("בבית") == now.by_form["בבית"]
