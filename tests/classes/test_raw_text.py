"""The words of raw text: as they are in other commands, whatever the file."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path

import pytest
from plain_reading import read_text

from egparse.classes import counting as raw_text
from egparse.classes.counting import (
    BOUNDARY,
    TEXT,
    TOKENISED,
    TextCounter,
    TextOptions,
    count_words,
)
from egparse.errors import CorpusError, EgparseError

SHARED = Path(__file__).parents[3] / "shared" / "data"

FRENCH = (
    "L'amendement n'est pas adopté : « c'est-à-dire qu'il l'a retiré »,\naujourd'hui (10 000 €)."
)
ENGLISH = "Don't e-mail me@home.org... it's $5.50, isn't it?\nSee http://a.b/c-d (e.g. U.S.)!"


class Recorder(TextCounter):
    """Keeps the words instead of counting them."""

    def __init__(self) -> None:
        super().__init__()
        self.met: list[str] = []

    def add(self, words: object) -> None:
        self.met.extend(words)  # type: ignore[call-overload]


def words_of(
    source: object, format: str = TEXT, name: str | None = None, **options: object
) -> list[str]:
    recorder = Recorder()
    count_words(recorder, source, format, TextOptions(**options), name)  # type: ignore[arg-type]
    return recorder.met


def stream(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def split_as_a_whole(text: str, language: str) -> list[str]:
    return [form for sentence in read_text(text, language) for form in sentence.forms]


@pytest.mark.parametrize(("text", "language"), [(FRENCH, "fr"), (ENGLISH, "en"), (ENGLISH, "xx")])
def test_words_are_those_of_the_whole_text(text: str, language: str) -> None:
    found = words_of(stream(text), language=language)
    assert found == [*split_as_a_whole(text, language), BOUNDARY]


def test_words_of_a_real_text_are_those_of_the_whole_text() -> None:
    path = SHARED / "raw" / "commonvoice_fr.txt.gz"
    if not path.is_file():
        pytest.skip("French sentences of Common Voice are not there")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        text = file.read(100_000).rpartition("\n")[0]
    found = words_of(stream(text), language="fr")
    assert found == [*split_as_a_whole(text, "fr"), BOUNDARY]


def test_runs_end_at_blank_lines_and_at_the_end() -> None:
    assert words_of(stream("a b\nc\n\n \nd")) == [
        *("a", "b", "c", BOUNDARY, BOUNDARY, "d", BOUNDARY)
    ]


def test_a_long_piece_without_blanks_is_split_as_elsewhere() -> None:
    text = "(" * 700 + "a" + ")" * 700
    assert words_of(stream(text), language="en") == [*split_as_a_whole(text, "en"), BOUNDARY]


def test_a_line_of_words_is_a_sentence() -> None:
    assert words_of(stream("l' eau\ta  don't\n\n10\u00a0000 ."), TOKENISED) == [
        *("l'", "eau", "a", "don't", BOUNDARY, BOUNDARY, "10\u00a0000", ".", BOUNDARY)
    ]


def test_a_corpus_has_words_in_its_second_column() -> None:
    rows = ["1\tLe\tle\t_\t_\t_\t0\troot\t_\t_", "2\tchat\tchat\t_\t_\t_\t1\tdep\t_\t_"]
    source = stream("\n".join(rows) + "\n\n")
    assert words_of(source, "conllu", name="a.conllu") == ["Le", "chat", BOUNDARY]


@pytest.mark.parametrize("format", [TEXT, TOKENISED])
def test_words_may_become_lower_case(format: str) -> None:
    assert words_of(stream("Élan DON"), format, lower_case=True)[:2] == ["élan", "don"]


def test_files_may_be_compressed_and_in_other_encodings(tmp_path: Path) -> None:
    for pack in (gzip, lzma):
        path = tmp_path / f"text.{pack.__name__}"
        path.write_bytes(pack.compress("un été".encode("latin-1")))
        assert words_of(path, encoding="latin-1") == ["un", "été", BOUNDARY]


def test_bytes_that_are_no_text_are_named_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"good\nb\xe4d\n")
    with pytest.raises(CorpusError, match=r"text\.txt:2: expected UTF-8 text"):
        words_of(path)


def test_a_language_without_rules_is_refused_before_reading(tmp_path: Path) -> None:
    with pytest.raises(EgparseError, match="language 'qq'"):
        words_of(tmp_path / "missing.txt", language="qq")


def test_the_memory_of_pieces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_text, "MAX_PIECES", 2)
    assert words_of(stream("a b c\nc! b a\n")) == ["a", "b", "c", "c", "!", "b", "a", BOUNDARY]
