"""The lexicon of a tokeniser: tokens of several pieces that training has seen, as hashes, and what
it knows of the places between pieces.

In training each token is left out where it stands itself, so that the lexicon is as incomplete
there as for new text.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.features.hashing import mix_character
from egparse.features.index import KeyIndex, slot_of
from egparse.features.vocabulary import FIRST_VALUE
from egparse.text.tokenising.pieces import BLANK, OPEN, Pieces
from egparse.types import Ints, Longs, UInt8s, UInt32s, UInt64s

LONGEST = 8
"""Pieces of the longest token that the lexicon has."""

_SEED = np.uint64(0xCBF29CE484222325)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_SPACE = np.uint64(32)

NO_GOLD = np.zeros(0, dtype=np.uint8)
"""In place of gold labels, where there are none."""


def hashes_of_tokens(pieces: Pieces, small: UInt32s, starts_token: UInt8s) -> UInt64s:
    """The hash of each token of 2 to ``LONGEST`` pieces. ``starts_token`` (pieces,) is 1 where one
    starts.
    """
    hashes = np.zeros(len(pieces), dtype=np.uint64)
    _hash_tokens(
        pieces.codes, pieces.bounds, pieces.gaps, pieces.links, small, starts_token, hashes
    )
    return hashes[hashes > 0]


@njit(inline=True)
def _hash_piece(
    code: np.uint64,
    codes: UInt32s,
    first: int,
    end: int,
    after_blank: bool,
    small: UInt32s,
) -> np.uint64:
    """The hash of a token after one more piece."""
    if after_blank:
        code = mix_character(code, _SPACE)
    for c in range(first, end):
        code = mix_character(code, np.uint64(small[codes[c]]))
    return code


@njit(inline=True)
def _key(code: np.uint64) -> np.uint64:
    """32 bits of a hash, not 0."""
    return max(np.uint64(1), (code ^ (code >> _HALF)) & _LOW)


@njit
def _hash_tokens(
    codes: UInt32s,
    bounds: Longs,
    gaps: UInt8s,
    links: UInt8s,
    small: UInt32s,
    starts_token: UInt8s,
    hashes: UInt64s,
) -> None:
    m = links.shape[0]
    first = 0
    while first < m:
        end = first + 1
        while end < m and starts_token[end] == 0 and links[end] == OPEN:
            end += 1
        if 1 < end - first <= LONGEST:
            code = _SEED
            for k in range(first, end):
                blank = k > first and gaps[k] == BLANK
                code = _hash_piece(code, codes, bounds[k], bounds[k + 1], blank, small)
            hashes[first] = _key(code)
        first = end


class Lexicon:
    """Tokens of several pieces, by their hashes ``index``; token ``k`` was seen ``counts[k]`` times
    in training (empty once it is over).
    """

    def __init__(self, index: KeyIndex, counts: Ints) -> None:
        self.index, self.counts = index, counts

    @classmethod
    def of(cls, hashes: UInt64s) -> Lexicon:
        """The lexicon of the tokens of a corpus."""
        keys = np.sort(hashes)
        is_first = np.ones(len(keys), dtype=np.bool_)
        is_first[1:] = keys[1:] != keys[:-1]
        places = np.append(np.flatnonzero(is_first), len(keys))
        return cls(KeyIndex(keys[is_first]), np.diff(places).astype(np.int32))

    def mark(
        self,
        pieces: Pieces,
        small: UInt32s,
        starts_token: UInt8s,
        before: Ints,
        after: Ints,
        around: Ints,
    ) -> None:
        """Fill, for the place before each piece: the number of pieces of the longest known token
        that ends there, that starts there, and, for the longest around it, how many of its pieces
        (at most 3) stand left and right of it.

        With ``starts_token``, see ``hashes_of_tokens``, a token does not count where it stands.
        """
        _mark(
            pieces.codes,
            pieces.bounds,
            pieces.gaps,
            pieces.links,
            small,
            self.index.slots,
            self.counts,
            starts_token,
            before,
            after,
            around,
        )


@njit(separate=True)
def _mark(
    codes: UInt32s,
    bounds: Longs,
    gaps: UInt8s,
    links: UInt8s,
    small: UInt32s,
    slots: UInt64s,
    counts: Ints,
    starts_token: UInt8s,
    before: Ints,
    after: Ints,
    around: Ints,
) -> None:
    m = links.shape[0]
    mask = np.uint64(slots.shape[0] - 1)
    longest = np.zeros(m + 1, dtype=np.int32)  # pieces of the longest known token around a place
    for k in range(m):
        before[k], after[k], around[k] = FIRST_VALUE, FIRST_VALUE, FIRST_VALUE
    for first in range(m - 1):
        if links[first + 1] != OPEN:
            continue
        code = _hash_piece(_SEED, codes, bounds[first], bounds[first + 1], False, small)
        whole = starts_token.shape[0] > 0 and starts_token[first] == 1
        for last in range(first + 1, min(first + LONGEST, m)):
            if links[last] != OPEN:
                break
            code = _hash_piece(
                code, codes, bounds[last], bounds[last + 1], gaps[last] == BLANK, small
            )
            whole = whole and starts_token[last] == 0
            key = _key(code)
            slot = slot_of(key, mask)
            while slots[slot, 0] != 0 and slots[slot, 0] != key:
                slot = (slot + np.uint64(1)) & mask
            if slots[slot, 0] == 0:
                continue
            is_token = whole and (last + 1 == m or starts_token[last + 1] == 1)
            if is_token and counts[slots[slot, 1]] < 2:
                continue
            size = last + 1 - first
            after[first] = FIRST_VALUE + size
            if last + 1 < m and before[last + 1] < FIRST_VALUE + size:
                before[last + 1] = FIRST_VALUE + size
            for k in range(first + 1, last + 1):
                if longest[k] < size:
                    longest[k] = size
                    around[k] = FIRST_VALUE + 4 * min(k - first, 3) + min(last + 1 - k, 3)
