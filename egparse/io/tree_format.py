"""Dependency trees as lines of text for a terminal: one word a line, in the order of the sentence,
behind the arcs, which lead from the left to the words below their heads. Udapi's ``TextModeTrees``
(Popel et al. 2017, "Udapi: Universal API for Universal Dependencies") draws trees in this way.

A head whose arcs no other arcs cross stands one column to the right of its own head. Where arcs
cross, a head moves on to a column that is free on all lines between its words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from egparse.sentences import MISSING, Sentence

UNSURE = 0.8
"""Below this probability a value is marked."""

MOST_WORDS = 500
"""Longer sentences are shown without arcs: a drawing may be as wide as it is long."""

RIGHT_TO_LEFT = ("R", "AL")
"""Bidirectional classes of letters of right-to-left scripts."""

TREE_PROBABILITY = "# tree_probability ="
"""Begins the comment with the probability of a tree, where several of a sentence are written."""

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
"""The box-drawing character of each sum of directions."""
_SOLID, _DASHED = "─╌"
_NO_SPAN = "O"


class _Stem(NamedTuple):
    """The vertical line of a head: its column, and the first and last line, from 0."""

    column: int
    first: int
    last: int


def tree_lines(sentence: Sentence) -> str:
    """The text of a sentence and its tree, each word with UPOS, label, the probability of its head
    if it is known, entity, and the multiword token that it is a part of; an empty line follows.

    Arcs and tags of less than ``UNSURE`` are dashed or have a question mark.
    """
    drawn = list(_drawn(sentence))
    rows = _table([*zip(drawn, *_cells(sentence), strict=True)])
    lines = (line for line in sentence.lines_before if line.startswith(TREE_PROBABILITY))
    known = "".join(f"  ({line.removeprefix('# tree_').replace(' =', '')})" for line in lines)
    return "\n".join([sentence.text + known, *rows, "", ""])


def isolated(form: str) -> str:
    """The form, isolated so that its direction does not affect the text beside it."""
    if not any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT for letter in form):
        return form
    return f"\N{FIRST STRONG ISOLATE}{form}\N{POP DIRECTIONAL ISOLATE}"


def _drawn(sentence: Sentence) -> Iterator[str]:
    """Each word behind its arcs."""
    n = len(sentence)
    drawn = sentence.heads if n <= MOST_WORDS else ()
    heads = [head if 0 < head <= n else 0 for head in drawn or (0,) * n]
    stems, probabilities = _stems(heads), _probabilities(sentence, "heads")
    for line, (form, head) in enumerate(zip(sentence.forms, heads, strict=True)):
        crossed = [stem for stem in stems.values() if stem.first <= line <= stem.last]
        last, own = max((stem.column for stem in crossed), default=0), stems.get(line)
        cells = [0] * (2 * last + 2)  # of columns, and between them
        for column, first, end in crossed:
            cells[2 * column] |= _UP * (line > first) | _DOWN * (line < end)
        above = stems.get(head - 1)  # none in a cycle, which an input may have
        begin = -1 if above is None else 2 * above.column
        stop = 2 * last + 1 if own is None else 2 * own.column
        for place in range(begin + 1, stop + 1):
            cells[place] |= _LEFT
        for place in range(max(begin, 0), stop):
            cells[place] |= _RIGHT
        cells[stop] |= _RIGHT * (own is None)
        arcs = "".join(_LINES[cell] for cell in cells).rstrip()
        arrow = _DASHED if _unsure(probabilities[line]) else _SOLID
        yield f"{arcs.replace(_SOLID, arrow)} {isolated(form)}"


def _stems(heads: Sequence[int]) -> dict[int, _Stem]:
    """The vertical line of each word (from 0) that is a head, those of heads nearer to the root
    first. ``heads`` are from 1, 0 for words without one.
    """
    children: dict[int, list[int]] = {}
    for word, head in enumerate(heads):
        children.setdefault(head - 1, []).append(word)
    stems: dict[int, _Stem] = {}
    waiting = [(word, 0) for word in children.get(-1, ())]
    for word, column in waiting:
        if word not in children:
            continue
        first, last = min(word, children[word][0]), max(word, children[word][-1])
        taken = {
            stem.column for stem in stems.values() if stem.first <= last and first <= stem.last
        }
        while column in taken:
            column += 1
        stems[word] = _Stem(column, first, last)
        waiting += [(child, column + 1) for child in children[word]]
    return stems


def _cells(sentence: Sentence) -> Iterator[list[str]]:
    """What stands behind the words, column by column."""
    n = len(sentence)
    tags, labels = _probabilities(sentence, "upos"), _probabilities(sentence, "deprels")
    heads = _probabilities(sentence, "heads")
    yield [*map(_marked, sentence.upos or (MISSING,) * n, tags)]
    yield [*map(_marked, sentence.deprels or (MISSING,) * n, labels)]
    yield ["" if head is None else f"{head:.2f}" + "?" * _unsure(head) for head in heads]
    yield ["" if span in (_NO_SPAN, MISSING) else span for span in sentence.spans or ("",) * n]
    tokens = {
        word: token.form for token in sentence.tokens for word in range(token.first, token.last + 1)
    }
    yield [isolated(tokens.get(word, "")) for word in range(n)]


def _marked(value: str, probability: float | None) -> str:
    value = "" if value == MISSING else value
    return value + "?" * _unsure(probability)


def _unsure(probability: float | None) -> bool:
    return probability is not None and probability < UNSURE


def _probabilities(sentence: Sentence, layer: str) -> Sequence[float | None]:
    found: Mapping[str, Sequence[float | None]] = sentence.probabilities or {}
    return found.get(layer) or (None,) * len(sentence)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with their columns aligned."""
    from rich.cells import cell_len  # only drawing needs the widths of letters

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in cells if width)
        yield "  ".join(padded).rstrip()
