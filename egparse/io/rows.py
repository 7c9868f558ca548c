"""Splitting and joining rows of ten tab-separated cells, which CoNLL-U and CoNLL-X have in common.

The lines of a sentence are joined by ``SEPARATOR`` and split at tabs once: cell ``j`` of row ``k``
is then item ``11 k + j``, the line end item ``11 k + 10``, and column ``j`` the slice ``[j::11]``.
One split for the sentence costs no more than one for a line, and two counts prove that every row
has ten cells and none is empty.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import repeat
from operator import itemgetter
from typing import TypeVar

from egparse.io.blocks import Block, shown
from egparse.io.trees import find_missing_head, find_tree_fault
from egparse.sentences import MISSING, MISSING_HEAD, Sentence, Source, SurfaceToken

WIDTH = 10
STRIDE = WIDTH + 1
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(WIDTH)

SEPARATOR = "\t\n\t"

_USUAL = 1000
_IDS = tuple(map(str, range(1, _USUAL + 1)))
_HEADS = {MISSING: MISSING_HEAD, **{str(head): head for head in range(_USUAL + 1)}}
_HEAD_CELLS = (*map(str, range(_USUAL + 1)), MISSING)
"""Tables for sentences of up to ``_USUAL`` words; for a longer sentence larger ones are made, which
are not kept.
"""

Cell = TypeVar("Cell")

_EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+\t")
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


def split_cells(lines: Sequence[str]) -> tuple[str, ...] | None:
    """All cells of the rows, with a line end between rows; None if a row does not have ten cells or
    has an empty one.
    """
    text = SEPARATOR.join(lines)
    if "\t\t" in text or text[:1] == "\t" or text[-1:] == "\t":
        return None
    cells = tuple(text.split("\t"))
    ends = len(lines) - 1
    if len(cells) != STRIDE * ends + WIDTH or cells[WIDTH::STRIDE].count("\n") != ends:
        return None
    return cells


def ids_ascend(ids: Sequence[str]) -> bool:
    """Whether the IDs are 1, 2, ..., n."""
    n = len(ids)
    return tuple(ids) == (_IDS[:n] if n <= _USUAL else tuple(map(str, range(1, n + 1))))


def checked_heads(
    block: Block,
    cells: Sequence[str],
    word_lines: Sequence[int],
    sentence_id: str | None,
    multiple_roots: bool,
    require_trees: bool,
) -> tuple[int, ...]:
    """The heads of the words of a block from their cells HEAD; ``MISSING_HEAD`` for ``_``. Raises
    CorpusError: the heads are no tree, or, with ``require_trees``, one is missing.
    """
    n = len(cells)
    numbers = (
        _HEADS if n <= _USUAL else {MISSING: MISSING_HEAD, **{str(k): k for k in range(n + 1)}}
    )
    try:
        # itemgetter looks up all cells in one call, twice as fast as map; for a single cell it
        # returns no tuple
        heads = itemgetter(*cells)(numbers) if n > 1 else (numbers[cells[0]],)
    except KeyError:
        word = next(k for k, cell in enumerate(cells) if cell not in numbers)
        expected, got = f"a head from 0 to {n} or _", shown(cells[word])
        raise block.fault(word_lines[word], expected, got, sentence_id) from None
    fault = find_tree_fault(heads, single_root=not multiple_roots)
    if fault is None and require_trees:
        fault = find_missing_head(heads)
    if fault is not None:
        raise block.fault(word_lines[fault.word - 1], fault.expected, fault.got, sentence_id)
    return heads


def without_rows(cells: Sequence[Cell], rows: Sequence[int], stride: int = STRIDE) -> list[Cell]:
    """The cells of all rows except ``rows``, which ascend; a row has ``stride`` cells."""
    remaining: list[Cell] = []
    start = 0
    for row in rows:
        remaining += cells[start : row * stride]
        start = (row + 1) * stride
    remaining += cells[start:]
    return remaining


def refill(sentence: Sentence, source: Source, misc: Sequence[str] | None = None) -> list[str]:
    """The lines of the source, in which the annotated columns are those of the sentence.

    A column that the sentence lacks is not changed; ``misc`` replaces the last column. Without
    ``Sentence.deps``, DEPS of CoNLL-U is renewed or dropped where the tree has changed; with them,
    which lack empty nodes, the lines of these are dropped.

    Raises:
        ValueError: source and sentence differ in the number of words.
    """
    rows = [source.lines[line] for line in source.word_lines]
    cells = SEPARATOR.join(rows).split("\t")
    if len(rows) != len(sentence) or len(cells) != STRIDE * len(rows) - 1:
        raise ValueError(
            f"{source.path}:{source.first_line}: the source does not have the sentence's words"
        )
    lines = list(source.lines)
    is_derived = sentence.heads and not sentence.deps and _has_deps(cells, source)
    before = _basic(cells) if is_derived else None
    _fill_annotation(cells, sentence)
    if before is not None:
        deps = _renewed_deps(cells[DEPS::STRIDE], before, _basic(cells), lines)
        if deps is not None:
            cells[DEPS::STRIDE] = deps
    if misc is not None:
        cells[MISC::STRIDE] = misc
    filled = _join(cells).split(SEPARATOR)
    if isinstance(source.word_lines, range):
        lines[source.word_lines.start : source.word_lines.stop] = filled
    else:
        for line, row in zip(source.word_lines, filled, strict=True):
            lines[line] = row
    return [line for line in lines if not _EMPTY_NODE.match(line)] if sentence.deps else lines


def plain_rows(sentence: Sentence, misc: Sequence[str] | None = None) -> list[str]:
    """Ten-column rows of a sentence without a source; columns that it lacks hold ``_``."""
    n = len(sentence)
    if n == 0:
        raise ValueError("a sentence without words cannot be written")
    cells = [MISSING] * (STRIDE * n - 1)
    cells[WIDTH::STRIDE] = repeat("\n", n - 1)
    cells[ID::STRIDE] = map(str, range(1, n + 1))
    cells[FORM::STRIDE] = sentence.forms
    _fill_annotation(cells, sentence)
    if misc is not None:
        cells[MISC::STRIDE] = misc
    return _join(cells).split(SEPARATOR)


def with_multiword_tokens(rows: Sequence[str], tokens: Sequence[SurfaceToken]) -> list[str]:
    """The rows of words, with a row before the first word of each multiword token."""
    every = list(rows)
    for token in reversed(tokens):
        every.insert(token.first, _range_row(token))
    return every


def escape(text: str) -> str:
    r"""Escape tab, line feed and carriage return as ``\t``, ``\n``, ``\r``.

    In a cell or a comment they would corrupt the file.
    """
    return text.translate(_ESCAPES)


def _range_row(token: SurfaceToken) -> str:
    """The row of a multiword token."""
    cells = [MISSING] * WIDTH
    cells[ID] = f"{token.first + 1}-{token.last + 1}"
    cells[FORM], cells[MISC] = escape(token.form) or MISSING, escape(token.misc) or MISSING
    return "\t".join(cells)


def _has_deps(cells: Sequence[str], source: Source) -> bool:
    """Whether a word has enhanced dependencies; other formats have another column there."""
    return source.format == "conllu" and any(cell != MISSING for cell in cells[DEPS::STRIDE])


def _basic(cells: Sequence[str]) -> list[str]:
    """Head and label of each word as they stand in DEPS."""
    pairs = zip(cells[HEAD::STRIDE], cells[DEPREL::STRIDE], strict=True)
    return [f"{head}:{label}" for head, label in pairs]


def _fill_annotation(cells: list[str], sentence: Sentence) -> None:
    """Replace the annotated columns. A column of another length raises ValueError, because it does
    not fit the extended slice.
    """
    for column, layer in (
        (LEMMA, sentence.lemmas),
        (UPOS, sentence.upos),
        (XPOS, sentence.xpos),
        (FEATS, sentence.feats),
        (DEPREL, sentence.deprels),
        (DEPS, sentence.deps),
    ):
        if layer:
            cells[column::STRIDE] = layer
    if sentence.heads:
        cells[HEAD::STRIDE] = _head_cells(sentence.heads)


def _head_cells(heads: Sequence[int]) -> list[str]:
    n = len(heads)
    if min(heads) < MISSING_HEAD or max(heads) > n:
        raise ValueError(f"heads of {n} words lie between {MISSING_HEAD} and {n}")
    table = _HEAD_CELLS if n <= _USUAL else (*map(str, range(n + 1)), MISSING)
    return [table[head] for head in heads]  # MISSING_HEAD is -1, the index of _ in the table


def _join(cells: list[str]) -> str:
    text = "\t".join(cells)
    ends = len(cells) // STRIDE
    clean = text.count("\t") == len(cells) - 1 and text.count("\n") == ends
    if clean and "\t\t" not in text and text[-1] != "\t":
        return text
    return "\t".join(
        cell if k % STRIDE == WIDTH else escape(cell) or MISSING for k, cell in enumerate(cells)
    )


# --- enhanced dependencies ------------------------------------------------------------------------
# If nobody asks for those of rules, an enhanced graph over another tree is wrong. Where DEPS only
# repeats HEAD and DEPREL, as in corpora without enhanced dependencies, it is written anew; else the
# graph is dropped, with the edges of its empty nodes, because a graph that lacks words is invalid.


class DepsWarning(UserWarning):
    """The column DEPS was changed, because the tree was."""


def _renewed_deps(
    deps: Sequence[str], before: Sequence[str], after: Sequence[str], lines: list[str]
) -> Sequence[str] | None:
    """The column DEPS for a tree that has changed, None if it is all ``_`` or the tree has not;
    ``before`` and ``after`` are the basic dependencies of each word, as ``2:nsubj``.

    It is ``_`` for all words if the graph had other edges, and for the empty nodes among ``lines``,
    all lines of the sentence, which are changed in place.
    """
    if deps.count(MISSING) == len(deps) or before == after:
        return None
    warnings.warn(
        "DEPS is left out (_) of sentences whose HEAD or DEPREL has changed, or written anew where "
        "it only repeats them",
        DepsWarning,
        stacklevel=2,
    )
    repeats = all(cell in (MISSING, basic) for cell, basic in zip(deps, before, strict=True))
    if repeats and not any(map(_EMPTY_NODE.match, lines)):
        return [
            MISSING if MISSING in (cell, *basic.split(":", 1)) else basic
            for cell, basic in zip(deps, after, strict=True)
        ]
    for k, line in enumerate(lines):
        if _EMPTY_NODE.match(line):
            cells = line.split("\t")
            cells[-2] = MISSING
            lines[k] = "\t".join(cells)
    return list(repeat(MISSING, len(deps)))


# --- sentences whose IDs are not simply 1 to n, and faults in columns and IDs ---------------------


def check_rows(block: Block, sentence_id: str | None, comments: bool = True) -> list[int]:
    """The indices in ``block.lines`` of the lines that are no comments; of all lines if the format
    has no ``comments``. Raises CorpusError: a line does not have ten columns, or one of them is
    empty.
    """
    rows = [k for k, line in enumerate(block.lines) if line[0] != "#" or not comments]
    for line in rows:
        _check_row(block, line, sentence_id)
    if not rows:
        raise block.fault(0, "at least one word", "comments only", sentence_id)
    return rows


def find_other_rows(
    block: Block,
    lines: Sequence[int],
    ids: Sequence[str],
    sentence_id: str | None,
    only_words: bool = False,
) -> list[int]:
    """The rows that are no words; ``ids[k]`` is the first cell of row ``k``, the line
    ``block.lines[lines[k]]``. Raises CorpusError: the IDs of words are not 1, 2, ..., n, a
    multiword token ``a-b`` does not stand before word a, an empty node ``i.1``, ``i.2``, ... does
    not stand after word i, or, with ``only_words`` (CoNLL-X), a row is no word.
    """
    others = [row for row, cell in enumerate(ids) if not cell.isdigit()]
    _check_word_ids(block, lines, ids, [] if only_words else others, sentence_id)
    range_end, range_row = 0, 0
    for count, row in enumerate(others):
        cell, words = ids[row], row - count  # words before this row
        if words >= range_end and (end := _range_end(cell, words + 1)):
            range_end, range_row = end, row
        elif not _follows(ids, row, words):
            expected = _expected(cell, words, range_end)
            raise block.fault(lines[row], expected, shown(cell), sentence_id)
    words = len(ids) - len(others)
    if range_end > words:
        expected = f"a multiword token within the {words} words"
        raise block.fault(lines[range_row], expected, shown(ids[range_row]), sentence_id)
    return others


def _check_word_ids(
    block: Block,
    lines: Sequence[int],
    ids: Sequence[str],
    others: Sequence[int],
    sentence_id: str | None,
) -> None:
    if len(ids) == len(others):
        raise block.fault(lines[0], "at least one word", "none", sentence_id)
    words = without_rows(ids, others, 1)
    if not ids_ascend(words):
        rows = without_rows(range(len(ids)), others, 1)
        number, row = next((k, row) for k, row in enumerate(rows, 1) if ids[row] != str(k))
        raise block.fault(lines[row], f"the ID {number}", shown(ids[row]), sentence_id)


def _follows(ids: Sequence[str], row: int, words: int) -> bool:
    """Whether the row is the next empty node after so many words."""
    prefix = f"{words}."
    number = 1
    if row > 0 and ids[row - 1].startswith(prefix):
        number += int(ids[row - 1][len(prefix) :])  # the row before was checked already
    return ids[row] == f"{prefix}{number}"


def _check_row(block: Block, line: int, sentence_id: str | None) -> None:
    text = block.lines[line]
    width = text.count("\t") + 1
    if width != WIDTH:
        got = f"{width} in {shown(text)}" if text.strip() else "a line of blanks"
        raise block.fault(line, f"{WIDTH} tab-separated columns", got, sentence_id)
    if "\t\t" in text or text[0] == "\t" or text[-1] == "\t":
        column = text.split("\t").index("") + 1
        raise block.fault(
            line, "a value or _ in every column", f"nothing in column {column}", sentence_id
        )


def _range_end(cell: str, first: int) -> int:
    """The end of a multiword token ``first-end``, or 0 if the cell is no such range."""
    start, _, end = cell.partition("-")
    if (
        start != str(first)
        or not (end.isascii() and end.isdigit())
        or end[0] == "0"
        or len(end) > 18
    ):
        return 0
    return int(end) if int(end) >= first else 0


def _expected(cell: str, words: int, range_end: int) -> str:
    """A description of the rows that are permitted after so many words, instead of the cell."""
    if "." in cell:
        return f"the next empty node after word {words}"
    if "-" in cell and words < range_end:
        return f"no multiword token inside of the one that ends at word {range_end}"
    if "-" in cell:
        return f"a multiword token from {words + 1} to a later word"
    return f"the ID {words + 1}"
