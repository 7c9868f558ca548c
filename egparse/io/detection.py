"""The format of a corpus, detected from the name of its file and its first lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from egparse.errors import EmptyCorpusError
from egparse.io.blocks import Block, shown
from egparse.io.columns import LAYOUTS, document_lines, split_columns, strip_block
from egparse.io.compression import without_compression
from egparse.io.rows import DEPS, ID, MISC, UPOS, WIDTH
from egparse.schemes import OUTSIDE, find_tag_fault

FORMATS = ("conllu", "conllx", *LAYOUTS)

_SUFFIXES = {".conllu": "conllu", ".conllx": "conllx"}
_COMMENTS = ("# sent_id", "# text", "# newdoc", "# newpar", "# global.columns")
_OPEN_TAGS = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
_CLOSED_TAGS = ("ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ")
_UNIVERSAL_TAGS = frozenset((*_OPEN_TAGS, *_CLOSED_TAGS, "PUNCT", "SYM", "X", "_"))
_CHUNK_TYPES = frozenset(
    ["ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP"]
)
_MAX_BLOCKS = 100  # blocks that are looked at before the format counts as unknown


def format_of_name(name: str) -> str | None:
    """The format that the suffix of a file's name stands for, before that of its compression, or
    None.
    """
    return _SUFFIXES.get(Path(without_compression(name)).suffix.lower())


def is_conllu_comment(line: str) -> bool:
    """Whether a line is a comment that only CoNLL-U has."""
    return line.startswith(_COMMENTS)


def is_first_row(line: str) -> bool:
    """Whether a line is the first row of a sentence in CoNLL-U or CoNLL-X."""
    return _is_first(line.split("\t"))


def detect_format(blocks: Iterable[Block], name: str) -> str:
    """The format of a corpus; only as many blocks are read as are needed to decide.

    1. The suffix ``.conllu`` or ``.conllx`` of the name decides.
    2. A first line that is a comment of CoNLL-U (sent_id, text, newdoc, newpar, global.columns)
       means CoNLL-U.
    3. Ten tab-separated columns, the first of which holds an ID, mean CoNLL-U if the block has
       comments, multiword tokens, empty nodes, ``head:relation`` in DEPS, ``key=value`` in MISC or
       only universal tags in UPOS, or if a block after it has one of the first three; CoNLL-X
       otherwise.
    4. Four or five columns, the last of which holds span tags, mean CoNLL-2003.
    5. Two columns, the last of which holds span tags, mean CoNLL-2002. Three mean CoNLL-2000 with
       types of chunks and CoNLL-2002 with other types, by the first block with a span.

    Raises:
        CorpusError: no rule applies.
    """
    suffix = format_of_name(name)
    if suffix is not None:
        return suffix
    first: Block | None = None
    ten_columns = False
    for block in islice(blocks, _MAX_BLOCKS):
        first = first or block
        if is_conllu_comment(block.lines[0]):
            return "conllu"
        rows = [line.split("\t") for line in block.lines if line[0] != "#"]
        if rows and _is_first(rows[0]):
            if _has_conllu_lines(block, rows) or not (ten_columns or _may_be_conllx(rows)):
                return "conllu"
            ten_columns = True
        if ten_columns:
            continue
        for part in strip_block(block):
            format = _columns(part)
            if format is not None:
                return format
    if ten_columns:
        return "conllx"
    if first is None:
        raise EmptyCorpusError(name, 1, "at least one sentence", "nothing")
    if first.undecodable:
        first.check_encoding()
    formats = ", ".join(FORMATS)
    expected = (
        f"the first sentences to show which format of {formats} this is (name it with --format)"
    )
    raise first.fault(0, expected, shown(first.lines[0]))


def _is_first(cells: Sequence[str]) -> bool:
    first_id = cells[ID]
    return len(cells) == WIDTH and (first_id in ("1", "0.1") or first_id.startswith("1-"))


def _has_conllu_lines(block: Block, rows: Sequence[Sequence[str]]) -> bool:
    """Whether a block has comments, multiword tokens or empty nodes."""
    return len(rows) < len(block.lines) or not all(row[ID].isdigit() for row in rows)


def _may_be_conllx(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the columns do not show CoNLL-U."""
    rows = [row for row in rows if len(row) == WIDTH]
    if any(":" in row[DEPS] or "=" in row[MISC] for row in rows):
        return False
    return not all(row[UPOS] in _UNIVERSAL_TAGS for row in rows)


def _columns(block: Block) -> str | None:
    """The column format of a block; None if the block does not determine it."""
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
