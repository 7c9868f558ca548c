"""The strongest weights of a sequence model, with attributes and labels as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.features.word_table import Columns
from egparse.tagging.sequence_model import SequenceModel


def strongest_attributes(
    model: SequenceModel, columns: Columns, labels: Sequence[str | None], count: int
) -> list[tuple[str, str, float]]:
    """The ``count`` (attribute, label, weight) triples of greatest absolute weight, the greatest
    first; of labels, or parts of labels, that have a text.
    """
    named = np.array([text is not None for text in labels], dtype=np.bool_)
    weights = np.where(named[model.rows.labels], model.rows.weights, np.float32(0.0))
    count = min(count, len(weights))
    if count <= 0:
        return []
    places = np.argpartition(-np.abs(weights), count - 1)[:count]
    places = places[np.argsort(-np.abs(weights[places]), kind="stable")]
    attributes = np.searchsorted(model.rows.starts, places, side="right") - 1
    return [
        (
            model.templates.describe(int(model.index.keys[attribute]), columns.describe),
            labels[int(model.rows.labels[place])] or "",
            float(weights[place]),
        )
        for place, attribute in zip(places.tolist(), attributes.tolist(), strict=True)
    ]
