"""Which (attribute, label) pairs have a weight: those seen in training, and all labels for frequent
attributes.

Pairs that were never seen can only get negative weights; they are worth having where an attribute
is frequent enough for its absence with a label to mean something.
"""

from __future__ import annotations

import numpy as np

from egparse.features.sequence import WeightRows, observed_pairs, rows_of
from egparse.types import Ints

NEVER = 0


def supported_rows(
    attributes: Ints,
    labels: Ints,
    n_attributes: int,
    n_labels: int,
    all_labels_from: int = NEVER,
) -> WeightRows:
    """Rows of zero weights.

    ``attributes`` is (words, templates), -1 where absent; ``labels`` is (words,). An attribute seen
    at least ``all_labels_from`` times has every label, any other those seen with it; ``NEVER``
    limits all of them to what was seen.
    """
    pairs = observed_pairs(attributes, labels, n_labels)
    if all_labels_from != NEVER:
        counts = np.bincount(attributes[attributes >= 0], minlength=n_attributes)
        frequent = np.flatnonzero(counts >= all_labels_from)
        every = (frequent[:, None] * n_labels + np.arange(n_labels)).reshape(-1)
        pairs = np.union1d(pairs, every)
    return rows_of(pairs, n_attributes, n_labels)
