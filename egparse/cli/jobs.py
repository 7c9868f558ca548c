"""``egparse parse --jobs``: annotation by several processes, with the output of one.

This process cuts the input into chunks at blank lines, which costs next to nothing, and writes what
comes back; workers read, annotate and format. Sentences of plain text are read here, and go to the
workers in batches: where one ends depends on what comes before it.
"""

from __future__ import annotations

import gc
import io
import warnings
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TextIO, cast

from egparse.cli.options import require_misc
from egparse.cli.outputs import Amount, write
from egparse.cli.workers import FORKS, map_in_order
from egparse.errors import CorpusError
from egparse.pipeline.model import BATCH_WORDS, Model, batches
from egparse.readers.blocks import Block, pieces_of, read_blocks
from egparse.readers.columns import LAYOUTS
from egparse.readers.corpus import detect_format, read_corpus
from egparse.sentences import Sentence

CHUNK = 1 << 19
"""Bytes of a corpus that a worker gets at a time, or as many more as it takes to the end of a
sentence: about ``BATCH_WORDS`` words.
"""

_BLANK_LINES = (b"\n\n", b"\n\r\n")
_DOCUMENT = b"-DOCSTART-"


class Chunk(NamedTuple):
    """Whole sentences of a corpus; ``first_line`` counts from 1."""

    first_line: int
    data: bytes


class Written(NamedTuple):
    """Annotated sentences as they are to be written."""

    amount: Amount
    data: bytes


@dataclass(frozen=True)
class Annotation:
    """What a worker does with a piece of the input.

    ``reading`` and ``options`` are those of ``read_corpus`` and of ``Model.annotate``. Pickled, it
    is the path of the model: a process that shares no memory loads it from there.
    """

    model: Model
    path: Path
    name: str
    format: str
    reading: Mapping[str, Any]
    options: Mapping[str, Any]

    def __call__(self, piece: Chunk | list[Sentence]) -> Written:
        """Annotate and format. Raises EgparseError for the first fault, with its line in the whole
        corpus.
        """
        if not isinstance(piece, Chunk):
            return self._written(piece)
        stream = io.BytesIO(piece.data)
        try:
            return self._written(read_corpus(stream, self.format, name=self.name, **self.reading))
        except CorpusError as error:
            line = error.line + piece.first_line - 1
            raise CorpusError(
                error.path, line, error.expected, error.got, error.sentence_id
            ) from None

    def _written(self, sentences: Iterable[Sentence]) -> Written:
        text = io.StringIO()
        amount = write(self.model.annotate(sentences, **self.options), text, self.format)
        return Written(amount, text.getvalue().encode("utf-8"))

    def __reduce__(self) -> tuple[Callable[..., Annotation], tuple[Any, ...]]:
        return _load, (self.path, self.name, self.format, self.reading, self.options)


def annotate_text(
    model: Model, path: Path, sentences: Iterable[Sentence], jobs: int, **options: Any
) -> Generator[Written, None, None]:
    """Sentences from plain text in CoNLL-U, batch by batch; ``path`` is where the model is."""
    work = Annotation(model, path, "", "conllu", {}, options)
    return _annotated(work, batches(sentences, BATCH_WORDS), jobs)


def annotate_corpus(
    model: Model,
    path: Path,
    source: IO[bytes],
    name: str,
    format: str | None,
    jobs: int,
    *,
    reading: Mapping[str, Any],
    size: int = CHUNK,
    **options: Any,
) -> Generator[Written, None, None]:
    """A corpus in its own format, chunk by chunk; ``format`` None is found out; ``reading`` are
    options of ``read_corpus``.

    Raises:
        EgparseError: as reading and annotating by one process would.
    """
    chunks = split(source, size)
    seen: list[Chunk] = []
    if format is None:
        blocks = chain.from_iterable(_blocks(chunk, name) for chunk in _remembered(chunks, seen))
        format = detect_format(blocks, name)
    if options.get("marginals"):
        require_misc(str(format), name)
    work = Annotation(model, path, name, str(format), reading, options)
    full = (chunk for chunk in chain(seen, chunks) if _has_words(chunk, work.format))
    found = False
    with closing(_annotated(work, full, jobs)) as results:
        for written in results:
            found = True
            yield written
    if not found:
        raise CorpusError(name, 1, "at least one sentence", "none")


def write_bytes(results: Generator[Written, None, None], stream: TextIO) -> Amount:
    """Write results as they come, past the encoding of the stream: they are UTF-8."""
    sentences = words = 0
    binary = getattr(stream, "buffer", None)
    with closing(results):
        for written in results:
            if binary is None:
                stream.write(written.data.decode("utf-8"))
            else:
                binary.write(written.data)
            sentences += written.amount.sentences
            words += written.amount.words
    return Amount(sentences, words)


def split(source: IO[bytes], size: int) -> Iterator[Chunk]:
    """The input cut at blank lines into chunks of at least ``size`` bytes, the last one as it
    comes.

    Blank lines after a ``-DOCSTART-`` are no place to cut: that line belongs to the sentence that
    follows.
    """
    line = 1
    begun: list[bytes] = []
    length, wanted = 0, size
    for piece in cast("Iterator[bytes]", pieces_of(source)):
        begun.append(piece)
        length += len(piece)
        if length < wanted:
            continue
        data = b"".join(begun)
        if cut := _last_blank_line(data):
            yield Chunk(line, data[:cut])
            line += data.count(b"\n", 0, cut)
        begun, length = [data[cut:]], len(data) - cut
        wanted = max(
            size, 2 * length
        )  # so that a sentence of many pieces is not searched again with each
    if data := b"".join(begun):
        yield Chunk(line, data)


def _annotated(
    work: Annotation, pieces: Iterable[Chunk] | Iterable[list[Sentence]], jobs: int
) -> Generator[Written, None, None]:
    """By this process where there is but one piece: to start others costs more."""
    pieces_left: Iterator[Any] = iter(pieces)
    first = list(islice(pieces_left, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    if FORKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(work.model.annotate([Sentence(("a",))]))  # loads the kernels, for all
        gc.freeze()  # what is not collected is not written to, and memory stays shared
    with closing(map_in_order(work, chain(first, pieces_left), jobs)) as results:
        yield from results


def _load(
    path: Path, name: str, format: str, reading: Mapping[str, Any], options: Mapping[str, Any]
) -> Annotation:
    return Annotation(Model.load(path), path, name, format, reading, options)


def _has_words(chunk: Chunk, format: str) -> bool:
    """Whether there is more than the blank lines, and in column files the document lines, that may
    end a corpus.
    """
    if format not in LAYOUTS:
        return bool(chunk.data.strip(b"\r\n" + BOM_UTF8))
    return any(line.strip() and not line.startswith(_DOCUMENT) for line in io.BytesIO(chunk.data))


def _last_blank_line(data: bytes) -> int:
    """Where to cut after the last blank line, 0 if nowhere."""
    end = len(data)
    while True:
        places = ((data.rfind(blank, 0, end), len(blank)) for blank in _BLANK_LINES)
        cut = max((place + length for place, length in places if place >= 0), default=0)
        end = cut
        while end and data[end - 1] in b" \t\r\n":
            end -= 1
        if not cut or not data.startswith(_DOCUMENT, data.rfind(b"\n", 0, end) + 1):
            return cut


def _blocks(chunk: Chunk, name: str) -> Iterator[Block]:
    for block in read_blocks(io.BytesIO(chunk.data), name):
        yield block._replace(first_line=block.first_line + chunk.first_line - 1)


def _remembered(chunks: Iterable[Chunk], read: list[Chunk]) -> Iterator[Chunk]:
    for chunk in chunks:
        read.append(chunk)
        yield chunk
