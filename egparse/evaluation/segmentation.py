"""Scores of segmentation, by gold sentence: tokens or sentences whose both ends are right.

A segment is a range between two neighbouring boundaries, in characters where the words of gold and
system may differ, in words where they are the same. This is how CoNLL 2018 counts tokens and
sentences (``conll18_ud_eval.py`` 1.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from egparse.types import Longs, Mask


def segment_counts(
    gold: npt.ArrayLike, system: npt.ArrayLike, sentence_ends: npt.ArrayLike
) -> Longs:
    """``counts[gold sentence] = (correct, gold, system)`` segments, shape (sentences, 3).

    ``gold`` and ``system`` are ascending boundaries from the start of the text to its end;
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
    """The numbers of the words at which sentences start."""
    return np.flatnonzero(np.concatenate([np.zeros(0, dtype=np.bool_), *paragraphs]))
