"""Expansions of forms that were not seen: prefixes and clitics that were, stems of any kind."""

from __future__ import annotations

from collections import Counter

from egparse.text.expansion_lexicon import GRADES, ExpansionLexicon, Slots, known_words
from egparse.text.expansion_scripts import choose_scripts, slots_of
from egparse.types import UInt8s

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
    assert candidates(lexicon, "קילדים") == {("קילדים",)}
    assert candidates(lexicon, "בכפר") == {("בכפר",), ("ב", "כפר")}
    assert candidates(lexicon, "בבית") == {("ב", "בית")}


def test_an_unknown_form_may_have_some_prefixes_or_fewer_of_them() -> None:
    lexicon = learned()
    assert candidates(lexicon, "ובכפר") == {("ובכפר",), ("ו", "בכפר"), ("ו", "ב", "כפר")}


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
