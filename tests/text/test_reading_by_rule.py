"""Plain text: words, spaces, sentences, languages, and texts that are too long or not text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lines_run import lines_run
from plain_reading import read_text
from properties import examples

from egparse.errors import CorpusError, EgparseError
from egparse.io import spacy_rules
from egparse.io.conllu import format_sentence, read_conllu
from egparse.io.spacy_rules import MAX_RUN
from egparse.sentences import Sentence, blanks_after
from egparse.text.reading import MAX_CHARACTERS
from egparse.text.rules import MAX_WORDS


def spoken(sentence: Sentence) -> str:
    """The text that forms and SpaceAfter=No say."""
    pairs = zip(sentence.forms, sentence.misc, strict=True)
    return "".join(form + (" " if blanks_after(misc) else "") for form, misc in pairs)


def test_words_spaces_sentences() -> None:
    sentences = list(
        read_text('Hello  world. "How are\nyou?" I asked.\n \t\nMr. Smith, e.g. (here)\n\n\n')
    )
    assert [spoken(s) for s in sentences] == [
        "Hello world. ",
        '"How are you?" ',
        "I asked. ",
        "Mr. Smith, e.g. (here) ",
    ]
    assert [s.sentence_id for s in sentences] == ["1", "2", "3", "4"]
    assert sentences[0].forms == ("Hello", "world", ".")
    assert sentences[0].misc == (
        "SpacesAfter=\\s\\s|TokenRange=0:5",
        "SpaceAfter=No|TokenRange=7:12",
        "TokenRange=12:13",
    )
    assert sentences[3].forms[:3] == ("Mr.", "Smith", ",")
    written = format_sentence(sentences[1])
    assert written.startswith('# sent_id = 2\n# text = "How are you?"\n1\t"\t')
    assert next(read_conllu(io.StringIO(written))).forms == sentences[1].forms


@pytest.mark.parametrize("text", ["", " \n\t\n", "\n\n\n"])
def test_nothing(text: str) -> None:
    assert list(read_text(text)) == []


def test_sources(tmp_path: Path) -> None:
    text = "Écoutez ! Ça va ?\r\n\r\nOui.\r\n"
    expected = list(read_text(text, "xx"))
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert list(read_text(path, "xx")) == expected
    assert list(read_text(io.BytesIO(text.encode()), "xx")) == expected
    assert list(read_text(io.StringIO(text), "xx")) == expected
    assert [s.forms for s in expected] == [("Écoutez", "!"), ("Ça", "va", "?"), ("Oui", ".")]


def test_faults(tmp_path: Path) -> None:
    for code in ("zz", "lex_attrs"):  # the second is a module of spaCy, but no language
        with pytest.raises(
            EgparseError,
            match=f"language '{code}': spaCy has no tokenisation rules for it; expected a code",
        ):
            list(read_text("a", code))
    with pytest.raises(EgparseError, match=r"none\.txt: cannot be read: No such file"):
        list(read_text(tmp_path / "none.txt"))
    with pytest.raises(CorpusError, match="t:3: expected UTF-8 text, got the byte 0xe4"):
        list(read_text(io.BytesIO(b"a\n\nb\xe4 c\n"), name="t"))
    with pytest.raises(
        CorpusError, match="t:2: expected UTF-8 text, got an end inside a character"
    ):
        list(read_text(io.BytesIO(b"a\n\xc3"), name="t"))
    with pytest.raises(
        CorpusError, match=r"<text>:2: expected UTF-8 text, got the lone surrogate '.udc80'"
    ):
        list(read_text("a\n\udc80"))
    with pytest.raises(ValueError, match="expected a positive number of words, got 0"):
        read_text("a", max_words=0)


def test_long_sentences_are_cut_after_clauses_or_at_blanks() -> None:
    clauses = list(read_text("one two three, " * 30, max_words=10))
    assert {len(s) for s in clauses} == {8}
    assert all(s.forms[-1] == "," for s in clauses)
    blanks = list(read_text("one two " * 30, max_words=7))
    assert [len(s) for s in blanks] == [7] * 8 + [4]
    attached = list(read_text("(" * 21, max_words=10))
    assert [len(s) for s in attached] == [10, 10, 1]
    assert [blanks_after(misc) for misc in attached[0].misc] == [""] * 10
    assert max(map(len, read_text("word " * 1000))) == MAX_WORDS


def test_long_runs_and_paragraphs_are_cut() -> None:
    run = "x" * (2 * MAX_RUN + 5)
    (sentence,) = read_text(f"a {run} end.")
    assert sentence.forms == ("a", run, "end", ".")
    assert spoken(sentence) == f"a {run} end."
    paragraph = "wort " * (MAX_CHARACTERS // 4)
    assert sum(map(len, read_text(paragraph, "xx"))) == MAX_CHARACTERS // 4
    assert {form for s in read_text(paragraph, "xx") for form in s.forms} == {"wort"}


def test_the_vocabulary_is_thrown_away_when_full(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n\n".join(f"wort{k} und wort{k + 1}." for k in range(300))
    expected = list(read_text(text, "xx"))
    monkeypatch.setattr(
        spacy_rules, "MAX_STRINGS", len(spacy_rules.rules_of("xx").vocab.strings) // 2
    )
    assert list(read_text(text, "xx")) == expected


def test_threads_do_not_share() -> None:
    text = "A few words. And more, of course!\n\n" * 50
    expected = list(read_text(text))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: list(read_text(text)), range(4))) == [expected] * 4


def test_the_file_is_not_read_ahead() -> None:
    class Endless(io.RawIOBase):
        read_so_far = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            self.read_so_far += 1
            return b"One more sentence.\n\n"

    stream = Endless()
    sentences: Iterator[Sentence] = read_text(stream)  # type: ignore[arg-type]
    assert [next(sentences).sentence_id for _ in range(10)] == [str(k) for k in range(1, 11)]
    assert stream.read_so_far <= 12


@examples(60)
@given(
    st.text(
        st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\r\t.,!?\"'()")), max_size=60
    )
)
def test_no_letter_is_lost(text: str) -> None:
    sentences = list(read_text(text, "xx"))
    assert "".join("".join("".join(s.forms) for s in sentences).split()) == "".join(text.split())
    assert all(form.strip() for s in sentences for form in s.forms)
    runs = "".join(spoken(s) for s in sentences).split()
    assert runs == text.split()


@pytest.mark.parametrize("letter", ["x", "\u0301", "字"])
def test_an_unbroken_word_is_one_word(letter: str) -> None:
    (sentence,) = read_text(letter * 200_000 + "\n", "xx")
    assert sentence.forms == (letter * 200_000,)


def test_runs_of_punctuation_are_many_words_wherever_they_are_cut() -> None:
    for length in (MAX_RUN - 1, MAX_RUN, MAX_RUN + 1, 2 * MAX_RUN + 7):
        assert sum(map(len, read_text("(" * length))) == length


class Trickling(io.StringIO):
    """A stream that gives a few characters at a time."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self._size = size

    def read(self, _: int | None = -1) -> str:
        return super().read(self._size)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_paragraphs_do_not_depend_on_how_the_text_comes(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("egparse.text.reading.MAX_CHARACTERS", 50)
    monkeypatch.setattr("egparse.text.reading.MAX_UNBROKEN", 90)
    text = "\n \n".join(
        ["one two", "a b " * 60, "x" * 300, "y" * 70 + " z", " " * 200, "end\r\n\t\r\nof it\n"]
    )
    whole = list(read_text(io.StringIO(text), "xx"))
    assert "".join(form for one in whole for form in one.forms) == "".join(text.split())
    assert list(read_text(Trickling(text, size), "xx")) == whole


def test_text_without_line_ends_takes_linear_time() -> None:
    def run(length: int) -> int:
        return lines_run(lambda: list(read_text("ab cd" * (length // 5), "xx")))

    assert run(400_000) < 5 * run(100_000)
