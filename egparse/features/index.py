"""A hash table from 64-bit attribute keys to attribute numbers 0, 1, ..., without collisions of
keys: open addressing with linear probing.

Key 0 marks a free slot. A lookup reads one cache line on average, because a key and its number
stand side by side.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Ints, Longs, UInt64s

ABSENT = -1
"""The number of a key that is not in the index."""

_LOAD = 1.9  # slots per key: at one half full, a hit probes 1.5 slots and a miss 2.5
_BLOCK = 512  # slots of a block, which has about 200 keys
_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)


@njit(inline=True)
def slot_of(key: np.uint64, mask: np.uint64) -> np.uint64:
    """The first slot to look at for a key: the high bits of its product with Knuth's golden-ratio
    constant.
    """
    mixed = (key ^ (key >> np.uint64(29))) * _GOLDEN_RATIO
    return (mixed >> np.uint64(32)) & mask


@njit
def _fill(keys: UInt64s, values: UInt64s, slots: UInt64s) -> None:
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(keys.shape[0]):
        slot = slot_of(keys[number], mask)
        while slots[slot, 0] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot, 0] = keys[number]
        slots[slot, 1] = values[number]


@njit(inline=True)
def value_of(key: np.uint64, slots: UInt64s, mask: np.uint64, absent: np.uint64) -> np.uint64:
    """The value of a key, or what stands for one that is ``absent``."""
    found = absent
    if key != 0:
        slot = slot_of(key, mask)
        while slots[slot, 0] != 0:
            if slots[slot, 0] == key:
                found = slots[slot, 1]
                break
            slot = (slot + np.uint64(1)) & mask
    return found


@njit
def look_up(keys: UInt64s, slots: UInt64s, numbers: Ints) -> None:
    """Write the number of each key, or ``ABSENT``, into ``numbers``; both are (m,)."""
    mask, absent = np.uint64(slots.shape[0] - 1), np.uint64(0xFFFFFFFF)
    for k in range(keys.shape[0]):
        numbers[k] = np.int32(np.int64(value_of(keys[k], slots, mask, absent)))


class KeyIndex:
    """The index of ``keys``, which are distinct and not 0; key ``keys[a]`` has number ``a``."""

    def __init__(self, keys: UInt64s) -> None:
        self.keys = np.ascontiguousarray(keys, dtype=np.uint64)

    @cached_property
    def slots(self) -> UInt64s:
        """The table, (slots, 2): a key and its number in each slot.

        It is filled on first use: the first kernel of a process takes longer to load than a whole
        model takes to read.
        """
        return self.with_values(np.arange(len(self.keys), dtype=np.uint64))

    def with_values(self, values: UInt64s) -> UInt64s:
        """Such a table with other values (keys,) instead of numbers."""
        slots = np.zeros((self.size, 2), dtype=np.uint64)
        _fill(self.keys, values, slots)
        return slots

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def size(self) -> int:
        """The number of slots."""
        return 1 << max(3, int(np.ceil(np.log2(_LOAD * max(1, len(self.keys))))))

    def is_spread(self) -> bool:
        """Whether the keys are spread over the table: no block of ``_BLOCK`` slots is the first
        choice of more than 7/8 as many keys.

        Keys that were made to collide would take quadratic time. With an eighth of each block free,
        a run of filled slots is at most some thousand long.
        """
        # the blocks of ``slot_of``, in place
        blocks = self.keys >> np.uint64(29)
        blocks ^= self.keys
        blocks *= _GOLDEN_RATIO
        blocks >>= np.uint64(32 + _BLOCK.bit_length() - 1)
        blocks &= np.uint64((self.size - 1) // _BLOCK)
        return bool(np.bincount(blocks.view(np.int64), minlength=1).max() <= _BLOCK * 7 // 8)

    def numbers(self, keys: UInt64s) -> Ints:
        """The number of each key in an array of any shape, ``ABSENT`` where it is not indexed."""
        numbers = np.empty(keys.size, dtype=np.int32)
        look_up(keys.reshape(-1), self.slots, numbers)
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
