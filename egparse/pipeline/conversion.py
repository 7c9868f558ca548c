"""What a model is given, texts or sentences, and what becomes of it: given tags to numbers,
predicted labels to strings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from egparse.errors import EgparseError
from egparse.features.request import ABSENT
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.layers import LEMMAS, WORD_TAGS
from egparse.pipeline.annotate import Prediction
from egparse.pipeline.constraints import Constraints, ResolvedConstraints
from egparse.schemes import to_iob2
from egparse.sentences import MISSING, Sentence
from egparse.types import Ints, Mask

if TYPE_CHECKING:
    from egparse.sentences import TokenList

    Sentences = Sentence | TokenList | Iterable[Sentence | TokenList]

_EACH = "a list with Constraints for each sentence"
_ANYTHING = "a text, several texts, or sentences"


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
            layers["deps"] = ()  # those of another tree
        layers["probabilities"] = {
            layer: tuple(values[first:end]) for layer, values in probabilities.items()
        } or None
        yield sentence.with_layers(**layers)


def as_sentences(source: Sentences, call: str) -> Iterator[Sentence]:
    """The sentences that a method was given, also one alone, or ``TokenList`` of conllu. ``call``
    names the method.

    Raises:
        EgparseError: something else.
    """
    if isinstance(source, Sentence) or _is_token_list(source):
        return _checked(iter([source]), call)
    return _checked(_iterator(source, call, "sentences"), call)


def _checked(given: Iterator[Any], call: str) -> Iterator[Sentence]:
    for one in given:
        if isinstance(one, Sentence):
            yield one
        elif _is_token_list(one):
            yield Sentence.from_token_list(one)
        else:
            raise _unexpected(call, "sentences", one)


def texts_in(source: Any) -> tuple[Iterator[str] | None, Any]:
    """The texts that a model was called with, None if they are something else; and that, with
    nothing of it taken away.

    Raises:
        EgparseError: neither texts nor sentences; if it is not the first, when its turn comes.
    """
    if isinstance(source, str):
        return iter([source]), ()
    if isinstance(source, Sentence) or _is_token_list(source):
        return None, source
    given = _iterator(source, "model", _ANYTHING)
    for first in given:
        if not isinstance(first, str):
            if not isinstance(first, Sentence) and not _is_token_list(first):
                raise _unexpected("model", _ANYTHING, first)
            return None, chain([first], given)
        return _texts(chain([first], given)), ()
    return None, ()


def _texts(given: Iterable[Any]) -> Iterator[str]:
    for one in given:
        if not isinstance(one, str):
            raise _unexpected("model", "texts", one)
        yield one


def each_constraints(given: Iterable[Constraints]) -> Iterator[Constraints]:
    """The constraints of one sentence after the other.

    Raises:
        EgparseError: something else.
    """
    for one in _iterator(given, "constraints", _EACH):
        if not isinstance(one, Constraints):
            raise _unexpected("constraints", _EACH, one)
        yield one


def batches(sentences: Iterable[Sentence], n_words: int) -> Iterator[list[Sentence]]:
    """Lists of consecutive sentences with about ``n_words`` words each."""
    batch: list[Sentence] = []
    size = 0
    for sentence in sentences:
        batch.append(sentence)
        size += len(sentence)
        if size >= n_words:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_token_list(value: object) -> TypeGuard[TokenList]:
    conllu = sys.modules.get("conllu")  # who has such a list has imported it
    return conllu is not None and isinstance(value, conllu.TokenList)


def _iterator(source: Any, call: str, expected: str) -> Iterator[Any]:
    if isinstance(source, Mapping | str | bytes) or not hasattr(source, "__iter__"):
        raise _unexpected(call, expected, source)
    return iter(source)


def _unexpected(call: str, expected: str, got: object) -> EgparseError:
    what = "None" if got is None else f"a value of type {type(got).__name__}"
    if isinstance(got, str):
        what = "a text; model(text) makes sentences of it"
    return EgparseError(f"{call}: expected {expected}, got {what}")
