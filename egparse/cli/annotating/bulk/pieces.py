"""Pieces of work: passages of one or several documents, until they are worth a worker's time; and
shards, the stretches of pieces after which a run can be taken up again.

Many small documents go into one piece, so that they cost no more than one large document; a large
document becomes many pieces. Where pieces and shards end depends on the documents alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from egparse.cli.annotating.bulk.passages import Passage
from egparse.errors import EgparseError

MOST_DOCUMENTS = 500
"""A piece has parts of so many documents at most, even if they are empty."""

SHARD = 8.0
"""A shard ends with the passage after which it weighs so many pieces of usual size."""


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


def pieces(
    documents: Iterable[Iterable[Passage]],
    begin: Place = _BEGINNING,
    *,
    in_shards: bool = False,
    shard: float | None = None,
) -> Iterator[Piece]:
    """The pieces of documents, of which the first is number ``begin.document`` and has been worked
    on to ``begin``. Without ``in_shards`` no content is digested, and ``place`` says only where
    shards end. ``shard`` is the weight of a shard (default: ``SHARD``).

    Raises:
        EgparseError: the first document is not the one that has been worked on.
        Exception: raised by ``documents``; all pieces before it have been yielded.
    """
    packer = _Packer(begin, in_shards, shard or SHARD)
    try:
        for document in documents:
            yield from packer.pieces_of(iter(document))
    except Exception:
        if packer.parts or packer.passages:
            yield packer.taken(None)
        raise
    if packer.parts:
        yield packer.taken(None)


class _Packer:
    def __init__(self, begin: Place, in_shards: bool, shard: float) -> None:
        self.passages: list[Passage] = []
        self.parts: list[Part] = []
        self._begin = begin
        self._number, self._held = begin.document, 0  # of the document that is cut
        self._in_shards = in_shards
        self._shard = shard
        self._size, self._shard_size = 0.0, 0.0

    def pieces_of(self, document: Iterator[Passage]) -> Iterator[Piece]:
        digest = hashlib.blake2b(digest_size=16)
        seen = 0
        if self._number == self._begin.document and self._begin.passages:
            seen = self._skip(document, digest)
        for passage in document:
            if self._in_shards:
                digest.update(passage.identity())
            self.passages.append(passage)
            seen, self._held = seen + 1, self._held + 1
            self._add(passage.weight)
            if self._size >= 1.0 or self._shard_size >= self._shard:
                yield self.taken(Place(self._number, seen, digest.hexdigest()))
        self.parts.append(Part(self._number, self._held, True))
        self._number, self._held = self._number + 1, 0
        self._add(1 / MOST_DOCUMENTS)
        if self._size >= 1.0 or self._shard_size >= self._shard:
            yield self.taken(Place(self._number))

    def taken(self, place: Place | None) -> Piece:
        """The piece that has been begun; a new one begins."""
        if self._held:
            self.parts.append(Part(self._number, self._held, False))
            self._held = 0
        ends = place if self._shard_size >= self._shard else None
        if ends is not None:
            self._shard_size = 0.0
        piece = Piece(self.passages, self.parts, ends)
        self.passages, self.parts, self._size = [], [], 0.0
        return piece

    def _add(self, weight: float) -> None:
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
