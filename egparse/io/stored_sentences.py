"""Sentences in a file, of which only those in use are in memory, where memory is limited: a million
sentences of Python objects take some ten gigabytes.

Each is a run of bytes in a temporary file, and made again whenever it is asked for. Equal tags and
labels are one string in memory (they are interned), so that loops may collect them.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from sys import intern
from typing import Any, overload

import msgpack
import numpy as np

from egparse.sentences import Selectable, Sentence, Source, SurfaceToken
from egparse.storage.scratch import Scratch
from egparse.types import Longs

BYTES_OF_SENTENCE = 600
"""The anonymous memory that training needs for a sentence beside files, roughly
(docs/decisions/larger-than-memory.md).
"""

_STRINGS = ("forms", "lemmas", "upos", "xpos", "feats", "deprels", "misc", "spans")
"""The columns of strings, in the order of ``Sentence``; heads are between the fifth and sixth."""

_TAGS = ("upos", "xpos", "feats", "deprels", "spans")

_BLOCK = 1 << 20  # bytes that are written and read at a time


class StoredSentences(Selectable):
    """Sentences that were read from a corpus, in the order of ``rows`` of a file."""

    def __init__(self, file: _File, rows: Longs) -> None:
        self._file, self._rows = file, rows

    @classmethod
    def of(cls, sentences: Iterable[Sentence], scratch: Scratch) -> StoredSentences:
        """Store sentences in a file of a run.

        Raises:
            EgparseError: the disk, or the limit of memory, is too small for them.
            ValueError: a sentence with probabilities, which readers do not make.
        """
        file, starts, total = _File(scratch.file()), array("q", [0]), 0
        block = bytearray()
        for sentence in sentences:
            block += _packed(sentence)
            starts.append(total + len(block))
            if len(block) >= _BLOCK:
                total += file.append(block, scratch)
                block.clear()
        file.append(block, scratch)
        file.starts = np.array(starts)
        n = len(starts) - 1
        scratch.require(n * BYTES_OF_SENTENCE, f"{n:,} sentences")
        return cls(file, np.arange(n))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Sentence: ...

    @overload
    def __getitem__(self, place: slice) -> StoredSentences: ...

    def __getitem__(self, place: int | slice) -> Sentence | StoredSentences:
        if isinstance(place, slice):
            return StoredSentences(self._file, self._rows[place])
        return self._file.sentence(int(self._rows[place]))

    def __iter__(self) -> Iterator[Sentence]:
        return self._file.sentences(self._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return NotImplemented if not isinstance(other, Sequence) else False
        return all(own == one for own, one in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def select(self, chosen: Iterable[bool]) -> StoredSentences:
        """The chosen sentences, in the same file."""
        mask = np.fromiter(chosen, dtype=np.bool_, count=len(self))
        return StoredSentences(self._file, self._rows[mask])

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return int(self._file.starts[-1])


class _File:
    """Packed sentences; sentence ``i`` has the bytes ``starts[i]:starts[i + 1]``."""

    starts: Longs

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self, _close: Any = os.close) -> None:
        _close(self.descriptor)

    def append(self, block: bytes | bytearray, scratch: Scratch) -> int:
        """Write a block; returns its size. Raises EgparseError where there is no room for it."""
        written = 0
        try:
            while written < len(block):
                written += os.write(self.descriptor, memoryview(block)[written:])
        except OSError as error:
            raise scratch.no_room(len(block), error.strerror or str(error)) from error
        scratch.count(written)
        return written

    def sentence(self, i: int) -> Sentence:
        first, end = self.starts[i : i + 2].tolist()
        return _unpacked(os.pread(self.descriptor, end - first, first))

    def sentences(self, rows: Longs) -> Iterator[Sentence]:
        """The sentences of some rows, read a block at a time where rows follow each other."""
        begun, block = 0, b""
        for low in range(0, len(rows), 4096):
            chosen = rows[low : low + 4096]
            firsts, ends = self.starts[chosen].tolist(), self.starts[chosen + 1].tolist()
            for first, end in zip(firsts, ends, strict=True):
                if first < begun or end > begun + len(block):
                    begun = first
                    block = os.pread(self.descriptor, max(_BLOCK, end - first), first)
                yield _unpacked(memoryview(block)[first - begun : end - begun])


def _packed(sentence: Sentence) -> bytes:
    if sentence.probabilities is not None:
        raise ValueError("expected a sentence as it was read, got one with probabilities")
    source = sentence.source
    of_source = source and (
        source.path,
        source.first_line,
        "\n".join(source.lines),
        tuple(source.word_lines),
        source.format,
    )
    strings = tuple(_joined(getattr(sentence, name)) for name in _STRINGS)
    rest = tuple(sentence.heads), sentence.sentence_id, tuple(sentence.tokens)
    record = (strings, *rest, tuple(sentence.comments), sentence.treebank, of_source)
    # any string is one, also where a file was read in an encoding that it does not fit
    return msgpack.packb(record, unicode_errors="surrogatepass")  # type: ignore[no-any-return]


def _joined(column: Sequence[str]) -> str | tuple[str, ...]:
    """A column as one string, which is read faster, if its strings are lines."""
    joined = "\n".join(column)
    return joined if joined.count("\n") + 1 == len(column) else tuple(column)


def _unpacked(packed: bytes | memoryview) -> Sentence:
    stored = msgpack.unpackb(packed, use_list=False, unicode_errors="surrogatepass")
    strings, heads, sentence_id, tokens, comments, treebank, source = stored
    parted = (column.split("\n") if type(column) is str else column for column in strings)
    columns = [
        tuple(map(intern, column) if name in _TAGS else column)
        for name, column in zip(_STRINGS, parted, strict=True)
    ]
    if source is not None:
        path, first_line, lines, word_lines, format = source
        source = Source(intern(path), first_line, tuple(lines.split("\n")), word_lines, format)
    words = tuple([SurfaceToken(*one) for one in tokens]) if tokens else ()
    # by position: the names would cost a microsecond a sentence
    forms, lemmas, upos, xpos, feats, deprels, misc, spans = columns
    return Sentence(
        forms, lemmas, upos, xpos, feats, heads, deprels, misc, spans, sentence_id, source, None,
        words, comments, intern(treebank),
    )  # fmt: skip
