"""Conversion between sentences of strings and arrays of numbers: given tags to numbers, predicted
labels to strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from egparse.features.request import ABSENT
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.layers import LEMMAS, WORD_TAGS
from egparse.pipeline.annotate import Prediction
from egparse.pipeline.constraints import ResolvedConstraints
from egparse.schemes import to_iob2
from egparse.sentences import MISSING, Sentence
from egparse.types import Ints, Mask


class GivenTags(NamedTuple):
    """The tags of one layer in the input; ``present`` (words,) marks the words that have one."""

    present: Mask
    strings: list[str]


def given_tags(batch: Sequence[Sentence], layer: str) -> GivenTags:
    """The tags of the input in a layer of tags.

    ``_`` is a tag only in FEATS, and there only if the word has a UPOS: it means no features.
    """
    tags = [tag for one in batch for tag in (getattr(one, layer) or (MISSING,) * len(one))]
    present = np.array([tag != MISSING for tag in tags], dtype=np.bool_)
    if layer == "feats":
        has_layer = np.array([bool(one.feats) for one in batch for _ in one.forms], dtype=np.bool_)
        present |= has_layer & given_tags(batch, "upos").present
    return GivenTags(present, tags)


def given_numbers(
    batch: Sequence[Sentence],
    columns: Columns,
    tags: Mapping[str, GivenTags],
    layers: Sequence[str],
) -> dict[str, Ints]:
    """The tags that ``annotate.predict`` takes as given, in label numbers: ``tags``, and the layers
    that the model reads but does not predict (``layers``).
    """
    numbers = {layer: columns.label_numbers(batch, layer) for layer in columns.input_layers(layers)}
    for layer, (present, _) in tags.items():
        labels = columns.label_numbers(batch, layer)
        numbers[layer] = np.where(present, labels, ABSENT).astype(np.int32)
    return numbers


def kept_tags(batch: Sequence[Sentence], layers: Sequence[str]) -> dict[str, GivenTags]:
    """The tags of the input in those of some layers whose given tags can be kept."""
    return {layer: given_tags(batch, layer) for layer in WORD_TAGS if layer in layers}


def label_strings(
    labels: Mapping[str, Vocabulary],
    prediction: Prediction,
    tags: Mapping[str, GivenTags],
    constraints: ResolvedConstraints | None,
) -> dict[str, list[str]]:
    """The labels of each predicted layer except heads, with the kept tags and the fixed labels that
    the model does not know.
    """
    strings: dict[str, list[str]] = {}
    for layer, (values, _) in prediction.items():
        if layer == "heads":
            continue
        if layer == LEMMAS:
            strings[LEMMAS] = values
            continue
        names = np.array([*labels[layer].strings, ""], dtype=object)
        found: list[str] = names[values].tolist()
        restricted = None if constraints is None else constraints.of_layers.get(layer)
        if layer in tags:
            present, given = tags[layer]
            if restricted is not None:
                present = present.copy()
                present[[*restricted.fixed]] = False
            kept = present.tolist()
            found = [
                old if is_kept else new
                for is_kept, old, new in zip(kept, given, found, strict=True)
            ]
        if restricted is not None:
            for word, label in restricted.unknown.items():
                found[word] = label
        strings[layer] = found
    return strings


def put_back(
    batch: Sequence[Sentence],
    words: Words,
    strings: Mapping[str, list[str]],
    prediction: Prediction,
) -> Iterator[Sentence]:
    """The sentences with their predicted layers; spans become IOB2."""
    heads = prediction["heads"].values.tolist() if "heads" in prediction else None
    probabilities = {
        layer: [None if np.isnan(value) else value for value in probable.tolist()]
        for layer, (_, probable) in prediction.items()
        if probable is not None
    }
    starts = words.starts.tolist()
    for sentence, first, end in zip(batch, starts, islice(starts, 1, None), strict=False):
        layers: dict[str, Any] = {
            layer: tuple(values[first:end]) for layer, values in strings.items()
        }
        if "spans" in layers:
            layers["spans"] = to_iob2(layers["spans"])
        if heads is not None:
            layers["heads"] = tuple(heads[first:end])
        layers["probabilities"] = {
            layer: tuple(values[first:end]) for layer, values in probabilities.items()
        } or None
        yield sentence.with_layers(**layers)
