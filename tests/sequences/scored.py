"""The scores of candidates by the kernel of models, from numbers of attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from egparse.features.index import KeyIndex
from egparse.features.sequence import LabelParts, WeightRows
from egparse.sequences.scoring import Weights, score_candidates


def scored(
    attributes: Any, rows: WeightRows, divided: LabelParts, n_parts: int, starts: Any, labels: Any
) -> Any:
    """The score of each candidate; ``attributes`` (words, templates) are -1 where absent."""
    index = KeyIndex(np.arange(1, len(rows.starts), dtype=np.uint64))
    weights = Weights.of(index, rows, divided, n_parts)
    places = dict(zip(weights.lines[:, :4].flat, weights.lines[:, 4:].flat, strict=True))
    found = [[places.get(a + 1, 0) for a in of_word] for of_word in attributes.tolist()]
    scores, n = np.zeros(len(labels)), len(attributes)
    score_candidates(
        np.arange(n),
        np.array(found, dtype=np.uint64),
        weights,
        np.empty((n, 0), dtype=np.int32),
        np.empty((0, 0, n_parts)),
        starts.astype(np.int64),
        labels,
        scores,
    )
    return scores
