"""The design matrix of a sequence problem, for learners that count or update weights one by one."""

from __future__ import annotations

import numpy as np

from egparse.features.packed import PackedRows, Placement
from egparse.features.sequence import WeightRows
from egparse.learners.design import DesignMatrix
from egparse.sequences.sequence_layout import SequenceLayout
from egparse.types import Floats, Ints, Longs, Mask


def design_of(
    attributes: Ints,
    rows: WeightRows,
    layout: SequenceLayout,
    n_labels: int,
    support: Mask | None,
) -> DesignMatrix:
    """Words as choices; the attributes of one template, a column of ``attributes`` (words,
    templates), are a group.
    """
    present = attributes >= 0
    groups = np.zeros(len(rows.starts) - 1, dtype=np.int64)
    for template in range(attributes.shape[1]):
        groups[attributes[present[:, template], template]] = template
    return DesignMatrix(
        row_starts=np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64),
        attributes=attributes[present].astype(np.int64),
        values=np.ones(int(present.sum())),
        groups=groups,
        labels=layout.candidates[_places_of_gold(layout)].astype(np.int64),
        label_count=n_labels,
        candidates=_candidates(layout, n_labels),
        pair_starts=rows.starts.astype(np.int64),
        pair_labels=rows.labels.astype(np.int64),
        sequence_starts=layout.words.astype(np.int64),
        bigrams=support,
    )


def set_rows(packed: PackedRows, placement: Placement, rows: WeightRows, weights: Floats) -> None:
    """Write weights, in the order of ``rows``, into the training layout: the inverse of
    ``features.packed.unpack``.
    """
    sizes = np.diff(rows.starts)
    attribute = np.repeat(np.arange(len(sizes)), sizes)
    dense, sparse = placement.dense[attribute], placement.sparse[attribute]
    packed.dense[dense[dense >= 0], rows.labels[dense >= 0]] = weights[dense >= 0]
    places = sparse + np.arange(len(weights)) - rows.starts[attribute]
    packed.sparse[places[sparse >= 0]] = weights[sparse >= 0]


def _places_of_gold(layout: SequenceLayout) -> Longs:
    """The index of each word's correct label among all candidates, shape (words,); ``gold`` counts
    from the sentence's first candidate.
    """
    sentence = np.repeat(np.arange(len(layout.words) - 1), np.diff(layout.words))
    return layout.candidate_starts[layout.words[sentence]] + layout.gold


def _candidates(layout: SequenceLayout, n_labels: int) -> Mask | None:
    """The candidates as a mask (words, labels); None if every word may have every label."""
    sizes = np.diff(layout.candidate_starts)
    if (sizes == n_labels).all():
        return None
    allowed = np.zeros((len(sizes), n_labels), dtype=bool)
    allowed[np.repeat(np.arange(len(sizes)), sizes), layout.candidates] = True
    return allowed
