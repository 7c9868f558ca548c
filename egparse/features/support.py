"""The (attribute, label) pairs that have a weight: those seen in training, and all labels of
frequent attributes.

A pair that was never seen can only get a negative weight. It is worth having where the attribute is
so frequent that its absence with a label is evidence against the label.
"""

from __future__ import annotations

import numpy as np

from egparse.features.sequence import WeightRows, observed_pairs, rows_of
from egparse.types import Ints

NEVER = 0
"""As ``full_row_min_count``: no attribute has labels that it was not seen with."""


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
    pairs = observed_pairs(attributes, labels, n_labels)
    if full_row_min_count != NEVER:
        counts = np.bincount(attributes[attributes >= 0], minlength=n_attributes)
        frequent = np.flatnonzero(counts >= full_row_min_count)
        every = (frequent[:, None] * n_labels + np.arange(n_labels)).reshape(-1)
        pairs = np.union1d(pairs, every)
    return rows_of(pairs, n_attributes, n_labels)
