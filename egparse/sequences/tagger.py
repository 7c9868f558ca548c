"""Taggers: one linear-chain CRF for each layer of tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from egparse.features.sequence import Division
from egparse.features.tag_dictionary import (
    AllowedLabels,
    Candidates,
    TagDictionary,
    all_labels,
    restrict,
)
from egparse.features.word_table import Words
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
    """A sequence model, and a tag dictionary where the tag set is large."""

    model: SequenceModel
    dictionary: TagDictionary | None

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
        cls,
        stored: Stored,
        columns: Sequence[str],
        n_labels: int,
        division: Division | None = None,
    ) -> Tagger:
        """The tagger over the named columns, with so many labels, which may be divided.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_TAGGER)
        model = SequenceModel.from_payload(read["model"], columns, n_labels, division)
        dictionary = read["dictionary"]
        return cls(model, dictionary and _dictionary(dictionary[0], dictionary[1], n_labels))


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
