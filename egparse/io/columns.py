"""Column files of the CoNLL shared tasks on spans: 2000 (chunks), 2002 and 2003 (entities).

A line is a word, its cells separated by blanks or tabs; empty lines separate sentences. There are
no comments: ``#`` may be a word. ``xpos`` is the column of parts of speech, ``spans`` the last
column (in 2003, entities or chunks by choice) in IOB2, whatever the scheme of the file (see
``schemes``). A line ``-DOCSTART-`` belongs to the next sentence. Blanks at the end of a line are
dropped, so that a line of blanks ends a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from egparse.io.blocks import Block, CorpusSource, Reading, parse_blocks, read_blocks, shown
from egparse.schemes import OUTSIDE, find_tag_fault, from_iob2, to_iob2
from egparse.sentences import MISSING, Sentence, Source

LAYOUTS: dict[str, dict[int, tuple[str, ...]]] = {
    "conll2000": {3: ("form", "xpos", "chunk")},
    "conll2002": {2: ("form", "ner"), 3: ("form", "xpos", "ner")},
    "conll2003": {
        4: ("form", "xpos", "chunk", "ner"),
        5: ("form", "lemma", "xpos", "chunk", "ner"),
    },
}
"""Format -> number of columns -> their names. The German files of 2003 have lemmas."""

LAYERS = ("ner", "chunk")

_DOCUMENT = "-DOCSTART-"
_ESCAPES = str.maketrans({"\t": "_", "\n": "_", "\r": "_", " ": "_"})


def read_columns(
    source: CorpusSource, format: str, *, name: str | None = None, **options: Any
) -> Iterator[Sentence]:
    """The sentences of a column file or stream in one of the formats of ``LAYOUTS``; ``options``
    are those of ``Reading``.

    Raises:
        CorpusError: a wrong number of columns, an empty cell, or a tag that the scheme does not
            have, unless ``skip_bad``.
        EgparseError: the file cannot be read.
        ValueError: an unknown format, scheme or layer.
    """
    return parse_columns(read_blocks(source, name), format, Reading(**options))


def parse_columns(blocks: Iterable[Block], format: str, reading: Reading) -> Iterator[Sentence]:
    """The sentences of blocks; see ``read_columns``."""
    _check_choice(format, reading.layer)
    find_tag_fault((), reading.scheme)  # raises for an unknown scheme now, not at the first one
    parse = partial(_parse, format=format, scheme=reading.scheme, layer=reading.layer)
    return parse_blocks(_sentence_blocks(blocks), parse, reading)


def format_columns(
    sentence: Sentence, format: str, *, scheme: str | None = None, layer: str = "ner"
) -> str:
    """The lines of a sentence in a column format, with the blank line.

    A sentence that was read from that format keeps its lines; only cells of parts of speech and
    spans that differ are replaced. ``scheme`` is the scheme to write; with None, spans that have
    not changed stay as they are, and others are written in IOB2. Any other sentence is written with
    blanks between the cells, and ``_`` for blanks inside of a cell.
    """
    _check_choice(format, layer)
    source = sentence.source
    if source is not None and source.format == format:
        lines = _refill(sentence, source, format, scheme, layer)
    else:
        lines = _plain_lines(sentence, format, scheme or "iob2", layer)
    return "\n".join(lines) + "\n\n"


def split_columns(lines: Sequence[str]) -> list[list[str]]:
    """The cells of each line, separated by tabs if the first line has one, else by blanks."""
    if "\t" in lines[0]:
        return [line.split("\t") for line in lines]
    rows = [line.split(" ") for line in lines]
    return [[cell for cell in row if cell] if "" in row else row for row in rows]


def document_lines(lines: Sequence[str]) -> int:
    """The number of lines at the beginning that are ``-DOCSTART-`` or empty."""
    return next(
        (k for k, line in enumerate(lines) if line and not line.startswith(_DOCUMENT)), len(lines)
    )


def strip_block(block: Block) -> list[Block]:
    """The block without blanks at the ends of lines, cut at lines that consisted of blanks."""
    lines = [line.rstrip(" \t") for line in block.lines]
    if "" not in lines:
        return [block._replace(lines=lines)]
    ends = [k for k, line in enumerate(lines) if not line]
    cuts = zip([-1, *ends], [*ends, len(lines)], strict=True)
    return [
        block._replace(first_line=block.first_line + start + 1, lines=lines[start + 1 : end])
        for start, end in cuts
        if start + 1 < end
    ]


def _check_choice(format: str, layer: str) -> None:
    if format not in LAYOUTS:
        raise ValueError(f"expected a format of {', '.join(LAYOUTS)}, got {format!r}")
    if layer not in LAYERS:
        raise ValueError(f"expected a layer of {', '.join(LAYERS)}, got {layer!r}")


def _sentence_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks with words; a block that is only a document line is joined with the next block."""
    before: list[str] = []
    before_at = 1
    for read in blocks:
        for block in strip_block(read):
            if not before:
                before_at = block.first_line
            if document_lines(block.lines) == len(block.lines):
                before += [*block.lines, ""]
            elif before:
                yield block._replace(first_line=before_at, lines=before + block.lines)
                before = []
            else:
                yield block


def _parse(block: Block, *, format: str, scheme: str | None, layer: str) -> Sentence:
    if block.undecodable:
        block.check_encoding()
    first = document_lines(block.lines)
    rows = split_columns(block.lines[first:])
    names = _names(block, rows, first, format)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    tags = columns[_span_column(names, layer)]
    try:
        spans = to_iob2(tags, scheme)
    except ValueError:
        fault = find_tag_fault(tags, scheme)
        if fault is None:
            raise
        raise block.fault(first + fault.position, fault.expected, shown(fault.got)) from None
    return Sentence(
        forms=columns["form"],
        lemmas=columns.get("lemma", ()),
        xpos=columns.get("xpos", ()),
        spans=spans,
        source=Source(
            block.path, block.first_line, tuple(block.lines), range(first, len(block.lines)), format
        ),
    )


def _names(block: Block, rows: Sequence[Sequence[str]], first: int, format: str) -> tuple[str, ...]:
    """The names of the columns. Raises CorpusError: a line has another number of columns, or an
    empty one.
    """
    layouts = LAYOUTS[format]
    widths = " or ".join(map(str, layouts))
    width = len(rows[0])

    def got(row: Sequence[str], line: int) -> str:
        return f"{len(row)} in {shown(block.lines[line])}"

    for line, row in enumerate(rows, first):
        if len(row) not in layouts:
            raise block.fault(line, f"{widths} columns ({format})", got(row, line))
        if len(row) != width:
            raise block.fault(line, f"{width} columns as in the line before", got(row, line))
        if "" in row:
            nothing = f"nothing in column {row.index('') + 1}"
            raise block.fault(line, "a value in every column", nothing)
    return layouts[width]


def _span_column(names: Sequence[str], layer: str) -> str:
    return layer if layer in names else names[-1]


def _refill(
    sentence: Sentence, source: Source, format: str, scheme: str | None, layer: str
) -> list[str]:
    lines = list(source.lines)
    old = [lines[line] for line in source.word_lines]
    rows = split_columns(old)
    if len(rows) != len(sentence) or len({len(row) for row in rows}) != 1:
        raise ValueError(
            f"{source.path}:{source.first_line}: the source does not have the sentence's words"
        )
    names = LAYOUTS[format][len(rows[0])]
    delimiter = "\t" if "\t" in old[0] else " "
    span_column = names.index(_span_column(names, layer))
    tags = _written_tags(sentence.spans, [row[span_column] for row in rows], scheme)
    columns: dict[int, Sequence[str]] = {span_column: tags}
    if sentence.xpos and "xpos" in names:
        columns[names.index("xpos")] = sentence.xpos
    for k, (line, row) in enumerate(zip(source.word_lines, rows, strict=True)):
        cells = [columns[j][k] if j in columns else cell for j, cell in enumerate(row)]
        if cells != row:
            lines[line] = delimiter.join(map(_clean, cells) if delimiter == " " else cells)
    return lines


def _written_tags(spans: Sequence[str], raw: Sequence[str], scheme: str | None) -> Sequence[str]:
    if not spans:
        return raw
    if len(spans) != len(raw):
        raise ValueError(f"{len(spans)} span tags for {len(raw)} words")
    if scheme is not None:
        return from_iob2(spans, scheme)
    return raw if find_tag_fault(raw) is None and to_iob2(raw) == tuple(spans) else spans


def _plain_lines(sentence: Sentence, format: str, scheme: str, layer: str) -> list[str]:
    widths = LAYOUTS[format]
    names = widths[3] if format == "conll2002" and sentence.xpos else widths[min(widths)]
    outside = [OUTSIDE] * len(sentence)
    columns: dict[str, Sequence[str]] = {
        "form": sentence.forms,
        "xpos": sentence.xpos or [MISSING] * len(sentence),
        "chunk": outside,
        "ner": outside,
    }
    if sentence.spans:
        columns[_span_column(names, layer)] = from_iob2(sentence.spans, scheme)
    rows = zip(*(columns[name] for name in names), strict=True)
    return [" ".join(map(_clean, row)) for row in rows]


def _clean(cell: str) -> str:
    return cell.translate(_ESCAPES) or MISSING
