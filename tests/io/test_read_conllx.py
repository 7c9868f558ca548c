"""CoNLL-X: columns, several roots, errors, writing."""

from __future__ import annotations

import io

import pytest
from row_samples import FULL, corpus

from egparse.errors import CorpusError
from egparse.io.conllu import format_sentence, read_conllu
from egparse.io.corpus import write_corpus
from egparse.sentences import Sentence

TEXT = "1\ta\tla\tn\tnc\tg=m|n=s\t0\tX\t0\tX\n2\tb\tlb\tv\tvm\t_\t0\tY\t1\tZ\n\n"


def read(text: str, **options: bool) -> list[Sentence]:
    return list(read_conllu(io.StringIO(text), name="x", format="conllx", **options))


def test_columns() -> None:
    (sentence,) = read(TEXT)
    assert sentence == Sentence(
        forms=("a", "b"),
        lemmas=("la", "lb"),
        upos=("n", "v"),
        xpos=("nc", "vm"),
        feats=("g=m|n=s", "_"),
        heads=(0, 0),
        deprels=("X", "Y"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("\t1\tZ", "\t1"), "x:2: expected 10 tab-separated columns, got 9"),
        ("# a\n" + TEXT, "x:1: expected 10 tab-separated columns, got 1 in '# a'"),
        (TEXT.replace("2\tb", "1-2\tb"), "x:2: expected the ID 2, got '1-2'"),
        (TEXT.replace("1\ta", "1.1\ta"), "x:1: expected the ID 1, got '1.1'"),
        (
            TEXT.replace("\t0\tY", "\t2\tY"),
            "x:2: expected a head other than the word itself, got 2",
        ),
        (TEXT.replace("\t0\tY", "\tz\tY"), "x:2: expected a head from 0 to 2 or _, got 'z'"),
    ],
)
def test_faults(text: str, message: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


def test_one_root_on_request() -> None:
    with pytest.raises(CorpusError, match="x:2: expected one root"):
        read(TEXT, multiple_roots=False)
    assert read(TEXT + TEXT, multiple_roots=False, skip_bad=True) == []


def test_writing_keeps_the_projective_columns() -> None:
    (sentence,) = read(TEXT)
    assert format_sentence(sentence, format="conllx") == TEXT
    changed = sentence.with_layers(upos=("N", "V"), heads=(2, 0))
    assert format_sentence(changed, format="conllx") == TEXT.replace("\tn\t", "\tN\t").replace(
        "\tv\t", "\tV\t"
    ).replace("\t0\tX\t0", "\t2\tX\t0")


def test_from_and_to_conllu() -> None:
    (sentence,) = read(TEXT)
    assert format_sentence(sentence) == TEXT.replace("0\tX\n", "_\t_\n").replace("1\tZ\n", "_\t_\n")
    (from_conllu,) = read_conllu(io.StringIO(FULL))
    (back,) = read(format_sentence(from_conllu, format="conllx"))
    assert back.forms == from_conllu.forms
    assert back.heads == from_conllu.heads


@pytest.mark.parametrize(
    ("name", "sentences", "words"), [("train", 2949, 75822), ("test", 563, 19206)]
)
def test_spanish_corpus(name: str, sentences: int, words: int) -> None:
    path = corpus(f"conll2007/esp.{name}")
    read = list(read_conllu(path, format="conllx", require_trees=True))
    assert (len(read), sum(map(len, read))) == (sentences, words)
    stream = io.StringIO()
    assert write_corpus(read, stream, "conllx") == sentences
    assert stream.getvalue().rstrip("\n") == path.read_text(encoding="utf-8").rstrip("\n")
