"""Taggers: one linear-chain CRF for each layer of tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from egparse.features.request import Request, Values
from egparse.features.sequence import Division
from egparse.features.tag_dictionary import (
    AllowedLabels,
    Candidates,
    TagDictionary,
    all_labels,
    restrict,
)
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.layers import SUPERTAGS
from egparse.sequences.sequence_model import SequenceModel
from egparse.storage.compressed_arrays import compress_lists, lists_by_string
from egparse.storage.schema import (
    ListOf,
    Maybe,
    Packed,
    Record,
    Section,
    Stored,
    Strings,
    ascend_within,
    starts_of,
)
from egparse.types import Floats, Ints, Mask


class LabelsWithProbabilities(NamedTuple):
    """The label number of each word, -1 for none, and its marginal probability, nan for none; both
    of shape (words,).
    """

    labels: Ints
    probabilities: Floats


STORED_TAGGER = Record({"model": Section(), "dictionary": Maybe(ListOf(Section(), 2, 2))})
"""A tagger in a model file; the dictionary is two parts like ``STORED_LISTS``, by form and by
suffix.
"""

STORED_LISTS = Record(
    {
        "strings": Strings("strings", distinct=False),
        "lengths": Packed(("uint16",), "strings", sums_to="numbers"),
        "numbers": Packed(("uint16",), "numbers", below="labels", takes=18),
    }
)
"""Labels by form or suffix in a model file."""


@dataclass(frozen=True)
class Tagger:
    """A sequence model, and a tag dictionary where the tag set is large; ``name`` is the layer that
    it tags.
    """

    model: SequenceModel
    dictionary: TagDictionary | None
    name: str = ""

    @property
    def layers(self) -> tuple[str, ...]:
        """The layer that it tags."""
        return (self.name,)

    def annotate(self, request: Request) -> dict[str, Values]:
        """See ``pipeline.components.Component``; tags of spans count as the same in each scheme."""
        allowed = request.limits.get(self.name)
        if self.name not in request.asked:
            return {self.name: Values(self.predict(request.words, allowed))}
        strings = request.columns.labels[self.name].strings
        kinds = iob2_kinds(strings) if self.name == "spans" else None
        found = self.predict_with_probabilities(request.words, allowed, kinds)
        return {self.name: Values(*found)}

    def over(self, columns: Columns) -> Tagger:
        """The same over columns and labels that extend its own; what is new scores 0."""
        from egparse.sequences.warm_start import extend_model

        model = extend_model(self.model, columns.names, len(columns.labels[self.name]))
        return replace(self, model=model)

    def part_labels(self, layer: str, labels: Mapping[str, Vocabulary]) -> Sequence[str | None]:
        """The text of each label."""
        return labels[layer].strings

    def size(self) -> dict[str, int]:
        """The numbers of its labels, attributes and weights, and of bytes in memory."""
        return self.model.size()

    def predict(self, words: Words, allowed: AllowedLabels | None = None) -> Ints:
        """The label numbers of the best label sequence of each sentence, if given from ``allowed``
        labels only.

        Where the tag dictionary leaves no allowed sequence, all allowed labels are candidates. A
        sentence without any allowed sequence has -1 throughout.
        """
        candidates = candidates_of(words, self.dictionary, self.model.n_labels)
        if allowed is None:
            return self.model.choose(words.values, words.starts, candidates)
        labels = self.model.choose(words.values, words.starts, restrict(candidates, allowed))
        lost = self._lost(words, labels, allowed)
        if self.dictionary is not None and lost.any():
            wider = restrict(all_labels(len(words.form_ids), self.model.n_labels), allowed)
            labels = np.where(lost, self.model.choose(words.values, words.starts, wider), labels)
            lost = self._lost(words, labels, allowed)
        labels[lost] = -1
        return labels

    def predict_with_probabilities(
        self,
        words: Words,
        allowed: AllowedLabels | None = None,
        kinds: Ints | None = None,
        labels: Ints | None = None,
    ) -> LabelsWithProbabilities:
        """The labels of ``predict``, or given ``labels``, and the marginal probability of each
        among the candidates that the dictionary and ``allowed`` leave.

        Labels of equal ``kinds[label]`` count as one. The candidates are the same as in
        ``predict``, also where it goes beyond the dictionary.
        """
        labels = self.predict(words, allowed) if labels is None else labels
        candidates = candidates_of(words, self.dictionary, self.model.n_labels)
        if allowed is not None:
            candidates = restrict(candidates, allowed)
        probabilities = self.model.probabilities(
            words.values, words.starts, candidates, labels, kinds
        )
        beyond = np.isnan(probabilities) & (labels >= 0)
        if allowed is not None and beyond.any():
            wider = restrict(all_labels(len(words.form_ids), self.model.n_labels), allowed)
            others = self.model.probabilities(words.values, words.starts, wider, labels, kinds)
            probabilities = np.where(beyond, others, probabilities)
        return LabelsWithProbabilities(labels, probabilities)

    @property
    def temperature(self) -> float:
        """The temperature of the probabilities."""
        return self.model.temperature

    def with_temperature(self, temperature: float) -> Tagger:
        """The same tagger with probabilities from scores divided by a temperature."""
        return replace(self, model=self.model.with_temperature(temperature))

    def _lost(self, words: Words, labels: Ints, allowed: AllowedLabels) -> Mask:
        """The words of restricted sentences for which no sequence is allowed."""
        lost = ~self.model.allows(labels, words.starts)
        restricted = np.zeros(words.n_sentences, dtype=bool)
        restricted[np.searchsorted(words.starts, allowed.words, side="right") - 1] = True
        return np.repeat(lost & restricted, np.diff(words.starts))

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        dictionary = self.dictionary and [
            compress_lists(self.dictionary.by_form),
            compress_lists(self.dictionary.by_suffix),
        ]
        return {"model": self.model.to_payload(), "dictionary": dictionary}

    @classmethod
    def from_payload(
        cls, stored: Stored, columns: Columns, name: str, division: Division | None = None
    ) -> Tagger:
        """The tagger of a layer; of labels that are divided, it has no label set in ``columns``.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        expected = "labels of supertags" if name == SUPERTAGS else "a layer with labels"
        if division is None:
            got = "none" if name == SUPERTAGS else "one without"
            stored.require(name in columns.labels, "", expected, got)
        n_labels = len(columns.labels[name]) if division is None else len(division.classes)
        read = stored.read(STORED_TAGGER)
        model = SequenceModel.from_payload(read["model"], columns.names, n_labels, division)
        dictionary = read["dictionary"]
        return cls(model, dictionary and _dictionary(dictionary[0], dictionary[1], n_labels), name)


def _dictionary(forms: Stored, suffixes: Stored, n_labels: int) -> TagDictionary:
    by_form, by_suffix = (part.read(STORED_LISTS, labels=n_labels) for part in (forms, suffixes))
    forms.require(
        ascend_within(by_form["numbers"], starts_of(by_form["lengths"])),
        "numbers",
        "ascending labels of each form",
    )
    dictionary = TagDictionary(lists_by_string(**by_form), lists_by_string(**by_suffix))
    for part, read, lists in (
        (forms, by_form, dictionary.by_form),
        (suffixes, by_suffix, dictionary.by_suffix),
    ):
        part.require(
            len(lists) == len(read["strings"]), "strings", "texts that differ", "some twice"
        )
    # it ends every word: a form of which nothing else is known has its labels as candidates
    suffixes.require(dictionary.by_suffix.get(""), "strings", "labels for the empty suffix", "none")
    return dictionary


def candidates_of(words: Words, dictionary: TagDictionary | None, n_labels: int) -> Candidates:
    """The labels that each word may have."""
    if dictionary is None:
        return all_labels(len(words.form_ids), n_labels)
    return dictionary.candidates(words.distinct, words.form_ids)


def iob2_kinds(tags: Sequence[str]) -> Ints:
    """A number for each tag in IOB2 or IOBES, equal for tags with the same IOB2 equivalent."""
    numbers: dict[str, int] = {}
    plain = [{"S": "B", "E": "I"}.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    return np.array([numbers.setdefault(tag, len(numbers)) for tag in plain], dtype=np.int32)
