"""How words are cased inside of sentences: a word that is small there, as a rule, but capitalised
where it stands, is likely to start a sentence (the statistic of truecasing: Lita et al. 2003,
"tRuEcasIng", section 2.1).
"""

from __future__ import annotations

import numpy as np

from egparse.features.templates import MAX_VALUE
from egparse.features.vocabulary import FIRST_VALUE
from egparse.types import Ints, Longs, Mask, UInt8s

N_CASINGS = 7
"""Not seen inside of a sentence; small, seldom and often seen; rather small; rather capitalised;
capitalised, seldom and often seen.
"""

_FEW = 5
_RARELY, _RATHER = 0.05, 0.5


class CasingCounts:
    """How often words stand inside of sentences of a corpus in small letters, and capitalised, by
    their column ``lower``.
    """

    def __init__(self, lower: Ints, small: Mask, capital: Mask, starts: Mask) -> None:
        self._lower = lower
        self._small, self._capital = small & ~starts, capital & ~starts

    def of_corpus(self, fold_of: Longs) -> Ints:
        """The value of each word of the corpus, (words,), as the other folds have it.

        Without its own occurrence alone a word would be seen inside of sentences once less where
        it stands inside than where it starts one, which new text does not tell.
        """
        values = np.empty(len(self._lower), dtype=np.int32)
        for fold in range(int(fold_of.max(initial=-1)) + 1):
            here = fold_of == fold
            values[here] = casings_of(self._lower[here], self._table(~here))
        return values

    def table(self) -> UInt8s:
        """The casing of any word by its column ``lower``; (MAX_VALUE + 1,)."""
        return self._table(np.ones(len(self._lower), dtype=np.bool_))

    def _table(self, among: Mask) -> UInt8s:
        small, capital = (
            np.bincount(self._lower[seen & among], minlength=MAX_VALUE + 1)
            for seen in (self._small, self._capital)
        )
        return _casings(small, capital)


def casings_of(lower: Ints, table: UInt8s) -> Ints:
    """The values of words, (words,), from a table."""
    return table[lower].astype(np.int32) + FIRST_VALUE


def _casings(small: Longs, capital: Longs) -> UInt8s:
    seen = small + capital
    share = capital / np.maximum(seen, 1)
    often = seen >= _FEW
    found = np.where(share < _RARELY, 1 + often, np.where(share < _RATHER, 3, 4))
    found = np.where(share > 1 - _RARELY, 5 + often, found)
    return np.where(seen > 0, found, 0).astype(np.uint8)
