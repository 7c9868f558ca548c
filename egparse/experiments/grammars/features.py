"""The features of the parts of a parse forest, hashed into one table of 2^bits weights.

Features come in two kinds. Those of a *constituent* [A, i, j] that is no tag are shared by all
parts that make it, so they are looked up once an item: A with its length, with its first and last
words, and with the words before and after it. Those of a *part* are its rule, the rule with the
words at its split point and with the lengths of its children; of A -> word, the tag with the type
of the word, its signature, and the words before and after it (Taskar et al. 2004, "Max-margin
parsing", section 4; Finkel et al. 2008).

Without ``anchored`` only rules, and tags with types, are features: the same parameters as those of
a probabilistic grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.experiments.grammars.forest import Forest
from egparse.experiments.grammars.lexicon import Lexicon, signatures
from egparse.features.hashing import change_weights, index_shift, mix, sum_weights, weight_index
from egparse.types import Floats, Ints, Singles, UInt32s

MOST_FEATURES = 16
"""Room for the features of one item or part."""

_FOLD = np.uint64(32)
_CONSTITUENT = np.uint64(0x9E3779B97F4A7C15)
_PART = np.uint64(0xC2B2AE3D27D4EB4F)
_OUTSIDE = 2
"""The first numbers stand for the places before and after the sentence."""


class Values(NamedTuple):
    """What features see of a sentence of n words: the type and the signature of each place from
    before the first word to behind the last, each (n + 2,).
    """

    types: Ints
    shapes: Ints


class Grouping(NamedTuple):
    """``tags`` is the number of symbols that are tags, ``first_word`` the number of the first rule
    A -> word; with ``anchored``, features see places and words.
    """

    tags: int
    first_word: int
    anchored: bool


class Signatures:
    """Numbers of signatures, given as they are met in training; unknown ones share a number."""

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        self._numbers: dict[str, int] = {}
        for words in sentences:
            for place, word in enumerate(words):
                self._numbers.setdefault(signatures(word, place == 0)[0], len(self._numbers))

    def values(self, words: Sequence[str], lexicon: Lexicon) -> Values:
        """What features see of the words."""
        shapes = [
            self._numbers.get(signatures(word, place == 0)[0], -1) + _OUTSIDE + 1
            for place, word in enumerate(words)
        ]
        types = (lexicon.numbers(words) + _OUTSIDE).tolist()
        return Values(
            np.array([0, *types, 1], dtype=np.int32), np.array([0, *shapes, 1], dtype=np.int32)
        )


@njit(inline=True)
def _length_bin(length: int) -> int:
    """1 to 5, then 6 for up to 7, 8 for up to 10, 9 for up to 20, and 10."""
    if length <= 5:
        return length
    return 6 if length <= 7 else 8 if length <= 10 else 9 if length <= 20 else 10


@njit(inline=True)
def _code(seed: np.uint64, kind: int, first: int, second: int, third: int) -> np.uint64:
    """The code of a feature: its kind, and up to three numbers."""
    code = mix(seed, np.uint64(kind), _FOLD)
    code = mix(code, np.uint64(first), _FOLD)
    code = mix(code, np.uint64(second), _FOLD)
    return mix(code, np.uint64(third), _FOLD)


@njit
def _constituent(
    symbol: int, i: int, j: int, types: Ints, shapes: Ints, shift: np.uint64, indices: UInt32s
) -> int:
    """Write the weights of the features of [symbol, i, j]; returns their number. Place p of the
    sentence is at p + 1.
    """
    seed, length = _CONSTITUENT, _length_bin(j - i)
    first, last, before, after = i + 1, j, i, j + 1
    indices[0] = weight_index(_code(seed, 1, symbol, length, 0), shift)
    indices[1] = weight_index(_code(seed, 2, symbol, types[first], 0), shift)
    indices[2] = weight_index(_code(seed, 3, symbol, types[last], 0), shift)
    indices[3] = weight_index(_code(seed, 4, symbol, types[before], 0), shift)
    indices[4] = weight_index(_code(seed, 5, symbol, types[after], 0), shift)
    indices[5] = weight_index(_code(seed, 6, symbol, shapes[first], shapes[last]), shift)
    indices[6] = weight_index(_code(seed, 7, symbol, shapes[before], shapes[after]), shift)
    indices[7] = weight_index(_code(seed, 8, symbol, types[before], types[first]), shift)
    indices[8] = weight_index(_code(seed, 9, symbol, types[last], types[after]), shift)
    return 9


@njit
def _part(
    rule: int,
    grouping: Grouping,
    i: int,
    k: int,
    j: int,
    types: Ints,
    shapes: Ints,
    shift: np.uint64,
    indices: UInt32s,
) -> int:
    """Write the weights of the features of a part; k is -1 where it has no split. Returns their
    number.
    """
    seed = _PART
    if rule >= grouping.first_word:
        own = i + 1
        indices[0] = weight_index(_code(seed, 1, rule, types[own], 0), shift)
        if not grouping.anchored:
            return 1
        indices[1] = weight_index(_code(seed, 2, rule, shapes[own], 0), shift)
        indices[2] = weight_index(_code(seed, 3, rule, types[own - 1], 0), shift)
        indices[3] = weight_index(_code(seed, 4, rule, types[own + 1], 0), shift)
        indices[4] = weight_index(_code(seed, 5, rule, shapes[own - 1], shapes[own]), shift)
        indices[5] = weight_index(_code(seed, 6, rule, shapes[own], shapes[own + 1]), shift)
        return 6
    indices[0] = weight_index(_code(seed, 7, rule, 0, 0), shift)
    if not grouping.anchored or k < 0:
        return 1
    indices[1] = weight_index(_code(seed, 8, rule, types[k], 0), shift)
    indices[2] = weight_index(_code(seed, 9, rule, types[k + 1], 0), shift)
    indices[3] = weight_index(_code(seed, 10, rule, _length_bin(k - i), _length_bin(j - k)), shift)
    return 4


@njit(separate=True)
def score_parts(
    forest: Forest,
    values: Values,
    grouping: Grouping,
    weights: Singles,
    indices: UInt32s,
    scores: Floats,
) -> None:
    """Write the score of each part of the forest; ``indices`` (MOST_FEATURES,) is a buffer."""
    shift = index_shift(weights)
    items, starts, left, rule = forest.items, forest.part_starts, forest.left, forest.rule
    types, shapes = values.types, values.shapes
    for t in range(items.shape[0]):
        i, j, symbol = items[t, 0], items[t, 1], items[t, 2]
        shared = 0.0
        if grouping.anchored and symbol >= grouping.tags:
            count = _constituent(symbol, i, j, types, shapes, shift, indices)
            shared = float(sum_weights(weights, indices, count))
        for r in range(starts[t], starts[t + 1]):
            below = items[left[r], 1] if left[r] < items.shape[0] else j
            split = below if below < j else -1
            count = _part(rule[r], grouping, i, split, j, types, shapes, shift, indices)
            scores[r] = shared + sum_weights(weights, indices, count)


@njit(separate=True)
def add_parts(
    forest: Forest,
    values: Values,
    grouping: Grouping,
    changes: Floats,
    weights: Singles,
    indices: UInt32s,
) -> float:
    """Add ``changes[r]`` times the features of each part r to the weights; returns the change of
    their squared norm, exact for the weights as stored.
    """
    shift = index_shift(weights)
    items, starts, left, rule = forest.items, forest.part_starts, forest.left, forest.rule
    types, shapes = values.types, values.shapes
    grown = 0.0
    for t in range(items.shape[0]):
        i, j, symbol = items[t, 0], items[t, 1], items[t, 2]
        shared = 0.0
        for r in range(starts[t], starts[t + 1]):
            change = np.float32(changes[r])
            if change == 0.0:
                continue
            shared += float(change)
            below = items[left[r], 1] if left[r] < items.shape[0] else j
            split = below if below < j else -1
            count = _part(rule[r], grouping, i, split, j, types, shapes, shift, indices)
            grown += change_weights(weights, indices, count, change)
        if shared != 0.0 and grouping.anchored and symbol >= grouping.tags:
            count = _constituent(symbol, i, j, types, shapes, shift, indices)
            grown += change_weights(weights, indices, count, np.float32(shared))
    return grown
