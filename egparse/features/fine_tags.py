"""Fine tags that stand in where a treebank has no language-specific ones (XPOS): the UPOS with the
features that say most about syntax, such as ``NOUN|Case=Nom``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from egparse.features.feature_choice import (
    MOST_FEATURES,
    arcs_of,
    choose_for_tags,
    column_of,
    features_of,
    likelihood_of_arcs,
    numbered,
    numbers_of,
)
from egparse.sentences import MISSING, Sentence
from egparse.storage.schema import STRING_BYTES, Misfit, Record, Stored, Strings
from egparse.types import Ints

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
