"""How sure a sentence's annotations are: read back from MISC, summed up, and turned into shades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from egparse.readers.conllu import PROBABILITY_KEYS, SPANS_KEY
from egparse.sentences import MISSING_HEAD, Sentence

FAINTEST = 0.3
"""The opacity of what has probability 0: it is to be read too."""

_KEYS = {f"{key}=": layer for layer, key in PROBABILITY_KEYS.items()} | {f"P{SPANS_KEY}=": "spans"}


def with_noted(sentence: Sentence) -> Sentence:
    """The sentence with the probabilities that its MISC holds, as ``egparse parse --marginals``
    writes them there.
    """
    found: dict[str, list[float | None]] = {}
    for word, cell in enumerate(sentence.misc):
        for item in cell.split("|"):
            key, _, value = item.partition("=")
            layer, probability = _KEYS.get(key + "="), _probability(value)
            if layer is not None and probability is not None:
                found.setdefault(layer, [None] * len(sentence))[word] = probability
    return replace(sentence, probabilities=found) if found else sentence


def probability(sentence: Sentence, layer: str, word: int) -> float | None:
    """The probability of what the layer says of a word (0-based), None where it is not known."""
    return (sentence.probabilities or {}).get(layer, (None,) * len(sentence))[word]


def expected_accuracy(sentence: Sentence) -> float | None:
    """The share of heads that are right by their own probabilities, of all values where no head has
    one; None where nothing has.

    It does not fall with the length of the sentence, as the probability of the whole tree does.
    """
    told = sentence.probabilities or {}
    for own in (told.get("heads", ()), chain.from_iterable(told.values())):
        known = [value for value in own if value is not None]
        if known:
            return sum(known) / len(known)
    return None


def least_certain_head(sentence: Sentence) -> int | None:
    """The word (0-based) whose head is the least probable, None where no head has a probability."""
    told = (sentence.probabilities or {}).get("heads", ())
    known = [
        (value, word)
        for word, (value, head) in enumerate(zip(told, sentence.heads, strict=False))
        if value is not None and head != MISSING_HEAD
    ]
    return min(known)[1] if known else None


def least(values: Sequence[float | None]) -> float | None:
    """The least of those that are known."""
    return min((value for value in values if value is not None), default=None)


def opacity(value: float | None) -> float:
    """The shade of what has this probability: full at 1 and where it is not known."""
    return 1.0 if value is None else FAINTEST + (1 - FAINTEST) * value


def shown(value: float) -> str:
    """A probability as pages write it."""
    return f"{value:.3f}"


def _probability(text: str) -> float | None:
    """The number from 0 to 1 that a text is, else None: other tools may use the same keys."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
