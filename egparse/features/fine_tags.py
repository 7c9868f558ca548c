"""Fine tags that stand in where a treebank has no language-specific ones (XPOS): the UPOS with the
features that say most about syntax, such as ``NOUN|Case=Nom``.

How much better is an arc known if the UPOS of one of its ends is refined by a feature? The arc is
seen from both ends: from the dependent it is the label, the side and the UPOS of the head; from the
head it is the label, the side and the UPOS of the dependent. Each UPOS is refined by features of
its own, because the case of a noun says more about its arc than that of a numeral. What is gained
is measured in nats by leaving one out: each arc is predicted from all others in its context, with a
prior of one arc in the proportions q of all arcs. For an outcome y in a context c::

    log p(y | c) = log (n(c, y) - 1 + q(y)) / n(c)

Unlike the information gain of decision trees (Quinlan 1986, "Induction of decision trees"), this
falls when contexts are told apart that are too rare to be learned from, so that the choice ends by
itself. Nothing here knows the names of features or of tags.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.storage.schema import STRING_BYTES, Misfit, Record, Stored, Strings
from egparse.types import Floats, Ints, Longs, Mask

Value = TypeVar("Value", bound=Hashable)

MOST_FEATURES = 50
"""A UPOS is refined by at most so many features."""

LEAST_GAIN = 0.002
"""A feature refines a UPOS if it gains so many nats per word of the treebank
(docs/decisions/fine-tags.md).
"""

LEAST_SHARE = 1 / 3
"""The XPOS of a treebank is used if it adds at least this share of what fine tags add to UPOS, in
nats per word.
"""

ENOUGH_WORDS = 4000
"""In fewer words, XPOS is too rare to be judged, and stays."""

_SEPARATOR = "|"

_Pair = tuple[str, str]

STORED_FINE_TAGS = Record(
    {
        "upos": Strings("upos", most=1 << 10, labels=True),
        "features": Strings("upos", most=1 << 10, longest=1 << 12, distinct=False, labels=True),
        "tags": Strings(most=1 << 15, labels=True),
    }
)
"""Fine tags in a model file: for each UPOS its features, joined by ``|``."""


@dataclass(frozen=True)
class FineTags:
    """``features`` are those of each UPOS that has any; ``tags`` are those of the training part,
    the most frequent first.
    """

    features: Mapping[str, tuple[str, ...]]
    tags: tuple[str, ...]

    @classmethod
    def learn(cls, sentences: Sequence[Sentence]) -> FineTags:
        """The fine tags of sentences with UPOS and trees; without FEATS they are the UPOS. Words
        without UPOS or head are left out.
        """
        arcs, values, upos = arcs_of(sentences)
        chosen = choose_for_tags(arcs, values, LEAST_GAIN)
        features = {upos[number]: names for number, names in chosen.items()}
        return cls(features, ()).extended(sentences)

    def replace_xpos_of(self, sentences: Sequence[Sentence]) -> bool:
        """Whether fine tags should stand in although the sentences have XPOS: because it says
        little more than UPOS, or is so rich that its values are too rare to be learned from.
        """
        arcs, _, _ = arcs_of(sentences)
        has_xpos = (tag != MISSING for sentence in sentences for tag in column_of(sentence, "xpos"))
        arcs = arcs._replace(known=arcs.known & np.fromiter(has_xpos, dtype=np.bool_))
        if arcs.known.sum() < ENOUGH_WORDS:
            return False
        pairs, distinct = numbers_of(pair for sentence in sentences for pair in _pairs_of(sentence))
        tags = self._tags_of(distinct)
        of_pairs, _ = numbers_of(tags[pair] for pair in distinct)
        fine = of_pairs[pairs]
        xpos, _ = numbers_of(one for sentence in sentences for one in column_of(sentence, "xpos"))
        plain = likelihood_of_arcs(arcs, arcs.upos)
        of_xpos = likelihood_of_arcs(arcs, numbered(arcs.upos, xpos)) - plain
        return of_xpos < LEAST_SHARE * (likelihood_of_arcs(arcs, fine) - plain)

    def _tags_of(self, pairs: Iterable[_Pair]) -> dict[_Pair, str]:
        """The fine tag of each pair of a UPOS and a bundle."""
        return {pair: self.tag(pair[0], features_of(pair[1])) for pair in set(pairs)}

    def extended(self, sentences: Iterable[Sentence]) -> FineTags:
        """The same with the tags of those UPOS that had none; their numbers follow the known.

        A tag that is new for a known UPOS stays what it was, the most frequent one of its UPOS, so
        that training which continues from a base begins with the base's predictions.
        """
        known = set(map(_upos_of_tag, self.tags))
        pairs = Counter(pair for sentence in sentences for pair in _pairs_of(sentence))
        counts = Counter[str]()
        for pair, tag in self._tags_of(pairs).items():
            if pair[0] != MISSING and pair[0] not in known:
                counts[tag] += pairs[pair]
        new = sorted(set(counts).difference(self.tags), key=lambda tag: (-counts[tag], tag))
        return FineTags(self.features, (*self.tags, *new))

    def tag(self, upos: str, features: Mapping[str, str]) -> str:
        """The fine tag of a UPOS and the values of its features."""
        chosen = self.features.get(upos, ())
        values = [f"{name}={features[name]}" for name in chosen if name in features]
        return _SEPARATOR.join([upos, *values])

    def table(self, upos: Sequence[str], bundles: Sequence[str]) -> Ints:
        """The number of the fine tag, from 0 on, of each UPOS with each bundle; shape
        (upos, bundles + 1).

        A tag that training has not seen is replaced by the most frequent one of its UPOS, -1 if
        there is none; that is also what the last column holds, which is for unknown bundles.
        """
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        usual: dict[str, int] = {}
        for tag, number in numbers.items():
            usual.setdefault(_upos_of_tag(tag), number)
        parsed = [features_of(bundle) for bundle in bundles]
        table = np.empty((len(upos), len(bundles) + 1), dtype=np.int32)
        for row, one in zip(table, upos, strict=True):
            row[:] = usual.get(one, -1)
            if self.features.get(one):
                row[:-1] = [numbers.get(self.tag(one, known), row[-1]) for known in parsed]
        return table

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "upos": list(self.features),
            "features": [_SEPARATOR.join(names) for names in self.features.values()],
            "tags": list(self.tags),
        }

    @classmethod
    def from_payload(cls, stored: Stored, upos: int, bundles: int) -> FineTags:
        """The fine tags of a model with so many labels of UPOS and of FEATS.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_FINE_TAGS)
        features = [tuple(names.split(_SEPARATOR)) for names in read["features"]]
        most = max(map(len, features), default=0)
        if most > MOST_FEATURES:
            raise Misfit("fine_tags.features", f"at most {MOST_FEATURES} of a UPOS", most)
        stored.spend(4 * upos * (bundles + 1) + STRING_BYTES * len(features) * bundles)
        return cls(dict(zip(read["upos"], features, strict=True)), tuple(read["tags"]))


def _pairs_of(sentence: Sentence) -> Iterable[_Pair]:
    """The UPOS and the bundle of each word."""
    return zip(column_of(sentence, "upos"), column_of(sentence, "feats"), strict=True)


def _upos_of_tag(tag: str) -> str:
    return tag.partition(_SEPARATOR)[0]


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
