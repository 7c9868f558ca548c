"""Weights of (attribute, label) pairs: scores of every label at every word, and sparse changes of
the weights.

A row of the weight table belongs to one attribute and holds only the labels of its support (the
pairs seen in training, or all), so that a tag set of 650 bundles costs what its ambiguity costs,
not its size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Ints, Longs, Singles, UInt16s


class WeightRows(NamedTuple):
    """Attribute ``a`` has the weights ``weights[starts[a]:starts[a + 1]]``, of the labels
    ``labels[...]``, ascending.
    """

    starts: Ints
    labels: UInt16s
    weights: Singles


def observed_rows(
    attributes: Ints,
    labels: Ints,
    n_attributes: int,
    n_labels: int,
) -> WeightRows:
    """Rows that hold the pairs seen: ``attributes`` is (words, templates), -1 where absent;
    ``labels`` is (words,).
    """
    return rows_of(observed_pairs(attributes, labels, n_labels), n_attributes, n_labels)


def observed_pairs(attributes: Ints, labels: Ints, n_labels: int) -> Longs:
    """The distinct pairs seen, ascending, each as attribute * n_labels + label."""
    pairs = attributes.astype(np.int64) * n_labels + labels[:, None]
    return np.unique(pairs[attributes >= 0])


def rows_of(pairs: Longs, n_attributes: int, n_labels: int) -> WeightRows:
    """Rows of zero weights for distinct, ascending pairs."""
    starts = np.searchsorted(pairs, np.arange(n_attributes + 1, dtype=np.int64) * n_labels)
    labels = (pairs % n_labels).astype(np.uint16)
    return WeightRows(starts.astype(np.int32), labels, np.zeros(len(pairs), dtype=np.float32))


def all_rows(n_attributes: int, n_labels: int) -> WeightRows:
    """Rows that hold every label for every attribute."""
    starts = np.arange(n_attributes + 1, dtype=np.int64) * n_labels
    labels = np.tile(np.arange(n_labels, dtype=np.uint16), n_attributes)
    return WeightRows(starts.astype(np.int32), labels, np.zeros(len(labels), dtype=np.float32))


@njit
def score_candidates(
    attributes: Ints,
    rows: WeightRows,
    starts: Ints,
    candidates: UInt16s,
    buffer: Floats,
    scores: Floats,
) -> None:
    """Score the candidate labels of each word of one sentence.

    ``attributes`` is (n, templates); word ``k`` has the candidates ``candidates[starts[k]:starts[k
    + 1]]`` and their scores go to the same places of ``scores``. ``buffer`` has room for every
    label.
    """
    row_starts, labels, weights = (
        rows.starts,
        rows.labels,
        rows.weights,
    )  # numba counts a reference an access
    for k in range(attributes.shape[0]):
        buffer[:] = 0.0
        for t in range(attributes.shape[1]):
            a = attributes[k, t]
            if a >= 0:
                for r in range(row_starts[a], row_starts[a + 1]):
                    buffer[labels[r]] += weights[r]
        for c in range(starts[k], starts[k + 1]):
            scores[c] = buffer[candidates[c]]


@njit
def add_candidates(
    attributes: Ints,
    rows: WeightRows,
    starts: Ints,
    candidates: UInt16s,
    buffer: Floats,
    changes: Floats,
) -> float:
    """Add ``changes`` (laid out as the scores) times the features of each candidate to the weights.

    Returns the change of the squared norm of the weights, exact for the weights as stored: each
    step adds (new - old)(new + old). ``buffer`` must be zero on entry and is zero on return.
    """
    row_starts, labels, weights = rows.starts, rows.labels, rows.weights
    grown = 0.0
    for k in range(attributes.shape[0]):
        moved = False
        for c in range(starts[k], starts[k + 1]):
            buffer[candidates[c]] = changes[c]
            moved |= changes[c] != 0.0
        if moved:
            for t in range(attributes.shape[1]):
                a = attributes[k, t]
                if a >= 0:
                    for r in range(row_starts[a], row_starts[a + 1]):
                        old = weights[r]
                        new = np.float32(old + buffer[labels[r]])
                        weights[r] = new
                        grown += (np.float64(new) - np.float64(old)) * (
                            np.float64(new) + np.float64(old)
                        )
        for c in range(starts[k], starts[k + 1]):
            buffer[candidates[c]] = 0.0
    return grown
