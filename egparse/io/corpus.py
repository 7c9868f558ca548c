"""Corpora in any format: reading, and writing to a file or a stream."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TextIO

from egparse.errors import ConfigError, CorpusError, EmptyCorpusError
from egparse.io.blocks import SPANS_KEY, Block, CorpusSource, Reading, name_of, read_blocks
from egparse.io.columns import LAYOUTS, format_columns, parse_columns
from egparse.io.conllu import format_sentence, parse_conllu
from egparse.io.detection import FORMATS, detect_format, format_of_name
from egparse.io.encodings import UTF_8, checked_encoding
from egparse.sentences import Sentence
from egparse.storage.files import open_atomically

STANDARD = "-"
"""The path that stands for standard input or output."""


def read_corpus(
    path: CorpusSource,
    format: str | None = None,
    *,
    name: str | None = None,
    encoding: str = UTF_8,
    skip_bad: bool = False,
    on_bad: Callable[[CorpusError], None] | None = None,
    trees: bool = True,
    require_trees: bool = False,
    multiple_roots: bool | None = None,
    spans_key: str | None = SPANS_KEY,
    partial_spans: bool = False,
    scheme: str | None = None,
    layer: str = "ner",
) -> Iterator[Sentence]:
    """The sentences of a corpus, one at a time.

    ``path`` is a path, an open stream of text or bytes, or ``-`` for standard input; ``name``
    replaces it in messages. Files may be compressed by gzip, bzip2, xz or (from Python 3.14 on)
    Zstandard; ``encoding`` is that of bytes. ``format`` is one of ``FORMATS``, or None to detect it
    (see ``detect_format``). With ``skip_bad`` a faulty sentence is left out, and its error is
    passed to ``on_bad``.

    Options that do not concern the format have no effect. For trees: without ``trees`` the column
    HEAD is ignored and ``heads`` is empty; ``multiple_roots`` permits several roots (None: in
    CoNLL-X only); ``require_trees`` makes a missing head a fault. For CoNLL-U (``spans_key``,
    ``partial_spans``) and column files (``scheme``, ``layer``) see ``blocks.Reading``.

    Raises:
        ConfigError: an unknown format or encoding, or a format without trees with
            ``require_trees``.
        EmptyCorpusError: a corpus without sentences.
        CorpusError: a faulty sentence, or damaged compressed data.
        EgparseError: the file cannot be read.
    """
    reading = Reading(
        skip_bad, on_bad, trees, require_trees, multiple_roots, spans_key, partial_spans, scheme,
        layer,
    )  # fmt: skip
    is_standard = path == STANDARD
    name = name or ("<stdin>" if is_standard else name_of(path))
    if format is not None:
        _check_format(format)
        _check_trees(format, reading, name)
    checked_encoding(encoding)
    source = getattr(sys.stdin, "buffer", sys.stdin) if is_standard else path
    return _sentences(read_blocks(source, name, encoding), name, format, reading)


class WholeCorpus(NamedTuple):
    """The sentences of a file, and the faults of skipped ones."""

    sentences: Sequence[Sentence]
    skipped: list[CorpusError]


def read_whole(
    path: Path,
    format: str | None,
    *,
    encoding: str = UTF_8,
    skip_bad: bool = False,
    multiple_roots: bool | None = None,
) -> WholeCorpus:
    """All sentences of a corpus, whose words may lack heads; in a file where memory is limited.
    ``encoding`` is that of the corpus. Raises CorpusError: the first fault, unless ``skip_bad``.
    """
    from egparse.io.stored_sentences import StoredSentences  # annotation does without
    from egparse.storage.scratch import active

    skipped: list[CorpusError] = []
    sentences = read_corpus(
        path,
        format,
        encoding=encoding,
        skip_bad=skip_bad,
        on_bad=skipped.append,
        multiple_roots=multiple_roots,
    )
    scratch = active()
    if scratch is None:
        return WholeCorpus(list(sentences), skipped)
    return WholeCorpus(StoredSentences.of(sentences, scratch), skipped)


def write_corpus(
    sentences: Iterable[Sentence], path: str | os.PathLike[str] | TextIO, format: str | None = None
) -> int:
    """Write sentences to a file, a stream of text, or standard output (``-``); returns how many.

    ``format`` is one of ``FORMATS``. If it is None, it is that of the path's suffix (``.conllu``,
    ``.conllx``), else the format that the first sentence was read from, else CoNLL-U. A file is
    replaced atomically: if an error occurs, in ``sentences`` too, it holds what it held before.

    Raises:
        ConfigError: an unknown format.
        OSError: the file cannot be written.
    """
    if format is None:
        if isinstance(path, str | os.PathLike):
            format = format_of_name(os.fspath(path))
        if format is None:
            format, sentences = _format_of_first(sentences)
    _check_format(format)
    if path == STANDARD:
        return _write(sentences, standard_output(), format)
    if isinstance(path, str | os.PathLike):
        with open_atomically(path) as stream:
            return _write(sentences, stream, format)
    return _write(sentences, path, format)


def standard_output() -> TextIO:
    """Standard output, in UTF-8 with LF line ends whatever the locale is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


def _check_format(format: str) -> None:
    if format not in FORMATS:
        raise ConfigError(f"expected a format of {', '.join(FORMATS)}, got {format!r}")


def _check_trees(format: str, reading: Reading, name: str) -> None:
    if format in LAYOUTS and reading.require_trees:
        raise ConfigError(f"{name}: {format} has no trees, and trees are required")


def _write(sentences: Iterable[Sentence], stream: TextIO, format: str) -> int:
    count = 0
    for sentence in sentences:
        count += 1
        if format in LAYOUTS:
            stream.write(format_columns(sentence, format))
        else:
            stream.write(format_sentence(sentence, format=format))
    return count


def _format_of_first(sentences: Iterable[Sentence]) -> tuple[str, Iterable[Sentence]]:
    """The format that the first sentence was read from, and all sentences."""
    rest = iter(sentences)
    first = next(rest, None)
    if first is None:
        return "conllu", ()
    return first.source.format if first.source is not None else "conllu", chain([first], rest)


def _sentences(
    blocks: Iterator[Block], name: str, format: str | None, reading: Reading
) -> Iterator[Sentence]:
    if format is None:
        read_ahead: list[Block] = []
        format = detect_format(_collected(blocks, read_ahead), name)
        _check_trees(format, reading, name)
        blocks = chain(read_ahead, blocks)
    is_empty = True
    for sentence in (parse_columns if format in LAYOUTS else parse_conllu)(blocks, format, reading):
        is_empty = False
        yield sentence
    if is_empty:
        raise EmptyCorpusError(name, 1, "at least one sentence", "none")


def _collected(blocks: Iterable[Block], read_ahead: list[Block]) -> Iterator[Block]:
    for block in blocks:
        read_ahead.append(block)
        yield block
