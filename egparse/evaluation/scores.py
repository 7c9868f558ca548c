"""Counts of right, gold and predicted things, and the rates they give: per cent everywhere in this
room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from egparse.types import Longs


class Score(NamedTuple):
    """How many things are right, in gold, and in the system's output; rates are per cent, and 0/0
    is 0.
    """

    correct: int
    gold: int
    system: int

    @property
    def precision(self) -> float:
        """Share of the system's things that are right, in per cent."""
        return _per_cent(self.correct, self.system)

    @property
    def recall(self) -> float:
        """Share of gold's things that the system found, in per cent."""
        return _per_cent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in per cent; an accuracy where gold equals
        system.
        """
        return _per_cent(2 * self.correct, self.gold + self.system)


def total(counts: Longs) -> Score:
    """The score of a corpus from its ``counts[sentence] = (correct, gold, system)``."""
    correct, gold, system = counts.sum(axis=0)
    return Score(int(correct), int(gold), int(system))


def scores_by_key(
    correct: Iterable[str], gold: Iterable[str], system: Iterable[str]
) -> dict[str, Score]:
    """One score for each key, sorted, from the keys of the right, the gold and the predicted
    things.
    """
    right, wanted, found = Counter(correct), Counter(gold), Counter(system)
    return {k: Score(right[k], wanted[k], found[k]) for k in sorted({*wanted, *found})}


def _per_cent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
