"""Any corpus: formats named and detected, options, writing, standard input and output."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from row_samples import FULL, row

from egparse.errors import ConfigError, CorpusError
from egparse.io.blocks import read_blocks
from egparse.io.corpus import read_corpus, write_corpus
from egparse.io.detection import FORMATS, detect_format
from egparse.sentences import Sentence

X = "1\ta\t_\tn\tnc\t_\t0\tX\t_\t_\n2\tb\t_\tn\tnc\t_\t0\tX\t_\t_\n\n"


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (FULL, "conllu"),
        (row(1, upos="NOUN") + "\n", "conllu"),
        (row(1), "conllu"),
        (row(1, upos="n", misc="A=B"), "conllu"),
        (row(1, upos="n", deps="0:root"), "conllu"),
        (row("1-1", head="_") + "\n" + row(1, upos="n"), "conllu"),
        ("#x\n" + row(1, upos="n"), "conllu"),
        ("# text = a\nno columns", "conllu"),
        (X, "conllx"),
        (X + "\n" + row(1, upos="NOUN") + "\n", "conllx"),
        (row(1, upos="n") + "\n\n# newdoc\n# sent_id = 2\n" + row(1, upos="n"), "conllu"),
        (row(1, upos="n") + "\n\n" + row("1-1", head="_") + "\n" + row(1, upos="n"), "conllu"),
        ("a DT B-NP\n", "conll2000"),
        ("# # B-NP\n", "conll2000"),
        ("a DT O\n\n" * 5 + "a DT I-SBAR\n", "conll2000"),
        ("a DT B-LOC\n", "conll2002"),
        ("a\tB-LOC\n", "conll2002"),
        ("a DT O O\n\na DT B-NP O\n", "conll2003"),
        ("-DOCSTART- -X- O O\n\na DT B-NP O\n", "conll2003"),
        ("-DOCSTART- -X- O O\na DT B-NP O\n", "conll2003"),
        ("a b DT B-NP O\n", "conll2003"),
    ],
)
def test_formats_are_found(text: str, format: str) -> None:
    assert detect_format(read_blocks(io.StringIO(text)), "f") == format


@pytest.mark.parametrize(
    "text", ["a DT O\n\n" * 200, "a\tb\nc\td\n", "plain text of words\nand more\n", "a b c d e f\n"]
)
def test_formats_that_do_not_show(text: str) -> None:
    with pytest.raises(CorpusError) as caught:
        list(read_corpus(io.StringIO(text), name="f.txt"))
    assert str(caught.value).startswith(
        "f.txt:1: expected the first sentences to show which format of conllu, conllx,"
    )
    assert "--format" in str(caught.value)


def test_the_name_tells_the_format(tmp_path: Path) -> None:
    for suffix, text in ((".conllu", row(1, upos="n")), (".conllx", X)):
        path = tmp_path / f"a{suffix}"
        path.write_text(text)
        (sentence, *_) = read_corpus(path)
        assert sentence.source is not None
        assert "." + sentence.source.format == suffix
    path = tmp_path / "nine.conllu"
    path.write_text(FULL.replace("\tNE=I-LOC", ""))
    with pytest.raises(
        CorpusError, match=r"nine.conllu:11: sentence s-1: expected 10 tab-separated columns, got 9"
    ):
        list(read_corpus(path))


def test_all_sentences_come_after_the_format_is_found() -> None:
    assert len(list(read_corpus(io.StringIO("a DT O\n\n" * 50 + "a DT B-NP\n\n" * 50)))) == 100


@pytest.mark.parametrize("format", [None, *FORMATS])
def test_an_empty_file(format: str | None) -> None:
    for source in (io.BytesIO(b""), io.StringIO("\n\n"), io.BytesIO(b"\xef\xbb\xbf\r\n")):
        with pytest.raises(CorpusError, match="<stream>:1: expected at least one sentence, got no"):
            list(read_corpus(source, format))


def test_only_bad_sentences_are_no_corpus() -> None:
    bad: list[CorpusError] = []
    with pytest.raises(CorpusError, match="expected at least one sentence, got none"):
        list(read_corpus(io.StringIO(row(1, head=7)), "conllu", skip_bad=True, on_bad=bad.append))
    assert len(bad) == 1


def test_options_reach_the_readers() -> None:
    two = row(1) + "\n" + row(2)
    assert len(list(read_corpus(io.StringIO(two), "conllu", multiple_roots=True))) == 1
    with pytest.raises(CorpusError, match="expected one root"):
        list(read_corpus(io.StringIO(two), "conllu"))
    assert len(list(read_corpus(io.StringIO(X), "conllx"))) == 1
    with pytest.raises(CorpusError, match="expected one root"):
        list(read_corpus(io.StringIO(X), "conllx", multiple_roots=False))
    with pytest.raises(CorpusError, match="expected a head for every word"):
        list(read_corpus(io.StringIO(row(1, head="_")), require_trees=True))
    (sentence,) = read_corpus(io.StringIO("a DT B-NP O\n"), layer="chunk")
    assert sentence.spans == ("B-NP",)


def test_refusals() -> None:
    with pytest.raises(ConfigError, match=r"expected a format of conllu, .* got 'conll'"):
        read_corpus("-", "conll")
    with pytest.raises(ConfigError, match=r"a\.txt: conll2000 has no trees"):
        read_corpus("a.txt", "conll2000", require_trees=True)
    with pytest.raises(ConfigError, match="<stream>: conll2000 has no trees"):
        list(read_corpus(io.StringIO("a DT B-NP\n"), require_trees=True))
    with pytest.raises(ConfigError, match="expected a format of"):
        write_corpus([], io.StringIO(), "conll")
    with pytest.raises(
        CorpusError, match="<stream>:1: expected text, got what looks like a binary"
    ):
        list(read_corpus(io.BytesIO(b"\x1f\x8b\x09")))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FULL.encode())))
    (sentence,) = read_corpus("-")
    assert sentence.source is not None
    assert sentence.source.path == "<stdin>"


def test_a_corpus_is_written_in_its_format_or_that_of_the_name(tmp_path: Path) -> None:
    columns = list(read_corpus(io.StringIO("a DT B-X\nb NN I-X\n"), "conll2002"))
    for name, expected in (("a.conllu", "conllu"), ("a.conllx", "conllx"), ("a", "conll2002")):
        assert write_corpus(iter(columns), tmp_path / name) == 1
        (back,) = read_corpus(tmp_path / name)
        assert back.forms == ("a", "b")
        assert back.source is not None
        assert back.source.format == expected
    plain = [Sentence(forms=("a",))]
    assert write_corpus(plain, str(tmp_path / "plain")) == 1
    assert (tmp_path / "plain").read_text() == "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert write_corpus([], tmp_path / "plain") == 0
    assert (tmp_path / "plain").read_text() == ""


def test_a_corpus_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("before")

    def failing() -> Iterator[Sentence]:
        yield Sentence(forms=("a",))
        raise CorpusError("in.conllu", 7, "a tree", "none")

    with pytest.raises(CorpusError, match=r"in\.conllu:7"):
        write_corpus(failing(), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_standard_output(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert write_corpus([Sentence(forms=("é",))], "-") == 1
    assert capsysbinary.readouterr().out.startswith("1\té\t".encode())


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written_can_be_read(format: str) -> None:
    sentences = list(read_corpus(io.StringIO(FULL)))
    stream = io.StringIO()
    assert write_corpus(sentences, stream, format) == 1
    (back,) = read_corpus(io.StringIO(stream.getvalue()), format)
    assert back.forms == sentences[0].forms


def test_a_byte_order_mark_is_dropped_wherever_a_line_begins_with_one() -> None:
    joined = "\ufeffa DT B-X\nb NN I-X\n\n\ufeffc NN O\n"
    for text in (io.StringIO(joined), io.BytesIO(joined.encode())):
        assert [sentence.forms for sentence in read_corpus(text, "conll2002")] == [
            ("a", "b"),
            ("c",),
        ]
