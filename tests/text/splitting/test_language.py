"""The language of a corpus: by the name of its file, else by its words."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from runpy import run_path

import pytest
import spacy
from sample_treebank import sample

from egparse.io.corpus import read_corpus
from egparse.io.spacy_rules import NEUTRAL
from egparse.sentences import Sentence, Source
from egparse.text.splitting import language
from egparse.text.splitting.language import (
    Found,
    better_language,
    check_language,
    find_language,
    languages,
)

TREEBANKS = Path(__file__).resolve().parents[4] / "shared" / "data" / "ud"

LATIN = "lorem ipsum dolor sit amet consectetur adipiscing elit"


def words(text: str) -> Sentence:
    return Sentence(forms=tuple(text.split()))


def nameless(sentences: list[Sentence]) -> list[Sentence]:
    """The sentences as if their file had another name."""
    return [
        replace(one, source=replace(one.source, path="mine.conllu")) if one.source else one
        for one in sentences
    ]


def in_file(name: str) -> list[Sentence]:
    source = Source(f"/corpora/{name}", 1, ("1\tx",), (0,))
    return [Sentence(forms=("x",), source=source)]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("fr_sequoia-ud-train.conllu", "fr"),
        ("de_hdt-ud-train-a-1.conllu", "de"),
        ("en_sample-train.conllu", "en"),
        ("grc_proiel-ud-dev.conllu.gz", "grc"),
        ("no_bokmaal-ud-train.conllu", "nb"),
        ("no_nynorsk-ud-train.conllu", "nn"),
    ],
)
def test_the_name_of_a_treebank_says_it(name: str, code: str) -> None:
    assert find_language(in_file(name)) == Found(code, "by the name of the file")


def test_a_treebank_of_a_language_without_rules_gets_neutral_ones() -> None:
    found = find_language(in_file("cop_scriptorium-ud-train.conllu"))
    assert found.code == NEUTRAL
    assert "no rules for cop" in found.reason


@pytest.mark.parametrize("name", ["mine.conllu", "en.conllu", "my_train.conllu", "training-1.txt"])
def test_other_names_say_nothing(name: str) -> None:
    assert not find_language(in_file(name)).sure


def test_files_that_disagree_say_nothing() -> None:
    both = [*in_file("fr_sequoia-ud-train.conllu"), *in_file("de_gsd-ud-train.conllu")]
    assert not find_language(both).sure


def test_the_sample_is_english_by_its_words() -> None:
    assert find_language(list(sample("train"))).reason == "by the name of the file"
    found = find_language(nameless(list(sample("train"))))
    assert (found.code, found.reason) == ("en", "by its most frequent words")


@pytest.mark.parametrize(
    "sentences",
    [[], [words("a b c")], [words("1 2 3 . , !")], [words(LATIN)], [words("")]],
    ids=str,
)
def test_what_cannot_be_told_is_not_guessed(sentences: list[Sentence]) -> None:
    found = find_language(sentences)
    assert (found.code, found.sure) == (NEUTRAL, False)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("これはペンです 。", "ja"),
        ("我 喜欢 茶 。", "zh"),
        ("나는 학교에 갔다", "ko"),
        ("שלום", "he"),
    ],
)
def test_a_script_of_one_language_says_it(text: str, code: str) -> None:
    assert find_language([words(text)]) == Found(code, "by its script")


@pytest.fixture
def no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Similar languages stay open: importing all their rules takes half a minute."""
    monkeypatch.setattr(language, "_f1", lambda code, sample: None)


@pytest.mark.usefixtures("no_rules")
def test_the_examples_of_spacy_are_told_apart_or_left_open() -> None:
    """A few sentences for each of its languages; Nynorsk has no stop words, and is called
    Norwegian.
    """
    outcomes: Counter[str] = Counter()
    tokeniser = spacy.blank(NEUTRAL)
    for path in sorted(Path(spacy.__file__).parent.glob("lang/*/examples.py")):
        code = path.parent.name
        if code in (NEUTRAL, "nn"):
            continue
        examples = run_path(str(path))["sentences"]
        found = find_language([words(" ".join(map(str, tokeniser(one)))) for one in examples])
        outcomes["open" if not found.sure else "right" if found.code == code else "wrong"] += 1
    assert outcomes["wrong"] == 0
    assert outcomes["right"] >= 45


@pytest.mark.usefixtures("no_rules")
@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia", "la_perseus", "pt_bosque"])
def test_treebanks_under_another_name_are_found_out(name: str) -> None:
    path = TREEBANKS / f"{name}-ud-test.conllu"
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    sentences = nameless(list(read_corpus(path)))
    assert find_language(sentences).code == name[:2]
    few = [find_language(sentences[k : k + 10]) for k in range(0, 200, 10)]
    assert all(not found.sure or found.code == name[:2] for found in few)
    assert sum(found.sure for found in few) >= 15


def test_rules_that_fit_much_worse_are_told() -> None:
    english = list(sample("train"))
    assert better_language("en", english) is None
    assert better_language(NEUTRAL, english) is None
    said = better_language("de", english)
    assert said is not None
    assert said.startswith("the rules of de split the text into the words of the corpus with an F1")
    assert "those of en (by the name of the file)" in said


def test_languages_that_packages_register_are_known() -> None:
    check_language("en")
    assert {"en", "fr", "xx"} <= set(languages())
