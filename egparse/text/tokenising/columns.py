"""The observables of a tokeniser: a row for each piece of a text, a column for each name that
templates use. What is decided at a row is whether a token starts with its piece.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.features.hashing import mix
from egparse.features.vocabulary import FIRST_VALUE
from egparse.text.splitting.characters import DIGIT, character_tables
from egparse.text.splitting.columns import bucket, observe_forms
from egparse.text.tokenising.lexicon import NO_GOLD, Lexicon
from egparse.text.tokenising.pieces import BLANK, CLOSE, WIDE, Pieces
from egparse.types import Ints, Longs, UInt8s, UInt32s

COLUMNS = (
    "lower", "shape", "suffix", "kind", "gap", "first", "last", "marks", "place", "before", "after",
    "around",
)  # fmt: skip
"""Of each piece: ``lower``, ``shape``, ``suffix`` and ``kind`` as those of words for the splitter
(``egparse.text.splitting.columns``), ``gap`` what stands before it: nothing, blanks, a paragraph's
beginning. Of the run without blanks that it stands in: ``first`` and ``last`` its first
and last piece, ``marks`` the set of its punctuation marks and symbols, ``place`` how many pieces
the run has before and after it (up to 3). Of the place before it: tokens that end there
(``before``), start there (``after``) or span it (``around``), see
``egparse.text.tokenising.lexicon``.
"""

_LOWER, _SHAPE, _SUFFIX, _KIND, _GAP, _FIRST, _LAST, _MARKS, _PLACE = range(9)
_BEFORE, _AFTER, _AROUND = range(9, 12)

_FOLD = np.uint64(32)


def columns_of(
    pieces: Pieces, codes: UInt32s, lexicon: Lexicon, starts_token: UInt8s = NO_GOLD
) -> Ints:
    """Values of shape (pieces, columns). With ``starts_token``, (pieces,), which is 1 where a token
    starts, the lexicon does not know a token where it stands.
    """
    kinds, small, _ = character_tables(codes)
    m = len(pieces)
    values = np.empty((m, len(COLUMNS)), dtype=np.int32)
    observe_forms(pieces.codes, pieces.bounds, kinds, small, values)
    _observe_runs(pieces.codes, pieces.bounds, pieces.gaps, kinds, values)
    before, after, around = (np.empty(m, dtype=np.int32) for _ in range(3))
    lexicon.mark(pieces, small, starts_token, before, after, around)
    values[:, _BEFORE], values[:, _AFTER], values[:, _AROUND] = before, after, around
    return values


@njit
def _observe_runs(codes: UInt32s, bounds: Longs, gaps: UInt8s, kinds: UInt8s, values: Ints) -> None:
    """Fill the columns of runs without blanks."""
    m = gaps.shape[0]
    first = 0
    while first < m:
        end = first + 1
        while end < m and gaps[end] == CLOSE:
            end += 1
        marks = np.uint64(0)
        for k in range(first, end):
            code = codes[bounds[k]]
            if kinds[code] > DIGIT:  # a punctuation mark or symbol
                marks |= np.uint64(1) << np.uint64(code & 63)
        marks = mix(np.uint64(0), marks, _FOLD)
        for k in range(first, end):
            # treebanks do not say where lines end, so any blanks are as good as a space
            values[k, _GAP] = FIRST_VALUE + (BLANK if gaps[k] == WIDE else gaps[k])
            values[k, _FIRST] = values[first, _LOWER]
            values[k, _LAST] = values[end - 1, _LOWER]
            values[k, _MARKS] = bucket(marks)
            values[k, _PLACE] = FIRST_VALUE + 4 * min(k - first, 3) + min(end - k - 1, 3)
        first = end
