"""Reading text by a tokeniser: the text can be given back, whatever it is, however it comes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from text.tokenising.small_tokeniser import small_tokeniser, text_of

from egparse.errors import CorpusError
from egparse.io.conllu import format_sentence, read_conllu
from egparse.sentences import Sentence, blanks_after, escaped, unescaped
from egparse.text import reading as module
from egparse.text.reading import TOKEN_RANGE, PlainText, TextReader
from egparse.text.rules import MAX_WORDS

ODD = "ab.Z'1 \n\r\t-,\u00a0\u200b\u2028\x85\x0b|\\_=\u00e9\u6f22\U0001f600\u200d\ufe0f\x00\x07@:/"
TEXTS = st.text(st.sampled_from(ODD), max_size=80)


class Arriving:
    """A stream that gives a text in pieces."""

    def __init__(self, pieces: list[str]) -> None:
        self._pieces = pieces

    def read(self, _: int = -1) -> str:
        return self._pieces.pop(0) if self._pieces else ""


def read(source: object, **options: object) -> list[Sentence]:
    reading = PlainText(small_tokeniser(), **options)  # type: ignore[arg-type]
    return list(TextReader(reading).sentences(source))  # type: ignore[arg-type]


@examples(300)
@given(TEXTS)
def test_tokens_and_their_blanks_are_the_text(text: str) -> None:
    sentences = read(text)
    assert text_of(sentences) == (text if text.strip() else "")
    for sentence in sentences:
        for form, misc in zip(sentence.forms, sentence.misc, strict=True):
            start, end = misc.partition(TOKEN_RANGE)[2].split(":")
            assert text[int(start) : int(end)] == form


@examples(200)
@given(TEXTS, st.integers(1, 30), st.integers(1, 9))
def test_passages_are_read_by_themselves(text: str, size: int, arriving: int) -> None:
    pieces = [text[k : k + arriving] for k in range(0, len(text), arriving)]
    reading, found = PlainText(small_tokeniser()), list[Sentence]()
    passages = list(TextReader(reading).passages(Arriving(pieces), size, name="t"))  # type: ignore[arg-type]
    for passage in passages:
        found += TextReader(reading, len(found) + 1).read(passage)
    whole = read(text)
    assert found == whole
    assert [one.comments for one in found] == [one.comments for one in whole]
    assert "".join(part for passage in passages for part in passage.texts) == text
    assert passages == list(TextReader(reading).passages(io.StringIO(text), size, name="t"))


def test_passages_of_paragraphs_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARACTERS", 50)
    reading, text = PlainText(small_tokeniser()), "  " + "some words \n " * 40 + "\n\n   \n end"
    passages = list(TextReader(reading).passages(io.StringIO(text), 90, name="t"))
    assert len(passages) > 4
    found = list[Sentence]()
    for passage in passages:
        found += TextReader(reading, len(found) + 1).read(passage)
    assert found == read(text)
    assert text_of(found) == text


@examples(200)
@given(TEXTS, st.integers(1, 9))
def test_how_it_arrives_changes_nothing(text: str, size: int) -> None:
    pieces = [text[k : k + size] for k in range(0, len(text), size)]
    whole, arrived = read(text), read(Arriving(pieces))
    assert arrived == whole
    assert [one.comments for one in arrived] == [one.comments for one in whole]


@examples(100)
@given(TEXTS)
def test_a_file_keeps_the_text(text: str) -> None:
    written = "".join(map(format_sentence, read(text)))
    if text.strip():
        assert text_of(read_conllu(io.StringIO(written))) == text


@examples(100)
@given(TEXTS, st.integers(3, 20))
def test_long_paragraphs_are_cut_and_nothing_is_lost(text: str, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CHARACTERS", longest)
        patch.setattr(module, "MAX_UNBROKEN", 2 * longest)
        sentences = read(text)
        pieces = [text[k : k + 5] for k in range(0, len(text), 5)]
        assert read(Arriving(pieces)) == sentences
    assert text_of(sentences) == (text if text.strip() else "")


def test_a_character_may_be_written_by_its_number() -> None:
    assert unescaped(r"\u00A0\s\\u00A0") == "\N{NO-BREAK SPACE} " + r"\u00A0"


@examples(100)
@given(st.text(st.sampled_from(" \t\r\n|\\snrtpu0A\u00a0")))
def test_blanks_in_misc(blanks: str) -> None:
    value = escaped(blanks)
    assert unescaped(value) == blanks
    assert not set(value) & set(" \t\r\n|")
    assert blanks_after(f"A=1|SpacesAfter={value}|B=2") == blanks
    assert (blanks_after("_"), blanks_after("SpaceAfter=No")) == (" ", "")


def test_documents_paragraphs_and_ids() -> None:
    text = "\n Hello  world.\n\n\n\tBye, bye!\r\n\r\nEnd"
    sentences = read(text)
    assert [one.forms for one in sentences] == [
        ("Hello", "world", "."), ("Bye", ",", "bye", "!"), ("End",),
    ]  # fmt: skip
    assert [one.comments for one in sentences] == [
        ("# newdoc", "# newpar"), ("# newpar",), ("# newpar",),
    ]  # fmt: skip
    assert [one.sentence_id for one in sentences] == ["1", "2", "3"]
    assert sentences[0].misc == (
        r"SpacesAfter=\s\s|SpacesBefore=\n\s|TokenRange=2:7",
        "SpaceAfter=No|TokenRange=9:14",
        r"SpacesAfter=\n\n\n\t|TokenRange=14:15",
    )
    assert sentences[2].misc == ("SpaceAfter=No|TokenRange=32:35",)
    assert format_sentence(sentences[1]).startswith(
        "# newpar\n# sent_id = 2\n# text = Bye, bye!\n1\tBye\t"
    )
    reading = PlainText(small_tokeniser())
    assert next(TextReader(reading, 7).sentences("A")).sentence_id == "7"


def test_nothing() -> None:
    assert read("") == read(" \n\n\t") == []


def test_sources(tmp_path: Path) -> None:
    text = "Écoutez ! Ça va ?\r\n\r\nOui.\r\n"
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    expected = read(text)
    assert text_of(expected) == text
    for source in (path, io.BytesIO(text.encode()), io.StringIO(text, newline="")):
        assert read(source) == expected
    found = TextReader(PlainText(small_tokeniser())).sentences(
        io.BytesIO(text.encode("utf-16")), encoding="utf-16"
    )
    assert list(found) == expected


def test_faults() -> None:
    with pytest.raises(CorpusError, match="<stream>:3: expected UTF-8 text, got the byte 0xe4"):
        read(io.BytesIO(b"a\n\nb\xe4 c\n"))
    with pytest.raises(CorpusError, match="<text>:2: expected UTF-8 text, got the lone surrogate"):
        read("a\n\udc80")
    with pytest.raises(ValueError, match="positive number of words, got 0"):
        read("a", max_words=0)


def test_long_sentences_are_cut_after_clauses() -> None:
    text = "one two, three four five six seven eight nine ten"
    sentences = read(text, max_words=4)
    assert [len(one) for one in sentences] == [3, 4, 4]
    assert text_of(sentences) == text


def test_a_long_line_without_blanks() -> None:
    text = "x" * 400_000 + "." + "y-" * 400_000 + " z"
    sentences = read(text)
    assert text_of(sentences) == text
    assert max(map(len, sentences)) <= MAX_WORDS


def test_who_waits_gets_what_has_arrived() -> None:
    reader = TextReader(PlainText(small_tokeniser()))
    released: list[Sentence] = []

    class Waiting(Arriving):
        def read(self, _: int = -1) -> str:
            released.extend(reader.release())
            return super().read()

    found = list(reader.sentences(Waiting(["Hi.\n\n", "\n You.\n\n", "\n"])))  # type: ignore[arg-type]
    assert found == []
    assert [one.forms for one in released] == [("Hi", "."), ("You", ".")]
    assert released[1].misc[0] == r"SpaceAfter=No|SpacesBefore=\n\s|TokenRange=7:10"
    assert [one.sentence_id for one in released] == ["1", "2"]


def test_words_are_made_of_tokens() -> None:
    class Doubled:
        def expand(self, sentences: Sequence[Sentence]) -> list[Sentence]:
            return [Sentence((*one.forms, *one.forms)) for one in sentences]

    assert [one.forms for one in read("A b.", expander=Doubled())] == [
        ("A", "b", ".", "A", "b", ".")
    ]
