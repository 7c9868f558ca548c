"""Scores by relation, tag, arc length, sentence length, and known or unknown word.

Both sides must have the same words. Relations are cut at the first colon, as in ``ud.py``. Words
without a gold head do not count in attachment scores, words without a gold UPOS not in tagging
scores. The length of an arc is the distance between its word and its head; recall is over the gold
arcs of a length, precision over the predicted ones (McDonald & Nivre 2007, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.evaluation import words
from egparse.evaluation.scores import Score, scores_by_key, universal_deprel
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Longs, Mask

SENTENCE_BINS = ("1-10", "11-20", "21-30", "31-40", "41+")
"""Sentence lengths in words."""

ARC_BINS = ("root", "1", "2", "3-6", "7+")
"""Arc lengths in words; arcs from the root have a separate bin."""

_SENTENCE_LIMITS = np.array([10, 20, 30, 40])
_ARC_LIMITS = np.array([0, 1, 2, 6])


class Row(NamedTuple):
    """The number of words in a group, and their UPOS accuracy, UAS and LAS in per cent.

    A rate is None where no word of the group has gold annotation for it.
    """

    words: int
    upos: float | None
    uas: float | None
    las: float | None


class Details(NamedTuple):
    """All break-downs; groups without words are left out.

    ``labels``: labelled attachment by relation. ``tags``: UPOS tagging by tag. ``arc_lengths``:
    unlabelled attachment by arc length. ``sentence_lengths``: words by the length of their
    sentence. ``vocabulary``: words by whether their form is ``known`` or ``unknown``; None unless a
    set of known forms was given.
    """

    labels: dict[str, Score]
    tags: dict[str, Score]
    arc_lengths: dict[str, Score]
    sentence_lengths: dict[str, Row]
    vocabulary: dict[str, Row] | None


def break_down(
    gold: Sequence[Sentence], system: Sequence[Sentence], vocabulary: AbstractSet[str] | None = None
) -> Details:
    """All break-downs of sentences with the same words.

    ``vocabulary`` holds the forms seen in training.

    Raises:
        ValueError: numbers of sentences or words that differ.
    """
    words.require_same_lengths(gold, system)
    tags, system_tags = _cells(gold, "upos"), _cells(system, "upos")
    labels, system_labels = _cells(gold, "deprels"), _cells(system, "deprels")
    heads, tagged = words.heads(gold), tags != MISSING
    attached = heads != MISSING_HEAD
    right_tag = tagged & (tags == system_tags)
    right_head = attached & (heads == words.heads(system))
    labelled = right_head & (labels == system_labels)
    rates = (right_tag, tagged), (right_head, attached), (labelled, attached)

    def rows(bins: Longs, names: Sequence[str]) -> dict[str, Row]:
        found = {}
        for number, name in enumerate(names):
            group = bins == number
            if group.any():
                shares = (_share(part & group, whole & group) for part, whole in rates)
                found[name] = Row(int(group.sum()), *shares)
        return found

    known = None
    if vocabulary is not None:
        is_known = words.accepted(words.cells(gold, "forms"), vocabulary.__contains__)
        known = rows(np.where(is_known, 0, 1), ("known", "unknown"))
    lengths = words.lengths(gold)
    sentence_bins = np.repeat(np.searchsorted(_SENTENCE_LIMITS, lengths), lengths)
    return Details(
        labels=scores_by_key(labels[labelled], labels[attached], system_labels[attached]),
        tags=scores_by_key(tags[right_tag], tags[tagged], system_tags[tagged]),
        arc_lengths=by_arc_length(gold, system),
        sentence_lengths=rows(sentence_bins, SENTENCE_BINS),
        vocabulary=known,
    )


def by_arc_length(gold: Sequence[Sentence], system: Sequence[Sentence]) -> dict[str, Score]:
    """Unlabelled attachment for each bin of arc lengths, in the order of the bins."""
    gold_heads, system_heads = words.heads(gold), words.heads(system)
    attached = gold_heads != MISSING_HEAD
    predicted = attached & (system_heads != MISSING_HEAD)
    gold_bins, system_bins = _arc_bins(gold, gold_heads), _arc_bins(system, system_heads)
    groups = (
        gold_bins[attached & (gold_heads == system_heads)],
        gold_bins[attached],
        system_bins[predicted],
    )
    counts = np.stack([np.bincount(group, minlength=len(ARC_BINS)) for group in groups], axis=1)
    return {
        name: Score(*map(int, row)) for name, row in zip(ARC_BINS, counts, strict=True) if row.any()
    }


def _share(part: Mask, whole: Mask) -> float | None:
    return 100.0 * int(part.sum()) / int(whole.sum()) if whole.any() else None


def _cells(sentences: Sequence[Sentence], column: words.Column) -> npt.NDArray[np.object_]:
    cells = words.cells(sentences, column)
    return np.array([universal_deprel(c) for c in cells] if column == "deprels" else cells, object)


def _arc_bins(sentences: Sequence[Sentence], heads: Longs) -> Longs:
    """The bin of each word's arc; meaningless for a word without a head."""
    lengths = words.lengths(sentences)
    places = np.arange(len(heads)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    distances = np.where(heads > 0, np.abs(heads - places), 0)
    return np.searchsorted(_ARC_LIMITS, distances)
