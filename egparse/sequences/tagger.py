"""Taggers: a linear-chain CRF for a layer of tags, or for several at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from egparse.features.request import Request, Values
from egparse.features.sequence import NEVER, Division
from egparse.features.tag_dictionary import (
    AllowedLabels,
    Candidates,
    TagDictionary,
    all_labels,
    restrict,
)
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.layers import MORPHOLOGY
from egparse.sentences import HIDDEN
from egparse.sequences.combinations import (
    MOST_COMBINATIONS,
    STORED_MORPHOLOGY,
    Combinations,
    TooManyParts,
)
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.storage.arrays import ListsByString, compress_lists
from egparse.storage.schema import (
    SECTION,
    ListOf,
    Maybe,
    Packed,
    Record,
    Stored,
    Strings,
    ascend_within,
    starts_of,
)
from egparse.types import Floats, Ints, Mask

if TYPE_CHECKING:
    from egparse.config.sections import ExpanderConfig, TokeniserConfig, WordLabelConfig


STORED_TAGGER = Record({"model": SECTION, "dictionary": Maybe(ListOf(SECTION, 2, 2))})
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
class Tagger(SequencePredictor):
    """A linear-chain CRF over the tags of a layer, or over the ``combinations`` of tags of several,
    with a tag dictionary where there are many. What it chooses is a *label*: the number of a tag or
    of a combination.
    """

    model: SequenceModel
    dictionary: TagDictionary | None
    layers: tuple[str, ...]
    combinations: Combinations | None = None

    @property
    def name(self) -> str:
        """The section of its settings: the layer, or ``morphology`` for several."""
        return self.layers[0] if self.combinations is None else MORPHOLOGY

    def annotate(self, request: Request) -> dict[str, Values]:
        """The tags of ``predict``, and in the layers that are asked for the probability of each;
        tags of spans that mean the same count as one.

        The probability of a tag of several layers is the sum over the combinations that have it.
        Where no known combination has it, it is nan, or 1 if no other tag is allowed.
        """
        words, limits, asked = request.words, request.limits, request.asked
        restriction = self._labels_of(limits)
        chosen = self.choose(words, restriction)
        tags = self.in_layers(chosen)
        kept = self._restricted(tags, limits)
        found = {layer: Values(kept[layer]) for layer in self.layers}
        kinds = None
        if asked and self.layers == ("spans",):
            kinds = iob2_kinds(request.columns.labels["spans"].strings)
        for k, layer in enumerate(self.layers):
            if layer not in asked:
                continue
            if self.combinations is not None:
                kinds = np.ascontiguousarray(self.combinations.numbers[:, k])
            probabilities = self.probabilities(words, chosen, restriction, kinds)
            others = kept[layer] != tags[layer]
            probabilities[others] = np.nan
            if others.any():
                places, mask = limits[layer]
                fixed = places[mask.sum(axis=1) == 1]
                probabilities[fixed[others[fixed]]] = 1.0
            found[layer] = Values(kept[layer], probabilities)
        return found

    def part_labels(self, layer: str, labels: Mapping[str, Vocabulary]) -> Sequence[str | None]:
        """The text of each part of labels that belongs to a layer, None for other parts."""
        if self.combinations is None:
            return labels[layer].strings
        return self.combinations.part_labels(layer, labels)

    def predict(
        self, words: Words, allowed: Mapping[str, AllowedLabels] | None = None
    ) -> dict[str, Ints]:
        """The number of the tag of each word, (words,), in each layer, from ``allowed`` tags where
        these are given; -1 where no sequence of them is allowed.

        Where no known combination is allowed, the tags of the first layers count: those of a later
        one are the most frequent of the tags that are allowed there.
        """
        allowed = allowed or {}
        return self._restricted(
            self.in_layers(self.choose(words, self._labels_of(allowed))), allowed
        )

    def choose(self, words: Words, allowed: AllowedLabels | None = None) -> Ints:
        """The best label sequence of each sentence, if given from ``allowed`` labels only.

        Where the tag dictionary leaves no allowed sequence, all allowed labels are candidates. A
        sentence without any allowed sequence has -1 throughout.
        """
        labels = np.full(words.n_words, -1, dtype=np.int32)
        lost = np.ones(words.n_words, dtype=np.bool_)
        for candidates in self._candidates(words, allowed):
            scores = self.model.scores_of(words, candidates, by_form=allowed is None)
            labels[lost] = self.model.choose(scores, words.starts, candidates)[lost]
            if allowed is None:
                return labels
            lost = self._lost(words, labels, allowed)
            if not lost.any():
                break
        labels[lost] = -1
        return labels

    def probabilities(
        self,
        words: Words,
        labels: Ints,
        allowed: AllowedLabels | None = None,
        kinds: Ints | None = None,
    ) -> Floats:
        """The marginal probability of each of the ``labels`` (words,) among the candidates that the
        dictionary and ``allowed`` leave; nan for -1.

        Labels of equal ``kinds[label]`` count as one. The candidates are the same as in ``choose``,
        also where it goes beyond the dictionary.
        """
        found = np.full(words.n_words, np.nan)
        for candidates in self._candidates(words, allowed):
            scores = self.model.scores_of(words, candidates, by_form=allowed is None)
            others = self.model.probabilities(scores, words.starts, candidates, labels, kinds)
            found = np.where(np.isnan(found), others, found)
            if not (np.isnan(found) & (labels >= 0)).any():
                break
        return found

    def scored(self, words: Words) -> tuple[Candidates, Floats]:
        """The candidates of words, and their scores."""
        (candidates,) = self._candidates(words, None)
        return candidates, self.model.scores(words.values, words.starts, candidates)

    def _candidates(self, words: Words, allowed: AllowedLabels | None) -> Iterator[Candidates]:
        """What the dictionary and constraints leave of labels, then what constraints alone leave,
        if there are any.
        """
        candidates = candidates_of(words, self.dictionary, self.model.n_labels)
        if allowed is None:
            yield candidates
            return
        yield restrict(candidates, allowed)
        if self.dictionary is not None:
            yield restrict(all_labels(words.n_words, self.model.n_labels), allowed)

    def in_layers(self, labels: Ints) -> dict[str, Ints]:
        """The number of the tag (words,) in each layer, of labels (words,); -1 for -1."""
        if self.combinations is None:
            return {self.layers[0]: labels}
        return self.combinations.in_layers(labels)

    def _labels_of(self, allowed: Mapping[str, AllowedLabels]) -> AllowedLabels | None:
        if self.combinations is None:
            return allowed.get(self.layers[0])
        return self.combinations.allowed(
            {layer: allowed[layer] for layer in self.layers if layer in allowed}
        )

    def _restricted(
        self, tags: dict[str, Ints], allowed: Mapping[str, AllowedLabels]
    ) -> dict[str, Ints]:
        """The tags of combinations, with the most frequent allowed one where another is not
        allowed, -1 where none is.
        """
        if self.combinations is None:
            return tags
        kept = dict(tags)
        for layer, (words, mask) in allowed.items():
            if layer in kept:
                own = kept[layer][words]
                wrong = (own < 0) | ~mask[np.arange(len(words)), own]
                first = np.where(mask.any(axis=1), mask.argmax(axis=1), -1)
                kept[layer] = kept[layer].copy()
                kept[layer][words[wrong]] = first[wrong]
        return kept

    def _lost(self, words: Words, labels: Ints, allowed: AllowedLabels) -> Mask:
        """The words of restricted sentences for which no sequence is allowed."""
        lost = ~self.model.allows(labels, words.starts)
        restricted = np.zeros(words.n_sentences, dtype=bool)
        restricted[np.searchsorted(words.starts, allowed.words, side="right") - 1] = True
        return np.repeat(lost & restricted, np.diff(words.starts))

    def over(self, columns: Columns, combinations: Combinations | None = None) -> Tagger:
        """The same tagger over columns that extend its own, and over ``combinations`` that extend
        those that it knows; a new tag scores 0, a new combination what its known parts score.
        """
        if self.combinations is None:
            n_labels = len(columns.labels[self.layers[0]])
            return replace(self, model=self.model.over(columns.names, n_labels))
        combinations = combinations or self.combinations
        division = combinations.division(columns.labels, NEVER)
        model = self.model.over(columns.names, len(combinations.numbers), division)
        return replace(self, model=model, combinations=combinations)

    def reduced(
        self,
        config: WordLabelConfig | TokeniserConfig | ExpanderConfig,
        columns: Columns | None = None,
    ) -> Tagger:
        """The tagger as a model file holds it, without small weights, and without invalid sequences
        of the tags of spans, which ``columns`` name.
        """
        tagger = super().reduced(config)
        if self.layers != ("spans",) or columns is None:
            return tagger
        tags = columns.labels["spans"].strings
        return replace(tagger, model=forbid_invalid_spans(tagger.model, tags, columns.scheme))

    def to_payload(self) -> dict[str, Any]:
        dictionary = self.dictionary and [
            compress_lists(self.dictionary.by_form),
            compress_lists(self.dictionary.by_suffix),
        ]
        stored = {"model": self.model.to_payload(), "dictionary": dictionary}
        if self.combinations is None:
            return stored
        return {**self.combinations.to_payload(), "tagger": stored}

    @classmethod
    def from_payload(cls, stored: Stored, columns: Columns, section: str) -> Tagger:
        """The tagger of a layer, or of the layers of the section ``morphology``.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        if section != MORPHOLOGY:
            is_hidden = section in HIDDEN
            expected = f"labels of {section}" if is_hidden else "a layer with labels"
            got = "none" if is_hidden else "one without"
            stored.require(section in columns.labels, "", expected, got)
            model, dictionary = _read(stored, columns, len(columns.labels[section]))
            return cls(model, dictionary, (section,))
        read = stored.read(STORED_MORPHOLOGY)
        combinations = Combinations.from_payload(stored, read, columns.labels)
        try:
            division = combinations.division(columns.labels, NEVER)
        except TooManyParts as error:
            most = f"combinations of at most {MOST_COMBINATIONS} parts"
            raise stored.fault(most, str(error), "numbers") from None
        n_labels = len(combinations.numbers)
        model, dictionary = _read(read["tagger"], columns, n_labels, division)
        return cls(model, dictionary, combinations.layers, combinations)


def _read(
    stored: Stored, columns: Columns, n_labels: int, division: Division | None = None
) -> tuple[SequenceModel, TagDictionary | None]:
    read = stored.read(STORED_TAGGER)
    model = SequenceModel.from_payload(read["model"], columns.names, n_labels, division)
    dictionary = read["dictionary"]
    return model, dictionary and _dictionary(dictionary[0], dictionary[1], n_labels)


def _dictionary(forms: Stored, suffixes: Stored, n_labels: int) -> TagDictionary:
    by_form, by_suffix = (part.read(STORED_LISTS, labels=n_labels) for part in (forms, suffixes))
    forms.require(
        ascend_within(by_form["numbers"], starts_of(by_form["lengths"])),
        "numbers",
        "ascending labels of each form",
    )
    dictionary = TagDictionary(ListsByString(**by_form), ListsByString(**by_suffix))
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


def forbid_invalid_spans(model: SequenceModel, tags: Sequence[str], scheme: str) -> SequenceModel:
    """The model with a score of -inf for invalid sequences of the tagging scheme.

    Invalid is an I or E that does not continue a span of its type, and in IOBES also a tag that
    leaves a span before its end. A sentence may end inside a span, which is then read as complete.
    """
    transitions, opening = model.transitions.copy(), model.opening.copy()
    for after, tag in enumerate(tags):
        continues = tag[0] in "IE"
        if continues:
            opening[after] = -np.inf
        for before, previous in enumerate(tags):
            goes_on = previous[0] in "BI"
            allowed = (
                goes_on and previous[2:] == tag[2:]
                if continues
                else scheme == "iob2" or not goes_on
            )
            if not allowed:
                transitions[before, after] = -np.inf
    return replace(model, transitions=transitions, opening=opening)
