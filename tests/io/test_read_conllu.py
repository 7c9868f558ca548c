"""CoNLL-U: what is read, what is accepted, and the text of every error."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from row_samples import FULL, row

from egparse.errors import CorpusError, EgparseError
from egparse.io.conllu import read_conllu
from egparse.sentences import Sentence, SurfaceToken


def read(text: str | bytes, **options: object) -> list[Sentence]:
    stream = io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text)
    return list(read_conllu(stream, name="c.conllu", **options))  # type: ignore[arg-type]


def fault(text: str | bytes, **options: object) -> str:
    with pytest.raises(CorpusError) as caught:
        read(text, **options)
    return str(caught.value)


def test_every_column_and_line() -> None:
    (sentence,) = read(FULL)
    assert sentence == Sentence(
        ("De", "el", "vamos", "a", "Roma"),
        ("de", "el", "ir", "_", "_"),
        ("ADP", "DET", "VERB", "ADP", "PROPN"),
        ("IN", "_", "_", "_", "_"),
        ("A=B", "_", "_", "_", "_"),
        (3, 3, 0, 5, 3),
        ("case", "det", "root", "case", "obl"),
        ("_", "_", "Gloss=go|NE=B-X", "NE=I-X|SpaceAfter=No", sentence.misc[4]),
        ("O", "O", "B-X", "I-X", "B-LOC"),
        "s-1",
        tokens=(SurfaceToken(0, 1, "Del", "SpaceAfter=No"),),
    )
    assert sentence.source is not None
    assert sentence.lines_before == sentence.source.lines[:4]
    assert "\n".join(sentence.source.lines) + "\n\n" == FULL
    assert list(sentence.source.word_lines) == [4, 5, 6, 9, 10]
    source = sentence.source
    assert (source.path, source.first_line, source.format) == ("c.conllu", 1, "conllu")


def test_spans_without_entities_are_outside_and_can_be_left_out() -> None:
    assert read(row(1, misc="XNE=B-LOC"))[0].spans == ("O",)
    assert read(FULL, spans_key=None)[0].spans == ()
    assert read(row(1, misc="Ent=S-LOC"), spans_key="Ent")[0].spans == ("B-LOC",)


@pytest.mark.parametrize(
    "text",
    [
        FULL.replace("\n", "\r\n"),
        "\ufeff" + FULL,
        FULL.rstrip("\n"),
        "\n\n" + FULL.replace("\n\n", "\n\n\n\n"),
        FULL.encode(),
        b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode(),
    ],
    ids=["CRLF", "BOM", "no end", "blank lines", "bytes", "bytes with BOM and CRLF"],
)
def test_variants_of_a_file_read_the_same(text: str | bytes) -> None:
    (expected,) = read(FULL)
    (sentence,) = read(text)
    assert sentence == expected
    assert sentence.source is not None
    assert expected.source is not None
    assert sentence.source.lines == expected.source.lines


def test_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(FULL * 3)
    assert [s.source.first_line for s in read_conllu(path) if s.source] == [1, 13, 25]
    assert len(list(read_conllu(str(path)))) == 3
    with pytest.raises(EgparseError, match=r"b\.conllu: cannot be read: No such file"):
        list(read_conllu(tmp_path / "b.conllu"))


def test_chunks_may_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\ufeff" + (FULL + "\n").replace("Roma", "Ромаé").replace("\n", "\r\n")
    expected = read(text)
    for size in range(1, 40):
        monkeypatch.setattr("egparse.io.blocks.CHUNK", size)
        for source in (text, text.encode()):
            sentences = read(source)
            assert sentences == expected
            assert [s.source and s.source.lines for s in sentences] == [
                s.source and s.source.lines for s in expected
            ]


def test_line_separators_of_unicode_are_letters() -> None:
    forms = ("a\u2028b", "c\x85d", "e\x0bf", "g\xa0h")
    text = "\n".join(row(k, form, k - 1) for k, form in enumerate(forms, 1))
    assert read(text)[0].forms == forms


def test_a_comment_between_words_is_kept() -> None:
    text = "\n".join([row(1), "# remark", row(2, head=1), "#\ta" + "\tb" * 8])
    (sentence,) = read(text)
    assert len(sentence) == 2
    assert sentence.source is not None
    assert list(sentence.source.word_lines) == [0, 2]


def test_unannotated_and_partly_annotated_sentences() -> None:
    bare = rows((1, "_"), (2, "_"), (3, "_"))
    assert read(bare)[0].heads == (-1, -1, -1)
    partly = rows((1, 2), (2, "_"), (3, 2))
    assert read(partly)[0].heads == (2, -1, 2)
    expected = "c.conllu:2: expected a head for every word, got '_' in the column HEAD"
    assert fault(partly, require_trees=True) == expected
    assert "c.conllu:1: expected a head" in fault(bare, require_trees=True)


def test_several_roots_on_request() -> None:
    assert read(row(1) + "\n" + row(2), multiple_roots=True)[0].heads == (0, 0)


GOOD = row(1, "a", 2) + "\n" + row(2, "b", 0)


def rows(*pairs: tuple[object, object]) -> str:
    """Rows with these IDs and heads."""
    return "\n".join(row(number, head=head) for number, head in pairs)


FAULTS = {
    "nine columns": (GOOD[:-2], "2: expected 10 tab-separated columns, got 9 in '2\\tb\\t_"),
    "spaces": (GOOD.replace("\t", "  "), "1: expected 10 tab-separated columns, got 1 in '1  a"),
    "blanks": (row(1) + "\n \t\n", "2: expected 10 tab-separated columns, got a line of blanks"),
    "nine and eleven": (
        "1\ta\t_\t_\t_\t_\t0\t_\t_\n2\t2\tb\t_\t_\t_\t_\t1\t_\t_\t_",
        "1: expected 10 tab-separated columns, got 9",
    ),
    "empty cell": (
        GOOD.replace("\tb\t", "\t\t"),
        "2: expected a value or _ in every column, got nothing in column 2",
    ),
    "empty last cell": (GOOD[:-1], "2: expected a value or _ in every column, got nothing in col"),
    "ID": (rows((1, 0), (3, 1)), "2: expected the ID 2, got '3'"),
    "ID twice": (rows((1, 0), (1, 1)), "2: expected the ID 2, got '1'"),
    "ID of other digits": (rows((1, 0), ("٢", 1)), "2: expected the ID 2, got '٢'"),
    "ID with zero": (row("01"), "1: expected the ID 1, got '01'"),
    "ID a word": (row("x"), "1: expected at least one word, got none"),
    "ID a word after another": (rows((1, 0), ("x", 0)), "2: expected the ID 2, got 'x'"),
    "range backwards": (
        rows((1, 0), ("2-1", "_"), (2, 1)),
        "2: expected a multiword token from 2 to a later word, got '2-1'",
    ),
    "range too far": (
        rows(("1-3", "_"), (1, 0), (2, 1)),
        "1: expected a multiword token within the 2 words, got '1-3'",
    ),
    "range in a range": (
        rows(("1-2", "_"), (1, 0), ("2-3", "_"), (2, 1), (3, 1)),
        "3: expected no multiword token inside of the one that ends at word 2, got '2-3'",
    ),
    "range late": (rows((1, 0), ("1-2", "_"), (2, 1)), "2: expected a multiword token"),
    "empty node": (
        rows((1, 0), ("1.2", "_")),
        "2: expected the next empty node after word 1, got '1.2'",
    ),
    "HEAD": (row(1, head="x"), "1: expected a head from 0 to 1 or _, got 'x'"),
    "HEAD with sign": (row(1, head="+0"), "1: expected a head from 0 to 1 or _, got '+0'"),
    "head below": (rows((1, 0), (2, -1)), "2: expected a head from 0 to 2 or _, got '-1'"),
    "head out of range": (rows((1, 0), (2, 3)), "2: expected a head from 0 to 2, got 3"),
    "head far out": (rows((1, 0), (2, 10**30)), "2: expected a head from 0 to 2 or _, got '1000"),
    "own head": (rows((1, 0), (2, 2)), "2: expected a head other than the word itself, got 2"),
    "cycle": (rows((1, 0), (2, 3), (3, 2)), "2: expected a tree, got the cycle 2 -> 3 -> 2"),
    "no root": (rows((1, 2), (2, 1)), "1: expected a word with head 0, got a sentence without a"),
    "two roots": (
        rows((1, 0), (2, 0)),
        "2: expected one root, got a second word with head 0 after word 1",
    ),
    "tag": (
        row(1, misc="NE=LOC"),
        "1: expected a tag O or TYPE after one of B, I, E, S, L, U and a hyphen, got 'LOC'",
    ),
    "no word": ("# only this", "1: expected at least one word, got comments only"),
    "only empty node": (row("0.1", head="_"), "1: expected at least one word, got none"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_faults(text: str, message: str) -> None:
    assert fault(text).startswith("c.conllu:" + message)
    line, _, rest = message.partition(": ")
    first = 14 if text[0] != "#" else 13  # a block of comments only is at fault as a whole
    named = fault(FULL + "# sent_id = x1\n" + text)
    assert named.startswith(f"c.conllu:{first + int(line) - 1}: sentence x1: {rest}")


def test_fault_after_multiword_tokens_names_the_line_of_the_word() -> None:
    assert fault(FULL.replace("Roma\t_\tPROPN\t_\t_\t3", "Roma\t_\tPROPN\t_\t_\t9")) == (
        "c.conllu:11: sentence s-1: expected a head from 0 to 5, got 9"
    )


def test_bytes_that_are_not_utf8() -> None:
    text = FULL.encode() + FULL.replace("vamos", "v\xe4mos").encode("latin-1") + FULL.encode()
    assert fault(text) == (
        "c.conllu:15: expected UTF-8 text, got the byte 0xe4 in place of character 15; if it is "
        "latin-1, say --encoding latin-1"
    )
    bad: list[CorpusError] = []
    assert len(read(text, skip_bad=True, on_bad=bad.append)) == 2
    assert [error.line for error in bad] == [15]
    assert fault("a\tb".encode("utf-16")) == (
        "c.conllu:1: expected UTF-8 text, got a byte order mark of UTF-16: say --encoding utf-16"
    )


def test_skipping_reports_each_bad_sentence() -> None:
    texts = [text for text, _ in FAULTS.values()]
    bad: list[CorpusError] = []
    sentences = read("\n\n".join([GOOD, *texts, GOOD]), skip_bad=True, on_bad=bad.append)
    assert len(bad) >= len(texts)
    assert [s.forms for s in sentences] == [("a", "b"), ("a", "b")]
    assert len(read("\n\n".join([GOOD, *texts, GOOD]), skip_bad=True)) == 2


def test_a_text_stream_that_cannot_decode() -> None:
    stream = io.TextIOWrapper(io.BytesIO(b"1\t\xff"), encoding="utf-8")
    with pytest.raises(
        CorpusError, match=r"<stream>:1: expected text that its stream can decode, got utf-8"
    ):
        list(read_conllu(stream))


def test_long_sentences_and_lines_take_linear_time() -> None:
    n = 30_000
    chain = "\n".join(row(k, head=k - 1) for k in range(1, n + 1))
    assert len(read(chain)[0]) == n
    cycle = chain.replace(row(1, head=0), row(1, head=n), 1)
    assert "without a root" in fault(cycle)
    assert len(read(row(1, form="x" * 3_000_000))[0].forms[0]) == 3_000_000
    assert len(fault("1\t" + "x" * 3_000_000)) < 200
    assert read(row(1, misc="|".join(["NE"] * 10**5) + "|NE=B-A"))[0].spans == ("B-A",)
    empty = "\n".join([row(1), *(row(f"1.{k}", head="_") for k in range(1, 5000))])
    assert len(read(empty)[0]) == 1
