"""Reading text by a tokeniser or by spaCy's rules: the text can be given back, whatever it is,
however it comes; and the language of a corpus, by the name of its file.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lines_run import lines_run
from plain_reading import read_text
from properties import examples
from text.small_tokeniser import small_tokeniser, text_of

from egparse.errors import CorpusError, EgparseError
from egparse.io import spacy_rules
from egparse.io.conllu import format_sentence, read_conllu
from egparse.io.spacy_rules import MAX_RUN, NEUTRAL
from egparse.sentences import Sentence, Source, blanks_after, escaped, unescaped
from egparse.text import reading as module
from egparse.text.reading import MAX_CHARACTERS, TOKEN_RANGE, PlainText, TextReader
from egparse.text.rules import MAX_WORDS, Found, check_language, find_language, languages

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


def test_sources(tmp_path: Path) -> None:
    text = "Écoutez ! Ça va ?\r\n\r\nOui.\r\n"
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    raw = text.encode()
    for source in (lambda: path, lambda: io.BytesIO(raw), lambda: io.StringIO(text, newline="")):
        assert text_of(read(source())) == text
        assert list(read_text(source(), "xx")) == list(read_text(text, "xx"))  # type: ignore[arg-type]
    assert [one.forms for one in read_text(text, "xx")] == [
        ("Écoutez", "!"), ("Ça", "va", "?"), ("Oui", "."),
    ]  # fmt: skip
    utf_16 = io.BytesIO(text.encode("utf-16"))
    found = TextReader(PlainText(small_tokeniser())).sentences(utf_16, encoding="utf-16")
    assert list(found) == read(text)
    for nothing in ("", " \n\t\n", "\n\n\n"):
        assert read(nothing) == list(read_text(nothing)) == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a\n\nb\xe4 c\n", "t:3: expected UTF-8 text, got the byte 0xe4"),
        (b"a\n\xc3", "t:2: expected UTF-8 text, got an end inside a character"),
        ("a\n\udc80", r"t:2: expected UTF-8 text, got the lone surrogate '.udc80'"),
    ],
)
def test_faults_of_texts(content: bytes | str, fault: str) -> None:
    source = io.BytesIO(content) if isinstance(content, bytes) else io.StringIO(content)
    with pytest.raises(CorpusError, match=fault):
        list(read_text(source, name="t"))


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="<text>:2: expected UTF-8 text"):
        read("a\n\udc80")
    with pytest.raises(ValueError, match="expected a positive number of words, got 0"):
        read("a", max_words=0)
    with pytest.raises(EgparseError, match=r"none\.txt: cannot be read: No such file"):
        list(read_text(tmp_path / "none.txt"))
    for code in ("zz", "lex_attrs"):  # the second is a module of spaCy, but no language
        fault = f"language '{code}': spaCy has no tokenisation rules for it; expected a code"
        with pytest.raises(EgparseError, match=fault):
            list(read_text("a", code))


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
    text = "one two, three four five six seven eight nine ten"
    assert [len(one) for one in read(text, max_words=4)] == [3, 4, 4]
    assert text_of(read(text, max_words=4)) == text
    text = "x" * 400_000 + "." + "y-" * 400_000 + " z"
    assert text_of(read(text)) == text
    assert max(map(len, read(text))) <= MAX_WORDS


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
    found = islice(read_text(stream), 10)  # type: ignore[arg-type]
    assert [one.sentence_id for one in found] == [str(k) for k in range(1, 11)]
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


def test_text_without_line_ends_takes_linear_time() -> None:
    def run(length: int) -> int:
        return lines_run(lambda: list(read_text("ab cd" * (length // 5), "xx")))

    assert run(400_000) < 5 * run(100_000)


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
