"""A model's predictions as numbers of labels and heads, without a string a word: what
``Model.annotate`` says, for arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.features.word_table import TAG_LAYERS, Words
from egparse.pipeline.model import BATCH_WORDS, Model
from egparse.spacy_components.label_tables import ABSENT
from egparse.tagging.tagger import iob2_kinds
from egparse.types import Floats, Ints

TAGS = ("upos", "xpos", "feats")
"""The layers that spaCy holds as tags."""


class Predictions(NamedTuple):
    """Of each layer the label numbers of the words, -1 for none, and of ``heads`` their positions
    in the sentence from 1 on, 0 for the root; and for the layers that were asked for how probable
    each is, nan where nobody can say.
    """

    values: Mapping[str, Ints]
    probabilities: Mapping[str, Floats]


def predict(
    model: Model,
    sentences: Sequence[Sequence[str]],
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str] = (),
    n_words: int = BATCH_WORDS,
) -> Predictions:
    """The layers of sentences of forms, found for about ``n_words`` at a time.

    ``given[layer]`` are tags to be kept and used, shape (words,), ``ABSENT`` where there is none: a
    tagger runs only where one is missing. ``asked``: the layers whose probabilities are wanted.
    """
    parts = [
        _predict(model, model.columns.words(sentences[chosen]), layers, _cut(given, words), asked)
        for chosen, words in _chunks(sentences, n_words)
    ]
    if len(parts) == 1:
        return parts[0]
    filled = [layer for layer in model.layers if layer in layers]
    return Predictions(
        {layer: _joined([own.values[layer] for own in parts], np.int32) for layer in filled},
        {
            layer: _joined([own.probabilities[layer] for own in parts], np.float64)
            for layer in filled
            if layer in asked
        },
    )


def tagged(
    model: Model,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str] = (),
) -> Predictions:
    """The layers of tags of words, whose columns are filled with them."""
    columns = model.columns
    values: dict[str, Ints] = {}
    probabilities: dict[str, Floats] = {}
    for layer in TAG_LAYERS:
        kept = given.get(layer)
        if layer not in model.taggers:
            if kept is not None:
                columns.fill(words, layer, kept)
            continue
        if layer not in layers:
            continue
        if kept is None or (kept == ABSENT).any() or layer in asked:
            labels, found = _tags(model, layer, words, layer in asked)
            if kept is not None:
                found = np.where(kept == ABSENT, found, np.nan)
                labels = np.where(kept == ABSENT, labels, kept)
        else:
            labels, found = kept, np.zeros(0)
        columns.fill(words, layer, labels)
        values[layer] = labels
        if layer in asked:
            probabilities[layer] = found
    return Predictions(values, probabilities)


def _predict(
    model: Model,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str],
) -> Predictions:
    tags = tagged(model, words, layers, given, asked)
    values, probabilities = dict(tags.values), dict(tags.probabilities)
    if model.parser is not None and "heads" in layers:
        if "heads" in asked:
            values["heads"], probabilities["heads"] = model.parser.predict_with_probabilities(words)
        else:
            values["heads"] = model.parser.predict(words)
    if model.labeller is not None and "deprels" in layers:
        heads = values["heads"]
        if "deprels" in asked:
            found = model.labeller.predict_with_probabilities(words, heads, model.columns)
            values["deprels"], probabilities["deprels"] = found
        else:
            values["deprels"] = model.labeller.predict(words, heads, model.columns)
    return Predictions(values, probabilities)


def _tags(model: Model, layer: str, words: Words, with_probabilities: bool) -> tuple[Ints, Floats]:
    tagger = model.taggers[layer]
    if not with_probabilities:
        return tagger.predict(words), np.full(len(words.form_ids), np.nan)
    kinds = iob2_kinds(model.columns.labels[layer].strings) if layer == "spans" else None
    labels, found = tagger.predict_with_probabilities(words, None, kinds)
    return labels, found


def _chunks(sentences: Sequence[Sequence[str]], n_words: int) -> Iterator[tuple[slice, slice]]:
    """Consecutive sentences with about ``n_words`` words, and their words; at least one, be it
    empty.
    """
    first = begin = end = 0
    for number, forms in enumerate(sentences):
        end += len(forms)
        if end - begin >= n_words:
            yield slice(first, number + 1), slice(begin, end)
            first, begin = number + 1, end
    if end > begin or not end:
        yield slice(first, len(sentences)), slice(begin, end)


def _cut(given: Mapping[str, Ints], words: slice) -> dict[str, Ints]:
    return {layer: labels[words] for layer, labels in given.items()}


def _joined(parts: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)
