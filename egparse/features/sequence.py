"""Weights of (attribute, label) pairs, and the scores of labels at words.

A row of weights belongs to one attribute and holds only the labels of its support: those seen with
it in training, or all labels if the attribute is frequent. So the cost of a tag set of 650 feature
bundles depends on the ambiguity of words and not on the number of bundles.

A pair that was never seen can only get a negative weight. It is worth having where the attribute is
so frequent that its absence with a label is evidence against the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.types import Ints, Longs, Singles, UInt16s

NEVER = 0
"""As ``full_row_min_count``: no attribute has labels that it was not seen with."""

SPARSITY = 4
"""A row is laid out as a vector if it holds at least one in so many of the labels: adding a vector
takes as long as adding a quarter of its elements one by one.
"""


class WeightRows(NamedTuple):
    """Attribute ``a`` has the weights ``weights[starts[a]:starts[a + 1]]``; the same slice of
    ``labels`` holds their labels, ascending.
    """

    starts: Ints
    labels: UInt16s
    weights: Singles


def supported_rows(
    attributes: Ints,
    labels: Ints,
    n_attributes: int,
    n_labels: int,
    full_row_min_count: int = NEVER,
) -> WeightRows:
    """Rows of zero weights for the pairs of a training corpus.

    ``attributes`` is (words, templates), -1 where absent; ``labels`` is (words,). An attribute seen
    at least ``full_row_min_count`` times has every label, any other the labels seen with it.
    """
    pairs = attributes.astype(np.int64) * n_labels + labels[:, None]
    pairs = _distinct(pairs[attributes >= 0])
    if full_row_min_count != NEVER:
        counts = np.bincount(attributes[attributes >= 0], minlength=n_attributes)
        frequent = np.flatnonzero(counts >= full_row_min_count)
        every = (frequent[:, None] * n_labels + np.arange(n_labels)).reshape(-1)
        pairs = _distinct(np.concatenate([pairs, every]))
    return rows_of(pairs, n_attributes, n_labels)


def supported_part_rows(
    attributes: Ints, labels: Ints, n_attributes: int, divided: LabelParts, full_from: Ints
) -> WeightRows:
    """The same over the parts of the labels, (parts,) of which ``full_from[part]`` is the number of
    words from which on an attribute has the part whatever it was seen with (``NEVER``: none has).
    """
    n_parts = len(full_from)
    counts = np.bincount(attributes[attributes >= 0], minlength=n_attributes)
    found = []
    sizes = np.diff(divided.starts)
    longest = int(sizes.max(initial=0))
    for place in range(longest):
        has = sizes[labels] > place
        part = divided.parts[divided.starts[labels[has]] + place].astype(np.int64)
        pairs = attributes[has].astype(np.int64) * n_parts + part[:, None]
        found.append(_distinct(pairs[attributes[has] >= 0]))
    for least in np.unique(full_from[full_from != NEVER]):
        frequent = np.flatnonzero(counts >= least)
        parts = np.flatnonzero(full_from == least)
        found.append((frequent[:, None] * n_parts + parts).reshape(-1))
    pairs = _distinct(np.concatenate([*found, np.empty(0, dtype=np.int64)]))
    return rows_of(pairs, n_attributes, n_parts)


def _distinct(numbers: Longs) -> Longs:
    """The numbers without repetitions, ascending.

    numpy's unique puts integers into a hash table, which takes ten times as long for millions.
    """
    numbers = np.sort(numbers)
    is_first = np.ones(len(numbers), dtype=np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return numbers[is_first]


def rows_of(pairs: Longs, n_attributes: int, n_labels: int) -> WeightRows:
    """Rows of zero weights for distinct, ascending pairs."""
    starts = np.searchsorted(pairs, np.arange(n_attributes + 1, dtype=np.int64) * n_labels)
    labels = (pairs % n_labels).astype(np.uint16)
    return WeightRows(starts.astype(np.int32), labels, np.zeros(len(pairs), dtype=np.float32))


class LabelParts(NamedTuple):
    """What labels are made of, where rows of weights hold parts of labels instead of labels: label
    ``l`` has the parts ``parts[starts[l]:starts[l + 1]]``, and its score is the sum of theirs
    (Mueller et al. 2013, "Efficient higher-order CRFs for morphological tagging", section 4).

    Without ``starts`` each label is its only part.
    """

    starts: Longs
    parts: UInt16s

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> LabelParts:
        """The parts of each label, given as a list."""
        starts = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(parts) for parts in lists], out=starts[1:])
        flat = [part for parts in lists for part in parts]
        return cls(starts, np.array(flat, dtype=np.uint16))


WHOLE_LABELS = LabelParts(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint16))
"""Labels that are not divided."""


class Division(NamedTuple):
    """How labels share weights: by their ``parts``, where an attribute seen ``full_from[part]``
    times (parts,) has the part whatever it was seen with (``NEVER``: none has), and by the
    ``classes`` (n_labels,) whose bigrams have weights.
    """

    parts: LabelParts
    full_from: Ints
    classes: UInt16s

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return 1 + int(self.classes.max(initial=0))


class DenseRows(NamedTuple):
    """Long rows once more, as vectors that are added at once: attribute ``a`` has the weights
    ``weights[rows[a]]`` (labels,), 0 outside of its support, or -1 for a row that is not among
    them.
    """

    rows: Ints
    weights: Singles

    @classmethod
    def of(cls, rows: WeightRows, n_labels: int) -> DenseRows:
        """The rows that hold at least one in ``SPARSITY`` of the labels, or parts of labels."""
        sizes = np.diff(rows.starts)
        long = np.flatnonzero(sizes * SPARSITY >= n_labels)
        numbers = np.full(len(sizes), -1, dtype=np.int32)
        numbers[long] = np.arange(len(long), dtype=np.int32)
        weights = np.zeros((len(long), n_labels), dtype=np.float32)
        row = np.repeat(numbers, sizes)
        inside = row >= 0
        weights[row[inside], rows.labels[inside]] = rows.weights[inside]
        return cls(numbers, weights)
