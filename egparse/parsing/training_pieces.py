"""The trees that parsers learn from: whole sentences, and pieces of those too long to be parsed
whole.

Training takes marginals of every sentence in every pass, so its time would grow with the cube of
the length as well, and it keeps numbers for every candidate arc, of which there are about as many
as pairs of words. A sentence of more than ``LONGEST_LEARNED`` words is therefore cut as parsing
cuts it (``long_sentences``): each window of ``WINDOW`` words at the boundary in its second half
that the fewest correct arcs cross. Time and memory of a pass are linear in the length from there
on. A sentence without all its heads is learned whole, up to ``long_sentences.LONGEST`` words
(``partial_trees.headed_sentences``): there is no telling which arcs cross what.

A piece is learned as if it were a sentence. Arcs inside it are correct arcs. Words whose head is
outside have no arc in it, but a tree needs one: as in parsing, one of them is the root (that of the
sentence if the piece contains it, else the first) and the others depend on it, without a label. The
tree of a piece is projective if that of the sentence is: all words between two such words descend
from one of them. With several roots to a sentence, all of them are roots.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np

from egparse.parsing.label_candidates import NO_LABEL
from egparse.parsing.long_sentences import WINDOW, LongSentenceWarning, least_crossed
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.types import Ints, Longs

LONGEST_LEARNED = WINDOW
"""Words of the longest sentence that is learned as a whole (docs/decisions/long-sentences.md);
parsing takes it once, training in each pass, so that its limit is lower.
"""


class Piece(NamedTuple):
    """The words ``first`` to ``end - 1`` (from 0 on) of a ``sentence``, by number."""

    sentence: int
    first: int
    end: int


class Pieces(Sequence[Piece]):
    """The pieces of all sentences, by the numbers of each: ``numbers`` is (pieces, 3)."""

    def __init__(self, numbers: Longs) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, i: int) -> Piece: ...

    @overload
    def __getitem__(self, i: slice) -> Pieces: ...

    def __getitem__(self, i: int | slice) -> Piece | Pieces:
        if isinstance(i, slice):
            return Pieces(self.numbers[i])
        return Piece(*self.numbers[i].tolist())

    def are_whole(self, sentences: int) -> bool:
        """Whether they are so many sentences, none of them cut."""
        return len(self) == sentences


def training_pieces(heads: Sequence[Ints]) -> Pieces:
    """The pieces of sentences with correct ``heads``: the whole of each with at most
    ``LONGEST_LEARNED`` words.
    """
    numbers = array("q")
    for number, of_sentence in enumerate(heads):
        for first, end in _spans(of_sentence):
            numbers.extend((number, first, end))
    return Pieces(np.array(numbers, dtype=np.int64).reshape(-1, 3))


def heads_of_pieces(pieces: Pieces, heads: Sequence[Ints], single_root: bool) -> Sequence[Ints]:
    """The tree of each piece: positions in the piece from 1 on, 0 for the root."""
    if pieces.are_whole(len(heads)):
        return heads
    return [_tree(heads[number], first, end, single_root) for number, first, end in pieces]


def values_of_pieces(pieces: Pieces, values: Sequence[Ints]) -> Sequence[Ints]:
    """The rows of column values of each piece, the root's first, from those of sentences."""
    if pieces.are_whole(len(values)):
        return values
    return [
        values[number]
        if end - first == len(values[number]) - 1
        else np.concatenate([values[number][:1], values[number][first + 1 : end + 1]])
        for number, first, end in pieces
    ]


def ranks_of_pieces(
    pieces: Sequence[Piece], heads: Sequence[Ints], ranks: Sequence[Ints]
) -> list[Ints]:
    """The label ranks of the words of each piece, ``NO_LABEL`` for those whose head is outside."""
    return [
        np.where(
            _is_outside(heads[number], first, end), np.int32(NO_LABEL), ranks[number][first:end]
        )
        if end - first < len(ranks[number])
        else ranks[number]
        for number, first, end in pieces
    ]


def warn_of_long(sentences: Sequence[Sentence]) -> None:
    """Warn with ``LongSentenceWarning`` if training cuts any of the sentences."""
    long = [sentence for sentence in sentences if _is_cut(sentence.heads)]
    if not long:
        return
    longest = max(long, key=len)
    source = longest.source
    place = f" ({source.path}:{source.first_line})" if source is not None else ""
    count = "1 sentence" if len(long) == 1 else f"{len(long):,} sentences"
    warnings.warn(
        f"the parser learns {count} of more than {LONGEST_LEARNED} words in pieces of at most "
        f"{WINDOW}: the longest has {len(longest):,} words{place}",
        LongSentenceWarning,
        stacklevel=2,
    )


def _spans(heads: Ints) -> list[tuple[int, int]]:
    """First word and end of each piece of a sentence."""
    n, first = len(heads), 0
    if not _is_cut(heads):
        return [(0, n)]
    spans = []
    while first < n:
        end = min(first + WINDOW, n)
        if end < n:
            end = first + least_crossed(_inside(heads, first, end))
        spans.append((first, end))
        first = end
    return spans


def _is_cut(heads: Sequence[int] | Ints) -> bool:
    """Whether a sentence is learned in pieces. Without all heads it is not known where to cut."""
    return len(heads) > LONGEST_LEARNED and MISSING_HEAD not in heads


def _is_outside(heads: Ints, first: int, end: int) -> np.ndarray:
    """Whether the head of each word of a piece is outside it and not the root."""
    own = heads[first:end]
    outside: np.ndarray = (own != 0) & ((own <= first) | (own > end))
    return outside


def _inside(heads: Ints, first: int, end: int) -> Ints:
    """The heads of the words of a piece as positions in it, 0 for those outside."""
    own = heads[first:end]
    inside: Ints = np.where((own > first) & (own <= end), own - first, 0).astype(np.int32)
    return inside


def _tree(heads: Ints, first: int, end: int, single_root: bool) -> Ints:
    if end - first == len(heads):
        return heads
    tree = _inside(heads, first, end)
    if single_root:
        tops = np.flatnonzero(tree == 0)
        roots = np.flatnonzero(heads[first:end] == 0)
        root = int(roots[0] if len(roots) else tops[0])
        tree[tops] = root + 1
        tree[root] = 0
    return tree
