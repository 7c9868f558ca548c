"""Counts and rates in per cent: of correct, gold and predicted items, of segments, of words in
training; and the relations and features that the CoNLL 2018 evaluation compares.

Source of the lists: ``conll18_ud_eval.py`` 1.2 of the CoNLL 2018 shared task (Zeman et al. 2018,
section 4), from version 2 of the Universal Dependencies guidelines. ``punct`` is in neither list of
relations. Segments count as there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.sentences import MISSING_HEAD
from egparse.types import Longs, Mask


class Score(NamedTuple):
    """The number of correct items, of gold items and of items that the system predicted.

    Rates are per cent; 0/0 is 0.
    """

    correct: int
    gold: int
    system: int

    @property
    def precision(self) -> float:
        """Share of the predicted items that are correct, in per cent."""
        return _per_cent(self.correct, self.system)

    @property
    def recall(self) -> float:
        """Share of the gold items that are predicted, in per cent."""
        return _per_cent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in per cent.

        It is the accuracy where there are as many gold items as predicted ones.
        """
        return _per_cent(2 * self.correct, self.gold + self.system)


def total(counts: Longs) -> Score:
    """The score of a corpus from ``counts[sentence] = (correct, gold, system)``."""
    correct, gold, system = counts.sum(axis=0)
    return Score(int(correct), int(gold), int(system))


def scores_by_key(
    correct: Iterable[str], gold: Iterable[str], system: Iterable[str]
) -> dict[str, Score]:
    """One score for each key, sorted, from the keys of correct, gold and predicted items."""
    right, wanted, predicted = Counter(correct), Counter(gold), Counter(system)
    return {k: Score(right[k], wanted[k], predicted[k]) for k in sorted({*wanted, *predicted})}


def _per_cent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def tag_accuracy(gold_ids: npt.ArrayLike, predicted_ids: npt.ArrayLike) -> float:
    """Share of words with the gold tag, in per cent; words with a gold id below 0 do not count.

    It is 0 where no word counts.

    Raises:
        ValueError: arrays of different shapes.
    """
    gold, predicted = _pair(gold_ids, predicted_ids)
    return _share(gold == predicted, gold >= 0)


def attachment(gold_heads: npt.ArrayLike, predicted_heads: npt.ArrayLike) -> float:
    """Share of words with the gold head, in per cent, punctuation included.

    Words without a gold head do not count; it is 0 where no word counts.

    Raises:
        ValueError: arrays of different shapes.
    """
    gold, predicted = _pair(gold_heads, predicted_heads)
    return _share(gold == predicted, gold != MISSING_HEAD)


def _pair(
    gold: npt.ArrayLike, predicted: npt.ArrayLike
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
    first, second = np.asarray(gold), np.asarray(predicted)
    if first.shape != second.shape:
        raise ValueError(
            f"expected as many predictions as gold values, got shapes {first.shape}, {second.shape}"
        )
    return first, second


def _share(right: Mask, annotated: Mask) -> float:
    return _per_cent(int(np.count_nonzero(right & annotated)), int(np.count_nonzero(annotated)))


def segment_counts(
    gold: npt.ArrayLike, system: npt.ArrayLike, sentence_ends: npt.ArrayLike
) -> Longs:
    """``counts[gold sentence] = (correct, gold, system)`` segments, shape (sentences, 3).

    A segment is a range between two neighbouring boundaries, in characters where the words of gold
    and system may differ, in words where they are the same. ``gold`` and ``system`` are ascending
    boundaries from the start of the text to its end;
    ``sentence_ends`` says where each gold sentence ends. A segment counts in the gold sentence in
    which it starts. Of equal boundaries one counts: an empty segment is none.
    """
    gold_bounds, system_bounds = np.unique(gold), np.unique(system)
    ends = np.asarray(sentence_ends)
    starts = gold_bounds[:-1], system_bounds[:-1]
    # A gold segment is correct if both its ends are system boundaries, and neighbours there.
    first = np.searchsorted(system_bounds, gold_bounds[:-1])
    last = np.searchsorted(system_bounds, gold_bounds[1:])
    is_boundary = np.isin(gold_bounds, system_bounds)
    correct = is_boundary[:-1] & is_boundary[1:] & (last == first + 1)
    columns = (starts[0][correct], *starts)
    places = [np.searchsorted(ends, column, side="right") for column in columns]
    return np.stack([np.bincount(place, minlength=len(ends)) for place in places], axis=1)


def sentence_counts(gold: Sequence[Mask], system: Sequence[Mask]) -> Longs:
    """``counts[gold sentence] = (correct, gold, system)`` of sentences, from where they start.

    ``gold[p]`` and ``system[p]`` say of each word of paragraph ``p`` whether a sentence starts at
    it, as one does at the first word of each.

    Raises:
        ValueError: paragraphs of different numbers of words.
    """
    if list(map(len, gold)) != list(map(len, system)):
        raise ValueError("expected gold and system paragraphs of the same numbers of words")
    starts, system_starts = _starts(gold), _starts(system)
    words = sum(map(len, gold))
    gold_bounds = np.append(starts, words)
    return segment_counts(gold_bounds, np.append(system_starts, words), gold_bounds[1:])


def _starts(paragraphs: Sequence[Mask]) -> Longs:
    return np.flatnonzero(np.concatenate([np.zeros(0, dtype=np.bool_), *paragraphs]))


_CORE = "nsubj csubj obj iobj ccomp xcomp root"
_NON_CORE = "obl vocative expl dislocated advcl advmod discourse"
_NOMINAL = "nmod appos nummod acl amod"
_LOOSE = "conj fixed flat compound list parataxis orphan goeswith reparandum dep"

CONTENT_DEPRELS = frozenset(f"{_CORE} {_NON_CORE} {_NOMINAL} {_LOOSE}".split())
"""The relations of the words that CLAS and MLAS count."""

FUNCTIONAL_DEPRELS = frozenset(["aux", "case", "cc", "clf", "cop", "det", "mark"])
"""The relations of the children that must be correct too where MLAS counts a content word."""

_LEXICAL = "Abbr Foreign NumType Poss PronType Reflex"
_NOMINAL_FEATURES = "Animacy Case Definite Degree Gender Number"
_VERBAL_FEATURES = "Aspect Evident Mood Person Polarity Polite Tense VerbForm Voice"

UNIVERSAL_FEATURES = frozenset(f"{_LEXICAL} {_NOMINAL_FEATURES} {_VERBAL_FEATURES}".split())
"""The names of the features that UFeats, AllTags and MLAS compare; others are ignored."""


def universal_feats(feats: str) -> str:
    """The universal features of a FEATS cell, sorted; empty where there are none, as in ``_``."""
    return "|".join(
        sorted(part for part in feats.split("|") if part.split("=", 1)[0] in UNIVERSAL_FEATURES)
    )


def universal_deprel(deprel: str) -> str:
    """The universal relation of a DEPREL cell, which is the part before the first colon."""
    return deprel.split(":", 1)[0]
