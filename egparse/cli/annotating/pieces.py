"""What workers get: passages, parts of an input that can be read without what stands before them,
some of which are a piece of work; and shards, after which a run can be taken up again.

A corpus is cut at blank lines, text between paragraphs (and in paragraphs without end where a
reader cuts them), so that workers read, annotate and format. Many small documents share a piece; a
large one becomes many. Where it is cut depends on the content alone, not on the parts in which a
pipe gives it: a run that goes on finds the same passages, pieces and shards.
"""

from __future__ import annotations

import hashlib
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, NamedTuple, TypeAlias, cast

from egparse.errors import EgparseError, EmptyCorpusError
from egparse.io.blocks import MAX_BLOCK, Block, pieces_of, read_blocks, too_long
from egparse.io.columns import LAYOUTS
from egparse.io.detection import detect_format
from egparse.pipeline.annotate import BATCH_WORDS
from egparse.pipeline.conversion import batches
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.text.reading import PLAIN_FORMATS, TEXT, PartsOfText, read_plain

CHUNK = 1 << 19
"""Bytes of a corpus that a passage has, up to the next end of a sentence: about as many words as
are annotated at a time.
"""

CHARACTERS = 1 << 16
"""Characters of text that a passage has; of text more become work than of a corpus."""

MOST_DOCUMENTS = 500
"""A piece has parts of so many documents at most, even if they are empty."""

SHARD = 8.0
"""A shard ends with the passage after which it weighs so many pieces of usual size."""

_DOCUMENT = b"-DOCSTART-"


class Chunk(NamedTuple):
    """Whole sentences of a corpus; ``first_line`` counts from 1."""

    first_line: int
    data: bytes

    def __len__(self) -> int:
        return len(self.data)


Content: TypeAlias = Chunk | PartsOfText | list[Sentence]


class Passage(NamedTuple):
    """Part of an input: ``name`` is that of the input, ``format`` that of its content."""

    name: str
    format: str
    content: Content

    @property
    def weight(self) -> float:
        """The share of a piece of work of usual size that the passage is."""
        if isinstance(self.content, Chunk):
            return len(self.content.data) / CHUNK
        if isinstance(self.content, PartsOfText):
            return self.content.size / CHARACTERS
        return sum(map(len, self.content)) / BATCH_WORDS

    def identity(self) -> bytes:
        """Bytes that are equal for equal passages, for checksums."""
        if isinstance(self.content, Chunk):
            return self.content.data
        if isinstance(self.content, PartsOfText):
            return "".join(self.content.texts).encode("utf-8", "surrogatepass")
        lines = ("\t".join(sentence.forms) for sentence in self.content)
        return "\n".join(lines).encode("utf-8", "surrogatepass")


def passages(
    model: Model, source: IO[bytes], name: str, format: str | None, *, size: int | None = None
) -> Iterator[Passage]:
    """The passages of an input in UTF-8, none if it has no words. ``format`` is one of ``FORMATS``
    of corpora or ``PLAIN_FORMATS``; None: that of a corpus is detected. ``size`` is that of a
    passage of a corpus in bytes (default: ``CHUNK``); of text it has an eighth in characters.

    Raises:
        EgparseError: the input cannot be read, or has an unknown format.
    """
    size = size or CHUNK
    if format == TEXT:
        for text in model.text_reader().passages(source, size * CHARACTERS // CHUNK, name=name):
            yield Passage(name, format, text)
        return
    if format in PLAIN_FORMATS:
        # what words are found in lines takes hardly any time, but for the format sentences
        for some in batches(read_plain(model.plain_text, source, format, name=name), BATCH_WORDS):
            yield Passage(name, format, list(some))
        return
    chunks = split(source, size, name)
    seen: list[Chunk] = []
    if format is None:
        blocks = chain.from_iterable(_blocks(chunk, name) for chunk in _remembered(chunks, seen))
        try:
            format = detect_format(blocks, name)
        except EmptyCorpusError:
            return
    for chunk in chain(seen, chunks):
        if _has_words(chunk, format):
            yield Passage(name, format, chunk)


def split(source: IO[bytes], size: int, name: str = "<stream>") -> Iterator[Chunk]:
    """The input, cut at the first blank line after each ``size`` bytes, but for the one after
    ``-DOCSTART-``, which belongs to the following sentence.

    Raises:
        CorpusError: twice ``MAX_BLOCK`` bytes without a blank line.
    """
    line, wanted = 1, size
    begun: list[bytes] = []
    length = 0
    for piece in chain(cast("Iterator[bytes]", pieces_of(source)), [b""]):
        begun.append(piece)
        length += len(piece)
        if piece and length < wanted:
            continue
        data, start = b"".join(begun), 0
        while cut := _blank_line(data, start, start + size):
            yield Chunk(line, data[start:cut])
            line += data.count(b"\n", start, cut)
            start = cut
        begun, length = [data[start:]], len(data) - start
        if piece and length > 2 * MAX_BLOCK:
            raise too_long(name, line)
        wanted = max(size, 2 * length)  # a long sentence is not searched again with every piece
    if length:
        yield Chunk(line, begun[0])


def _blank_line(data: bytes, start: int, least: int) -> int:
    """The end of the first blank line that ends at ``least`` or later and may end a chunk that
    begins at ``start``; 0 if there is none.
    """
    while True:
        found = data.find(b"\n\n", max(start, least - 2))
        ends = [found + 2] if found >= 0 else []
        other = data.find(b"\n\r\n", max(start, least - 3), ends[0] if ends else len(data))
        ends += [other + 3] if other >= 0 else []
        cut = min(ends, default=0)
        end = cut
        while end > start and data[end - 1] in b" \t\r\n":
            end -= 1
        if not cut or not data.startswith(_DOCUMENT, max(start, data.rfind(b"\n", 0, end) + 1)):
            return cut
        least = cut + 1


def _has_words(chunk: Chunk, format: str) -> bool:
    """Whether there are words: a corpus may end with blank lines, and a column file also with
    document lines.
    """
    if format not in LAYOUTS:
        return bool(chunk.data.strip(b"\r\n" + BOM_UTF8))
    return any(line.strip() and not line.startswith(_DOCUMENT) for line in io.BytesIO(chunk.data))


def _blocks(chunk: Chunk, name: str) -> Iterator[Block]:
    for block in read_blocks(io.BytesIO(chunk.data), name):
        yield block._replace(first_line=block.first_line + chunk.first_line - 1)


def _remembered(chunks: Iterable[Chunk], read: list[Chunk]) -> Iterator[Chunk]:
    size = 0
    for chunk in chunks:
        read.append(chunk)
        yield chunk
        size += len(chunk.data)
        if size > MAX_BLOCK:  # mostly empty lines: a format is known by a hundred sentences
            return


class Part(NamedTuple):
    """So many passages of a document in a piece; ``is_last`` if it has no more."""

    document: int
    passages: int
    is_last: bool


class Place(NamedTuple):
    """How far documents have been cut: those before ``document`` wholly, of it so many passages,
    whose content has a digest.
    """

    document: int = 0
    passages: int = 0
    digest: str = ""


_BEGINNING = Place()


class Piece(NamedTuple):
    """Some passages, and which documents they are of; ``place``, if a shard ends here."""

    passages: list[Passage]
    parts: list[Part]
    place: Place | None


class Packer:
    """Makes pieces of documents, of which the first is number ``begin.document`` and has been
    worked on to ``begin``. Without ``in_shards`` no content is digested, and ``place`` says only
    where shards end.
    """

    def __init__(self, begin: Place = _BEGINNING, in_shards: bool = False) -> None:
        self._passages: list[Passage] = []
        self._parts: list[Part] = []
        self._begin = begin
        self._number, self._held = begin.document, 0  # of the document that is cut
        self._in_shards = in_shards
        self._size = self._shard_size = 0.0

    def pieces(self, documents: Iterable[Iterable[Passage]]) -> Iterator[Piece]:
        """All pieces of some documents.

        Raises:
            EgparseError: the first document is not the one that has been worked on.
            Exception: raised by ``documents``; all pieces before it have been yielded.
        """
        try:
            for document in documents:
                yield from self._pieces_of(iter(document))
        except Exception:
            if self._parts or self._passages:
                yield self.taken()
            raise
        if self._parts:
            yield self.taken()

    def add(self, passage: Passage) -> None:
        """Add a passage of the document that is cut."""
        self._passages.append(passage)
        self._held += 1
        self._weigh(passage.weight)

    def taken(self, place: Place | None = None) -> Piece:
        """The piece that has been begun; a new one begins."""
        if self._held:
            self._parts.append(Part(self._number, self._held, False))
            self._held = 0
        ends = place if self._shard_size >= SHARD else None
        if ends is not None:
            self._shard_size = 0.0
        piece = Piece(self._passages, self._parts, ends)
        self._passages, self._parts, self._size = [], [], 0.0
        return piece

    def _pieces_of(self, document: Iterator[Passage]) -> Iterator[Piece]:
        digest = hashlib.blake2b(digest_size=16)
        seen = 0
        if self._number == self._begin.document and self._begin.passages:
            seen = self._skip(document, digest)
        for passage in document:
            if self._in_shards:
                digest.update(passage.identity())
            self.add(passage)
            seen += 1
            if self._is_full():
                yield self.taken(Place(self._number, seen, digest.hexdigest()))
        self._parts.append(Part(self._number, self._held, True))
        self._number, self._held = self._number + 1, 0
        self._weigh(1 / MOST_DOCUMENTS)
        if self._is_full():
            yield self.taken(Place(self._number))

    def _is_full(self) -> bool:
        return self._size >= 1.0 or self._shard_size >= SHARD

    def _weigh(self, weight: float) -> None:
        self._size += weight
        self._shard_size += weight

    def _skip(self, document: Iterator[Passage], digest: hashlib.blake2b) -> int:
        """Skip what has been worked on; returns how many passages."""
        name = "the input"
        for passage in islice(document, self._begin.passages):
            name = passage.name
            digest.update(passage.identity())
        if digest.hexdigest() != self._begin.digest:
            raise EgparseError(
                f"{name}: expected the input of the interrupted run, got another beginning"
            )
        return self._begin.passages
