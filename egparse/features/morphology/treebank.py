"""The arcs of a treebank in numbers, for the choice of features."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np

from egparse.features.morphology.bundles import features_of
from egparse.features.morphology.choice import Arcs
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Longs

Value = TypeVar("Value", bound=Hashable)


def upos_of(sentence: Sentence) -> Sequence[str]:
    """The UPOS of each word."""
    return sentence.upos or (MISSING,) * len(sentence)


def xpos_of(sentence: Sentence) -> Sequence[str]:
    """The XPOS of each word."""
    return sentence.xpos or (MISSING,) * len(sentence)


def feats_of(sentence: Sentence) -> Sequence[str]:
    """The bundle of each word."""
    return sentence.feats or (MISSING,) * len(sentence)


def arcs_of(sentences: Sequence[Sentence]) -> tuple[Arcs, dict[str, Longs], list[str]]:
    """The arcs of the sentences, the values of each feature by bundle, and the strings of UPOS."""
    heads, known = array("q"), array("b")
    labels, upos, bundles = Numbering[str](), Numbering[str](), Numbering[str]()
    for sentence in sentences:
        first, tags = len(heads), upos_of(sentence)
        own = sentence.heads or (MISSING_HEAD,) * len(sentence)
        heads.extend([first + head - 1 if head > 0 else -1 for head in own])
        known.extend(
            [head != MISSING_HEAD and tag != MISSING for head, tag in zip(own, tags, strict=True)]
        )
        labels.extend(sentence.deprels or (MISSING,) * len(sentence))
        upos.extend(tags)
        bundles.extend(feats_of(sentence))
    parsed = [features_of(bundle) for bundle in bundles.distinct()]
    names = sorted({name for features in parsed for name in features})
    # a feature that is absent has a value of its own
    values = {name: numbers_of(own.get(name, "\n") for own in parsed)[0] for name in names}
    arcs = Arcs(
        np.array(heads, dtype=np.int64),
        labels.numbers(),
        upos.numbers(),
        bundles.numbers(),
        np.array(known, dtype=np.bool_),
    )
    return arcs, values, upos.distinct()


class Numbering(Generic[Value]):
    """Numbers of values in the order of their first appearance."""

    def __init__(self) -> None:
        self._known: dict[Value, int] = {}
        self._numbers = array("q")

    def extend(self, values: Iterable[Value]) -> None:
        """Number more values."""
        known = self._known
        self._numbers.extend([known.setdefault(value, len(known)) for value in values])

    def numbers(self) -> Longs:
        """The number of each value."""
        return np.array(self._numbers, dtype=np.int64)

    def distinct(self) -> list[Value]:
        """The values by their numbers."""
        return list(self._known)


def numbers_of(values: Iterable[Value]) -> tuple[Longs, list[Value]]:
    """The number of each value in the order of their first appearance, and the distinct values."""
    found = Numbering[Value]()
    found.extend(values)
    return found.numbers(), found.distinct()
