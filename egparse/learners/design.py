"""The design matrix of a problem of choices: which attributes each choice has, and which pairs of
attribute and label have a weight.

Most learners need only scores, inference and ``add`` (``egparse.learners.problem.Problem``). Those
that count, and those that solve for one weight at a time, need the weights behind the scores. A
problem has a design matrix if its examples are choices among labels, either one by one or along
sequences whose label bigrams have weights too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.types import Floats, Longs, Mask


class DesignMatrix(NamedTuple):
    """N choices among L labels, with A attributes.

    Choice k has the attributes ``attributes[row_starts[k]:row_starts[k + 1]]`` with their
    ``values``, the correct label ``labels[k]``, and the candidate labels where ``candidates[k]``
    (N, L) is true (None: all). Attribute a has weights for the labels
    ``pair_labels[pair_starts[a]:pair_starts[a + 1]]``, ascending; a score is the sum of values
    times weights.

    ``groups`` (A,): the attributes of a group exclude each other, and have the value 1 (None: any
    number of attributes, any values). ``sequence_starts`` (S + 1): sequence s is the choices
    ``sequence_starts[s]:sequence_starts[s + 1]``. ``bigrams[previous, next]`` (L, L) says which
    label bigrams inside sequences have a weight (None: none, every choice is made by itself).
    """

    row_starts: Longs
    attributes: Longs
    values: Floats
    groups: Longs | None
    labels: Longs
    label_count: int
    candidates: Mask | None
    pair_starts: Longs
    pair_labels: Longs
    sequence_starts: Longs
    bigrams: Mask | None

    @property
    def attribute_count(self) -> int:
        """A."""
        return len(self.pair_starts) - 1

    def pair_attributes(self) -> Longs:
        """The attribute of every weight, (pairs,)."""
        return np.repeat(np.arange(self.attribute_count), np.diff(self.pair_starts))
