"""The words of raw text, for counting: of plain text, of text that is split into words already, and
of corpora.

Plain text is split at its blanks first. spaCy's rules split what stands between blanks, which is
done once for each different piece: ten times as fast as splitting the whole text. A blank line ends
a run of words, a line end does not, because lines may be cut anywhere. In text that is split
already a line is a sentence, in corpora a sentence is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from egparse.classes.counting import BOUNDARY, TextCounter
from egparse.io.blocks import Block, CorpusSource, name_of, read_lines
from egparse.io.corpus import read_corpus
from egparse.io.encodings import UTF_8
from egparse.io.spacy_rules import split_words

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
        for line in _lines(source, name, options.encoding):
            parts = line.split()
            counter.add(chain.from_iterable(map(pieces.__getitem__, parts)) if parts else _END)
            pieces.forget()
        counter.add(_END)
        return
    if format == TOKENISED:
        runs: Iterator[Any] = _sentences(source, name, options.encoding)
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


def _sentences(source: CorpusSource, name: str | None, encoding: str) -> Iterator[list[str]]:
    for line in _lines(source, name, encoding):
        yield [word for word in line.replace("\t", " ").split(" ") if word]


def _lines(source: CorpusSource, name: str | None, encoding: str) -> Iterator[str]:
    """The lines of a text.

    Raises:
        CorpusError: a line is not UTF-8, or not in the encoding that was named.
    """
    path = name or name_of(source)
    number = 1
    for lines, undecodable in read_lines(source, path, encoding):
        if undecodable:
            Block(path, number, lines).check_encoding()
        yield from lines
        number += len(lines)
