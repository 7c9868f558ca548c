"""A vocabulary: a map from strings to the integers 2, 3, ..., with 0 for unknown strings and 1 for
positions beyond the sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

UNKNOWN = 0
"""The value of a string that is not in the vocabulary; a template with such a value yields no
attribute.
"""

BOUNDARY = 1
"""The value of positions before the first and after the last word of a sentence."""

FIRST_VALUE = 2


class Vocabulary:
    """An immutable map from strings to values ``FIRST_VALUE``, ``FIRST_VALUE + 1``, ..."""

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = tuple(strings)
        values = range(FIRST_VALUE, FIRST_VALUE + len(self.strings))
        self.values = dict(zip(self.strings, values, strict=True))

    @classmethod
    def from_counts(cls, counts: Counter[str], min_count: int = 1) -> Vocabulary:
        """The strings counted at least ``min_count`` times, the most frequent first, ties in
        alphabetical order.
        """
        frequent = [string for string, count in counts.items() if count >= min_count]
        return cls(sorted(frequent, key=lambda string: (-counts[string], string)))

    @classmethod
    def of(cls, strings: Iterable[str]) -> Vocabulary:
        """The vocabulary of all strings that occur."""
        return cls.from_counts(Counter(strings))

    def __len__(self) -> int:
        return len(self.strings)

    @property
    def size(self) -> int:
        """One more than the largest value."""
        return FIRST_VALUE + len(self.strings)

    def encode(self, strings: Iterable[str]) -> list[int]:
        """The value of each string, ``UNKNOWN`` for those not in the vocabulary."""
        get = self.values.get
        return [get(string, UNKNOWN) for string in strings]

    def string(self, value: int) -> str:
        """The string of a value, or a readable name of the other values."""
        if value == BOUNDARY:
            return "<boundary>"
        if not FIRST_VALUE <= value < self.size:  # beyond: only keys of a crafted file
            return "<unknown>"
        return self.strings[value - FIRST_VALUE]
