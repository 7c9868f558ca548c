"""A hash table from 64-bit attribute keys to attribute numbers 0, 1, ..., without collisions of
keys: open addressing, a line of four keys at a time.

Key 0 marks a free place. A line of the table is one of the processor's cache: four keys, and beside
them their values. All four are compared, as a branch for each would be mispredicted every other
time.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Ints, Longs, UInt64s

ABSENT = -1
"""The number of a key that is not in the index."""

_WIDTH = 4  # keys of a line
_LOAD = 1.9  # places per key: at one half full, one line in seven has no free place
_BLOCK = 128  # lines of a block, which has about 200 keys
_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)


@njit(inline=True)
def line_of(key: np.uint64, mask: np.uint64) -> np.uint64:
    """The first line to look at for a key: the high bits of its product with Knuth's golden-ratio
    constant.
    """
    mixed = (key ^ (key >> np.uint64(29))) * _GOLDEN_RATIO
    return (mixed >> np.uint64(32)) & mask


@njit
def _fill(keys: UInt64s, values: UInt64s, lines: UInt64s) -> None:
    mask = np.uint64(lines.shape[0] - 1)
    for number in range(keys.shape[0]):
        line = line_of(keys[number], mask)
        while lines[line, _WIDTH - 1] != 0:
            line = (line + np.uint64(1)) & mask
        place = 0
        while lines[line, place] != 0:
            place += 1
        lines[line, place] = keys[number]
        lines[line, _WIDTH + place] = values[number]


@njit(inline=True)
def value_of(key: np.uint64, lines: UInt64s, mask: np.uint64, absent: np.uint64) -> np.uint64:
    """The value of a key, or what stands for one that is ``absent``, as 0 is."""
    line, is_there = line_of(key, mask), key != 0
    while True:
        at_first, at_second = lines[line, 0] == key, lines[line, 1] == key
        at_third, at_fourth = lines[line, 2] == key, lines[line, 3] == key
        value = lines[line, 4] * np.uint64(at_first) + lines[line, 5] * np.uint64(at_second)
        value += lines[line, 6] * np.uint64(at_third) + lines[line, 7] * np.uint64(at_fourth)
        found = at_first | at_second | at_third | at_fourth
        if found or lines[line, 3] == 0:
            break
        line = (line + np.uint64(1)) & mask
    return value if is_there & found else absent


@njit
def look_up(keys: UInt64s, lines: UInt64s, numbers: Ints) -> None:
    """Write the number of each key, or ``ABSENT``, into ``numbers``; both are (m,)."""
    mask, absent = np.uint64(lines.shape[0] - 1), np.uint64(0xFFFFFFFF)
    for k in range(keys.shape[0]):
        numbers[k] = np.int32(np.int64(value_of(keys[k], lines, mask, absent)))


class KeyIndex:
    """The index of ``keys``, which are distinct and not 0; key ``keys[a]`` has number ``a``."""

    def __init__(self, keys: UInt64s) -> None:
        self.keys = np.ascontiguousarray(keys, dtype=np.uint64)

    @cached_property
    def lines(self) -> UInt64s:
        """The table, (lines, 8): four keys and their numbers in each line.

        It is filled on first use: the first kernel of a process takes longer to load than a whole
        model takes to read.
        """
        return self.with_values(np.arange(len(self.keys), dtype=np.uint64))

    def with_values(self, values: UInt64s) -> UInt64s:
        """Such a table with other values (keys,) instead of numbers."""
        width = 2 * _WIDTH
        room = np.zeros((self.n_lines + 1) * width, dtype=np.uint64)
        first = -room.ctypes.data // room.itemsize % width  # where a line of the cache begins
        lines = room[first : first + self.n_lines * width].reshape(self.n_lines, width)
        _fill(self.keys, values, lines)
        return lines

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n_lines(self) -> int:
        """The number of lines; some place is always free."""
        return 1 << max(1, int(np.ceil(np.log2(_LOAD / _WIDTH * max(1, len(self.keys))))))

    def is_spread(self) -> bool:
        """Whether the keys are spread over the table: no block of ``_BLOCK`` lines is the first
        choice of more than 7/8 as many keys as it has places for.

        Keys that were made to collide would take quadratic time. With an eighth of each block free,
        a run of filled lines is at most some hundred long.
        """
        # the blocks of ``line_of``, in place
        blocks = self.keys >> np.uint64(29)
        blocks ^= self.keys
        blocks *= _GOLDEN_RATIO
        blocks >>= np.uint64(32 + _BLOCK.bit_length() - 1)
        blocks &= np.uint64((self.n_lines - 1) // _BLOCK)
        most = _BLOCK * _WIDTH * 7 // 8
        return bool(np.bincount(blocks.view(np.int64), minlength=1).max() <= most)

    def numbers(self, keys: UInt64s) -> Ints:
        """The number of each key in an array of any shape, ``ABSENT`` where it is not indexed."""
        numbers = np.empty(keys.size, dtype=np.int32)
        look_up(keys.reshape(-1), self.lines, numbers)
        return numbers.reshape(keys.shape)


class Attributes(NamedTuple):
    """The attributes of words by number: ``numbers`` (words, templates) are those of ``key_index``,
    ``ABSENT`` where there is none.
    """

    key_index: KeyIndex
    numbers: Ints

    def select(self, words: Longs, min_count: int) -> Attributes:
        """The attributes of some words, given by their rows, in the index of those attributes that
        occur at least ``min_count`` times in them: as if no other words had been there.
        """
        numbers = self.numbers[words]
        counts = np.bincount(numbers.reshape(-1) + 1, minlength=len(self.key_index) + 1)
        keep = counts[1:] >= min_count
        # the last one is that of ``ABSENT``
        renumbered = np.full(len(keep) + 1, ABSENT, dtype=np.int32)
        renumbered[:-1][keep] = np.arange(int(keep.sum()), dtype=np.int32)
        return Attributes(KeyIndex(self.key_index.keys[keep]), renumbered[numbers])
