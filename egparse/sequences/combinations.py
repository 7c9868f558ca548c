"""Combinations of the tags of words in several layers: UPOS, XPOS and FEATS as one chain over what
training has seen, so that they always agree.

A combination scores the sum of its parts: the tag of each layer and, where many bundles of features
are rare, each single feature of the bundle (Mueller et al. 2013, "Efficient higher-order CRFs for
morphological tagging", section 4, add the scores of sub-tags to those of the tag). Bigrams are
those of UPOS and XPOS together or, where words agree in much, of UPOS and what they agree in.
Unlike there the candidates of a word come from a tag dictionary and not from a chain of lower
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from egparse.features.sequence import NEVER, Division, LabelParts
from egparse.features.tag_dictionary import AllowedLabels
from egparse.features.vocabulary import Vocabulary
from egparse.layers import WORD_TAGS
from egparse.storage.schema import FLAG, SECTION, Array, ListOf, Record, Stored, choice
from egparse.types import Ints, Longs, UInt16s

MOST_FULL = 64
"""Tags of a layer that has more get no weights for attributes that they were not seen with."""

MOST_COMBINATIONS = (1 << 16) - 1
"""Combinations, and parts of them: their numbers are stored in 16 bits."""

MOST_FEATURES = 64
"""Features of a bundle; no language has so many."""

SINGLE_FEATURE = "feature"
"""The kind of parts that are single features."""

_NO_FEATURES = "_"
_NO_TAG = (1 << 16) - 1
"""In a model file: a word without a value in a layer; no layer has so many labels."""

STORED_MORPHOLOGY = Record(
    {
        "layers": ListOf(choice(WORD_TAGS), 2, len(WORD_TAGS)),
        "numbers": Array("uint16", (None, None)),
        "single_features": FLAG,
        "agreement": FLAG,
        "tagger": SECTION,
    },
    absent={"agreement": False},
)
"""A tagger of several layers in a model file: see ``Combinations``."""


AGREEMENT = frozenset({"Case", "Gender", "Number"})
"""The features in which neighbouring words agree, in most languages that have them."""

MUCH_OPEN = 1.5
"""Bits a word. Where UPOS leaves more of these features open, bigrams see them instead of XPOS
(docs/decisions/joint-tags.md).
"""


class Part(NamedTuple):
    """A part of a combination: a tag of a layer (``kind``), or a single feature of a bundle."""

    kind: str
    text: str


class TooManyParts(ValueError):
    """Combinations have more parts than can be numbered."""


class Combinations(NamedTuple):
    """The combinations of tags that a joint tagger knows: combination ``c`` has the label
    ``numbers[c, k]`` in the layer ``layers[k]``.

    With ``single_features`` each feature of a bundle has weights of its own. Bigrams are of the
    tags of all layers but FEATS; with ``agreement`` of those of the first layer and of the features
    in which words agree.
    """

    layers: tuple[str, ...]
    numbers: Ints
    single_features: bool
    agreement: bool = False

    @classmethod
    def of(
        cls, layers: Sequence[str], labels: Mapping[str, Ints], single_features: bool
    ) -> Combinations:
        """The combinations of the label numbers of words, (words,) for each layer; the most
        frequent first.
        """
        table = np.stack([labels[layer] for layer in layers], axis=1).astype(np.int32)
        numbers, counts = np.unique(table, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return cls(tuple(layers), np.ascontiguousarray(numbers[order]), single_features)

    def extended(self, labels: Mapping[str, Ints]) -> Combinations:
        """The same with the new combinations of words behind them."""
        seen = Combinations.of(self.layers, labels, self.single_features)
        known = set(map(tuple, self.numbers.tolist()))
        new = [row for row in seen.numbers.tolist() if tuple(row) not in known]
        numbers = np.array([*self.numbers.tolist(), *new], dtype=np.int32)
        return self._replace(numbers=numbers.reshape(-1, len(self.layers)))

    def find(self, labels: Mapping[str, Ints]) -> Ints:
        """The combination of each word, from its label numbers (words,) in each layer; -1 for those
        that are not known.
        """
        rows = {tuple(row): number for number, row in enumerate(self.numbers.tolist())}
        table = zip(*(labels[layer].tolist() for layer in self.layers), strict=True)
        return np.array([rows.get(row, -1) for row in table], dtype=np.int32)

    def in_layers(self, chosen: Ints) -> dict[str, Ints]:
        """The label numbers of combinations (words,), -1 for none, in each layer."""
        rows = np.where(chosen[:, None] >= 0, self.numbers[chosen], -1)
        return {layer: np.ascontiguousarray(rows[:, k]) for k, layer in enumerate(self.layers)}

    def division(self, labels: Mapping[str, Vocabulary], full_from: int) -> Division:
        """The parts of each combination and its class in bigrams; parts of layers with few tags are
        those that attributes have from ``full_from`` words on (``NEVER``: none).

        Raises:
            TooManyParts: more than ``MOST_COMBINATIONS``.
        """
        numbers: dict[Part, int] = {}
        lists = [
            [numbers.setdefault(part, len(numbers)) for part in parts]
            for parts in self.parts(labels)
        ]
        if len(numbers) > MOST_COMBINATIONS:
            raise TooManyParts(len(numbers))
        few = {
            layer for layer in self.layers if layer != "feats" and len(labels[layer]) <= MOST_FULL
        }
        full = [full_from if part.kind in few else NEVER for part in numbers]
        return Division(LabelParts.of(lists), np.array(full, dtype=np.int32), self.classes(labels))

    def classes(self, labels: Mapping[str, Vocabulary]) -> UInt16s:
        """The class of each combination in bigrams."""
        seen = [k for k, layer in enumerate(self.layers) if layer != "feats"]
        keys = self.numbers[:, seen]
        if self.agreement:
            texts = [*map(agreeing, labels["feats"].strings), ""]  # the last one: no bundle
            agreements = np.unique(texts, return_inverse=True)[1]
            keys = np.stack([self.numbers[:, 0], agreements[self.numbers[:, -1]]], axis=1)
        numbers: dict[tuple[int, ...], int] = {}
        found = [numbers.setdefault(tuple(key), len(numbers)) for key in keys.tolist()]
        return np.array(found, dtype=np.uint16)

    def parts(self, labels: Mapping[str, Vocabulary]) -> Iterator[list[Part]]:
        """The parts of each combination: a tag for each layer, then single features."""
        features: dict[int, list[Part]] = {}
        place = self.layers.index("feats") if self.single_features else 0
        for row in self.numbers.tolist():
            own = [
                Part(layer, labels[layer].strings[tag] if tag >= 0 else "")
                for layer, tag in zip(self.layers, row, strict=True)
            ]
            if self.single_features:
                if row[place] not in features:
                    features[row[place]] = _features_of(own[place].text)
                own += features[row[place]]
            yield own

    def allowed(self, allowed: Mapping[str, AllowedLabels]) -> AllowedLabels | None:
        """The combinations that constraints in the layers allow. A layer whose constraint leaves
        none of those that the layers before it allow is left out.
        """
        if not allowed:
            return None
        words = np.unique(np.concatenate([of.words for of in allowed.values()])).astype(np.int64)
        mask = np.ones((len(words), len(self.numbers)), dtype=np.bool_)
        for k, layer in enumerate(self.layers):
            if layer in allowed:
                places, labels = allowed[layer]
                rows, tags = np.searchsorted(words, places), self.numbers[:, k]
                tried = mask[rows] & labels[:, tags] & (tags >= 0)
                some = tried.any(axis=1)
                mask[rows[some]] = tried[some]
        return AllowedLabels(words, mask)

    def part_labels(self, layer: str, labels: Mapping[str, Vocabulary]) -> list[str | None]:
        """The text of each part that belongs to a layer, None for other parts; single features
        belong to FEATS.
        """
        kinds = (layer, SINGLE_FEATURE) if layer == "feats" else (layer,)
        distinct = dict.fromkeys(part for parts in self.parts(labels) for part in parts)
        return [part.text if part.kind in kinds else None for part in distinct]

    def as_text(self, labels: Mapping[str, Vocabulary]) -> tuple[str, ...]:
        """Each combination as the tags of its layers, ``_`` for none."""
        known = [labels[layer].strings for layer in self.layers]
        return tuple(
            " ".join(
                strings[tag] if tag >= 0 else "_" for strings, tag in zip(known, row, strict=True)
            )
            for row in self.numbers.tolist()
        )

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file; the tagger follows."""
        numbers = np.where(self.numbers < 0, _NO_TAG, self.numbers).astype(np.uint16)
        return {
            "layers": list(self.layers),
            "numbers": numbers,
            "single_features": self.single_features,
            **({"agreement": True} if self.agreement else {}),
        }

    @classmethod
    def from_payload(
        cls, stored: Stored, read: Mapping[str, Any], labels: Mapping[str, Vocabulary]
    ) -> Combinations:
        """The combinations of a section that was ``read``, over the label sets of the layers.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        layers, numbers = tuple(read["layers"]), read["numbers"].astype(np.int32)
        numbers[numbers == _NO_TAG] = -1
        in_order = [layer for layer in WORD_TAGS if layer in layers]
        stored.require(list(layers) == in_order, "layers", f"{', '.join(in_order)}", "others")
        stored.require(
            all(layer in labels for layer in layers), "layers", "layers with labels", "others"
        )
        has_bundles = "feats" in layers
        stored.require(
            has_bundles or not read["agreement"], "agreement", "false without feats", True
        )
        shape = f"1 to {MOST_COMBINATIONS} combinations of {len(layers)} tags"
        fits = 0 < len(numbers) <= MOST_COMBINATIONS and numbers.shape[1] == len(layers)
        stored.require(fits, "numbers", shape, f"an array of shape {numbers.shape}")
        for k, layer in enumerate(layers):
            highest = int(numbers[:, k].max())
            expected = f"numbers below {len(labels[layer])}"
            stored.require(highest < len(labels[layer]), "numbers", expected, highest)
        distinct = len(set(map(tuple, numbers.tolist()))) == len(numbers)
        stored.require(distinct, "numbers", "combinations that differ", "some twice")
        return cls(layers, numbers, read["single_features"], read["agreement"])


def _features_of(bundle: str) -> list[Part]:
    """The single features of a bundle, none of one with more than ``MOST_FEATURES``."""
    names = [one for one in dict.fromkeys(bundle.split("|")) if one not in ("", _NO_FEATURES)]
    return [Part(SINGLE_FEATURE, one) for one in names] if len(names) <= MOST_FEATURES else []


def agreeing(bundle: str) -> str:
    """The features of a bundle in which words agree."""
    return "|".join(one for one in bundle.split("|") if one.partition("=")[0] in AGREEMENT)


def bits_open(coarse: Ints, fine: UInt16s) -> float:
    """The conditional entropy, in bits, of the fine class of a word, given its coarse class; both
    are of shape (words,), and words of the same fine class have the same coarse class.
    """
    return _entropy(np.bincount(fine)) - _entropy(np.bincount(coarse))


def _entropy(counts: Longs) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
