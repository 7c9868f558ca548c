"""Counts of correct, gold and predicted items, and their rates in per cent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from egparse.types import Longs


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
