"""The words of a batch of sentences as numbers: one row a word, one column for everything that
templates may name.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from egparse.classes.tables import PackedTable
from egparse.errors import ConfigError
from egparse.features.fine_tags import FineTags
from egparse.features.form_statistics import COLUMNS as STATISTICS
from egparse.features.form_statistics import FormStatistics, Text
from egparse.features.forms import OBSERVABLES, Lexicon
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, Vocabulary
from egparse.layers import TAG_LAYERS, TREEBANK
from egparse.schemes import OUTSIDE, from_iob2
from egparse.sentences import HIDDEN, MISSING, Sentence
from egparse.types import Ints, Longs, Mask

_PLACES = ("first", "last")
_OF_FINE_TAGS = ("upos", "feats")

MAX_TREEBANKS = 100
"""The largest number of treebanks that a model may have learned from."""

ALL_COLUMNS = (*OBSERVABLES, *_PLACES, *STATISTICS, *TAG_LAYERS)
"""The columns that templates may name, besides those of word classes
(``egparse.classes.tables``).
"""


class Words(NamedTuple):
    """The words of sentences laid end to end; a value, whose methods give changed copies.

    Sentence ``i`` has the words ``starts[i]:starts[i + 1]``; word ``k`` has the form
    ``distinct[form_ids[k]]``. ``values`` (words, columns) follows ``Columns.names``; 0 stands for
    no value. The column of a layer of tags is 0 until ``Columns.with_tags``.
    """

    starts: Longs
    distinct: list[str]
    form_ids: Ints
    values: Ints

    @property
    def n_sentences(self) -> int:
        """The number of sentences."""
        return len(self.starts) - 1

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.form_ids)

    def copy(self) -> Words:
        """The same words with values of their own, for ``Columns.put_tags``."""
        return self._replace(values=self.values.copy())

    def runs(self, count: int) -> list[Words]:
        """The words in ``count`` runs of sentences, or fewer, of about as many words each."""
        starts, n = self.starts, self.n_sentences
        wanted = np.searchsorted(starts, self.n_words * np.arange(1, count) / max(1, count))
        bounds = np.unique([0, *wanted.tolist(), n]).tolist()
        if len(bounds) <= 2:
            return [self]
        return [
            Words(
                starts[first : end + 1] - starts[first],
                self.distinct,
                self.form_ids[starts[first] : starts[end]],
                self.values[starts[first] : starts[end]],
            )
            for first, end in itertools.pairwise(bounds)
        ]


class Columns:
    """The columns of a model: observables of forms, the sentence's ends, statistics of forms, and
    one for the tags of each layer.

    ``labels`` has the label set of each layer, ``scheme`` is the tagging scheme of span labels.
    With ``fine_tags`` the column of XPOS holds these instead, once UPOS and FEATS have been put.
    Where a model learns from several ``treebanks``, words have a column that says which they are
    annotated like: the first, unless ``in_treebank`` has named another.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        labels: Mapping[str, Vocabulary],
        scheme: str = "iob2",
        statistics: FormStatistics | None = None,
        fine_tags: FineTags | None = None,
        treebanks: Sequence[str] = (),
    ) -> None:
        self.lexicon = lexicon
        self.labels = dict(labels)
        self.scheme = scheme
        self.statistics = statistics
        self.fine_tags = fine_tags
        self._fine = None if fine_tags is None else self._fine_numbers(fine_tags)
        self.treebanks = tuple(treebanks)
        self.treebank = self.treebanks[0] if treebanks else ""
        self.names = (*lexicon.names, *_PLACES, *STATISTICS, *TAG_LAYERS, *self.further)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    @property
    def class_names(self) -> tuple[str, ...]:
        """The columns of word classes."""
        return () if self.lexicon.classes is None else self.lexicon.classes.names

    @property
    def class_tables(self) -> tuple[PackedTable, ...]:
        """The tables of word classes."""
        return () if self.lexicon.classes is None else self.lexicon.classes.tables

    @property
    def n_class_tables(self) -> int:
        """The number of tables of word classes."""
        return len(self.class_tables)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The hidden layers that have a column."""
        return tuple(layer for layer in HIDDEN if layer in self.labels)

    @property
    def further(self) -> tuple[str, ...]:
        """The columns that not every model has and that templates of their own are over: hidden
        layers, and the treebank if there are several.
        """
        return (*self.hidden, *((TREEBANK,) if self.treebanks else ()))

    def in_treebank(self, name: str) -> Columns:
        """The same, where words are annotated like those of another treebank.

        Raises:
            ConfigError: a treebank that the model has not learned from.
        """
        if name not in self.treebanks:
            raise ConfigError(
                f"expected a treebank that the model has learned from "
                f"({', '.join(self.treebanks) or 'one alone'}), got {name!r}"
            )
        changed = copy(self)
        changed.treebank = name
        return changed

    def number(self, name: str) -> int:
        """The place of a column."""
        return self._numbers[name]

    def words(self, sentences: Iterable[Sequence[str]]) -> Words:
        """The words of sentences of forms; their tag columns are 0."""
        text = as_text(sentences)
        values = np.zeros((len(text.form_ids), len(self.names)), dtype=np.int32)
        n_observables = len(self.lexicon.names)
        values[:, :n_observables] = self.lexicon.encode(text.distinct)[text.form_ids]
        long = text.starts[1:] > text.starts[:-1]
        values[text.starts[:-1][long], n_observables] = FIRST_VALUE
        values[text.starts[1:][long] - 1, n_observables + 1] = FIRST_VALUE
        if self.statistics is not None:
            first = self.number(STATISTICS[0])
            values[:, first : first + len(STATISTICS)] = self.statistics.values(text)
        if self.treebanks:
            place = self.treebanks.index(self.treebank)
            values[:, self.number(TREEBANK)] = FIRST_VALUE + place
        return Words(text.starts, text.distinct, text.form_ids, values)

    def with_statistics(self, words: Words, statistics: FormStatistics, chosen: Mask) -> Words:
        """The words with other statistics of forms for the chosen ones, shape (words,)."""
        first = self.number(STATISTICS[0])
        values = words.values.copy()
        text = Text(words.starts, words.distinct, words.form_ids)
        values[chosen, first : first + len(STATISTICS)] = statistics.values(text)[chosen]
        return words._replace(values=values)

    def with_tags(self, words: Words, layer: str, labels: Ints) -> Words:
        """The words with label numbers (negative: none), shape (words,), in the column of a layer
        of tags.
        """
        words = words.copy()
        self.put_tags(words, layer, labels)
        return words

    def put_tags(self, words: Words, layer: str, labels: Ints) -> None:
        """Write label numbers (negative: none), shape (words,), into the column of a layer of tags
        of words that nothing else uses. Fine tags follow from those of UPOS and FEATS.
        """
        words.values[:, self.number(layer)] = np.where(labels >= 0, labels + FIRST_VALUE, 0)
        if self._fine is not None and layer in _OF_FINE_TAGS:
            upos, bundles = (words.values[:, self.number(name)] for name in _OF_FINE_TAGS)
            words.values[:, self.number("xpos")] = self._fine[upos, bundles]

    def _fine_numbers(self, fine_tags: FineTags) -> Ints:
        """The value of the fine tag by the values of UPOS and FEATS; 0 without a UPOS."""
        upos, bundles = (
            self.labels[name].strings if name in self.labels else () for name in _OF_FINE_TAGS
        )
        table = fine_tags.table(upos, bundles)
        values = np.zeros((FIRST_VALUE + len(upos), FIRST_VALUE + len(bundles)), dtype=np.int32)
        values[FIRST_VALUE:, FIRST_VALUE:] = table[:, :-1] + FIRST_VALUE
        values[FIRST_VALUE:, :FIRST_VALUE] = table[:, -1:] + FIRST_VALUE
        values[values < FIRST_VALUE] = 0
        return values

    def with_treebanks(self, words: Words, sentences: Sequence[Sentence]) -> Words:
        """The words with the treebank that each sentence is from, where that is a known one."""
        if not self.treebanks:
            return words
        values = {name: number for number, name in enumerate(self.treebanks, FIRST_VALUE)}
        of_sentences = [
            values.get(sentence.treebank, values[self.treebank]) for sentence in sentences
        ]
        words = words.copy()
        of_words = np.repeat(np.array(of_sentences, dtype=np.int32), np.diff(words.starts))
        words.values[:, self.number(TREEBANK)] = of_words
        return words

    def input_layers(self, predicted: Collection[str]) -> list[str]:
        """The layers of tags with a label set that are not predicted: they are read from input."""
        return [layer for layer in TAG_LAYERS if layer in self.labels and layer not in predicted]

    def with_input(
        self, words: Words, sentences: Sequence[Sentence], predicted: Collection[str]
    ) -> Words:
        """The words with the tags of the input layers, as the sentences have them."""
        for layer in self.input_layers(predicted):
            words = self.with_tags(words, layer, self.label_numbers(sentences, layer))
        return words

    def label_numbers(self, sentences: Sequence[Sentence], layer: str) -> Ints:
        """The label number of each word, -1 where the layer is missing or the label is unknown."""
        values = self.labels[layer].values
        numbers = array("i")
        for sentence in sentences:
            tags = getattr(sentence, layer) or ("",) * len(sentence)
            if layer == "spans" and sentence.spans:
                tags = spans_in_scheme(tags, self.scheme)
            numbers.extend([values.get(tag, FIRST_VALUE - 1) for tag in tags])
        return np.array(numbers, dtype=np.int32) - np.int32(FIRST_VALUE)

    def describe(self, column: str, value: int) -> str:
        """The string behind a value, for people to read."""
        if column in _PLACES:
            return "yes"
        if column in STATISTICS and self.statistics is not None and value >= FIRST_VALUE:
            return self.statistics.describe(column, value)
        if column == TREEBANK and value >= FIRST_VALUE:
            return self.treebanks[value - FIRST_VALUE]
        if column in self.lexicon.vocabularies:
            return self.lexicon.vocabularies[column].string(value)
        if column == "xpos" and self.fine_tags is not None:
            return Vocabulary(self.fine_tags.tags).string(value)
        if column in self.labels:
            return self.labels[column].string(value)
        if column in self.class_names and self.lexicon.classes is not None:
            if value == BOUNDARY:
                return "<boundary>"
            return self.lexicon.classes.prefix(column, value - FIRST_VALUE + 1) or "<unknown>"
        # columns of the tree are named after a relative: head_lower, first_upos
        _, _, plain = column.partition("_")
        return self.describe(plain, value) if plain else str(value - FIRST_VALUE)


def spans_in_scheme(tags: Sequence[str], scheme: str) -> Sequence[str]:
    """IOB2 tags in another scheme; words that are not annotated (``MISSING``) count as outside of
    spans for their neighbours, and stay as they are.
    """
    if MISSING not in tags:
        return from_iob2(tags, scheme)
    whole = from_iob2([OUTSIDE if tag == MISSING else tag for tag in tags], scheme)
    return [MISSING if tag == MISSING else new for tag, new in zip(tags, whole, strict=True)]


def as_text(sentences: Iterable[Sequence[str]]) -> Text:
    """The forms of sentences, numbered in order of first appearance."""
    starts, ids = array("q", [0]), array("i")
    numbers: dict[str, int] = {}
    for forms in sentences:
        ids.extend([numbers.setdefault(form, len(numbers)) for form in forms])
        starts.append(len(ids))
    return Text(np.array(starts, dtype=np.int64), list(numbers), np.array(ids, dtype=np.int32))
