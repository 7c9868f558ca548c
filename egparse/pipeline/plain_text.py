"""Sentences of input without annotation, with as much of their division as the input has: running
text, lines that are sentences, or words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import StringIO
from typing import IO, Protocol

from egparse.pipeline.text_reader import Reader
from egparse.readers.encodings import UTF_8
from egparse.readers.token_lines import (
    HORIZONTAL,
    NEW_PARAGRAPH,
    VERTICAL,
    read_sentence_lines,
    read_token_lines,
)
from egparse.sentences import Sentence

TEXT = "text"
SENTENCES = "sentences"

PLAIN_FORMATS = (TEXT, SENTENCES, HORIZONTAL, VERTICAL)
"""Text, in which a model finds sentences and words; one sentence a line, in which it finds words;
one sentence a line with blanks between its words; one word a line.
"""

_MARKS = ("# newdoc", "# newpar")


class TextModel(Protocol):
    """What finds words and sentences; ``pipeline.model.Model`` has it."""

    def text_reader(self, first_id: int = 1, *, whole: bool = False) -> Reader:
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
    for line in read_sentence_lines(source, name=name, encoding=encoding):
        found = model.text_reader(number, whole=True).sentences(StringIO(line))
        is_blank = True
        for sentence in found:  # one, or several of a line that is longer than paragraphs may be
            others = [one for one in sentence.comments if not one.startswith(_MARKS)]
            yield sentence.with_layers(comments=(*[NEW_PARAGRAPH][: int(opens)], *others))
            number, opens, is_blank = number + 1, False, False
        opens = opens or is_blank
