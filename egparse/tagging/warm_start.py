"""The weights of a sequence model that goes on learning: those of its base, and what is learned
beside them.

The base gives every part of the new sentences a score, which is left as it is
(``egparse.learners.offset_problem``); what is learned are weights v for the attributes of the new
sentences, those of the base among them. The model is the sum of both over all attributes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from egparse.features.index import KeyIndex
from egparse.features.sequence import WeightRows, rows_of
from egparse.features.tag_dictionary import TagDictionary
from egparse.features.templates import compile_templates
from egparse.learners.offset_problem import scores_of
from egparse.tagging.sequence_model import SequenceModel
from egparse.tagging.sequence_problem import SequenceProblem
from egparse.types import Longs, Mask, Singles, UInt64s

NEARLY_NEVER = np.float32(-30.0)
"""The score in training, in nats, of a label bigram that the base forbids: as good as impossible,
and finite in every product.
"""

_MORE_LABELS = 4
"""Labels that a suffix of a tag dictionary may get beside those of the base."""


def extend_model(model: SequenceModel, columns: tuple[str, ...], n_labels: int) -> SequenceModel:
    """The same model over other columns, in which those that it reads are, and a larger label set;
    new labels score 0.
    """
    more = n_labels - model.n_labels
    transitions, *longer = (
        np.pad(table, [(0, more)] * table.ndim) for table in (model.transitions, *model.longer)
    )
    return replace(
        model,
        templates=compile_templates(model.templates.texts, columns, model.templates.pads),
        transitions=transitions,
        opening=np.pad(model.opening, (0, more)),
        longer=tuple(longer),
    )


class Inherited(NamedTuple):
    """What training takes from a base: which attributes and pairs the new sentences share with it,
    and how all is put together again.

    ``rows`` are those of training, ``weights`` what the base has for their pairs; ``index_of_all``
    and ``rows_of_all`` are those of the model, in which the weights of the base are at
    ``places_of_base`` and those learned at ``places_of_new``.
    """

    base: SequenceModel
    rows: WeightRows
    weights: Singles
    index_of_all: KeyIndex
    rows_of_all: WeightRows
    places_of_base: Longs
    places_of_new: Longs

    def offsets(self, problem: SequenceProblem) -> Singles:
        """The scores of the base for all parts of the problem, whose v is 0 afterwards."""
        bigrams, *longer = self._ngrams()
        problem.set_weights(
            self.weights.astype(np.float64),
            bigrams.astype(np.float64) if problem.order else None,
            [table.astype(np.float64) for table in longer],
        )
        offsets = scores_of(problem)
        problem.reset()
        return offsets

    def with_learned(
        self, weights: Singles, transitions: Singles, longer: tuple[Singles, ...]
    ) -> SequenceModel:
        """The base and what was learned: weights of the pairs of ``rows``, label bigrams ((0, 0)
        for none), longer n-grams.
        """
        every = self.rows_of_all.weights.copy()
        every[self.places_of_base] += self.base.rows.weights
        every[self.places_of_new] += weights
        bigrams, *others = self._ngrams()
        return replace(
            self.base,
            index=self.index_of_all,
            rows=self.rows_of_all._replace(weights=every),
            transitions=bigrams + transitions if transitions.size else bigrams,
            opening=np.zeros_like(self.base.opening),
            longer=tuple(own + more for own, more in zip(others, longer, strict=True)),
            temperature=1.0,
        )

    def supports(self, support: Mask | None, longer: list[Mask]) -> tuple[Mask | None, list[Mask]]:
        """The label n-grams that have a weight: those of training and those of the base."""
        if support is None:
            return None, longer
        own, *others = (
            (table != 0) & np.isfinite(table)
            for table in (self.base.transitions, *self.base.longer)
        )
        return support | own, [mask | other for mask, other in zip(longer, others, strict=True)]

    def _ngrams(self) -> list[Singles]:
        return [
            np.where(np.isfinite(table), table, NEARLY_NEVER).astype(np.float32)
            for table in (self.base.transitions, *self.base.longer)
        ]


def keys_with_base(index: KeyIndex, keys: UInt64s, base: SequenceModel) -> KeyIndex:
    """The index of training and those of the keys that the base knows, however rare."""
    distinct = np.unique(keys)
    return KeyIndex(np.union1d(index.keys, distinct[base.index.numbers(distinct) >= 0]))


def inherit(base: SequenceModel, index: KeyIndex, rows: WeightRows) -> Inherited:
    """``rows`` over ``index`` are the pairs seen in training; to them come those of the base with
    the same attributes.
    """
    n_labels = base.n_labels
    of_base = _pairs(base.rows, n_labels)
    attributes = index.numbers(base.index.keys).astype(np.int64)[of_base // n_labels]
    shared = attributes >= 0
    brought = attributes[shared] * n_labels + of_base[shared] % n_labels
    pairs = np.union1d(_pairs(rows, n_labels), brought)
    weights = np.zeros(len(pairs), dtype=np.float32)
    weights[np.searchsorted(pairs, brought)] = base.rows.weights[shared]
    every = KeyIndex(np.union1d(base.index.keys, index.keys))
    places_of_base = (
        every.numbers(base.index.keys).astype(np.int64)[of_base // n_labels] * n_labels
        + of_base % n_labels
    )
    places_of_new = (
        every.numbers(index.keys).astype(np.int64)[pairs // n_labels] * n_labels + pairs % n_labels
    )
    all_pairs = np.union1d(places_of_base, places_of_new)
    return Inherited(
        base,
        rows_of(pairs, len(index), n_labels),
        weights,
        every,
        rows_of(all_pairs, len(every), n_labels),
        np.searchsorted(all_pairs, places_of_base),
        np.searchsorted(all_pairs, places_of_new),
    )


def extend_dictionary(
    base: TagDictionary | None, found: TagDictionary | None
) -> TagDictionary | None:
    """The candidates of the base and those found in other sentences; None where the base has no
    dictionary.

    A form has the labels of both; what the base knows only by its suffixes has those too. Of the
    labels found with a suffix the most frequent come behind those of the base, so that words do not
    get ever more candidates.
    """
    if base is None or found is None:
        return None
    seen = list(found.by_form)
    guessed = base.candidates(seen, np.arange(len(seen), dtype=np.int32))
    by_form = dict(base.by_form)
    for k, form in enumerate(seen):
        own = guessed.labels[guessed.starts[k] : guessed.starts[k + 1]].tolist()
        by_form[form] = tuple(sorted({*own, *found.by_form[form]}))
    by_suffix = dict(base.by_suffix)
    for suffix, labels in found.by_suffix.items():
        known = by_suffix.get(suffix, ())
        by_suffix[suffix] = (
            *known,
            *[label for label in labels if label not in known][: _MORE_LABELS if known else None],
        )
    return TagDictionary(by_form, by_suffix)


def _pairs(rows: WeightRows, n_labels: int) -> Longs:
    """The pairs of rows, each as attribute * n_labels + label."""
    attributes = np.repeat(np.arange(len(rows.starts) - 1, dtype=np.int64), np.diff(rows.starts))
    return attributes * n_labels + rows.labels
