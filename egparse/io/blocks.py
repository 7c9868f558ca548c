"""Reading a file as blocks of lines between blank lines: in every corpus format, a sentence is a
block.

Lines end with LF; carriage returns before it are dropped, and so is a byte order mark at the
beginning of a line. Several blank lines count as one, and the last block needs none. Memory holds
one chunk of the file and one block; the time is linear in the size of the file, whatever the
lengths of lines and blocks. Compressed files are decompressed, see ``compression``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO, Any, AnyStr, NamedTuple, TypeAlias

from egparse.errors import CorpusError, EgparseError
from egparse.io.compression import decompressed
from egparse.io.encodings import UTF_8, as_text, as_utf8, byte_fault, checked_text
from egparse.sentences import Sentence

CorpusSource: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]
"""A path, or a stream of text or bytes that is open for reading."""

CHUNK = 1 << 18
"""Bytes or characters that are read at a time. Measured: smaller chunks need more calls, larger
ones exceed the processor's cache.
"""


MAX_BLOCK = 1 << 26
"""Characters of a block: a file without blank lines would fill the memory."""

MAX_LINES = 1_000_000
"""Lines of a block: annotation takes up to 2 KB of memory for each."""


SPANS_KEY = "NE"
"""The key of span tags in MISC, as in ``NE=B-LOC``."""


class Reading(NamedTuple):
    """How sentences are read from blocks; what does not concern a format has no effect.

    With ``skip_bad`` a faulty sentence is left out, and its error is passed to ``on_bad``. For
    trees: without ``trees`` the column HEAD is ignored and ``heads`` is empty; ``multiple_roots``
    permits several roots (None: in CoNLL-X only); ``require_trees`` makes a missing head a fault.

    For CoNLL-U: spans are read from the key ``spans_key`` of MISC, in any scheme; None leaves
    ``spans`` empty. Words without the key are O, or ``MISSING`` with ``partial_spans``, where a tag
    after such a word that continues a span is I. For column files: ``scheme`` is the scheme of the
    tags (None: any); ``layer`` selects the column of spans if the format has two.
    """

    skip_bad: bool = False
    on_bad: Callable[[CorpusError], None] | None = None
    trees: bool = True
    require_trees: bool = False
    multiple_roots: bool | None = None
    spans_key: str | None = SPANS_KEY
    partial_spans: bool = False
    scheme: str | None = None
    layer: str = "ner"


class Block(NamedTuple):
    """Consecutive lines without line ends, none of them empty; ``first_line`` counts from 1.

    If ``undecodable``, a byte in or near the block was not UTF-8; the text has a lone surrogate
    instead.
    """

    path: str
    first_line: int
    lines: list[str]
    undecodable: bool = False

    def fault(
        self, line: int, expected: str, got: str, sentence_id: str | None = None
    ) -> CorpusError:
        """An error in ``lines[line]``."""
        return CorpusError(self.path, self.first_line + line, expected, got, sentence_id)

    def check_encoding(self) -> None:
        """Check that the block is UTF-8. Raises CorpusError if a line has another byte."""
        for number, line in enumerate(self.lines):
            try:
                line.encode()
            except UnicodeEncodeError as error:  # the byte became a lone surrogate
                before = line[: error.start].encode()
                got = byte_fault(line.encode("utf-8", "surrogateescape"), len(before))
                raise self.fault(number, "UTF-8 text", got) from None


def read_blocks(
    source: CorpusSource, name: str | None = None, encoding: str = UTF_8
) -> Iterator[Block]:
    """The blocks of a file or stream; ``name`` replaces the path in error messages, ``encoding`` is
    that of bytes.

    Raises:
        EgparseError: the file cannot be read, or the encoding is unknown.
        CorpusError: compressed data are damaged, bytes do not fit an encoding other than UTF-8
            (in UTF-8 see ``Block``), or a block is longer than ``MAX_BLOCK`` or ``MAX_LINES``.
    """
    path = name or name_of(source)
    number = 1  # of the first line of the chunk
    begun: list[str] = []  # lines of a block that the last chunk did not complete
    begun_at, begun_size, begun_undecodable = 1, 0, False
    for lines, undecodable in read_lines(source, path, encoding):
        start = 0
        while (end := _blank(lines, start)) >= 0:
            if begun:
                yield Block(
                    path, begun_at, begun + lines[start:end], begun_undecodable or undecodable
                )
                begun = []
            elif end > start:
                yield Block(path, number + start, lines[start:end], undecodable)
            start = end + 1
        if start < len(lines):
            if not begun:
                begun_at, begun_size, begun_undecodable = number + start, 0, False
            begun += lines[start:]
            begun_size += sum(map(len, lines[start:]))
            if begun_size > MAX_BLOCK or len(begun) > MAX_LINES:
                raise too_long(path, begun_at)
            begun_undecodable = begun_undecodable or undecodable
        number += len(lines)
    if begun:
        yield Block(path, begun_at, begun, begun_undecodable)


def parse_blocks(
    blocks: Iterable[Block], parse: Callable[[Block], Sentence], reading: Reading
) -> Iterator[Sentence]:
    """The sentence of each block, but for those that are to be skipped."""
    for block in blocks:
        try:
            sentence = parse(block)
        except CorpusError as error:
            if not reading.skip_bad:
                raise
            if reading.on_bad is not None:
                reading.on_bad(error)
            continue
        yield sentence


def name_of(source: CorpusSource) -> str:
    """The path of a source, or the name of a stream."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def shown(cell: str) -> str:
    """A cell as error messages quote it: cut if it is long, with control characters escaped."""
    return repr(cell) if len(cell) <= 40 else repr(cell[:40])[:-1] + "...'"


def read_lines(
    source: CorpusSource, path: str, encoding: str = UTF_8
) -> Iterator[tuple[list[str], bool]]:
    """Chunks of whole lines without line ends, and whether a byte of the chunk is not UTF-8."""
    if isinstance(source, str | os.PathLike):
        with open_file(source, path) as stream:
            yield from read_lines(stream, path, encoding)
        return
    try:
        pieces: Iterator[Any] = pieces_of(source)
        first = next(pieces, "")
        if isinstance(first, bytes):
            content = text_pieces(chain([first], pieces), encoding, path)
            yield from _decoded(_whole_lines(content, b"\n", b"", path))
        else:
            whole = _whole_lines(chain([first], pieces), "\n", "", path)
            yield from ((_split(piece), False) for piece in whole)
    except UnicodeDecodeError as error:  # from a text stream, which does not name the line
        bad = f"{error.encoding}: {error.reason}"
        raise CorpusError(path, 1, "text that its stream can decode", bad) from error


def checked_lines(source: CorpusSource, path: str, encoding: str = UTF_8) -> Iterator[str]:
    """The lines of a file or stream, without line ends. Raises CorpusError for a byte that is not
    UTF-8, and as ``read_blocks``.
    """
    first = 1
    for lines, undecodable in read_lines(source, path, encoding):
        if undecodable:
            Block(path, first, lines).check_encoding()
        yield from lines
        first += len(lines)


def open_file(source: str | os.PathLike[str], path: str) -> IO[bytes]:
    """The file, open for reading bytes. Raises EgparseError: the file cannot be read."""
    try:
        return open(source, "rb", buffering=CHUNK)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise EgparseError(f"{path}: cannot be read: {reason}") from error


def pieces_of(stream: IO[str] | IO[bytes]) -> Iterator[str | bytes]:
    """The content of the stream as it arrives: ``read1`` returns what a pipe holds instead of
    waiting for a full chunk.
    """
    read = getattr(stream, "read1", stream.read)
    while piece := read(CHUNK):
        yield piece


def texts_of(
    source: os.PathLike[str] | IO[str] | IO[bytes], path: str, encoding: str
) -> Iterator[str]:
    """The text of a file or an open stream in pieces; bytes may be compressed, and ``encoding`` is
    theirs.

    Raises:
        EgparseError: the file cannot be read, or the encoding is unknown.
        CorpusError: bytes that do not fit the encoding, or damaged compressed data.
    """
    if isinstance(source, os.PathLike):
        with open_file(source, path) as stream:
            yield from texts_of(stream, path, encoding)
        return
    pieces: Iterator[Any] = pieces_of(source)
    first = next(pieces, "")
    if isinstance(first, bytes):
        yield from as_text(decompressed(chain([first], pieces), path), encoding, path)
    else:
        yield from checked_text(chain([first], pieces), path)


def text_pieces(pieces: Iterator[bytes], encoding: str, path: str) -> Iterator[bytes]:
    """The text of a file in UTF-8, decompressed; see ``compression`` and ``encodings``."""
    return as_utf8(decompressed(pieces, path), encoding, path)


def too_long(path: str, line: int) -> CorpusError:
    """The error for a block that begins in a line and does not end within the limits."""
    expected = (
        f"a blank line after the sentence, within {MAX_LINES:,} lines and {MAX_BLOCK:,} characters"
    )
    return CorpusError(path, line, expected, "none")


def _whole_lines(
    pieces: Iterable[AnyStr], newline: AnyStr, empty: AnyStr, path: str
) -> Iterator[AnyStr]:
    """The same text, cut after line ends only; the last piece may lack one."""
    begun: list[AnyStr] = []  # a list, so that a line of many chunks is joined only once
    line, size = 1, 0  # of what has begun
    for piece in pieces:
        cut = piece.rfind(newline) + 1
        if cut:
            begun.append(piece[:cut])
            yield empty.join(begun)
            begun = [piece[cut:]] if cut < len(piece) else []
            line, size = line + piece.count(newline), len(piece) - cut
        else:
            begun.append(piece)
            size += len(piece)
            if size > MAX_BLOCK:
                raise too_long(path, line)
    if last := empty.join(begun):
        yield last


def _decoded(pieces: Iterable[bytes]) -> Iterator[tuple[list[str], bool]]:
    for piece in pieces:
        try:
            yield _split(piece.decode("utf-8")), False
        except UnicodeDecodeError:
            yield _split(piece.decode("utf-8", "surrogateescape")), True


def _split(text: str) -> list[str]:
    """Lines without line ends; ``str.splitlines`` would also cut at characters that may occur in a
    word.

    A byte order mark is dropped at the beginning of any line, because files are concatenated, and
    sentences are extracted from them.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\r" in text:
        lines = [line.rstrip("\r") for line in lines]
    if "\ufeff" in text:
        lines = [line.lstrip("\ufeff") for line in lines]
    return lines


def _blank(lines: list[str], start: int) -> int:
    """The index of the next empty line, or -1."""
    try:
        return lines.index("", start)
    except ValueError:
        return -1
