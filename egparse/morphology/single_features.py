"""Single morphological features of words, for templates of agreement and government: those whose
value at a head says most about their value at its dependents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from egparse.morphology.bundles import features_of
from egparse.morphology.choice import choose_for_agreement
from egparse.morphology.treebank import arcs_of
from egparse.sentences import Sentence
from egparse.storage.schema import ListOf, Record, Strings
from egparse.types import Ints

COLUMNS = ("morph1", "morph2", "morph3")
"""The columns of words that hold them, the most informative first."""

_FIRST_VALUE = 2
_ABSENT = 1

STORED_SINGLE_FEATURES = Record(
    {
        "features": Strings(most=len(COLUMNS), labels=True),
        "values": ListOf(Strings(most=1 << 12, labels=True), most=len(COLUMNS)),
    }
)
"""Single features in a model file, and the values of each."""


@dataclass(frozen=True)
class SingleFeatures:
    """At most as many features as there are ``COLUMNS``, and the values of each, the most frequent
    first.
    """

    features: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @classmethod
    def learn(cls, sentences: Sequence[Sentence]) -> SingleFeatures:
        """The features of sentences with UPOS and trees that say most about each other."""
        arcs, values, _ = arcs_of(sentences)
        features = choose_for_agreement(arcs, values, len(COLUMNS))
        return cls(features, ((),) * len(features)).extended(sentences)

    def extended(self, sentences: Iterable[Sentence]) -> SingleFeatures:
        """The same with the values of more sentences, whose numbers follow those of the known."""
        bundles = Counter(bundle for sentence in sentences for bundle in sentence.feats)
        values = []
        for name, known in zip(self.features, self.values, strict=True):
            counts: Counter[str] = Counter()
            for bundle, count in bundles.items():
                features = features_of(bundle)
                if name in features:
                    counts[features[name]] += count
            new = sorted(set(counts).difference(known), key=lambda one: (-counts[one], one))
            values.append((*known, *new))
        return SingleFeatures(self.features, tuple(values))

    def table(self, bundles: Sequence[str]) -> Ints:
        """The value of each column in each bundle, shape (bundles, columns): 1 without the feature,
        0 for an unknown value and for a column without a feature.
        """
        table = np.zeros((len(bundles), len(COLUMNS)), dtype=np.int32)
        for row, bundle in zip(table, bundles, strict=True):
            features = features_of(bundle)
            row[: len(self.features)] = [
                self._value(column, features) for column in range(len(self.features))
            ]
        return table

    def _value(self, column: int, features: Mapping[str, str]) -> int:
        name = self.features[column]
        if name not in features:
            return _ABSENT
        known = self.values[column]
        return known.index(features[name]) + _FIRST_VALUE if features[name] in known else 0
