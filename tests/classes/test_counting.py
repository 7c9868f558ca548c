"""Counting words and pairs of neighbours, and the words of raw text: as they are in other commands,
whatever the file.
"""

from __future__ import annotations

import gzip
import io
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from classes.texts import counted, runs
from hypothesis import given
from oracles import brown
from plain_reading import read_text

from egparse.classes import counting
from egparse.classes.counting import (
    BOUNDARY,
    TEXT,
    TOKENISED,
    PairCounts,
    TextCounter,
    TextOptions,
    count_words,
)
from egparse.errors import CorpusError, EgparseError


def pairs_of(counts: PairCounts) -> Counter[tuple[str | None, str | None]]:
    names = [*counts.words, brown.OTHER, None]
    pairs: Counter[tuple[str | None, str | None]] = Counter()
    for w, name in enumerate(names):
        if counts.repeats[w]:
            pairs[name, name] += int(counts.repeats[w])
        starts, words, times = counts.following
        for place in range(starts[w], starts[w + 1]):
            pairs[name, names[words[place]]] += int(times[place])
    return pairs


@given(runs)
def test_pairs_are_counted_as_they_stand_in_the_text(text: list[list[str]]) -> None:
    for min_count in (1, 2, 4):
        counts = counted(text, min_count)
        expected = Counter(brown.neighbours(text, dict.fromkeys(counts.words)))
        assert pairs_of(counts) == expected
        assert counts.total == expected.total()


@given(runs)
def test_preceding_neighbours_are_the_other_side_of_following_ones(text: list[list[str]]) -> None:
    counts = counted(text)

    def triples(neighbours: counting.Neighbours) -> list[tuple[int, int, int]]:
        words = np.repeat(np.arange(len(neighbours.starts) - 1), np.diff(neighbours.starts))
        return list(
            zip(words.tolist(), neighbours.words.tolist(), neighbours.counts.tolist(), strict=True)
        )

    turned = sorted((b, a, n) for a, b, n in triples(counts.following))
    assert triples(counts.preceding) == turned


@given(runs)
def test_words_are_as_often_left_as_right(text: list[list[str]]) -> None:
    counts = counted(text, 2)
    left = counts.repeats.copy()
    np.add.at(left, counts.preceding.words, counts.preceding.counts)
    assert left.tolist() == counts.counts.tolist()


def test_the_most_frequent_words_get_classes_and_ties_go_by_the_alphabet() -> None:
    text = [["b", "a", "c", "c", "d"], ["b", "a", "e"]]
    assert counted(text).words == ("a", "b", "c", "d", "e")
    assert counted(text, 2).words == ("a", "b", "c")
    counter = TextCounter()
    counter.add_runs(text)
    assert counter.words == 8
    counts = counter.pair_counts(1, 2)
    assert counts.words == ("a", "b")
    assert (counts.outside, counts.types) == (4, 5)


def test_the_counts_do_not_depend_on_the_pieces_in_which_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = [list("abacabad"), list("deed"), [], list("aab")]
    whole = counted(text)
    monkeypatch.setattr(counting, "_AT_A_TIME", 3)
    monkeypatch.setattr(counting, "_BUFFERED", 2)
    parts = counted(text)
    assert pairs_of(parts) == pairs_of(whole)
    assert parts.words == whole.words


def test_an_empty_text_has_no_words() -> None:
    counts = counted([[], []])
    assert (counts.words, counts.total, counts.types) == ((), 0, 0)


def test_a_text_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_WORDS", 5)
    with pytest.raises(EgparseError, match="fewer than 5 words"):
        counted([list("abcdefg")])


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


@pytest.mark.parametrize(
    ("text", "language"),
    [(FRENCH, "fr"), (ENGLISH, "en"), (ENGLISH, "xx"), ("(" * 700 + "a" + ")" * 700, "en")],
)
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


@pytest.mark.parametrize(
    ("text", "format", "words"),
    [
        ("a b\nc\n\n \nd", TEXT, ["a", "b", "c", BOUNDARY, BOUNDARY, "d", BOUNDARY]),
        (
            "l' eau\ta  don't\n\n10\u00a0000 .",
            TOKENISED,
            ["l'", "eau", "a", "don't", BOUNDARY, BOUNDARY, "10\u00a0000", ".", BOUNDARY],
        ),
        (
            "1\tLe\tle\t_\t_\t_\t0\troot\t_\t_\n2\tchat\tchat\t_\t_\t_\t1\tdep\t_\t_\n\n",
            "conllu",
            ["Le", "chat", BOUNDARY],
        ),
    ],
)
def test_runs_of_each_format(text: str, format: str, words: list[str]) -> None:
    assert words_of(stream(text), format, name="a") == words


@pytest.mark.parametrize("format", [TEXT, TOKENISED])
def test_words_may_become_lower_case(format: str) -> None:
    assert words_of(stream("Élan DON"), format, lower_case=True)[:2] == ["élan", "don"]


def test_files_may_be_compressed_and_in_other_encodings(tmp_path: Path) -> None:
    for pack in (gzip, lzma):
        path = tmp_path / f"text.{pack.__name__}"
        path.write_bytes(pack.compress("un été".encode("latin-1")))
        assert words_of(path, encoding="latin-1") == ["un", "été", BOUNDARY]


def test_faults_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"good\nb\xe4d\n")
    with pytest.raises(CorpusError, match=r"text\.txt:2: expected UTF-8 text"):
        words_of(path)
    with pytest.raises(EgparseError, match="language 'qq'"):  # before reading
        words_of(tmp_path / "missing.txt", language="qq")


def test_the_memory_of_pieces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_PIECES", 2)
    assert words_of(stream("a b c\nc! b a\n")) == ["a", "b", "c", "c", "!", "b", "a", BOUNDARY]
