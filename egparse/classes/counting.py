"""Counts of words and of pairs of neighbours in raw text, which is all that learning classes sees.

A text is a series of *runs* of words: sentences, or paragraphs of plain text. One boundary stands
between runs, and before the first and after the last one, so that every word has a neighbour on
both sides, and a word is as often the left one of a pair as the right one.

The words are those of plain text, of text that is split into words already, and of corpora. Plain
text is split at its blanks first. spaCy's rules split what stands between blanks, which is done
once for each different piece: ten times as fast as splitting the whole text. A blank line ends a
run of words, a line end does not, because lines may be cut anywhere. In text that is split already
a line is a sentence, in corpora a sentence is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.io.blocks import CorpusSource, checked_lines, name_of
from egparse.io.corpus import read_corpus
from egparse.io.encodings import UTF_8
from egparse.io.spacy_rules import split_words
from egparse.types import Ints, Longs

BOUNDARY = ""
"""Stands between runs; no word is empty."""

MAX_WORDS = 2**31 - 1
"""Pairs are counted in 32 bits."""

_AT_A_TIME = 1 << 22
"""Words whose pairs are sorted at a time: a bound on memory."""

_BUFFERED = 1 << 16


class Neighbours(NamedTuple):
    """The neighbours of each word on one side, without the word itself: those of word w are
    ``words[starts[w]:starts[w + 1]]``, met as often as ``counts`` says in the same places.
    """

    starts: Longs
    words: Ints
    counts: Ints


class PairCounts(NamedTuple):
    """The counts of a text.

    ``words`` are the V words that get classes, from the most frequent one on. Number V stands for
    all other words, V + 1 for the boundary. ``counts``, shape (V + 2,), says how often each of them
    is the left one of a pair, which is how often it is the right one; ``repeats``, shape (V + 2,),
    how often it follows itself. ``total`` is the number of pairs.
    """

    words: tuple[str, ...]
    counts: Longs
    repeats: Longs
    following: Neighbours
    preceding: Neighbours
    total: int
    types: int
    """How many different words the text has."""

    @property
    def outside(self) -> int:
        """How many words of the text are none of those that get classes."""
        return int(self.counts[-2])


class _Numbers(dict[str, int]):
    """Numbers of words in the order in which they are met; the boundary has 0."""

    def __init__(self) -> None:
        super().__init__({BOUNDARY: 0})

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class TextCounter:
    """Numbers the words of a text as they come; ``pair_counts`` counts them at the end.

    Memory: 4 bytes a word and the different words.
    """

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._met: list[int] = [0]
        self._pieces: list[Ints] = []
        self._stored = 0
        self._words = 0

    @property
    def words(self) -> int:
        """How many words have been counted."""
        return self._words + len(self._met) - self._met.count(0)

    def add(self, words: Iterable[str]) -> None:
        """Count words, of which ``BOUNDARY`` is one that ends a run.

        Raises:
            EgparseError: the text has more words than can be counted.
        """
        self._met.extend(map(self._numbers.__getitem__, words))
        if len(self._met) >= _BUFFERED:
            self._store()

    def add_runs(self, runs: Iterable[Iterable[str]]) -> None:
        """Count runs of words, each of which ends with a boundary."""
        for run in runs:
            self.add(chain(run, (BOUNDARY,)))

    def pair_counts(self, min_count: int = 1, most_types: int | None = None) -> PairCounts:
        """The counts of the text. Classes are for the ``most_types`` most frequent words among
        those that occur ``min_count`` times or more; of equally frequent ones those first in
        alphabetical order count as the more frequent.
        """
        self._store()
        met = np.concatenate([*self._pieces, np.zeros(1, dtype=np.int32)])
        met = met[np.append(True, (met[1:] != 0) | (met[:-1] != 0))]
        frequency = np.bincount(met, minlength=len(self._numbers))
        names = list(self._numbers)
        kept = [k for k in range(1, len(names)) if frequency[k] >= min_count]
        kept.sort(key=lambda k: (-frequency[k], names[k]))
        kept = kept[:most_types]
        number_of = np.full(len(names), len(kept), dtype=np.int32)
        number_of[kept] = np.arange(len(kept), dtype=np.int32)
        number_of[0] = len(kept) + 1
        words = tuple(names[k] for k in kept)
        return _counted(words, number_of[met], len(names) - 1)

    def _store(self) -> None:
        self._stored += len(self._met)
        if self._stored >= MAX_WORDS:
            raise EgparseError(f"expected a text of fewer than {MAX_WORDS:,} words, got more")
        self._words += len(self._met) - self._met.count(0)
        self._pieces.append(np.array(self._met, dtype=np.int32))
        self._met.clear()


def _counted(words: tuple[str, ...], text: Ints, types: int) -> PairCounts:
    """The counts of a text of numbers, which begins and ends with the boundary."""
    n = len(words) + 2
    keys, counts = _pairs(text, n)
    left, right = np.divmod(keys, n)
    same = left == right
    repeats = np.zeros(n, dtype=np.int64)
    repeats[left[same]] = counts[same]
    left, right, counts = left[~same], right[~same], counts[~same]
    return PairCounts(
        words=words,
        counts=np.bincount(text[:-1], minlength=n),
        repeats=repeats,
        following=_neighbours(left, right, counts, n),
        preceding=_neighbours(right, left, counts, n),
        total=max(0, len(text) - 1),
        types=types,
    )


def _pairs(text: Ints, n: int) -> tuple[Longs, Longs]:
    """The different pairs of neighbours, as left * n + right in ascending order, and their
    counts.
    """
    keys, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for first in range(0, len(text) - 1, _AT_A_TIME):
        piece = text[first : first + _AT_A_TIME + 1].astype(np.int64)
        new_keys, new_counts = np.unique(piece[:-1] * n + piece[1:], return_counts=True)
        both = np.concatenate([keys, new_keys])
        keys, places = np.unique(both, return_inverse=True)
        weights = np.concatenate([counts, new_counts])
        counts = np.bincount(places, weights=weights, minlength=len(keys)).astype(np.int64)
    return keys, counts


def _neighbours(words: Longs, others: Longs, counts: Longs, n: int) -> Neighbours:
    order = np.lexsort((others, words))
    return Neighbours(
        starts=np.searchsorted(words[order], np.arange(n + 1)).astype(np.int64),
        words=others[order].astype(np.int32),
        counts=counts[order].astype(np.int32),
    )


TEXT, TOKENISED = "text", "tokenised"
"""What a source may be besides the formats of corpora."""

MAX_PIECES = 500_000
"""Different pieces of plain text whose words are kept in memory."""


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How words are made of text: by the rules of which language plain text is split (``xx``: of no
    language), whether words become lower case, and the encoding of bytes.
    """

    language: str = "xx"
    lower_case: bool = False
    encoding: str = UTF_8


def count_words(
    counter: TextCounter,
    source: CorpusSource,
    format: str,
    options: TextOptions,
    name: str | None = None,
) -> None:
    """Count the words of a file or an open stream, which may be compressed; ``format`` is ``text``,
    ``tokenised`` or one of ``readers.corpus.FORMATS``, ``name`` replaces the path in messages.

    Raises:
        EgparseError: spaCy has no rules for the language, or the file cannot be read.
        CorpusError: bytes that do not fit the encoding, damaged compressed data, or a faulty
            corpus.
    """
    if format == TEXT:
        split_words("", options.language)  # raises for an unknown language before reading
        pieces = _Pieces(options)
        for line in checked_lines(source, name or name_of(source), options.encoding):
            parts = line.split()
            counter.add(chain.from_iterable(map(pieces.__getitem__, parts)) if parts else _END)
            pieces.forget()
        counter.add(_END)
        return
    if format == TOKENISED:
        lines = checked_lines(source, name or name_of(source), options.encoding)
        runs: Iterator[Any] = (filter(None, line.replace("\t", " ").split(" ")) for line in lines)
    else:
        read = read_corpus(source, format, name=name, encoding=options.encoding, trees=False)
        runs = (sentence.forms for sentence in read)
    if options.lower_case:
        runs = ([word.lower() for word in run] for run in runs)
    counter.add_runs(runs)


_END = (BOUNDARY,)


class _Pieces(dict[str, list[str]]):
    """The words of each piece between blanks."""

    def __init__(self, options: TextOptions) -> None:
        super().__init__()
        self._options = options

    def __missing__(self, piece: str) -> list[str]:
        words = split_words(piece, self._options.language)
        if self._options.lower_case:
            words = [word.lower() for word in words]
        self[piece] = words
        return words

    def forget(self) -> None:
        """Empty the memory when it is full."""
        if len(self) > MAX_PIECES:
            self.clear()
