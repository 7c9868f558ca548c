"""The arcs of a treebank in numbers, for the choice of features."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from egparse.morphology.bundles import features_of
from egparse.morphology.choice import Arcs
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
    heads = array("q")
    for sentence in sentences:
        first = len(heads)
        heads.extend(
            [first + head - 1 if head > 0 else -1 for head in sentence.heads or _no_heads(sentence)]
        )
    labels, _ = numbers_of(one for s in sentences for one in s.deprels or (MISSING,) * len(s))
    upos, tags = numbers_of(one for s in sentences for one in upos_of(s))
    bundles, distinct = numbers_of(one for s in sentences for one in feats_of(s))
    parsed = [features_of(bundle) for bundle in distinct]
    names = sorted({name for features in parsed for name in features})
    # a feature that is absent has a value of its own
    values = {name: numbers_of(known.get(name, "\n") for known in parsed)[0] for name in names}
    attached = (head != MISSING_HEAD for s in sentences for head in s.heads or _no_heads(s))
    tagged = (tag != MISSING for s in sentences for tag in upos_of(s))
    known = np.fromiter(attached, dtype=np.bool_) & np.fromiter(tagged, dtype=np.bool_)
    return Arcs(np.array(heads, dtype=np.int64), labels, upos, bundles, known), values, tags


def _no_heads(sentence: Sentence) -> tuple[int, ...]:
    return (MISSING_HEAD,) * len(sentence)


def numbers_of(values: Iterable[Value]) -> tuple[Longs, list[Value]]:
    """The number of each value in the order of their first appearance, and the distinct values."""
    known: dict[Value, int] = {}
    numbers = (known.setdefault(value, len(known)) for value in values)
    return np.fromiter(numbers, dtype=np.int64), list(known)
