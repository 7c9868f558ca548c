"""What a hidden Markov model emits: frequent words as themselves, rare and unknown words as a class.

A word seen at most ``rare`` times in training is a class, in training and in use alike, so that probabilities still sum to 1. Which class:
tokens come with candidates, best first (say suffixes, longest first); the first that enough rare tokens of the training data have
is taken, and one class of all rare words where none is. Without candidates there is only that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from egparse.errors import EgparseError

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WordSymbols:
    """``of_word`` (V,) and ``of_class`` (K,): symbol numbers, or -1; ``rare`` is the symbol of words that have neither."""

    of_word: Ints
    of_class: Ints
    rare: int

    @property
    def count(self) -> int:
        """The number of symbols."""
        return self.rare + 1

    @classmethod
    def learn(cls, words: Ints, classes: Ints | None, *, rare: int, class_minimum: int) -> WordSymbols:
        """From training tokens: ``words`` (n,) from 0, ``classes`` (n, candidates) of them or None, -1 for none.

        Raises:
            EgparseError: an unknown word (-1) in training, or classes for another number of words.
        """
        if words.min(initial=0) < 0:
            raise EgparseError("hmm: expected word numbers of at least 0 in training, got -1")
        tokens = np.bincount(words)
        kept = tokens > rare
        of_word = np.where(kept, np.cumsum(kept) - 1, -1)
        first = int(kept.sum())
        of_class = np.zeros(0, dtype=np.int64)
        if classes is not None:
            if classes.ndim != 2 or len(classes) != len(words):
                raise EgparseError(
                    f"hmm: expected classes of {len(words)} words, got an array of shape {classes.shape}"
                )
            own = classes[~kept[words]]
            of_rare = np.bincount(own[own >= 0], minlength=int(np.max(classes, initial=-1)) + 1)
            common = of_rare >= max(1, class_minimum)
            of_class = np.where(common, first + np.cumsum(common) - 1, -1)
            first += int(common.sum())
        return cls(of_word, of_class, first)

    def symbols(self, words: Ints, classes: Ints | None = None) -> Ints:
        """(n,): the symbol of each token; words and classes that training had not are unknown, and may be -1."""
        out = np.full(len(words), self.rare, dtype=np.int64)
        if classes is not None:
            for column in classes.T[::-1]:  # the best candidate last: it overwrites the others
                found = _looked_up(self.of_class, column)
                out[found >= 0] = found[found >= 0]
        found = _looked_up(self.of_word, words)
        out[found >= 0] = found[found >= 0]
        return out


def suffix_classes(forms: Sequence[str], longest: int, numbers: dict[str, int], *, grow: bool) -> Ints:
    """(n, longest): the number of each form's suffix of ``longest``, ..., 1 characters, -1 where the form is shorter or it is new.

    ``numbers`` is suffix -> number; with ``grow`` new suffixes are added (training), without they are unknown.
    """
    out = np.full((len(forms), longest), -1, dtype=np.int64)
    for row, form in enumerate(forms):
        for column, length in enumerate(range(longest, 0, -1)):
            if len(form) >= length:
                suffix = form[-length:]
                out[row, column] = (
                    numbers.setdefault(suffix, len(numbers)) if grow else numbers.get(suffix, -1)
                )
    return out


def _looked_up(table: Ints, numbers: Ints) -> Ints:
    out = np.full(len(numbers), -1, dtype=np.int64)
    known = (numbers >= 0) & (numbers < len(table))
    out[known] = table[numbers[known]]
    return out
