"""Any corpus file by its format, which is told or found out from the first lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from egparse.errors import ConfigError, CorpusError
from egparse.readers.blocks import Block, CorpusSource, name_of, read_blocks, shown
from egparse.readers.columns import (
    LAYOUTS,
    document_lines,
    parse_columns,
    split_columns,
    strip_block,
    write_columns,
)
from egparse.readers.conllu import SPANS_KEY, parse_conllu, write_conllu
from egparse.readers.conllx import parse_conllx, write_conllx
from egparse.readers.rows import DEPS, ID, MISC, UPOS, WIDTH
from egparse.schemes import OUTSIDE, find_tag_fault
from egparse.sentences import Sentence

FORMATS = ("conllu", "conllx", *LAYOUTS)

_SUFFIXES = {".conllu": "conllu", ".conllx": "conllx"}
_COMMENTS = ("# sent_id", "# text", "# newdoc", "# newpar", "# global.columns")
_OPEN_TAGS = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
_CLOSED_TAGS = ("ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ")
_UNIVERSAL_TAGS = frozenset((*_OPEN_TAGS, *_CLOSED_TAGS, "PUNCT", "SYM", "X", "_"))
_CHUNK_TYPES = frozenset(
    ["ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP"]
)
_LOOK_AHEAD = 100  # blocks; only as many as it takes are read


def read_corpus(
    path: CorpusSource,
    format: str | None = None,
    *,
    name: str | None = None,
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
    """The sentences of a corpus, one at a time; ``-`` is standard input.

    ``format`` is one of ``FORMATS``, or None for what ``detect_format`` finds. Options that the
    format does not know are without effect: ``trees`` (False: HEAD is not looked at, ``heads`` is
    empty), ``multiple_roots`` (None: only CoNLL-X has them) and ``require_trees`` are for trees,
    ``spans_key`` and ``partial_spans`` for CoNLL-U, ``scheme`` and ``layer`` for column files.
    Raises ConfigError where a format without trees is to have them, and CorpusError where there is
    no sentence.
    """
    if format is not None and format not in FORMATS:
        raise ConfigError(f"expected a format of {', '.join(FORMATS)}, got {format!r}")
    if format in LAYOUTS and require_trees:
        raise ConfigError(f"{name or name_of(path)}: {format} has no trees, and trees are required")
    source = _standard_input() if path == "-" else path
    name = name or ("<stdin>" if path == "-" else name_of(path))

    def parse(blocks: Iterable[Block], format: str) -> Iterator[Sentence]:
        if format == "conllu":
            return parse_conllu(
                blocks,
                skip_bad=skip_bad,
                on_bad=on_bad,
                trees=trees,
                require_trees=require_trees,
                multiple_roots=bool(multiple_roots),
                spans_key=spans_key,
                partial_spans=partial_spans,
            )
        if format == "conllx":
            return parse_conllx(
                blocks,
                skip_bad=skip_bad,
                on_bad=on_bad,
                trees=trees,
                require_trees=require_trees,
                multiple_roots=multiple_roots is not False,
            )
        if require_trees:
            raise ConfigError(f"{name}: {format} has no trees, and trees are required")
        return parse_columns(
            blocks, format, scheme=scheme, layer=layer, skip_bad=skip_bad, on_bad=on_bad
        )

    return _sentences(read_blocks(source, name), name, format, parse)


def write_corpus(sentences: Iterable[Sentence], stream: TextIO, format: str) -> int:
    """Write sentences in one of ``FORMATS``; returns how many."""
    if format not in FORMATS:
        raise ConfigError(f"expected a format of {', '.join(FORMATS)}, got {format!r}")
    if format == "conllu":
        return write_conllu(sentences, stream)
    if format == "conllx":
        return write_conllx(sentences, stream)
    return write_columns(sentences, stream, format)


def detect_format(blocks: Iterable[Block], name: str) -> str:
    """The format of a corpus; only as many blocks are looked at as it takes.

    1. A name that ends in ``.conllu`` or ``.conllx`` says it. 2. A first line that is a comment of
      CoNLL-U
    says it: sent_id, text, newdoc, newpar, global.columns. 3. Ten tab-separated columns and an ID
    in the first: CoNLL-U with comments, multiword tokens, empty nodes, DEPS of ``head:relation``,
    ``key=value`` in MISC or with the tags of UD in UPOS; CoNLL-X otherwise. 4. Four or five columns
    of which the last holds span tags: CoNLL-2003. 5. Two columns of which the last holds span tags:
    CoNLL-2002. Three: CoNLL-2000 with chunk types, CoNLL-2002 with others, by the first block with
    a span.

    Raises CorpusError where no rule applies.
    """
    suffix = _SUFFIXES.get(Path(name).suffix.lower())
    if suffix is not None:
        return suffix
    first: Block | None = None
    for block in islice(blocks, _LOOK_AHEAD):
        first = first or block
        if block.lines[0].startswith(_COMMENTS):
            return "conllu"
        rows = [line.split("\t") for line in block.lines if line[0] != "#"]
        if rows and len(rows[0]) == WIDTH and _is_id(rows[0][ID]):
            return _ten_columns(block, rows)
        for part in strip_block(block):
            found = _columns(part)
            if found is not None:
                return found
    if first is None:
        raise CorpusError(name, 1, "at least one sentence", "nothing")
    if first.undecodable:
        first.check_encoding()
    formats = ", ".join(FORMATS)
    expected = (
        f"the first sentences to show which format of {formats} this is (name it with --format)"
    )
    raise first.fault(0, expected, shown(first.lines[0]))


def _sentences(
    blocks: Iterator[Block],
    name: str,
    format: str | None,
    parse: Callable[[Iterable[Block], str], Iterator[Sentence]],
) -> Iterator[Sentence]:
    read: list[Block] = []
    if format is None:
        format = detect_format(_remembered(blocks, read), name)
    found = False
    for sentence in parse(chain(read, blocks), format):
        found = True
        yield sentence
    if not found:
        raise CorpusError(name, 1, "at least one sentence", "none")


def _remembered(blocks: Iterable[Block], read: list[Block]) -> Iterator[Block]:
    for block in blocks:
        read.append(block)
        yield block


def _standard_input() -> CorpusSource:
    return getattr(sys.stdin, "buffer", sys.stdin)


def _is_id(cell: str) -> bool:
    return cell in ("1", "0.1") or cell.startswith("1-")


def _ten_columns(block: Block, rows: Sequence[Sequence[str]]) -> str:
    if len(rows) < len(block.lines) or not all(row[ID].isdigit() for row in rows):
        return "conllu"
    rows = [row for row in rows if len(row) == WIDTH]
    if any(":" in row[DEPS] or "=" in row[MISC] for row in rows):
        return "conllu"
    return "conllu" if all(row[UPOS] in _UNIVERSAL_TAGS for row in rows) else "conllx"


def _columns(block: Block) -> str | None:
    """The column format of a block; None where it does not show."""
    lines = block.lines[document_lines(block.lines) :]
    if not lines:
        return None
    rows = split_columns(lines)
    width = len(rows[0])
    tags = [row[-1] for row in rows]
    if width not in (2, 3, 4, 5) or any(len(row) != width for row in rows) or find_tag_fault(tags):
        return None
    if width > 3:
        return "conll2003"
    types = {tag[2:] for tag in tags if tag != OUTSIDE}
    if not types:
        return None
    return "conll2000" if width == 3 and types <= _CHUNK_TYPES else "conll2002"
