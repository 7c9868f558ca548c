"""A sentence splitter: where sentences start inside a paragraph, by a linear-chain CRF over its
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from egparse.features.tag_dictionary import Candidates, all_labels
from egparse.splitting.columns import COLUMNS, Paragraph, paragraph_columns
from egparse.storage.schema import Flag, Record, Section, Stored
from egparse.tagging.sequence_model import SequenceModel
from egparse.types import Floats, Longs, Mask

N_LABELS = 2
"""1: a sentence starts here; 0: it does not."""

BATCH_WORDS = 50_000
"""Words split at a time, to bound the memory; a longer paragraph is one batch."""


STORED_SPLITTER = Record({"model": Section(), "spacing": Flag()})
"""A splitter in a model file."""


@dataclass(frozen=True)
class Splitter:
    """A CRF over the words of a paragraph; immutable, so that threads may share it.

    Without ``spacing`` it was trained on a corpus that does not mark blanks, and has no features of
    them.
    """

    model: SequenceModel
    spacing: bool = True

    @property
    def temperature(self) -> float:
        """The temperature of the probabilities."""
        return self.model.temperature

    def with_temperature(self, temperature: float) -> Splitter:
        """The same splitter with probabilities from scores divided by a temperature."""
        return replace(self, model=self.model.with_temperature(temperature))

    def starts(self, forms: Sequence[str], spaced: Sequence[bool]) -> Mask:
        """Whether a sentence starts at each word of a paragraph, shape (words,): always at the
        first one.

        ``forms`` are words as they stand in text (a multiword token is one), ``spaced[k]``: a blank
        or the end of the paragraph follows word ``k``.

        Raises:
            ValueError: not one value of ``spaced`` for each word.
        """
        return self.split([Paragraph(forms, spaced)])[0]

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        """``starts`` of many paragraphs, faster than one by one."""
        masks: list[Mask] = []
        for batch in _batches(paragraphs):
            values, places = paragraph_columns(batch, spacing=self.spacing)
            labels = self.model.choose(values, places, _candidates(len(values)))
            starts = labels == 1
            starts[_first_words(places)] = True  # whatever the scores say
            masks += [starts] if len(batch) == 1 else np.split(starts, places[1:-1])
        return masks

    def probabilities(self, forms: Sequence[str], spaced: Sequence[bool]) -> Floats:
        """The probability that a sentence starts at each word of a paragraph, shape (words,); 1 at
        the first word.
        """
        return self.all_probabilities([Paragraph(forms, spaced)])[0]

    def all_probabilities(self, paragraphs: Sequence[Paragraph]) -> list[Floats]:
        """``probabilities`` of many paragraphs."""
        probabilities: list[Floats] = []
        for batch in _batches(paragraphs):
            values, places = paragraph_columns(batch, spacing=self.spacing)
            starts = np.ones(len(values), dtype=np.int32)
            starting = self.model.probabilities(values, places, _candidates(len(values)), starts)
            starting[_first_words(places)] = 1.0
            probabilities += np.split(starting, places[1:-1])
        return probabilities

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {"model": self.model.to_payload(), "spacing": self.spacing}

    @classmethod
    def from_payload(cls, stored: Stored) -> Splitter:
        """The splitter of a model file.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_SPLITTER)
        return cls(SequenceModel.from_payload(read["model"], COLUMNS, N_LABELS), read["spacing"])


def _candidates(n_words: int) -> Candidates:
    return all_labels(n_words, N_LABELS)


def _batches(paragraphs: Sequence[Paragraph]) -> list[Sequence[Paragraph]]:
    """Consecutive paragraphs with at most ``BATCH_WORDS`` words, or a single one with more."""
    batches: list[Sequence[Paragraph]] = []
    first = size = 0
    for number, paragraph in enumerate(paragraphs):
        if size and size + len(paragraph.forms) > BATCH_WORDS:
            batches.append(paragraphs[first:number])
            first, size = number, 0
        size += len(paragraph.forms)
    if first < len(paragraphs):
        batches.append(paragraphs[first:])
    return batches


def _first_words(places: Longs) -> Longs:
    """The numbers of the words that paragraphs begin with."""
    return places[:-1][np.diff(places) > 0]
