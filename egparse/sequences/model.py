"""The sequence model: attributes, weights and decoding of whatever gives labels to the items of a
sequence; and the base of all predictors that have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from egparse.features.index import KeyIndex
from egparse.features.sequence import (
    WHOLE_LABELS,
    Division,
    LabelParts,
    WeightRows,
)
from egparse.features.tag_dictionary import Candidates
from egparse.features.templates import (
    MAX_TEMPLATES,
    TEMPLATE_SHIFT,
    Templates,
    compile_templates,
    extract_keys,
)
from egparse.sequences.form_scores import FormScores
from egparse.sequences.scoring import Cells, Grouped, Weights, group, score_words
from egparse.storage.arrays import coarse, compress_array, compress_rows
from egparse.storage.schema import (
    FLAG,
    SECTION,
    TEMPERATURE,
    Array,
    ListOf,
    Maybe,
    Packed,
    Record,
    RowWeights,
    Stored,
    Strings,
    ascend_within,
    starts_of,
)
from egparse.structures.chains import batch
from egparse.types import Floats, Ints, Longs, Mask, Singles, UInt16s, UInt64s

if TYPE_CHECKING:
    from egparse.config.sections import ExpanderConfig, TokeniserConfig, WordLabelConfig
    from egparse.features.word_table import Columns, Words


def _declared(in_rows: str, in_ngrams: str) -> Record:
    """A sequence model in a model file, by what its rows and its n-grams are over."""
    return Record(
        {
            "templates": Strings(least=1, most=MAX_TEMPLATES, longest=200, distinct=False),
            "pads": FLAG,
            "keys": Packed(("uint64",), "attributes", takes=16),
            "row_lengths": Packed(("uint16",), "attributes", sums_to="weights", takes=6),
            "row_labels": Packed(("uint8", "uint16"), "weights", below=in_rows, takes=3),
            "row_weights": RowWeights("weights"),
            "transitions": Maybe(Array("float32", (in_ngrams,) * 2, forbids=True)),
            "opening": Array("float32", (in_ngrams,), forbids=True),
            "longer": ListOf(SECTION, most=0),  # once tables of longer n-grams
            "temperature": TEMPERATURE,
        }
    )


STORED_MODEL = _declared("labels", "labels")
"""A sequence model in a model file."""

STORED_DIVIDED_MODEL = _declared("parts", "classes")
"""The same where labels are divided: rows over parts of labels, n-grams over their classes."""


_BLOCK = 1 << 13
"""Words whose features are looked up at a time where few of many are labelled."""


_NO_FORMS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class SequenceModel:
    """Weights over (attribute, label) pairs and label bigrams, ``transitions[previous, next]``;
    immutable.

    ``opening[label]`` is 0, or -inf for a label that may not begin a sentence. Where a bigram is
    -inf, so is every sequence with it. Probabilities are computed from scores divided by
    ``temperature``, which does not affect the best sequence.

    Where labels are ``divided``, ``rows`` hold weights of their parts. With ``classes`` (n_labels,)
    bigrams and openings are those of the classes of labels.
    """

    templates: Templates
    index: KeyIndex
    rows: WeightRows
    transitions: Singles
    opening: Singles
    temperature: float = 1.0
    divided: LabelParts = WHOLE_LABELS
    classes: UInt16s | None = None

    @property
    def n_labels(self) -> int:
        """The size of the label set."""
        return len(self.opening if self.classes is None else self.classes)

    @cached_property
    def n_parts(self) -> int:
        """The number of labels, or of their parts, that rows of weights may have."""
        divided = self.divided
        return 1 + int(divided.parts.max(initial=0)) if len(divided.starts) else self.n_labels

    def _in_ngrams(self, labels: UInt16s) -> UInt16s:
        """The labels, or their classes, by which bigrams are scored."""
        return labels if self.classes is None else self.classes[labels]

    @cached_property
    def _slack(self) -> float:
        return batch.slack_of(self.transitions)

    def choose(self, scores: Floats, starts: Longs, candidates: Candidates) -> Ints:
        """The labels of the best label sequence of each sentence, by the scores of candidates."""
        chosen = np.zeros(len(candidates.starts) - 1, dtype=np.int32)
        batch.best_sequences(
            scores,
            candidates.starts,
            self._in_ngrams(candidates.labels),
            starts,
            candidates.labels,
            self.transitions,
            self.opening,
            self._slack,
            chosen,
        )
        return chosen

    def at(self, temperature: float) -> Self:
        """The same model at another temperature."""
        return replace(self, temperature=temperature)

    def probabilities(
        self,
        scores: Floats,
        starts: Longs,
        candidates: Candidates,
        labels: Ints,
        kinds: Ints | None = None,
    ) -> Floats:
        """The marginal probability of each word's label among its candidates, or with ``kinds``,
        shape (n_labels,), of any label of its kind; nan for the label -1 and where no sequence is
        allowed.

        The ``scores`` of candidates are divided by the temperature (Guo et al. 2017, section 4.2,
        do so in a softmax).
        """
        return batch.chosen_marginals(
            scores / self.temperature,
            candidates.starts,
            candidates.labels,
            self._in_ngrams(candidates.labels),
            starts,
            self.transitions / np.float32(self.temperature),
            self.opening / np.float32(self.temperature),
            labels,
            np.arange(self.n_labels, dtype=np.int32) if kinds is None else kinds,
        )

    def scores(self, values: Ints, starts: Longs, candidates: Candidates) -> Floats:
        """The scores of the candidates of words; 0 for a word with one: no score changes what has
        no alternative.
        """
        scores, words = np.zeros(len(candidates.labels)), _undecided(candidates)
        self._score(words, words, values, starts, candidates, self._ungrouped, _NO_FORMS, scores)
        return scores

    def scores_of(self, words: Words, candidates: Candidates, *, by_form: bool) -> Floats:
        """The same for words whose forms are known; what depends on the form of a word alone is
        remembered if candidates are ``by_form``.
        """
        scores, grouped = np.zeros(len(candidates.labels)), self._grouped
        if by_form:
            scores, (_, grouped) = self._form_scores.of(words, candidates), self._divided
        rows, (starts, _, forms, values) = _undecided(candidates), words
        self._score(rows, rows, values, starts, candidates, grouped, forms, scores)
        return scores

    def _scores_of_forms(self, values: Ints, candidates: Candidates) -> Floats:
        starts, scores = np.arange(len(values) + 1), np.zeros(len(candidates.labels))
        words, (of_form, _) = _undecided(candidates), self._divided
        self._score(words, words, values, starts, candidates, of_form, _NO_FORMS, scores)
        return scores

    def scores_at(self, rows: Longs, values: Ints, starts: Longs, candidates: Candidates) -> Floats:
        """The scores of the candidates of the words ``rows`` alone, ascending; blocks of them bound
        the memory.
        """
        scores, grouped = np.zeros(len(candidates.labels)), self._ungrouped
        items = np.arange(len(rows))
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, first + _BLOCK)
            chosen = rows[block], items[block]
            self._score(*chosen, values, starts, candidates, grouped, _NO_FORMS, scores)
        return scores

    def unary_scores(self, values: Ints, starts: Longs, candidates: Candidates) -> Floats:
        """The score of each candidate by itself, without bigrams, also where there is just one."""
        return self.scores_at(np.arange(len(values)), values, starts, candidates)

    def _score(
        self,
        words: Longs,
        items: Longs,
        values: Ints,
        starts: Longs,
        candidates: Candidates,
        grouped: Grouped,
        forms: Ints,
        scores: Floats,
    ) -> None:
        """Add the scores of the candidates of ``words``, ascending; word ``words[k]`` has those of
        the item ``items[k]``.
        """
        score_words(
            words,
            values,
            starts,
            forms,
            self._cells,
            grouped,
            self._weights,
            items,
            candidates,
            scores,
        )

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.templates.columns, self.templates.offsets, self.templates.pads)

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(self.index, self.rows, self.divided, self.n_parts)

    @cached_property
    def _grouped(self) -> Grouped:
        return group(self.templates.texts, self.n_parts)

    @cached_property
    def _divided(self) -> tuple[Grouped, Grouped]:
        return self._grouped.divided()

    @cached_property
    def _form_scores(self) -> FormScores:
        return FormScores(self._scores_of_forms)

    @cached_property
    def _ungrouped(self) -> Grouped:
        return group(self.templates.texts)

    def allows(self, labels: Ints, starts: Longs) -> Mask:
        """Whether each sentence's label sequence has no forbidden bigram or first label."""
        labels = labels if self.classes is None else self.classes[labels].astype(np.int32)
        allowed = np.ones(len(labels), dtype=bool)
        allowed[1:] = self.transitions[labels[:-1], labels[1:]] > -np.inf
        first = starts[:-1][np.diff(starts) > 0]
        allowed[first] = self.opening[labels[first]] > -np.inf
        faults = np.concatenate([[0], np.cumsum(~allowed)])
        return np.asarray(faults[starts[1:]] == faults[starts[:-1]])

    def size(self) -> dict[str, int]:
        """Labels, attributes, weights that are not 0, and the bytes of the weights in memory."""
        table = self.transitions
        arrays: tuple[npt.NDArray[Any], ...] = (*self.rows, self.index.keys, table)
        return {
            "labels": self.n_labels,
            "attributes": len(self.index),
            "weights": len(self.rows.weights)
            + int(np.count_nonzero(np.isfinite(table) & (table != 0))),
            "bytes": sum(array.nbytes for array in arrays),
        }

    def over(
        self, columns: Sequence[str], n_labels: int, division: Division | None = None
    ) -> SequenceModel:
        """The same model over more columns and a larger label set; new labels score 0.

        Labels that are divided get a new ``division``, in which known parts and classes keep their
        numbers; of new labels, only new parts and classes score 0.
        """
        more = (n_labels if division is None else division.n_classes) - len(self.opening)
        return replace(
            self,
            templates=compile_templates(self.templates.texts, columns, self.templates.pads),
            transitions=np.pad(self.transitions, (0, more)),
            opening=np.pad(self.opening, (0, more)),
            divided=self.divided if division is None else division.parts,
            classes=self.classes if division is None else division.classes,
        )

    def without_small_weights(self, threshold: float) -> SequenceModel:
        """The model as a file holds it: weights rounded, without attribute weights smaller than the
        threshold, and without attributes that have none left.
        """
        weights = coarse(self.rows.weights)
        keep = (np.abs(weights) >= threshold) & (weights != 0)
        kept_before = np.concatenate([[0], np.cumsum(keep)])
        sizes = np.diff(kept_before[self.rows.starts])
        used = sizes > 0
        starts = np.concatenate([[0], np.cumsum(sizes[used])]).astype(np.int32)
        rows = WeightRows(starts, self.rows.labels[keep], weights[keep])
        return replace(self, index=KeyIndex(self.index.keys[used]), rows=rows)

    def to_payload(self) -> dict[str, Any]:
        return {
            "templates": list(self.templates.texts),
            "pads": self.templates.pads,
            "keys": compress_array(self.index.keys),
            "row_lengths": compress_array(np.diff(self.rows.starts).astype(np.uint16)),
            "row_labels": compress_array(
                self.rows.labels.astype(np.uint8 if self.n_parts <= 256 else np.uint16)
            ),
            "row_weights": compress_rows(self.rows.weights),
            "transitions": self.transitions if self.transitions.any() else None,
            "opening": self.opening,
            "longer": [],
            "temperature": self.temperature,
        }

    @classmethod
    def from_payload(
        cls,
        stored: Stored,
        columns: Sequence[str],
        n_labels: int,
        division: Division | None = None,
    ) -> SequenceModel:
        """The model over the named columns, with so many labels, which may be divided.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        if division is None:
            read = stored.read(STORED_MODEL, labels=n_labels)
        else:
            sizes = {"parts": len(division.full_from), "classes": division.n_classes}
            read = stored.read(STORED_DIVIDED_MODEL, **sizes)
        with stored.naming("templates"):
            templates = compile_templates(read["templates"], columns, read["pads"])
        index = KeyIndex(read["keys"])
        rows = WeightRows(
            starts_of(read["row_lengths"]),
            read["row_labels"].astype(np.uint16),
            read["row_weights"],
        )
        _check_keys(stored, index, len(templates.texts))
        stored.require(
            ascend_within(read["row_labels"], rows.starts),
            "row_labels",
            "ascending labels in each row",
        )
        return cls(
            templates,
            index,
            rows,
            np.zeros((len(read["opening"]),) * 2, dtype=np.float32)
            if read["transitions"] is None
            else read["transitions"].copy(),
            read["opening"].copy(),
            read["temperature"],
            WHOLE_LABELS if division is None else division.parts,
            None if division is None else division.classes,
        )


def _check_keys(stored: Stored, index: KeyIndex, n_templates: int) -> None:
    keys = index.keys
    if not len(keys):
        return
    stored.require(bool((keys[1:] > keys[:-1]).all()), "keys", "ascending keys")
    first, last = int(keys[0]) >> TEMPLATE_SHIFT, int(keys[-1]) >> TEMPLATE_SHIFT
    stored.require(
        first >= 1 and last <= n_templates,
        "keys",
        f"keys of the templates 1 to {n_templates}",
        f"{first} to {last}",
    )
    stored.require(index.is_spread(), "keys", "keys of words", "keys that collide in the index")


@dataclass(frozen=True)
class SequencePredictor:
    """What labels sequences by a model, and by what it knows beside it: the base of all predictors
    but parsers; immutable, so that threads may share it. Where nothing is left to decide there is
    no model.
    """

    model: SequenceModel | None

    @property
    def temperature(self) -> float:
        """The temperature of the probabilities."""
        return 1.0 if self.model is None else self.model.temperature

    def with_temperature(self, temperature: float) -> Self:
        """The same predictor with probabilities from scores divided by a temperature."""
        if self.model is None:
            return self
        return replace(self, model=self.model.at(temperature))

    def reduced(
        self,
        config: WordLabelConfig | TokeniserConfig | ExpanderConfig,
        columns: Columns | None = None,
    ) -> Self:
        """The predictor as a model file holds it, without small weights."""
        if self.model is None:
            return self
        return replace(self, model=self.model.without_small_weights(config.weight_threshold))

    def size(self) -> dict[str, int]:
        """See ``SequenceModel.size``; empty without a model."""
        return {} if self.model is None else self.model.size()


def _undecided(candidates: Candidates) -> Longs:
    """The words with several candidates."""
    starts = candidates.starts
    return (starts[1:] - starts[:-1] > 1).nonzero()[0]


def keys_of(templates: Templates, values: Ints, starts: Longs) -> UInt64s:
    """Attribute keys of shape (words, templates), 0 where there is none."""
    keys = np.empty((len(values), len(templates.texts)), dtype=np.uint64)
    extract_keys(values, starts, templates.columns, templates.offsets, templates.pads, keys)
    return keys


def build_index(keys: UInt64s, min_count: int) -> KeyIndex:
    """Index the keys (words, templates) that occur at least ``min_count`` times."""
    # The number of the template is the highest part of a key: keys of one template at a time are
    # all keys in order, and take a fraction of the memory to sort.
    kept = [np.empty(0, dtype=np.uint64)]
    for of_template in keys.T:
        distinct, counts = np.unique(of_template, return_counts=True)
        kept.append(distinct[(counts >= min_count) & (distinct != 0)])
    return KeyIndex(np.concatenate(kept))
