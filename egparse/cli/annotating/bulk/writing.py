"""Annotated sentences in any output format, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TextIO

from egparse.sentences import Sentence


class Amount(NamedTuple):
    """How much has been written."""

    sentences: int
    words: int


def write(sentences: Iterable[Sentence], stream: TextIO, format: str) -> Amount:
    """Write sentences as they come, in a corpus format or a piece in one of ``writers.formats``;
    returns how many.
    """
    from egparse.io.corpus import write_corpus
    from egparse.io.output_formats import FORMATS, piece

    if format in FORMATS:
        written = list(sentences)
        stream.write(piece(written, format))
        return Amount(len(written), sum(map(len, written)))
    words = 0

    def counted() -> Iterator[Sentence]:
        nonlocal words
        for sentence in sentences:
            words += len(sentence)
            yield sentence

    count = write_corpus(counted(), stream, format)
    return Amount(count, words)
