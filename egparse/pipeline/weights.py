"""The weights of a model: which are the strongest, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from egparse.features.word_table import Columns
from egparse.layers import EXPANDER, LEMMAS, MORPHOLOGY, SPLITTER, SUPERTAGS, TOKENISER
from egparse.sequences.model import SequenceModel

if TYPE_CHECKING:
    from egparse.pipeline.model import Model


def strongest(model: Model, layer: str, count: int) -> list[tuple[str, str, float]]:
    """See ``Model.strongest``."""
    found = _sequence_models(model).get(layer)
    if found is None or layer in (SPLITTER, TOKENISER, EXPANDER):
        return []
    columns = model.columns
    if layer == LEMMAS and model.lemmatiser is not None:
        return strongest_attributes(found, columns, model.lemmatiser.part_labels, count)
    labels: Sequence[str | None] = columns.labels[layer].strings
    if model.morphology is not None and layer in model.morphology.layers:
        assert model.morphology.combinations is not None
        labels = model.morphology.combinations.part_labels(layer, columns.labels)
    return strongest_attributes(found, columns, labels, count)


def sizes(model: Model) -> dict[str, dict[str, int]]:
    """See ``Model.sizes``."""
    found = {layer: one.size() for layer, one in _sequence_models(model).items()}
    joint = () if model.morphology is None else model.morphology.layers
    if joint:
        found[MORPHOLOGY] = found[joint[0]]
    if model.parser is not None:
        weights = model.parser.weights
        found["heads"] = {
            "labels": 0,
            "attributes": weights.size,
            "weights": int(np.count_nonzero(weights)),
            "bytes": weights.nbytes,
        }
    of_text = [name for name in (TOKENISER, SPLITTER, EXPANDER) if name in found]
    layers = [MORPHOLOGY if layer in joint else layer for layer in model.layers]
    if model.supertagger is not None and "heads" in layers:
        layers.insert(layers.index("heads"), SUPERTAGS)
    return {layer: found[layer] for layer in dict.fromkeys((*of_text, *layers))}


def _sequence_models(model: Model) -> dict[str, Any]:
    models = {layer: tagger.model for layer, tagger in model.taggers.items()}
    if model.morphology is not None:
        models |= dict.fromkeys(model.morphology.layers, model.morphology.model)
    if model.supertagger is not None:
        models[SUPERTAGS] = model.supertagger.model
    if model.lemmatiser is not None:
        models[LEMMAS] = model.lemmatiser.model
    if model.labeller is not None:
        models["deprels"] = model.labeller.model
    if model.splitter is not None:
        models[SPLITTER] = model.splitter.model
    if model.tokeniser is not None and model.tokeniser.model is not None:
        models[TOKENISER] = model.tokeniser.model
    if model.expander is not None and model.expander.model is not None:
        models[EXPANDER] = model.expander.model
    return models


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
