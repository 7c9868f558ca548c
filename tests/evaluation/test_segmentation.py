"""Counts of segments by gold sentence, against sets of ranges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from egparse.evaluation.scores import segment_counts, sentence_counts

LENGTH = 12
CUTS = st.sets(st.integers(1, LENGTH - 1)).map(lambda cuts: [0, *sorted(cuts), LENGTH])


@given(CUTS, CUTS, CUTS)
def test_segments_are_counted_where_they_start(
    gold: list[int], system: list[int], sentences: list[int]
) -> None:
    counts = segment_counts(gold, system, sentences[1:])
    wanted, predicted = set(pairwise(gold)), set(pairwise(system))
    for row, (start, end) in zip(counts.tolist(), pairwise(sentences), strict=True):
        groups = (wanted & predicted, wanted, predicted)
        assert row == [sum(start <= a < end for a, _ in group) for group in groups]


def test_sentences_of_paragraphs_are_counted_by_gold_sentence() -> None:
    gold = [np.array([1, 0, 1, 0], dtype=bool), np.array([1, 0], dtype=bool)]
    system = [np.array([1, 0, 1, 1], dtype=bool), np.array([1, 0], dtype=bool)]
    assert sentence_counts(gold, system).tolist() == [[1, 1, 1], [0, 1, 2], [1, 1, 1]]
    assert sentence_counts([], []).shape == (0, 3)
    with pytest.raises(ValueError, match="the same numbers of words"):
        sentence_counts(gold, system[:1])
