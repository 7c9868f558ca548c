"""Sentences laid end to end as numbers: the words of a batch, with a column for everything that
templates may name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from egparse.features.form_statistics import COLUMNS as STATISTICS
from egparse.features.form_statistics import FormStatistics, Text
from egparse.features.forms import Lexicon
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary
from egparse.layers import TAG_LAYERS
from egparse.schemes import from_iob2
from egparse.sentences import Sentence
from egparse.types import Ints, Longs, Mask

_PLACES = ("first", "last")


class Words(NamedTuple):
    """Sentence ``i`` has the words ``starts[i]:starts[i + 1]``; word ``k`` has the form
    ``distinct[form_ids[k]]``.

    ``values[word, column]`` follows ``Columns.names``; a tag column is 0 until it is filled.
    """

    starts: Longs
    distinct: list[str]
    form_ids: Ints
    values: Ints

    @property
    def n_sentences(self) -> int:
        """How many sentences."""
        return len(self.starts) - 1


class Columns:
    """The columns of a model: observables of forms, the sentence's ends, statistics of forms, and
    one for the tags of each layer.

    ``scheme`` is that of the span labels.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        labels: Mapping[str, Vocabulary],
        scheme: str = "iob2",
        statistics: FormStatistics | None = None,
    ) -> None:
        self.lexicon = lexicon
        self.labels = dict(labels)
        self.scheme = scheme
        self.statistics = statistics
        self.names = (*lexicon.names, *_PLACES, *STATISTICS, *TAG_LAYERS)

    def number(self, name: str) -> int:
        """The place of a column."""
        return self.names.index(name)

    def words(self, sentences: Sequence[Sequence[str]]) -> Words:
        """Number the forms of sentences; the tag columns are 0."""
        text = as_text(sentences)
        values = np.zeros((len(text.form_ids), len(self.names)), dtype=np.int32)
        n_observables = len(self.lexicon.names)
        values[:, :n_observables] = self.lexicon.encode(text.distinct)[text.form_ids]
        long = np.diff(text.starts) > 0
        values[text.starts[:-1][long], n_observables] = FIRST_VALUE
        values[text.starts[1:][long] - 1, n_observables + 1] = FIRST_VALUE
        words = Words(text.starts, text.distinct, text.form_ids, values)
        if self.statistics is not None:
            self.fill_statistics(words, self.statistics)
        return words

    def fill_statistics(
        self,
        words: Words,
        statistics: FormStatistics,
        chosen: Mask | slice = slice(None),
    ) -> None:
        """Put what is known of the forms into the columns of the chosen words."""
        first = self.number(STATISTICS[0])
        text = Text(words.starts, words.distinct, words.form_ids)
        words.values[chosen, first : first + len(STATISTICS)] = statistics.values(text)[chosen]

    def fill(self, words: Words, layer: str, labels: Ints) -> None:
        """Put label numbers (-1: none) into the column of their layer."""
        words.values[:, self.number(layer)] = np.where(labels >= 0, labels + FIRST_VALUE, 0)

    def given(self, predicted: Collection[str]) -> list[str]:
        """The layers of tags with a label set that are not among the predicted ones: inputs, read
        from the sentences.
        """
        return [layer for layer in TAG_LAYERS if layer in self.labels and layer not in predicted]

    def label_numbers(self, sentences: Sequence[Sentence], layer: str) -> Ints:
        """The label number of each word, -1 where the layer is missing or the label is unknown."""
        values = self.labels[layer].values
        found: list[int] = []
        for sentence in sentences:
            tags = getattr(sentence, layer) or ("",) * len(sentence)
            if layer == "spans" and sentence.spans:
                tags = from_iob2(tags, self.scheme)
            found.extend(values.get(tag, FIRST_VALUE - 1) - FIRST_VALUE for tag in tags)
        return np.array(found, dtype=np.int32)

    def describe(self, column: str, value: int) -> str:
        """The string behind a value, for people to read."""
        if column in _PLACES:
            return "yes"
        if column in STATISTICS and self.statistics is not None and value >= FIRST_VALUE:
            return self.statistics.describe(column, value)
        if column in self.lexicon.vocabularies:
            return self.lexicon.vocabularies[column].string(value)
        if column in self.labels:
            return self.labels[column].string(value)
        # columns of the tree are named after a relative: head_lower, first_upos
        _, _, plain = column.partition("_")
        return self.describe(plain, value) if plain else str(value - FIRST_VALUE)


def as_text(sentences: Sequence[Sequence[str]]) -> Text:
    """The forms of sentences, numbered in order of first appearance."""
    starts = np.zeros(len(sentences) + 1, dtype=np.int64)
    np.cumsum([len(forms) for forms in sentences], out=starts[1:])
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(form, len(numbers)) for forms in sentences for form in forms]
    return Text(starts, list(numbers), np.array(ids, dtype=np.int32))
