"""Probabilities of a sentence's annotation: read from MISC, averaged, and shown as shades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from egparse.io.blocks import SPANS_KEY
from egparse.io.conllu import PROBABILITY_KEYS
from egparse.sentences import MISSING_HEAD, Sentence

FAINTEST = 0.3
"""The opacity at probability 0, at which text is still readable."""

_KEYS = {f"{key}=": layer for layer, key in PROBABILITY_KEYS.items()} | {f"P{SPANS_KEY}=": "spans"}


def with_probabilities_of_misc(sentence: Sentence) -> Sentence:
    """The sentence with the probabilities that ``egparse parse --marginals`` wrote to its MISC."""
    read: dict[str, list[float | None]] = {}
    for word, cell in enumerate(sentence.misc):
        for item in cell.split("|"):
            key, _, value = item.partition("=")
            layer, probability = _KEYS.get(key + "="), _probability(value)
            if layer is not None and probability is not None:
                read.setdefault(layer, [None] * len(sentence))[word] = probability
    return replace(sentence, probabilities=read) if read else sentence


def probability(sentence: Sentence, layer: str, word: int) -> float | None:
    """The probability of a word's value in a layer, None if unknown; words count from 0."""
    values = (sentence.probabilities or {}).get(layer)
    return None if values is None else values[word]


def expected_accuracy(sentence: Sentence) -> float | None:
    """The mean probability of the heads; of all values if no head has one; None if no value has.

    Unlike the probability of the whole tree, it does not fall with the length of the sentence.
    """
    layers = sentence.probabilities or {}
    for values in (layers.get("heads", ()), chain.from_iterable(layers.values())):
        known = [value for value in values if value is not None]
        if known:
            return sum(known) / len(known)
    return None


def least_certain_head(sentence: Sentence) -> int | None:
    """The word (from 0) with the least probable head, None if no head has a probability."""
    probabilities = (sentence.probabilities or {}).get("heads", ())
    known = [
        (value, word)
        for word, (value, head) in enumerate(zip(probabilities, sentence.heads, strict=False))
        if value is not None and head != MISSING_HEAD
    ]
    return min(known)[1] if known else None


def least(values: Sequence[float | None]) -> float | None:
    """The least known value, None if none is known."""
    return min((value for value in values if value is not None), default=None)


def opacity(value: float | None) -> float:
    """The opacity that shows a probability: 1 at probability 1 and where it is unknown."""
    return 1.0 if value is None else FAINTEST + (1 - FAINTEST) * value


def shown(value: float) -> str:
    """A probability with three decimals."""
    return f"{value:.3f}"


def _probability(text: str) -> float | None:
    """A text as a number from 0 to 1, else None: other tools may use the same keys of MISC."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
