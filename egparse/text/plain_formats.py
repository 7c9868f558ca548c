"""Sentences of input without annotation, with as much of their division as the input has: running
text, lines that are sentences, or words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import IO, Protocol

from egparse.errors import CorpusError
from egparse.io.blocks import MAX_BLOCK, name_of, texts_of
from egparse.io.encodings import UTF_8
from egparse.io.token_lines import (
    HORIZONTAL,
    NEW_PARAGRAPH,
    VERTICAL,
    read_token_lines,
)
from egparse.sentences import Sentence
from egparse.text.reading import TextReader

TEXT = "text"
SENTENCES = "sentences"

PLAIN_FORMATS = (TEXT, SENTENCES, HORIZONTAL, VERTICAL)
"""Text, in which a model finds sentences and words; one sentence a line, in which it finds words;
one sentence a line with blanks between its words; one word a line.
"""

_MARKS = ("# newdoc", "# newpar")
_RANGE = re.compile(r"(?<![^|])TokenRange=(\d+):(\d+)(?![^|])")


class TextModel(Protocol):
    """What finds words and sentences; ``pipeline.model.Model`` has it."""

    def text_reader(self, first_id: int = 1, *, whole: bool = False) -> TextReader:
        """A reader of one text; ``whole``: each paragraph is one sentence."""


def read_plain(
    model: TextModel,
    source: os.PathLike[str] | IO[str] | IO[bytes],
    format: str = TEXT,
    *,
    name: str | None = None,
    encoding: str = UTF_8,
    first_id: int = 1,
) -> Iterator[Sentence]:
    """The sentences of a file or stream in one of ``PLAIN_FORMATS``, with IDs from ``first_id``.

    Raises:
        EgparseError: spaCy has no rules for the language, or the file cannot be read, or the
            encoding is unknown.
        CorpusError: bytes that do not fit the encoding, damaged compressed data, or a sentence of
            words that is too long.
        ValueError: an unknown format.
    """
    if format == TEXT:
        return model.text_reader(first_id).sentences(source, name=name, encoding=encoding)
    if format == SENTENCES:
        return _sentences(model, source, name, encoding, first_id)
    return read_token_lines(source, format, name=name, encoding=encoding, first_id=first_id)


def _sentences(
    model: TextModel,
    source: os.PathLike[str] | IO[str] | IO[bytes],
    name: str | None,
    encoding: str,
    first_id: int,
) -> Iterator[Sentence]:
    number, opens = first_id, True
    path = name or name_of(source)
    for start, line in _lines(texts_of(source, path, encoding), path):
        found = model.text_reader(number, whole=True).sentences(StringIO(line))
        is_blank = True
        for sentence in found:  # one, or several of a line that is longer than paragraphs may be
            others = [one for one in sentence.comments if not one.startswith(_MARKS)]
            moved = _moved(sentence, start) if start else sentence
            yield moved.with_layers(comments=(*[NEW_PARAGRAPH][: int(opens)], *others))
            number, opens, is_blank = number + 1, False, False
        opens = opens or is_blank


def _lines(texts: Iterator[str], path: str) -> Iterator[tuple[int, str]]:
    """Where each line starts in the text, in characters, and the line with its end."""
    begun: list[str] = []
    start, size, number = 0, 0, 1
    for text in texts:
        *whole, rest = text.split("\n")
        for line in whole:
            found = "".join((*begun, line, "\n"))
            yield start, found
            start, number = start + len(found), number + 1
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size > MAX_BLOCK:
            raise CorpusError(path, number, f"a line of at most {MAX_BLOCK:,} characters", "more")
    if last := "".join(begun):
        yield start, last


def _moved(sentence: Sentence, by: int) -> Sentence:
    """The sentence with its places in the text moved on by so many characters."""

    def moved(misc: str) -> str:
        return _RANGE.sub(
            lambda found: f"TokenRange={int(found[1]) + by}:{int(found[2]) + by}", misc
        )

    tokens = tuple(token._replace(misc=moved(token.misc)) for token in sentence.tokens)
    return replace(sentence, misc=tuple(map(moved, sentence.misc)), tokens=tokens)
