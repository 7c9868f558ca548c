"""A vocabulary: strings to dense positive integers, with 0 for what is unknown and 1 for the
sentence boundary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

UNKNOWN = 0
"""The value of a string that is not in the vocabulary; a template that meets it yields no
attribute.
"""

BOUNDARY = 1
"""The value beyond the first and last word of a sentence."""

FIRST_VALUE = 2


class Vocabulary:
    """An immutable map from strings to values ``FIRST_VALUE``, ``FIRST_VALUE + 1``, ..."""

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = tuple(strings)
        self.values = {string: value for value, string in enumerate(self.strings, FIRST_VALUE)}

    @classmethod
    def from_counts(cls, counts: Counter[str], min_count: int = 1) -> Vocabulary:
        """The strings counted at least ``min_count`` times, the most frequent first, ties in
        alphabetical order.
        """
        kept = [string for string, count in counts.items() if count >= min_count]
        return cls(sorted(kept, key=lambda string: (-counts[string], string)))

    @classmethod
    def of(cls, strings: Iterable[str]) -> Vocabulary:
        """Every string that occurs."""
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
        """The string of a value, for people to read."""
        if value == BOUNDARY:
            return "<boundary>"
        if value == UNKNOWN:
            return "<unknown>"
        return self.strings[value - FIRST_VALUE]
