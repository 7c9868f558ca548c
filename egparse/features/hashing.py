"""Hashing of features into a table of 2^bits weights: codes of 64 bits, and the weights that they
select.

A feature is a conjunction of small integers. They are mixed into a code one by one, and the highest
bits of the code times an odd constant are the index of the weight (multiplicative hashing: Knuth,
The Art of Computer Programming, volume 3, section 6.4). Features whose indices are equal share a
weight (Weinberger et al. 2009, "Feature hashing for large scale multitask learning"). The constants
are those of published hash functions; stored models depend on every one of them.

Small functions here are inlined into the kernels that call them.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.types import Int8s, Singles, UInt32s

MIXER = np.uint64(0xFF51AFD7ED558CCD)
"""The first multiplier of MurmurHash3's 64-bit finaliser."""

_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
_RIGHTWARD = np.uint64(0xD6E8FEB86659FD93)
_LEFTWARD = np.uint64(0xA5A5A5A5A5A5A5A7)
_FNV_PRIME = np.uint64(0x100000001B3)


@njit(inline=True)
def mix(code: np.uint64, value: np.uint64, fold: np.uint64) -> np.uint64:
    """The code after one more value: exclusive or, a product, and its upper bits folded down by
    ``fold``.
    """
    mixed = (code ^ value) * MIXER
    return mixed ^ (mixed >> fold)


@njit(inline=True)
def mix_character(code: np.uint64, character: np.uint64) -> np.uint64:
    """The code after one more character: a step of FNV-1a, by whole characters instead of bytes."""
    return (code ^ character) * _FNV_PRIME


@njit(inline=True)
def direction_code(head: int, dependent: int) -> np.uint64:
    """The code of an arc's direction: to the right or to the left."""
    return _RIGHTWARD if head < dependent else _LEFTWARD


@njit(inline=True)
def index_shift(weights: Singles | Int8s) -> np.uint64:
    """The shift of ``weight_index`` for a table of 2^bits weights: 64 - bits."""
    return np.uint64(64) - np.uint64(np.round(np.log2(weights.shape[0])))


@njit(inline=True)
def weight_index(code: np.uint64, shift: np.uint64) -> np.uint32:
    """The index of a code's weight: the highest bits of a product."""
    return np.uint32((code * _GOLDEN_RATIO) >> shift)


@njit
def sum_weights(cells: Singles | Int8s, indices: UInt32s, n: int, sums: Singles) -> None:
    """Write to ``sums`` (2, items) the sums of the cells (see ``storage.arrays.Weights``) at the
    first ``n`` rows of indices (rows, items): of the even rows and of the odd ones.
    """
    # row by row, so that no item waits for its last weight before the next one is looked up
    sums[:] = 0.0
    for f in range(n):
        row, total = indices[f], sums[f % 2]
        for r in range(total.shape[0]):
            total[r] += np.float32(cells[row[r]])


@njit
def in_units(step: float | None, total: np.float32) -> float:
    """The sum of weights of which the cells add up to ``total``; exact, as steps are powers of two
    and no sum has 2^24 of them.
    """
    # numba knows the type of None and compiles one of the two
    return np.float64(total) if step is None else step * np.float64(total)


@njit(inline=True)
def change_weight(weights: Singles, index: np.uint32, change: np.float32) -> float:
    """Add a change to one weight; returns by how much its square grows, exactly as it is stored."""
    old = weights[index]
    new = np.float32(old + change)
    weights[index] = new
    # new^2 - old^2, without the cancellation of a difference of squares
    return (np.float64(new) - np.float64(old)) * (np.float64(new) + np.float64(old))
