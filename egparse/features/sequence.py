"""Weights of (attribute, label) pairs: scores of every label at every word, and sparse changes of the weights.

A row of the weight table belongs to one attribute and holds only the labels of its support (the pairs seen in
training, or all), so that a tag set of 650 bundles costs what its ambiguity costs, not its size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit


class WeightRows(NamedTuple):
    """Attribute ``a`` has the weights ``weights[starts[a]:starts[a + 1]]``, of the labels ``labels[...]``, ascending."""

    starts: npt.NDArray[np.int32]
    labels: npt.NDArray[np.uint16]
    weights: npt.NDArray[np.float32]


def observed_rows(
    attributes: npt.NDArray[np.int32], labels: npt.NDArray[np.int32], n_attributes: int, n_labels: int
) -> WeightRows:
    """Rows that hold the pairs seen: ``attributes`` is (words, templates), -1 where absent; ``labels`` is (words,)."""
    return rows_of(observed_pairs(attributes, labels, n_labels), n_attributes, n_labels)


def observed_pairs(
    attributes: npt.NDArray[np.int32], labels: npt.NDArray[np.int32], n_labels: int
) -> npt.NDArray[np.int64]:
    """The distinct pairs seen, ascending, each as attribute * n_labels + label."""
    pairs = attributes.astype(np.int64) * n_labels + labels[:, None]
    return np.unique(pairs[attributes >= 0])


def rows_of(pairs: npt.NDArray[np.int64], n_attributes: int, n_labels: int) -> WeightRows:
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
    attributes: npt.NDArray[np.int32],
    rows: WeightRows,
    starts: npt.NDArray[np.int32],
    candidates: npt.NDArray[np.uint16],
    buffer: npt.NDArray[np.float64],
    scores: npt.NDArray[np.float64],
) -> None:
    """Score the candidate labels of each word of one sentence.

    ``attributes`` is (n, templates); word ``k`` has the candidates ``candidates[starts[k]:starts[k + 1]]`` and their
    scores go to the same places of ``scores``. ``buffer`` has room for every label.
    """
    row_starts, labels, weights = rows.starts, rows.labels, rows.weights  # numba counts a reference an access
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
    attributes: npt.NDArray[np.int32],
    rows: WeightRows,
    starts: npt.NDArray[np.int32],
    candidates: npt.NDArray[np.uint16],
    buffer: npt.NDArray[np.float64],
    changes: npt.NDArray[np.float64],
) -> float:
    """Add ``changes`` (laid out as the scores) times the features of each candidate to the weights.

    Returns the change of the squared norm of the weights, exact for the weights as stored: each step adds
    (new - old)(new + old). ``buffer`` must be zero on entry and is zero on return.
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
                        grown += (np.float64(new) - np.float64(old)) * (np.float64(new) + np.float64(old))
        for c in range(starts[k], starts[k + 1]):
            buffer[candidates[c]] = 0.0
    return grown
