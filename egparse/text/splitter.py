"""A sentence splitter: where sentences start inside a paragraph, by a linear-chain CRF over its
words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from egparse.classes.tables import MAX_COLUMNS, ClassColumns, class_columns_of
from egparse.features.tag_dictionary import all_labels
from egparse.features.templates import MAX_VALUE
from egparse.features.word_table import Columns
from egparse.layers import SPLITTER
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.storage.arrays import compress_array
from egparse.storage.schema import FLAG, SECTION, Packed, Record, Stored, Strings
from egparse.text.word_columns import (
    N_CASINGS,
    SPLITTER_COLUMNS,
    Paragraph,
    paragraph_columns,
    splitter_columns,
)
from egparse.types import Floats, Ints, Longs, Mask, UInt8s

N_LABELS = 2
"""1: a sentence starts here; 0: it does not."""

_AS_STORED = {"kind": "class"}
_KIND, _CLASS = re.compile(r"\bkind(?=\[)"), re.compile(r"\bclass(?=\[)")

BATCH_WORDS = 50_000
"""Words split at a time, to bound the memory; a longer paragraph is one batch."""


STORED_SPLITTER = Record(
    {
        "model": SECTION,
        "spacing": FLAG,
        "classes": Strings(most=MAX_COLUMNS, longest=20),
        "casings": Packed(("uint8",), "values", below=N_CASINGS),
    },
    absent={"classes": None, "casings": None},
)
"""A splitter in a model file. Without columns of word classes ``classes`` is missing, and templates
name the column ``kind`` as they did before there were any: ``class``.
"""


@dataclass(frozen=True)
class Splitter(SequencePredictor):
    """A CRF over the words of a paragraph; immutable, so that threads may share it.

    Without ``spacing`` it was trained on a corpus that does not mark blanks, and has no features of
    them. ``classes`` are the columns of word classes that its templates name, if they name any,
    ``casings`` how words are cased inside of sentences.
    """

    model: SequenceModel
    spacing: bool = True
    classes: ClassColumns | None = None
    casings: UInt8s | None = None

    name = SPLITTER
    layers: ClassVar[tuple[str, ...]] = ()  # of words

    def over(self, columns: Columns) -> Splitter:
        """The same, which reads no columns of words."""
        return self

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        """Whether a sentence starts at each word of each paragraph: always at the first one.

        Raises:
            ValueError: not one value of ``spaced`` for each word.
        """
        return self.split_leaning(paragraphs, (0.0,))[0]

    def split_leaning(
        self, paragraphs: Sequence[Paragraph], leanings: Sequence[float]
    ) -> list[list[Mask]]:
        """``split`` of the splitters that lean towards starts by so many nats, for each number."""
        masks: list[list[Mask]] = [[] for _ in leanings]
        for batch in _batches(paragraphs):
            values, places = self._columns(batch)
            candidates = all_labels(len(values), N_LABELS)
            scores = self.model.unary_scores(values, places, candidates)
            for by, of_all in zip(leanings, masks, strict=True):
                starts = self.leaning(by).model.choose(scores, places, candidates) == 1
                starts[_first_words(places)] = True  # whatever the scores say
                of_all += [starts] if len(batch) == 1 else np.split(starts, places[1:-1])
        return masks

    def leaning(self, by: float) -> Splitter:
        """The same splitter, to whom each start but that of a paragraph scores so many nats
        more.
        """
        if not by:
            return self
        transitions = self.model.transitions.copy()
        transitions[:, 1] += np.float32(by)
        return replace(self, model=replace(self.model, transitions=transitions))

    def probabilities(self, paragraphs: Sequence[Paragraph]) -> list[Floats]:
        """The probability that a sentence starts at each word of each paragraph; 1 at the first."""
        probabilities: list[Floats] = []
        for batch in _batches(paragraphs):
            values, places = self._columns(batch)
            candidates = all_labels(len(values), N_LABELS)
            starts = np.ones(len(values), dtype=np.int32)
            scores = self.model.scores(values, places, candidates)
            starting = self.model.probabilities(scores, places, candidates, starts)
            starting[_first_words(places)] = 1.0
            probabilities += np.split(starting, places[1:-1])
        return probabilities

    def _columns(self, batch: Sequence[Paragraph]) -> tuple[Ints, Longs]:
        return paragraph_columns(
            batch, spacing=self.spacing, classes=self.classes, casings=self.casings
        )

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        model = self.model.to_payload()
        if self.classes is None:
            model["templates"] = [_KIND.sub("class", text) for text in model["templates"]]
        stored: dict[str, Any] = {"model": model, "spacing": self.spacing}
        if self.classes is not None:
            stored["classes"] = list(self.classes.names)
        if self.casings is not None:
            stored["casings"] = compress_array(self.casings)
        return stored

    @classmethod
    def from_payload(
        cls, stored: Stored, columns: Columns | None = None, section: str = ""
    ) -> Splitter:
        """The splitter of a model file over columns with its tables of word classes.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_SPLITTER)
        classes, names = None, tuple(_AS_STORED.get(name, name) for name in SPLITTER_COLUMNS)
        if read["classes"] is not None:
            tables = () if columns is None else columns.class_tables
            classes = class_columns_of(stored.part("classes", read["classes"]), tables)
            names = splitter_columns(classes)
        model = SequenceModel.from_payload(read["model"], names, N_LABELS)
        if classes is None:
            texts = [_CLASS.sub("kind", text) for text in model.templates.texts]
            model = replace(model, templates=model.templates._replace(texts=tuple(texts)))
        casings = read["casings"]
        if casings is not None:
            whole = len(casings) == MAX_VALUE + 1
            stored.require(whole, "casings", f"{MAX_VALUE + 1} values", len(casings))
        return cls(model, read["spacing"], classes, casings)


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
