"""The rows of a CoNLL-U or CoNLL-X block that are words, in sentences whose IDs are not simply 1 to
n.

These are sentences with multiword tokens or empty nodes, and those with a fault in their columns or
IDs: the error names the first faulty line.
"""

from __future__ import annotations

from collections.abc import Sequence

from egparse.io.blocks import Block, shown
from egparse.io.rows import WIDTH, ids_ascend, without_rows


def check_rows(block: Block, sentence_id: str | None, comments: bool = True) -> list[int]:
    """The indices in ``block.lines`` of the lines that are no comments; of all lines if the format
    has no ``comments``.

    Raises:
        CorpusError: a line does not have ten columns, or one of them is empty.
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
    ``block.lines[lines[k]]``.

    Raises:
        CorpusError: the IDs of words are not 1, 2, ..., n, a multiword token ``a-b`` does not stand
            before word a, an empty node ``i.1``, ``i.2``, ... does not stand after word i, or, with
            ``only_words`` (CoNLL-X), a row is no word.
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
