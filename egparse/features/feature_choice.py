"""Which morphological features of a treebank say most about its arcs.

How much better is an arc known if the UPOS of one of its ends is refined by a feature? The arc is
seen from both ends: from the dependent it is the label, the side and the UPOS of the head; from the
head it is the label, the side and the UPOS of the dependent. Each UPOS is refined by features of
its own, because the case of a noun says more about its arc than that of a numeral.

What is gained is measured in nats by leaving one out: each arc is predicted from all others in its
context, with a prior of one arc in the proportions q of all arcs. For an outcome y in a context c,
which have occurred n(c, y) and n(c) times::

    log p(y | c) = log (n(c, y) - 1 + q(y)) / n(c)

Unlike the information gain of decision trees (Quinlan 1986, "Induction of decision trees"), this
falls when contexts are told apart that are too rare to be learned from, so that the choice ends by
itself. Nothing here knows the names of features or of tags.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Floats, Ints, Longs, Mask

Value = TypeVar("Value", bound=Hashable)

MOST_FEATURES = 50
"""A UPOS is refined by at most so many features."""


class Arcs(NamedTuple):
    """The words of a treebank as arcs to their heads, shape (words,) each.

    ``heads`` are the rows of words, -1 for the root; ``labels``, ``upos`` and ``bundles`` are
    numbers from 0 on. Only the arcs of words that are ``known`` count: those that have a UPOS and a
    head.
    """

    heads: Longs
    labels: Longs
    upos: Longs
    bundles: Longs
    known: Mask


def column_of(sentence: Sentence, layer: str) -> Sequence[str]:
    """The value of each word in a layer, ``_`` where the sentence lacks it."""
    return getattr(sentence, layer) or (MISSING,) * len(sentence)


def arcs_of(sentences: Sequence[Sentence]) -> tuple[Arcs, dict[str, Longs], list[str]]:
    """The arcs of the sentences, the values of each feature by bundle, and the strings of UPOS."""
    heads, known = array("q"), array("b")
    for sentence in sentences:
        first, tags = len(heads), column_of(sentence, "upos")
        own = sentence.heads or (MISSING_HEAD,) * len(sentence)
        heads.extend([first + head - 1 if head > 0 else -1 for head in own])
        known.extend(
            [head != MISSING_HEAD and tag != MISSING for head, tag in zip(own, tags, strict=True)]
        )
    (labels, _), (upos, tags), (bundles, distinct) = (
        numbers_of(chain.from_iterable(column_of(one, layer) for one in sentences))
        for layer in ("deprels", "upos", "feats")
    )
    parsed = [features_of(bundle) for bundle in distinct]
    names = sorted({name for features in parsed for name in features})
    # a feature that is absent has a value of its own
    values = {name: numbers_of(own.get(name, "\n") for own in parsed)[0] for name in names}
    is_known = np.array(known, dtype=np.bool_)
    return Arcs(np.array(heads, dtype=np.int64), labels, upos, bundles, is_known), values, tags


def numbers_of(values: Iterable[Value]) -> tuple[Longs, list[Value]]:
    """The number of each value in the order of their first appearance, and the distinct values."""
    known: dict[Value, int] = {}
    numbers = array("q", [known.setdefault(value, len(known)) for value in values])
    return np.array(numbers, dtype=np.int64), list(known)


def features_of(bundle: str) -> dict[str, str]:
    """The values of a bundle by feature, in the order of the bundle; none for ``_``.

    A part without ``=``, as some treebanks have them, is a feature of its own with an empty value.
    """
    if bundle in ("", MISSING):
        return {}
    pairs = (part.partition("=") for part in bundle.split("|"))
    return {name: value for name, _, value in pairs}


def choose_for_tags(
    arcs: Arcs, values: Mapping[str, Longs], least_gain: float
) -> dict[int, tuple[str, ...]]:
    """For each UPOS the features that refine it, in the order of their choice.

    ``values[feature]`` is the number of the feature's value in each bundle, shape (bundles,). For
    each UPOS the feature of greatest gain is taken again and again, while that is more than
    ``least_gain`` nats per word of the treebank; ties go to the first in alphabetical order.
    """
    seen = _outcomes(arcs)
    least = least_gain * int(arcs.known.sum())
    chosen = {}
    for upos in np.unique(arcs.upos[arcs.known]).tolist():
        found = _refine(arcs, seen, arcs.upos == upos, values, least)
        if found:
            chosen[upos] = found
    return chosen


def _refine(
    arcs: Arcs, seen: _Outcomes, chosen_words: Mask, values: Mapping[str, Longs], least: float
) -> tuple[str, ...]:
    """The features of the words of one UPOS."""
    words = np.flatnonzero(chosen_words)
    below = np.flatnonzero(arcs.known & (arcs.heads >= 0) & chosen_words[arcs.heads])
    known = arcs.known[words]
    place = np.zeros(len(chosen_words), dtype=np.int64)
    place[words] = np.arange(len(words))
    heads = place[arcs.heads[below]]

    def likelihood(tags: Longs) -> float:
        of_known = seen.from_dependent[words[known]]
        above = _left_one_out(tags[known], of_known, seen.shares_from_dependent)
        return above + _left_one_out(tags[heads], seen.from_head[below], seen.shares_from_head)

    tags = np.zeros(len(words), dtype=np.int64)
    reached = likelihood(tags)
    features: tuple[str, ...] = ()
    while len(features) < MOST_FEATURES:
        best: tuple[float, str, Longs] | None = None
        for feature in sorted(set(values).difference(features)):
            of_words = values[feature][arcs.bundles[words]]
            if np.all(of_words == of_words[0]):
                continue
            refined = numbered(tags, of_words)
            found = likelihood(refined)
            if found > (reached + least if best is None else best[0]):
                best = found, feature, refined
        if best is None:
            break
        reached, features, tags = best[0], (*features, best[1]), best[2]
    return features


def likelihood_of_arcs(arcs: Arcs, tags: Longs) -> float:
    """How well tags of words, (words,), predict arcs: nats per word, both ends of each arc taken
    together; see ``choose_for_tags``.
    """
    seen, known = _outcomes(arcs), arcs.known
    below = known & (arcs.heads >= 0)
    total = _left_one_out(
        tags[known], seen.from_dependent[known], seen.shares_from_dependent
    ) + _left_one_out(tags[arcs.heads[below]], seen.from_head[below], seen.shares_from_head)
    return total / max(1, int(known.sum()))


class _Outcomes(NamedTuple):
    """What is seen of the arc of each word from the word and from its head, (words,) each, and the
    shares of all that are seen.
    """

    from_dependent: Longs
    from_head: Longs
    shares_from_dependent: Floats
    shares_from_head: Floats


def _outcomes(arcs: Arcs) -> _Outcomes:
    side = (arcs.heads < np.arange(len(arcs.heads))).astype(np.int64)
    upos_of_head = np.where(arcs.heads >= 0, arcs.upos[arcs.heads], -1)
    from_dependent = numbered(arcs.labels, side, upos_of_head)
    from_head = numbered(arcs.labels, side, arcs.upos)
    shares = (_shares(outcomes[arcs.known]) for outcomes in (from_dependent, from_head))
    return _Outcomes(from_dependent, from_head, *shares)


def numbered(*columns: Longs | Ints) -> Longs:
    """Rows numbered from 0 by their values in all columns, in the order of the values."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1]
        joined = numbers * (int(codes.max(initial=0)) + 1) + codes
        numbers = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return numbers


def _shares(outcomes: Longs) -> Floats:
    shares: Floats = np.bincount(outcomes) / max(1, len(outcomes))
    return shares


def _left_one_out(contexts: Longs, outcomes: Longs, shares: Floats) -> float:
    """The log likelihood, in nats, of each outcome given all others in its context; ``shares`` are
    those of all outcomes.
    """
    cells, counts = np.unique(contexts * len(shares) + outcomes, return_counts=True)
    in_context = np.bincount(contexts)[cells // max(1, len(shares))]
    known = (counts - 1 + shares[cells % max(1, len(shares))]) / in_context
    return float(counts @ np.log(known))
