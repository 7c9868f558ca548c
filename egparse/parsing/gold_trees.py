"""The trees that parsers learn from: gold heads, completions of trees of which some words have no
head, and pieces of sentences too long to be parsed whole.

**Completion.** Without a model, a tree is completed by the frequencies of arcs of each kind, as the
arc filter counts them on the words whose heads are known; with a parser by the best tree with the
known arcs.

**Pieces.** Training takes marginals of every sentence in every pass, so its time would grow with
the cube of the length as well, and it keeps numbers for every candidate arc, of which there are
about as many as pairs of words. A sentence of more than ``LONGEST_LEARNED`` words is therefore cut
as parsing cuts it (``long_sentences``): each window of ``WINDOW`` words at the boundary in its
second half that the fewest correct arcs cross. A sentence without all its heads is learned whole,
up to ``long_sentences.LONGEST`` words: there is no telling which arcs cross what.

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
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.config.sections import ParserConfig
from egparse.errors import EgparseError
from egparse.fitting.task import Part
from egparse.parsing.candidates import NO_LABEL, ArcFilter, log_frequencies
from egparse.parsing.constraints import ArcConstraints
from egparse.parsing.long_sentences import LONGEST, WINDOW, LongSentenceWarning, least_crossed
from egparse.parsing.parser import AnyParser
from egparse.parsing.tree_inference import TreeInference, Trees
from egparse.sentences import MISSING_HEAD, Sentence, select
from egparse.storage.ragged import Ragged
from egparse.types import Floats, Ints, Longs, Mask

LONGEST_LEARNED = WINDOW
"""Words of the longest sentence that is learned as a whole (docs/decisions/long-sentences.md);
parsing takes it once, training in each pass, so that its limit is lower.
"""


class GoldHeads(NamedTuple):
    """The gold heads of both parts: one array for each training sentence that has some; flat for
    the development part; ``MISSING_HEAD`` where unknown. ``is_scored`` says whether any is known in
    the development part.
    """

    train: Sequence[Ints]
    dev: Ints
    is_scored: bool


def gold_heads_of(train: Sequence[Ints], dev: Sequence[Sentence]) -> GoldHeads:
    """The heads of the training sentences, and those of the development sentences."""
    heads = [head for one in dev for head in one.heads or (MISSING_HEAD,) * len(one)]
    known = np.array(heads, dtype=np.int32)
    return GoldHeads(train, known, bool((known != MISSING_HEAD).any()))


class HeadedSentences(NamedTuple):
    """Which sentences of a part have heads, (sentences,), and their heads, ``MISSING_HEAD`` for
    words without one.
    """

    chosen: Mask
    heads: Sequence[Ints]


def headed_sentences(sentences: Sequence[Sentence]) -> HeadedSentences:
    """The sentences with a head for some word.

    Sentences of more than ``LONGEST`` words are cut to be learned, for which all heads are needed:
    such a sentence is left out if one is missing, and a warning says so.
    """
    chosen = np.array(
        [any(head != MISSING_HEAD for head in one.heads) for one in sentences], dtype=np.bool_
    )
    for i in np.flatnonzero(chosen).tolist():
        one = sentences[i]
        if len(one) > LONGEST and MISSING_HEAD in one.heads:
            chosen[i] = False
            place = f" ({one.source.path}:{one.source.first_line})" if one.source else ""
            warnings.warn(
                f"the parser does not learn from a sentence of {len(one):,} words without all of "
                f"its heads{place}: expected at most {LONGEST}",
                LongSentenceWarning,
                stacklevel=2,
            )
    headed = select(sentences, chosen.tolist())
    heads = (np.array(one.heads, dtype=np.int32) for one in headed)
    return HeadedSentences(chosen, Ragged.of(heads, np.empty(0, dtype=np.int32)))


def known_heads(heads: Sequence[Ints]) -> list[Mask] | None:
    """Which words of each sentence have a head; None if all have."""
    if all((of_sentence != MISSING_HEAD).all() for of_sentence in heads):
        return None
    return [of_sentence != MISSING_HEAD for of_sentence in heads]


def arc_frequencies(values: Ints, arcs: Ints, arc_filter: ArcFilter) -> Floats:
    """The log of the frequency of each arc among pairs of words of its kind, (arcs,)."""
    square = log_frequencies(values, arc_filter)
    found: Floats = square[arcs[:, 0], arcs[:, 1]]
    return found


def complete_by_frequency(
    values: Ints, heads: Ints, arc_filter: ArcFilter, trees: Trees, single_root: bool
) -> Ints:
    """The tree with the known ``heads`` (n,) whose other arcs are most frequent in all: a
    projective one if there is any and arcs may not cross, else one in which they may.

    Raises:
        EgparseError: no tree has these heads.
    """
    size = len(values)
    scores = log_frequencies(values, arc_filter)
    for dependent in np.flatnonzero(heads != MISSING_HEAD) + 1:
        head = heads[dependent - 1]
        kept = scores[head, dependent]
        scores[:, dependent] = -np.inf
        scores[head, dependent] = kept
    found = np.empty(size, dtype=np.int32)
    kinds: tuple[Trees, ...] = ("projective", "non-projective")
    for kind in kinds[kinds.index(trees) :]:
        if TreeInference(kind, single_root, size - 1).best(scores, found) > -np.inf:
            return found[1:].copy()
    raise EgparseError(
        f"expected annotated heads that some tree over {size - 1} words has, got "
        f"{' '.join(map(str, heads.tolist()))} (-1: no head)"
    )


def complete_by_parser(parser: AnyParser, part: Part, heads: Sequence[Ints]) -> list[Ints]:
    """The trees of the sentences of a part, in which a parser has attached words without a head."""
    known = known_heads(heads)
    if known is None:
        return list(heads)
    incomplete = np.array([not mask.all() for mask in known], dtype=np.bool_)
    words = part.select(incomplete).part.words
    flat = np.concatenate([heads[i] for i in np.flatnonzero(incomplete).tolist()])
    constrained = np.ones(int(incomplete.sum()), dtype=np.bool_)
    found = parser.predict(words, ArcConstraints(flat, {}, constrained))
    trees = iter(np.split(found, words.starts[1:-1]))
    return [
        next(trees) if is_incomplete else of_sentence
        for of_sentence, is_incomplete in zip(heads, incomplete.tolist(), strict=True)
    ]


def crossing_known_arcs(heads: Ints) -> int:
    """The number of words with a head whose arc crosses that of another such word."""
    dependents = np.flatnonzero(heads != MISSING_HEAD) + 1
    ends = np.sort(np.stack([heads[dependents - 1], dependents]), axis=0)
    low, high = ends[0], ends[1]
    crosses = (low[:, None] < low) & (low < high[:, None]) & (high[:, None] < high)
    return int((crosses | crosses.T).any(axis=1).sum())


def choose_trees(heads: Sequence[Ints], config: ParserConfig) -> Trees:
    """The configured kind; where that is "auto", projective unless too many arcs cross others, in
    the trees that parsers learn from. Where heads are missing, only arcs between words that have
    one are counted, and whether they cross each other.
    """
    if config.trees != "auto":
        return config.trees
    heads = heads_of_pieces(training_pieces(heads), heads, config.single_root)
    known = known_heads(heads)
    if known is None:
        crossing = sum(crossing_arcs(of_sentence) for of_sentence in heads)
        total = sum(len(of_sentence) for of_sentence in heads)
    else:
        crossing = sum(crossing_known_arcs(of_sentence) for of_sentence in heads)
        total = sum(int(mask.sum()) for mask in known)
    return (
        "non-projective" if crossing > config.non_projective_above * max(1, total) else "projective"
    )


@njit
def crossing_arcs(heads: Ints) -> int:
    """The number of words whose arc is not projective: some word between its ends does not descend
    from its head.
    """
    n = heads.shape[0]
    count = 0
    for dependent in range(1, n + 1):
        head = heads[dependent - 1]
        for between in range(min(head, dependent) + 1, max(head, dependent)):
            above = between
            while above > 0 and above != head:
                above = heads[above - 1]
            if above != head:
                count += 1
                break
    return count


def training_pieces(heads: Sequence[Ints]) -> Longs:
    """The pieces of sentences with correct ``heads``, (pieces, 3): the number of a sentence, and
    the first word and the end of a piece of it, from 0 on. A sentence with at most
    ``LONGEST_LEARNED`` words is one piece.
    """
    numbers = array("q")
    for number, of_sentence in enumerate(heads):
        for first, end in _spans(of_sentence):
            numbers.extend((number, first, end))
    return np.array(numbers, dtype=np.int64).reshape(-1, 3)


def heads_of_pieces(pieces: Longs, heads: Sequence[Ints], single_root: bool) -> Sequence[Ints]:
    """The tree of each piece: positions in the piece from 1 on, 0 for the root."""
    if len(pieces) == len(heads):
        return heads
    return [_tree(heads[number], first, end, single_root) for number, first, end in pieces]


def values_of_pieces(pieces: Longs, values: Sequence[Ints]) -> Sequence[Ints]:
    """The rows of column values of each piece, the root's first, from those of sentences."""
    if len(pieces) == len(values):
        return values
    return [
        values[number]
        if end - first == len(values[number]) - 1
        else np.concatenate([values[number][:1], values[number][first + 1 : end + 1]])
        for number, first, end in pieces
    ]


def ranks_of_pieces(pieces: Longs, heads: Sequence[Ints], ranks: Sequence[Ints]) -> list[Ints]:
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
