"""An external recommender of INCEpTION: what an annotator has not annotated yet, predicted.

INCEpTION (Klie et al. 2018, "The INCEpTION Platform: Machine-Assisted and Knowledge-Oriented
Interactive Annotation") posts a document, its type system, and the layer and feature to predict, as
JSON; documents are CAS in XMI, which the package dkpro-cassis reads and writes. The answer is the
document with predictions on the tokens and sentences that it has: annotations that are marked as
such, with a score, the probability of their value.

What annotators have decided in any layer that the model predicts is kept, and the rest is the best
completion given it. A token of the document that is several words for the model gets the values of
the one that stands highest in the tree, or of the first one; what annotators say of it, and arcs to
it, do not guide the model.

=========================  =========================================================================
``POS``                    ``PosValue``: XPOS, or UPOS of a model without; ``coarseValue``: UPOS
``Lemma``                  ``value``: the lemma
``MorphologicalFeatures``  ``value``: FEATS
``Dependency``             ``DependencyType``: the label, from ``Governor`` to ``Dependent``; the
                           root is its own governor
``NamedEntity``            ``value``: the type of the entity
=========================  =========================================================================
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple

from egparse.errors import EgparseError, import_with_extra, one_line
from egparse.layers import LAYERS
from egparse.pipeline.conversion import batches
from egparse.pipeline.model import Model
from egparse.schemes import spans_of
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.service.pages.words import least
from egparse.service.rest.process import STEP, Refused, Steps

_DKPRO = "de.tudarmstadt.ukp.dkpro.core.api."
_SENTENCE, _TOKEN = (f"{_DKPRO}segmentation.type.{name}" for name in ("Sentence", "Token"))
_POS = f"{_DKPRO}lexmorph.type.pos.POS"
_DEPENDENCY = f"{_DKPRO}syntax.type.dependency.Dependency"
_ENTITY = f"{_DKPRO}ner.type.NamedEntity"
_OF_WORDS = {
    (_POS, "coarseValue"): "upos",
    (_POS, "PosValue"): "xpos",
    (f"{_DKPRO}lexmorph.type.morph.MorphologicalFeatures", "value"): "feats",
    (f"{_DKPRO}segmentation.type.Lemma", "value"): "lemmas",
}
"""Type and feature of annotations of words -> layer."""

_FEATURES = {**_OF_WORDS, (_DEPENDENCY, "DependencyType"): "heads", (_ENTITY, "value"): "spans"}
_PREDICTED = "inception_internal_predicted"
_TREE = ("heads", "deprels")


_FAULTS = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a CAS raises whose annotations lack a place, or are of types that are not DKPro's."""


_IDENTIFIER = re.compile("[A-Za-z][A-Za-z0-9_]*")


class _Part(NamedTuple):
    """A sentence of a document: its tokens, what annotators have said of them, the words that the
    model sees, and the first word of each token and the word after its last one.
    """

    tokens: Sequence[Any]
    decided: Sentence
    words: Sentence
    places: Sequence[tuple[int, int]]

    def token_of(self, word: int) -> int:
        """The token of a word."""
        return bisect_right(self.places, (word, len(self.words))) - 1

    def highest(self, found: Sentence) -> list[int]:
        """For each token the word whose values it gets."""
        heads = found.heads or (0,) * len(found)
        chosen = []
        for first, end in self.places:
            outside = (word for word in range(first, end) if not first < heads[word] <= end)
            chosen.append(next(outside, first))
        return chosen


def recommend(model: Model, body: bytes) -> Steps[bytes]:
    """The answer to a request for predictions.

    Raises:
        Refused: the request is not of that form, or asks for a layer that the model does not
            predict.
        ConfigError: dkpro-cassis is not installed.
    """
    cas, layer, feature = _read(body)
    yield
    wanted = _layer(model, layer, feature)
    try:
        parts = [*_parts(cas, model)]
    except _FAULTS as error:
        raise Refused(f"Cannot read the annotations: {_named(error)}") from None
    asked = {*(_TREE if wanted == "heads" else (wanted,))} & {*model.probabilistic}
    left = iter(parts)
    for sentences in batches([part.words for part in parts], STEP):
        for found in _annotated(model, sentences, asked):
            for prediction in _PREDICTIONS.get(wanted, _of_words)(next(left), found, wanted):
                _add(cas, layer, feature, prediction)
        yield
    return json.dumps({"document": cas.to_xmi()}).encode()


class _Prediction(NamedTuple):
    """An annotation: where it begins and ends, its value, its probability, and other features."""

    begin: int
    end: int
    value: str
    score: float | None
    features: Mapping[str, Any] = {}


def _of_words(part: _Part, found: Sentence, layer: str) -> Iterator[_Prediction]:
    values, scores = getattr(found, layer), _scores(found, layer)
    decided = getattr(part.decided, layer)
    for token, before, word in zip(part.tokens, decided, part.highest(found), strict=True):
        if before == MISSING and values[word] != MISSING:
            yield _Prediction(token.begin, token.end, values[word], scores[word])


def _of_trees(part: _Part, found: Sentence, layer: str) -> Iterator[_Prediction]:
    """The arcs of words without one; their scores are probabilities of head and label together."""
    of_heads, of_labels = _scores(found, "heads"), _scores(found, "deprels")
    labels = found.deprels or (MISSING,) * len(found)
    for token, before, word in zip(
        part.tokens, part.decided.heads, part.highest(found), strict=True
    ):
        if before == MISSING_HEAD:
            head, score, label_score = found.heads[word], of_heads[word], of_labels[word]
            governor = part.tokens[part.token_of(head - 1 if head else word)]
            score = None if score is None else score * (label_score or 1.0)
            ends = {"Governor": governor, "Dependent": token}
            yield _Prediction(token.begin, token.end, labels[word], score, ends)


def _of_entities(part: _Part, found: Sentence, layer: str) -> Iterator[_Prediction]:
    """The entities in which no word has one; the score is that of the least probable word."""
    scores = _scores(found, layer)
    for start, stop, type_ in spans_of(found.spans):
        first, last = part.token_of(start), part.token_of(stop - 1)
        if {*part.decided.spans[first : last + 1]} == {MISSING}:
            begin, end = part.tokens[first].begin, part.tokens[last].end
            yield _Prediction(begin, end, type_, least(scores[start:stop]))


_PREDICTIONS: Mapping[str, Callable[[_Part, Sentence, str], Iterator[_Prediction]]] = {
    "heads": _of_trees,
    "spans": _of_entities,
}


def _add(cas: Any, layer: str, feature: str, prediction: _Prediction) -> None:
    """Add a prediction, with those of its features that the type has."""
    type_ = cas.typesystem.get_type(layer)
    values = {
        feature: prediction.value,
        f"{feature}_score": prediction.score,
        _PREDICTED: True,
        **prediction.features,
    }
    there = {name: value for name, value in values.items() if type_.get_feature(name) is not None}
    cas.add(type_(begin=prediction.begin, end=prediction.end, **there))


def _scores(found: Sentence, layer: str) -> Sequence[float | None]:
    return (found.probabilities or {}).get(layer) or (None,) * len(found)


def _annotated(model: Model, sentences: Sequence[Sentence], asked: set[str]) -> Iterator[Sentence]:
    """Sentences with what they lack. Where what annotators have said cannot all be (a cycle that is
    being corrected), the model annotates the words alone.
    """
    try:
        yield from [*model.annotate(sentences, respect_input=True, probabilities=asked)]
    except EgparseError:
        for sentence in sentences:
            try:
                found = [*model.annotate([sentence], respect_input=True, probabilities=asked)]
            except EgparseError:
                found = [*model.annotate([Sentence(sentence.forms)], probabilities=asked)]
            yield from found


def _read(body: bytes) -> tuple[Any, str, str]:
    """The document of a request, and the names of layer and feature."""
    cassis = import_with_extra("cassis", "recommendations for INCEpTION")
    try:
        request = json.loads(body)
        layer, feature = (request["metadata"][key] for key in ("layer", "feature"))
        xmi, types = request["document"]["xmi"], request["typeSystem"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(
            "Expected JSON with metadata.layer, metadata.feature, document.xmi and typeSystem."
        ) from None
    if not all(isinstance(one, str) for one in (layer, feature, xmi, types)):
        raise Refused("Expected strings as layer, feature, xmi and typeSystem.")
    if "<!DOCTYPE" in xmi + types:  # entities could grow without end, or name files
        raise Refused("Expected XML without a document type declaration.")
    try:
        system = cassis.load_typesystem(types)
        _check_names(system)
        return cassis.load_cas_from_xmi(xmi, system), layer, feature
    except Refused:
        raise
    except Exception as error:  # cassis has no error of its own
        raise Refused(f"Cannot read the CAS: {_named(error)}") from None


def _check_names(system: Any) -> None:
    """Refuse names that are no plain identifiers: of those that are used cassis has attrs compile
    Python classes, which would run what stands in them. It does so when a class is first needed,
    not when the type system is read.
    """
    for type_ in system.get_types(built_in=True):
        for name in (*type_.name.split("."), *(one.name for one in type_.all_features)):
            if not _IDENTIFIER.fullmatch(name) or iskeyword(name):
                raise Refused("Expected names of types and features that are identifiers.")


def _named(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}")


def _layer(model: Model, layer: str, feature: str) -> str:
    """The layer of the model that a request means."""
    wanted = _FEATURES.get((layer, feature))
    if wanted == "xpos" and "xpos" not in model.layers:
        wanted = "upos"
    if wanted not in model.layers:
        known = (
            f"{type_.rpartition('.')[2]}.{name}"
            for (type_, name), one in _FEATURES.items()
            if one in model.layers
        )
        raise Refused(
            f"Expected a layer and feature that the model predicts ({', '.join(known)}), got "
            f"'{one_line(layer)}' and '{one_line(feature)}'."
        )
    return str(wanted)


def _parts(cas: Any, model: Model) -> Iterator[_Part]:
    """The sentences that have tokens, with the layers of the model as far as they are annotated."""
    given = {
        layer: _first_by_place(cas, type_, name)
        for (type_, name), layer in _OF_WORDS.items()
        if layer in model.layers
    }
    if "xpos" not in model.layers and "upos" in model.layers:
        given["upos"] = _first_by_place(cas, _POS, "PosValue") | given["upos"]
    arcs = {arc.Dependent.xmiID: arc for arc in _decided(cas, _DEPENDENCY) if arc.Dependent}
    has_entities = "spans" in model.layers and cas.typesystem.contains_type(_ENTITY)
    for part in cas.select(_SENTENCE):
        tokens = [
            token for token in cas.select_covered(_TOKEN, part) if token.get_covered_text().strip()
        ]
        if not tokens:
            continue
        layers: dict[str, Any] = {
            layer: [values.get((token.begin, token.end), MISSING) for token in tokens]
            for layer, values in given.items()
        }
        if "heads" in model.layers:
            layers["heads"], layers["deprels"] = _tree(tokens, arcs)
        if "spans" in model.layers:
            within = cas.select_covered(_ENTITY, part) if has_entities else ()
            layers["spans"] = _spans(tokens, [one for one in within if _is_decided(one)])
        forms = tuple(" ".join(token.get_covered_text().split()) for token in tokens)
        decided = Sentence(forms, **layers)
        yield _Part(tokens, decided, *_words(model, decided))


def _words(model: Model, decided: Sentence) -> tuple[Sentence, list[tuple[int, int]]]:
    """The words of a sentence of tokens, with what is decided of tokens that are one word; and the
    places of the tokens.
    """
    (words,) = model.plain_text.expand([Sentence(decided.forms)])
    places = [(token.first, token.last + 1) for token in words.surface_tokens]
    single = [end - first == 1 for first, end in places]
    layers: dict[str, list[Any]] = {}
    for layer in LAYERS:
        if values := getattr(decided, layer):
            missing = MISSING_HEAD if layer == "heads" else MISSING
            layers[layer] = [missing] * len(words)
            for token, (first, _) in enumerate(places):
                if single[token]:
                    layers[layer][first] = values[token]
    for word, head in enumerate(layers.get("heads", ())):
        if head > 0:  # a token
            layers["heads"][word] = places[head - 1][0] + 1 if single[head - 1] else MISSING_HEAD
    return words.with_layers(**layers), places


def _decided(cas: Any, type_: str) -> Iterator[Any]:
    """The annotations of a type, none if the document does not know the type; no predictions."""
    if cas.typesystem.contains_type(type_):
        for one in cas.select(type_):
            if _is_decided(one):
                yield one


def _is_decided(annotation: Any) -> bool:
    """Whether an annotation is no prediction."""
    return not getattr(annotation, _PREDICTED, False)


def _first_by_place(cas: Any, type_: str, feature: str) -> dict[tuple[int, int], str]:
    """The values of annotations by where they begin and end; of several at one place the first."""
    found: dict[tuple[int, int], str] = {}
    for one in _decided(cas, type_):
        if value := getattr(one, feature, None):
            found.setdefault((one.begin, one.end), value)
    return found


def _tree(tokens: Sequence[Any], arcs: Mapping[int, Any]) -> tuple[list[int], list[str]]:
    """Heads and labels; those from other sentences are left out."""
    places = {token.xmiID: place for place, token in enumerate(tokens, 1)}
    heads, labels = [MISSING_HEAD] * len(tokens), [MISSING] * len(tokens)
    for word, token in enumerate(tokens):
        arc = arcs.get(token.xmiID)
        head = None if arc is None or arc.Governor is None else places.get(arc.Governor.xmiID)
        if arc is not None and head is not None:
            heads[word] = 0 if head == word + 1 else head
            labels[word] = arc.DependencyType or MISSING
    return heads, labels


def _spans(tokens: Sequence[Any], entities: Sequence[Any]) -> list[str]:
    """IOB2 tags of the words in entities; the other words are not decided."""
    tags = [MISSING] * len(tokens)
    for entity in entities:
        within = [
            word
            for word, token in enumerate(tokens)
            if entity.begin <= token.begin and token.end <= entity.end
        ]
        if entity.value and within and {tags[word] for word in within} == {MISSING}:
            tags[within[0]] = f"B-{entity.value}"
            for word in within[1:]:
                tags[word] = f"I-{entity.value}"
    return tags
