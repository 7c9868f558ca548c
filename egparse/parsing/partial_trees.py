"""Trees of which some words have no head, in training: which heads are known, and a first
completion of the others.

Without a model, a sentence is completed by the frequencies of arcs of each kind, as the arc filter
counts them on the words whose heads are known. With a parser it is completed by the best tree with
the known arcs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.fitting.task import Part
from egparse.parsing.candidates import ArcFilter, log_frequencies
from egparse.parsing.constraints import ArcConstraints
from egparse.parsing.long_sentences import LONGEST, LongSentenceWarning
from egparse.parsing.parser import AnyParser
from egparse.parsing.tree_inference import INFERENCE, Trees
from egparse.sentences import MISSING_HEAD, Sentence, select
from egparse.storage.ragged import Ragged
from egparse.types import Floats, Ints, Mask


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
        inference = INFERENCE[kind]
        work = inference.best_workspace(size - 1)
        if inference.best(scores, single_root, found, work) > -np.inf:
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
