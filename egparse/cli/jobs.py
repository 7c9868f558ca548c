"""``egparse parse --jobs``: annotation by several processes, with the same output as by one.

This process cuts the input at blank lines, which takes almost no time, and writes the results;
workers read, annotate and format. Plain text is split into sentences here, because the boundary of
a sentence depends on the text before it; its sentences go to the workers in batches.
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

from egparse.cli.outputs import Amount, require_misc, write
from egparse.cli.workers import FORKS, map_in_order
from egparse.errors import CorpusError, EmptyCorpusError
from egparse.pipeline.annotate import BATCH_WORDS
from egparse.pipeline.model import Model, batches
from egparse.readers.blocks import MAX_BLOCK, Block, pieces_of, read_blocks, too_long
from egparse.readers.columns import LAYOUTS
from egparse.readers.corpus import read_corpus
from egparse.readers.detection import detect_format
from egparse.sentences import Sentence

CHUNK = 1 << 19
"""Bytes of a corpus that a worker gets at a time, up to the next end of a sentence: about
``BATCH_WORDS`` words.
"""

_BLANK_LINES = (b"\n\n", b"\n\r\n")
_DOCUMENT = b"-DOCSTART-"


class Chunk(NamedTuple):
    """Whole sentences of a corpus; ``first_line`` counts from 1."""

    first_line: int
    data: bytes


class Written(NamedTuple):
    """Annotated sentences in their output format."""

    amount: Amount
    data: bytes
    format: str


@dataclass(frozen=True)
class Annotation:
    """The work on a piece of the input: read, annotate, format.

    ``output`` is the format to write, None for that of the input. ``reading`` are options of
    ``read_corpus``, ``options`` those of ``Model.annotate``. A pickle
    holds the path of the model: a process without shared memory loads the model from there.
    """

    model: Model
    path: Path
    name: str
    format: str
    reading: Mapping[str, Any]
    options: Mapping[str, Any]
    output: str | None = None

    def __call__(self, piece: Chunk | list[Sentence]) -> Written:
        """Annotate and format.

        Raises:
            EgparseError: the first fault, with its line in the whole corpus.
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
        output = self.output or self.format
        amount = write(self.model.annotate(sentences, **self.options), text, output)
        return Written(amount, text.getvalue().encode("utf-8"), output)

    def __reduce__(self) -> tuple[Callable[..., Annotation], tuple[Any, ...]]:
        parts = (self.path, self.name, self.format, self.reading, self.options, self.output)
        return _load, parts


def annotate_text(
    model: Model,
    path: Path,
    sentences: Iterable[Sentence],
    jobs: int,
    *,
    output: str = "conllu",
    **options: Any,
) -> Generator[Written, None, None]:
    """Annotate sentences of plain text, batch by batch; ``path``: the model's."""
    work = Annotation(model, path, "", "conllu", {}, options, output)
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
    output: str | None = None,
    **options: Any,
) -> Generator[Written, None, None]:
    """Annotate a corpus, chunk by chunk, in its format, which is detected if ``format`` is None, or
    the format ``output``.

    ``reading`` are options of ``read_corpus``.

    Raises:
        EgparseError: the error that reading and annotating in one process would raise.
    """
    chunks = split(source, size, name)
    seen: list[Chunk] = []
    if format is None:
        blocks = chain.from_iterable(_blocks(chunk, name) for chunk in _remembered(chunks, seen))
        format = detect_format(blocks, name)
    if options.get("probabilities"):
        require_misc(output or str(format), name)
    work = Annotation(model, path, name, str(format), reading, options, output)
    full = (chunk for chunk in chain(seen, chunks) if _has_words(chunk, work.format))
    found = False
    with closing(_annotated(work, full, jobs)) as results:
        for written in results:
            found = True
            yield written
    if not found:
        raise EmptyCorpusError(name, 1, "at least one sentence", "none")


def write_bytes(results: Generator[Written, None, None], stream: TextIO) -> Amount:
    """Write results as they arrive. They are UTF-8 already: a text stream must not encode them."""
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


def split(source: IO[bytes], size: int, name: str = "<stream>") -> Iterator[Chunk]:
    """The input, cut at blank lines into chunks of at least ``size`` bytes (but for the last one).

    It is not cut at the blank line after ``-DOCSTART-``, which belongs to the following sentence.

    Raises:
        CorpusError: twice ``MAX_BLOCK`` bytes without a blank line.
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
        if length > 2 * MAX_BLOCK:
            raise too_long(name, line)
        wanted = max(size, 2 * length)  # a long sentence is not searched again with every piece
    if data := b"".join(begun):
        yield Chunk(line, data)


def _annotated(
    work: Annotation, pieces: Iterable[Chunk] | Iterable[list[Sentence]], jobs: int
) -> Generator[Written, None, None]:
    """Annotate by ``jobs`` processes; a single piece by this one, which costs less."""
    pieces_left: Iterator[Any] = iter(pieces)
    first = list(islice(pieces_left, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    if FORKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(work.model.annotate([Sentence(("a",))]))  # loads the kernels for all processes
        gc.freeze()  # the collector writes to the objects it visits, which would copy their pages
    with closing(map_in_order(work, chain(first, pieces_left), jobs)) as results:
        yield from results


def _load(
    path: Path,
    name: str,
    format: str,
    reading: Mapping[str, Any],
    options: Mapping[str, Any],
    output: str | None,
) -> Annotation:
    return Annotation(Model.load(path), path, name, format, reading, options, output)


def _has_words(chunk: Chunk, format: str) -> bool:
    """Whether there are words: a corpus may end with blank lines, and a column file also with
    document lines.
    """
    if format not in LAYOUTS:
        return bool(chunk.data.strip(b"\r\n" + BOM_UTF8))
    return any(line.strip() and not line.startswith(_DOCUMENT) for line in io.BytesIO(chunk.data))


def _last_blank_line(data: bytes) -> int:
    """The end of the last blank line at which to cut, 0 if there is none."""
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
