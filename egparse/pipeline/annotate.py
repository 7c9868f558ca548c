"""Predicting the layers of words: the one path from numbered words to numbered labels and heads.

``Model.annotate`` and the spaCy components both call it; they differ only in how they number the
words of their input and in how they write the labels back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import local
from typing import NamedTuple
from weakref import ReferenceType, ref

import numpy as np

from egparse.features.tag_dictionary import AllowedLabels, fixed_labels
from egparse.features.word_table import Columns, Words
from egparse.layers import LAYERS, LEMMAS, SUPERTAGS, TAG_LAYERS
from egparse.parsing.arc_parser import Parser
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.constraints import ResolvedConstraints
from egparse.sequences.labeller import Labeller
from egparse.sequences.lemmatiser import Lemmatiser
from egparse.sequences.tagger import LabelsWithProbabilities, Tagger, iob2_kinds
from egparse.types import Floats, Ints

BATCH_WORDS = 8_000
"""Words annotated at a time: enough to make calls cheap, few enough to stay in the processor's
cache.
"""

ABSENT = -2
"""In place of a label number: no label is given."""


Constrain = Callable[[slice, Mapping[str, Ints]], ResolvedConstraints | None]
"""The constraints of some sentences, of whose words some tags are given."""


@dataclass(frozen=True)
class Predictors:
    """The predictors of a model over one set of columns; immutable, for threads to share."""

    columns: Columns
    taggers: Mapping[str, Tagger] = field(default_factory=dict)
    parser: Parser | SecondOrderParser | None = None
    labeller: Labeller | None = None
    morphology: Tagger | None = field(default=None, kw_only=True)
    supertagger: Tagger | None = field(default=None, kw_only=True)
    lemmatiser: Lemmatiser | None = field(default=None, kw_only=True)

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The layers that are predicted, in the order of prediction."""
        others = {LEMMAS: self.lemmatiser, "heads": self.parser, "deprels": self.labeller}
        held = self.tagged | {layer for layer, one in others.items() if one is not None}
        return tuple(layer for layer in LAYERS if layer in held)

    @cached_property
    def tagged(self) -> frozenset[str]:
        """The layers of tags that are predicted, by taggers of their own or together."""
        joint = () if self.morphology is None else self.morphology.layers
        return frozenset((*self.taggers, *joint))


class Prediction(NamedTuple):
    """``values[layer]``: the label number of each word (-1: none), or for ``heads`` the position of
    its head in the sentence (0: the root), shape (words,). ``probabilities[layer]``: the
    probability of each value, NaN where it is unknown, for the requested layers. ``lemmas`` are
    the lemmas of the words, if they are predicted.
    """

    values: Mapping[str, Ints]
    probabilities: Mapping[str, Floats]
    lemmas: list[str] | None = None


class TaggedWords(NamedTuple):
    """Words with the predicted tags in their columns, and the prediction of these tags."""

    words: Words
    prediction: Prediction


def predict(
    model: Predictors,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str] = (),
    constraints: ResolvedConstraints | None = None,
) -> Prediction:
    """Predict some layers of words, each from the words and from the tags of the layers before it.

    ``given[layer]``, shape (words,), holds tags that are kept and used by later layers, ``ABSENT``
    where there are none; ``asked`` names the layers whose probabilities are requested. Labels of
    arcs are those of the predicted heads, also where ``layers`` lacks the heads.

    Raises:
        EgparseError: constraints that leave no sequence or no tree.
    """
    if "deprels" in layers and "heads" not in layers:
        whole = predict(model, words, (*layers, "heads"), given, {*asked} - {"heads"}, constraints)
        return whole._replace(
            values={one: whole.values[one] for one in whole.values if one in layers}
        )
    words, (tags, tag_probabilities, _) = predict_tags(
        model, words, layers, given, asked, constraints
    )
    values, probabilities = dict(tags), dict(tag_probabilities)
    lemmas = None
    if model.lemmatiser is not None and LEMMAS in layers:
        restricted_lemmas = None if constraints is None else constraints.lemmas
        if LEMMAS in asked:
            lemmas, probabilities[LEMMAS] = model.lemmatiser.predict_with_probabilities(
                words, restricted_lemmas
            )
        else:
            lemmas = model.lemmatiser.predict(words, restricted_lemmas)
        if constraints is not None:
            solved = np.array([bool(lemma) for lemma in lemmas], dtype=np.int32) - 1
            constraints.check(LEMMAS, solved, "a lemma")
    if model.parser is not None and "heads" in layers:
        arcs = None if constraints is None else constraints.arcs
        if "heads" in asked:
            values["heads"], probabilities["heads"] = model.parser.predict_with_probabilities(
                words, arcs
            )
        else:
            values["heads"] = model.parser.predict(words, arcs)
        if constraints is not None:
            constraints.check("heads", values["heads"], "a tree")
    if model.labeller is not None and "deprels" in layers:
        restricted = None if constraints is None else constraints.labels.get("deprels")
        allowed = None if restricted is None else restricted.allowed
        heads = values["heads"]
        if "deprels" in asked:
            labels, found = model.labeller.predict_with_probabilities(
                words, heads, model.columns, allowed
            )
            if restricted is not None:
                found[list(restricted.unknown)] = np.nan
            probabilities["deprels"] = found
        else:
            labels = model.labeller.predict(words, heads, model.columns, allowed)
        values["deprels"] = labels
    in_order = {layer: probabilities[layer] for layer in LAYERS if layer in probabilities}
    return Prediction(values, in_order, lemmas)


def predict_tags(
    model: Predictors,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str] = (),
    constraints: ResolvedConstraints | None = None,
) -> TaggedWords:
    """The layers of tags alone, see ``predict``; a tagger runs only where a tag is not given."""
    values: dict[str, Ints] = {}
    probabilities: dict[str, Floats] = {}
    words = words.copy()
    joint = () if model.morphology is None else model.morphology.layers
    if model.morphology is not None and set(joint) & set(layers):
        values, probabilities = _tag_together(
            model, model.morphology, words, layers, given, asked, constraints
        )
    for layer in TAG_LAYERS:
        kept = given.get(layer)
        if layer in joint and layer in layers:
            continue
        if layer not in model.taggers or layer not in layers:
            if kept is not None:
                model.columns.put_tags(words, layer, kept)
            continue
        restricted = None if constraints is None else constraints.labels.get(layer)
        if kept is not None and restricted is not None:
            kept = kept.copy()
            kept[restricted.fixed] = ABSENT
        if kept is not None and restricted is None and not np.count_nonzero(kept == ABSENT):
            labels, found = kept, None
        else:
            allowed = None if restricted is None else restricted.allowed
            labels, found = _tag(model, layer, words, allowed, layer in asked)
            if constraints is not None and restricted is not None:
                constraints.check(layer, labels, "a sequence")
                labels[list(restricted.unknown)] = -1
                if found is not None:
                    found[list(restricted.unknown)] = np.nan
            if kept is not None:
                if found is not None:
                    found = np.where(kept == ABSENT, found, np.nan)
                labels = np.where(kept == ABSENT, labels, kept)
        model.columns.put_tags(words, layer, labels)
        values[layer] = labels
        if layer in asked:
            probabilities[layer] = np.full(words.n_words, np.nan) if found is None else found
    order = [layer for layer in TAG_LAYERS if layer in values]
    if model.supertagger is not None and "heads" in layers:
        model.columns.put_tags(words, SUPERTAGS, model.supertagger.choose(words))
    return TaggedWords(
        words,
        Prediction(
            {layer: values[layer] for layer in order},
            {layer: probabilities[layer] for layer in order if layer in probabilities},
        ),
    )


def predict_forms(
    model: Predictors,
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
    predicted = [layer for layer in model.layers if layer in layers]
    lemmas = None
    if LEMMAS in predicted:
        lemmas = [lemma for part in parts for lemma in part.lemmas or ()]
    return Prediction(
        {
            layer: np.concatenate([part.values[layer] for part in parts])
            for layer in predicted
            if layer != LEMMAS
        },
        {
            layer: np.concatenate([part.probabilities[layer] for part in parts])
            for layer in predicted
            if layer in asked
        },
        lemmas,
    )


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


def _tag(
    model: Predictors,
    layer: str,
    words: Words,
    allowed: AllowedLabels | None,
    with_probabilities: bool,
) -> tuple[Ints, Floats | None]:
    """The labels of a layer of tags, with their probabilities or None."""
    tagger = model.taggers[layer]
    labels = tagger.choose(words, allowed)
    if not with_probabilities:
        return labels, None
    kinds = iob2_kinds(model.columns.labels[layer].strings) if layer == "spans" else None
    return labels, tagger.probabilities(words, labels, allowed, kinds)


def _tag_together(
    model: Predictors,
    tagger: Tagger,
    words: Words,
    layers: Collection[str],
    given: Mapping[str, Ints],
    asked: Collection[str],
    constraints: ResolvedConstraints | None,
) -> tuple[dict[str, Ints], dict[str, Floats]]:
    """The labels, and the probabilities where they are asked for, of the layers that one tagger
    predicts together; the labels are put into the columns of words.
    """
    chosen = [layer for layer in tagger.layers if layer in layers]
    kept = {layer: given[layer] for layer in tagger.layers if layer in given}
    restricted = {} if constraints is None else constraints.labels
    for layer in chosen:
        if layer in kept and layer in restricted:
            kept[layer] = kept[layer].copy()
            kept[layer][restricted[layer].fixed] = ABSENT
    allowed = {
        layer: _joined(
            kept.get(layer),
            restricted[layer].allowed if layer in restricted else None,
            len(model.columns.labels[layer]),
        )
        for layer in tagger.layers
        if layer in kept or layer in restricted
    }
    if all(layer in kept and not np.count_nonzero(kept[layer] == ABSENT) for layer in chosen):
        found = {layer: LabelsWithProbabilities(kept[layer], _unknown(words)) for layer in chosen}
    elif set(asked) & set(chosen):
        wanted = [layer for layer in chosen if layer in asked]
        found = tagger.predict_with_probabilities(words, wanted, allowed)
    else:
        found = {
            layer: LabelsWithProbabilities(labels, _unknown(words))
            for layer, labels in tagger.predict(words, allowed).items()
        }
    values: dict[str, Ints] = {}
    probabilities: dict[str, Floats] = {}
    for layer in chosen:
        labels, probable = found[layer].labels, found[layer].probabilities
        if constraints is not None and layer in restricted:
            unknown = list(restricted[layer].unknown)
            labels[unknown], probable[unknown] = -1, np.nan
        if layer in kept:
            probable = np.where(kept[layer] == ABSENT, probable, np.nan)
            labels = np.where(kept[layer] == ABSENT, labels, kept[layer])
        model.columns.put_tags(words, layer, labels)
        values[layer] = labels
        if layer in asked:
            probabilities[layer] = probable
    return values, probabilities


def _joined(kept: Ints | None, allowed: AllowedLabels | None, n_labels: int) -> AllowedLabels:
    """The labels that a constraint allows, and where there is none, that are given."""
    given = fixed_labels(np.empty(0, dtype=np.int32) if kept is None else kept, n_labels)
    if allowed is None:
        return given
    places = np.searchsorted(allowed.words, given.words)
    others = np.append(allowed.words, -1)[places] != given.words
    words = np.concatenate([allowed.words, given.words[others]])
    order = np.argsort(words, kind="stable")
    masks = np.concatenate([allowed.allowed, given.allowed[others]])
    return AllowedLabels(words[order], masks[order])


def _unknown(words: Words) -> Floats:
    return np.full(words.n_words, np.nan)


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
