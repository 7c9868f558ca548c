"""The language of a corpus: by the name of its file, else by its words."""

from __future__ import annotations

from egparse.io.spacy_rules import NEUTRAL
from egparse.sentences import Sentence, Source
from egparse.text.rules import Found, check_language, find_language, languages


def in_file(name: str) -> list[Sentence]:
    source = Source(f"/corpora/{name}", 1, ("1\tx",), (0,))
    return [Sentence(forms=("x",), source=source)]


def test_the_name_of_a_treebank_says_it() -> None:
    for name, code in (
        ("fr_sequoia-ud-train.conllu", "fr"),
        ("de_hdt-ud-train-a-1.conllu", "de"),
        ("en_sample-train.conllu", "en"),
        ("grc_proiel-ud-dev.conllu.gz", "grc"),
        ("no_bokmaal-ud-train.conllu", "nb"),
        ("no_nynorsk-ud-train.conllu", "nn"),
    ):
        assert find_language(in_file(name)) == Found(code, "by the name of the file")
    found = find_language(in_file("cop_scriptorium-ud-train.conllu"))
    assert (found.code, "no rules for cop" in found.reason) == (NEUTRAL, True)


def test_other_names_and_files_that_disagree_say_nothing() -> None:
    for name in ("mine.conllu", "en.conllu", "my_train.conllu", "training-1.txt"):
        assert not find_language(in_file(name)).sure
    both = [*in_file("fr_sequoia-ud-train.conllu"), *in_file("de_gsd-ud-train.conllu")]
    assert not find_language(both).sure
    assert find_language([Sentence(forms=("a", "b"))]) == find_language([])
    assert find_language([]).code == NEUTRAL


def test_languages_that_packages_register_are_known() -> None:
    check_language("en")
    assert {"en", "fr", "xx"} <= set(languages())
