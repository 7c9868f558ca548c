"""Predicting the layers of words: the one path from numbered words to numbered labels and heads.

``Model.annotate`` and the spaCy components both call it; they differ only in how they number the
words of their input and in how they write the labels back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from threading import local
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

import numpy as np

from egparse.features.request import ABSENT, Request, Values
from egparse.features.tag_dictionary import AllowedLabels, fixed_labels
from egparse.features.word_table import Columns, Words
from egparse.layers import LAYERS, LEMMAS, TAG_LAYERS
from egparse.parsing.parser import ScoredTree
from egparse.pipeline.components import LABELLER, PARSER, Components
from egparse.pipeline.constraints import LayerConstraints, ResolvedConstraints
from egparse.sentences import HIDDEN
from egparse.types import Floats, Ints

BATCH_WORDS = 8_000
"""Words annotated at a time: enough to make calls cheap, few enough to stay in the processor's
cache.
"""

Constrain = Callable[[slice, Mapping[str, Ints]], ResolvedConstraints | None]
"""The constraints of some sentences, of whose words some tags are given."""

Prediction = dict[str, Values]
"""Layer -> the values of words, in the order of ``LAYERS``."""


class PredictedWords(NamedTuple):
    """Words with the predicted tags in their columns, and the prediction."""

    words: Words
    prediction: Prediction


def predict(
    model: Components,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str] = (),
    constraints: ResolvedConstraints | None = None,
) -> Prediction:
    """Predict some layers of words, each from the words and from the tags of the layers before it.

    ``given[layer]``, shape (words,), holds tags that are kept: ``ABSENT`` where there are none, -1
    for tags that the model does not know. The others of their layer are the best beside them, and
    later layers use them. ``asked`` names the layers whose probabilities are requested. Labels of
    arcs are those of the predicted heads, also where ``layers`` lacks the heads.

    Raises:
        EgparseError: constraints that leave no sequence or no tree.
    """
    return predict_words(model, words, layers, given, asked, constraints).prediction


def predict_words(
    model: Components,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str] = (),
    constraints: ResolvedConstraints | None = None,
) -> PredictedWords:
    """See ``predict``; the hidden layers are predicted where heads are, or where they are named."""
    wanted = {*layers}
    if "deprels" in wanted:
        wanted.add("heads")
    if "heads" in wanted:
        wanted.update(HIDDEN)
    words, columns = words.copy(), model.columns
    found: Prediction = {}
    for layer in TAG_LAYERS:
        if layer in given and (layer not in wanted or layer not in model.layers):
            columns.put_tags(words, layer, given[layer])
    for component in model:
        chosen = [layer for layer in component.layers if layer in wanted]
        if not chosen:
            continue
        limits = {layer: _Limit.of(layer, given, constraints) for layer in component.layers}
        if all(limits[layer].is_given for layer in chosen):
            predicted = {layer: Values(limits[layer].given) for layer in chosen}
        else:
            allowed = {
                layer: allowed_labels
                for layer, limit in limits.items()
                if (allowed_labels := limit.allowed(columns.labels.get(layer, ()))) is not None
            }
            probable = [layer for layer in chosen if layer in asked]
            predicted = component.annotate(Request(words, columns, found, allowed, probable))
            # a component of several layers finds values whatever is allowed in each of them
            if constraints is not None and len(component.layers) == 1:
                constraints.check(chosen[0], predicted[chosen[0]].values)
        for layer in chosen:
            found[layer] = limits[layer].put_into(predicted[layer], layer in asked)
            if layer in columns.names:
                columns.put_tags(words, layer, found[layer].values)
    return PredictedWords(
        words, {one: found[one] for one in LAYERS if one in found and one in layers}
    )


class _Limit(NamedTuple):
    """What is left of one layer: the ``given`` tags, ``ABSENT`` where none is, and the constraint
    that is behind.
    """

    given: Ints | None
    constraint: LayerConstraints | None

    @classmethod
    def of(
        cls, layer: str, given: Mapping[str, Ints], constraints: ResolvedConstraints | None
    ) -> _Limit:
        constraint = None if constraints is None else constraints.of_layers.get(layer)
        tags = given.get(layer)
        if tags is not None and constraint is not None and constraint.fixed:
            tags = tags.copy()
            tags[[*constraint.fixed]] = ABSENT
        return cls(tags, constraint)

    def allowed(self, labels: Sized) -> Any:
        """The values among ``labels`` that a component may choose from (None: all)."""
        allowed = None if self.constraint is None else self.constraint.allowed
        if self.given is not None and (self.given >= 0).any():
            return _joined(allowed, fixed_labels(self.given, len(labels)))
        return allowed

    @property
    def is_given(self) -> bool:
        """Whether nothing is left to predict."""
        return self.given is not None and not np.count_nonzero(self.given == ABSENT)

    def put_into(self, found: Values, with_probabilities: bool) -> Values:
        """What was found, with the given tags and -1 for fixed values that the model does not know;
        neither has a probability.
        """
        values, probabilities = found
        if with_probabilities and probabilities is None:
            probabilities = np.full(len(values), np.nan)
        if self.constraint is not None and self.constraint.unknown:
            unknown = list(self.constraint.unknown)
            values[unknown] = -1
            if probabilities is not None:
                probabilities[unknown] = np.nan
        if self.given is not None:
            values = np.where(self.given == ABSENT, values, self.given)
            if probabilities is not None:
                probabilities = np.where(self.given == ABSENT, probabilities, np.nan)
        return Values(values, probabilities if with_probabilities else None)


def _joined(allowed: Any, given: AllowedLabels) -> AllowedLabels:
    """The labels that a constraint allows, and where there is none, that are given."""
    if allowed is None:
        return given
    places = np.searchsorted(allowed.words, given.words)
    others = np.append(allowed.words, -1)[places] != given.words
    words = np.concatenate([allowed.words, given.words[others]])
    order = np.argsort(words, kind="stable")
    masks = np.concatenate([allowed.allowed, given.allowed[others]])
    return AllowedLabels(words[order], masks[order])


class RankedTrees(NamedTuple):
    """The ``trees`` of each sentence, best first, and for each rank the heads and the labels
    (None without labeller) of all words: a sentence with fewer trees repeats its last one.
    """

    prediction: Prediction
    words: Words
    trees: list[list[ScoredTree]]
    ranks: list[tuple[Ints, Ints | None]]


def predict_trees(
    model: Components,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    k: int,
    constraints: ResolvedConstraints | None = None,
) -> RankedTrees:
    """The ``k`` most probable trees of sentences, from the predicted tags; ``layers``, ``given``
    and ``constraints`` are those of the other layers, see ``predict``.

    Raises:
        ValueError: k < 1.
        EgparseError: a sentence too long to be parsed whole.
    """
    before = {*layers, *HIDDEN} - {"heads", "deprels"}
    words, prediction = predict_words(model, words, before, given, (), constraints)
    trees, labeller = model[PARSER].k_best(words, k), model.get(LABELLER)
    ranks = []
    for rank in range(max(map(len, trees), default=0)):
        heads = np.zeros(words.n_words, dtype=np.int32)
        for best, first, end in zip(trees, words.starts, words.starts[1:], strict=False):
            if best:
                heads[first:end] = best[min(rank, len(best) - 1)].heads
        labels = None if labeller is None else labeller.predict(words, heads, model.columns)
        ranks.append((heads, labels))
    return RankedTrees(prediction, words, trees, ranks)


def predict_forms(
    model: Components,
    sentences: Sequence[Sequence[str]],
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str] = (),
    n_words: int = BATCH_WORDS,
    constrain: Constrain | None = None,
) -> Prediction:
    """The layers of sentences of forms, about ``n_words`` words at a time; see ``predict``.
    ``constrain`` gives the constraints of some of the sentences, whose given tags it gets.
    """
    parts = []
    for chosen, words in _chunks(sentences, n_words):
        numbered = _numbered(model.columns, sentences[chosen])
        tags = {layer: labels[words] for layer, labels in given.items()}
        constraints = None if constrain is None else constrain(chosen, tags)
        parts.append(predict(model, numbered, layers, tags, asked, constraints))
    if len(parts) == 1:
        return parts[0]
    return {layer: _concatenated(layer, [part[layer] for part in parts]) for layer in parts[0]}


def _concatenated(layer: str, parts: Sequence[Values]) -> Values:
    values = [part.values for part in parts]
    probable = [part.probabilities for part in parts if part.probabilities is not None]
    probabilities: Floats | None = np.concatenate(probable) if probable else None
    if layer == LEMMAS:
        return Values([lemma for one in values for lemma in one], probabilities)
    return Values(np.concatenate(values), probabilities)


class _Numbered(NamedTuple):
    """Sentences of forms and their words over some columns."""

    columns: ReferenceType[Columns]
    sentences: Sequence[Sequence[str]]
    words: Words


class _Latest(local):
    """What a thread has numbered last."""

    numbered: _Numbered | None = None


_LATEST = _Latest()


def _numbered(columns: Columns, sentences: Sequence[Sequence[str]]) -> Words:
    """The words of sentences, not numbered anew if they are those of the last call: the components
    of a pipeline annotate the same sentences one after the other.
    """
    latest = _LATEST.numbered
    if latest is not None and latest.columns() is columns and latest.sentences == sentences:
        return latest.words
    words = columns.words(sentences)
    _LATEST.numbered = _Numbered(ref(columns), sentences, words)
    return words


def _chunks(sentences: Sequence[Sequence[str]], n_words: int) -> Iterator[tuple[slice, slice]]:
    """Consecutive sentences with about ``n_words`` words, and their words; at least one chunk, even
    an empty one.
    """
    first = begin = end = 0
    for number, forms in enumerate(sentences):
        end += len(forms)
        if end - begin >= n_words:
            yield slice(first, number + 1), slice(begin, end)
            first, begin = number + 1, end
    if end > begin or not end:
        yield slice(first, len(sentences)), slice(begin, end)
