"""Column files: layouts, delimiters, schemes, documents, errors, writing."""

from __future__ import annotations

import io

import pytest
from row_samples import corpus

from egparse.errors import CorpusError
from egparse.io.columns import format_columns, read_columns
from egparse.io.corpus import write_corpus
from egparse.sentences import Sentence

TEXT_2003 = """-DOCSTART- -X- -X- O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
# # I-NP B-MISC

-DOCSTART- -X- -X- O

Peter NNP I-NP I-PER

"""


def read(text: str, format: str = "conll2003", **options: object) -> list[Sentence]:
    return list(read_columns(io.StringIO(text), format, name="f", **options))  # type: ignore[arg-type]


def test_2003_both_layers() -> None:
    first, second = read(TEXT_2003)
    assert first.forms == ("EU", "rejects", "German", "#")
    assert first.xpos == ("NNP", "VBZ", "JJ", "#")
    assert first.spans == ("B-ORG", "O", "B-MISC", "B-MISC")
    assert second.forms == ("Peter",)
    assert read(TEXT_2003, layer="chunk")[0].spans == ("B-NP", "B-VP", "B-NP", "I-NP")
    assert first.source is not None
    assert (first.source.first_line, list(first.source.word_lines)) == (1, [2, 3, 4, 5])
    assert second.source is not None
    assert second.source.first_line == 8


@pytest.mark.parametrize(
    ("format", "text", "sentence"),
    [
        (
            "conll2000",
            "a DT B-NP\nb NN I-NP\n",
            Sentence(("a", "b"), xpos=("DT", "NN"), spans=("B-NP", "I-NP")),
        ),
        ("conll2002", "a b\tB-X\nc\tO\n", Sentence(("a b", "c"), spans=("B-X", "O"))),
        ("conll2002", "a  DT   S-X \n \t\n", Sentence(("a",), xpos=("DT",), spans=("B-X",))),
        (
            "conll2003",
            "Der der ART I-NC O\n",
            Sentence(("Der",), lemmas=("der",), xpos=("ART",), spans=("O",)),
        ),
        ("conll2002", "a\xa0b U-X\n", Sentence(("a\xa0b",), spans=("B-X",))),
    ],
)
def test_layouts(format: str, text: str, sentence: Sentence) -> None:
    assert read(text, format) == [sentence]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a DT O\nb O\n", "f:2: expected 3 columns as in the line before, got 2 in 'b O'"),
        ("a\n", "f:1: expected 2 or 3 columns (conll2002), got 1 in 'a'"),
        ("a O\nb x y z O", "f:2: expected 2 or 3 columns (conll2002), got 5 in 'b x y z O'"),
        ("a\tO\nb O\n", "f:2: expected 2 or 3 columns (conll2002), got 1 in 'b O'"),
        ("a\t\tO\n", "f:1: expected a value in every column, got nothing in column 2"),
        (
            "a O\n \nb X\n",
            "f:3: expected a tag O or TYPE after one of B, I, E, S, L, U and a hyphen, got 'X'",
        ),
        (
            "a B-\n",
            "f:1: expected a tag O or TYPE after one of B, I, E, S, L, U and a hyphen, got 'B-'",
        ),
        ("-DOCSTART- O\n\nc O\na NN", "f:4: expected a tag O"),
    ],
)
def test_faults(text: str, message: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(text, "conll2002")
    assert str(caught.value).startswith(message)
    good = "g O\n\n"
    bad: list[CorpusError] = []
    assert (
        read(good + text + "\n\n" + good, "conll2002", skip_bad=True, on_bad=bad.append).count(
            Sentence(("g",), spans=("O",))
        )
        == 2
    )
    assert len(bad) == 1


def test_a_given_scheme_limits_the_tags() -> None:
    assert read("a S-X\n", "conll2002", scheme="iobes")[0].spans == ("B-X",)
    with pytest.raises(
        CorpusError, match="f:1: expected a tag O or TYPE after one of B, I and a hyphen, got 'S-X'"
    ):
        read("a S-X\n", "conll2002", scheme="iob2")


def test_choices_are_checked_at_once() -> None:
    with pytest.raises(
        ValueError, match="expected a format of conll2000, conll2002, conll2003, got 'conll'"
    ):
        read_columns(io.StringIO(), "conll")
    with pytest.raises(ValueError, match="expected a layer of ner, chunk, got 'pos'"):
        read_columns(io.StringIO(), "conll2003", layer="pos")
    with pytest.raises(ValueError, match="expected a scheme of"):
        read_columns(io.StringIO(), "conll2003", scheme="bio")


def test_writing_what_was_read() -> None:
    sentences = read(TEXT_2003)
    stream = io.StringIO()
    assert write_corpus(sentences, stream, "conll2003") == 2
    assert stream.getvalue() == TEXT_2003
    for scheme, tag in (
        ("iob1", "I-ORG"),
        ("iob2", "B-ORG"),
        ("iobes", "S-ORG"),
        ("bilou", "U-ORG"),
    ):
        assert f"EU NNP I-NP {tag}\n" in format_columns(sentences[0], "conll2003", scheme=scheme)
    changed = sentences[0].with_layers(spans=("O", "B-X", "I-X", "O"), xpos="abcd")
    expected = (
        "-DOCSTART- -X- -X- O\n\nEU a I-NP O\nrejects b I-VP B-X\nGerman c I-NP I-X\n# d I-NP O\n\n"
    )
    assert format_columns(changed, "conll2003") == expected
    assert "EU NNP B-NP I-ORG\n" in format_columns(
        read(TEXT_2003, layer="chunk")[0], "conll2003", layer="chunk", scheme="iob2"
    )


def test_writing_from_elsewhere() -> None:
    sentence = Sentence(("a b", "c", ""), xpos="XYZ", spans=("B-P", "I-P", "O"))
    assert format_columns(sentence, "conll2000") == "a_b X B-P\nc Y I-P\n_ Z O\n\n"
    assert format_columns(sentence, "conll2002", scheme="iobes") == "a_b X B-P\nc Y E-P\n_ Z O\n\n"
    assert format_columns(sentence, "conll2003") == "a_b X O B-P\nc Y O I-P\n_ Z O O\n\n"
    assert format_columns(Sentence(("a",)), "conll2002") == "a O\n\n"
    assert format_columns(read(TEXT_2003)[1], "conll2002") == "Peter NNP B-PER\n\n"


@pytest.mark.parametrize(
    ("name", "format", "sentences"),
    [("conll2000/test.txt", "conll2000", 2012), ("conll2002/esp.testa", "conll2002", 1915)],
)
def test_real_corpora(name: str, format: str, sentences: int) -> None:
    path = corpus(name)
    read = list(read_columns(path, format))
    assert len(read) == sentences
    stream = io.StringIO()
    write_corpus(read, stream, format)
    assert stream.getvalue() == path.read_text(encoding="utf-8")
    stream = io.StringIO()
    stream.writelines(format_columns(one, format, scheme="iobes") for one in read)
    assert list(read_columns(io.StringIO(stream.getvalue()), format, scheme="iobes")) == read
