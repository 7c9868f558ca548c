"""Training a sequence model from a base: index maps between the base's weights, the new training
weights and the merged model.

The scores of the base are fixed offsets of all parts (``egparse.learners.offset_problem``). Learned
are weights v of the attributes of the new sentences, some of which the base has too. The merged
model has the sum of both over all attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from egparse.features.index import KeyIndex
from egparse.features.sequence import WeightRows, rows_of
from egparse.features.tag_dictionary import TagDictionary, suffixes_of
from egparse.learners.offset_problem import scores_of
from egparse.sequences.model import SequenceModel
from egparse.sequences.problem import SequenceProblem
from egparse.types import Longs, Mask, Singles, UInt64s

NEARLY_NEVER = np.float32(-30.0)
"""The score in training, in nats, of a label bigram that the base forbids: as good as impossible,
and finite in every product.
"""

Sorted = TypeVar("Sorted", UInt64s, Longs)


class WarmStart(NamedTuple):
    """Index maps between the base model's weights, the new training weights and the merged model.

    ``rows`` are the pairs of training, ``weights`` the base's weights of these pairs.
    ``index_of_all`` and ``rows_of_all`` belong to the merged model, in which the weights of the
    base are at ``places_of_base``, the learned ones at ``places_of_new``.
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
        bigrams = None if problem.support is None else self._bigrams().astype(np.float64)
        problem.set_weights(self.weights.astype(np.float64), bigrams)
        offsets = scores_of(problem)
        problem.reset()
        return offsets

    def with_learned(self, weights: Singles, transitions: Singles) -> SequenceModel:
        """The merged model, from the learned weights of the pairs of ``rows`` and of label bigrams
        ((0, 0) for none).
        """
        every = self.rows_of_all.weights.copy()
        every[self.places_of_base] += self.base.rows.weights
        every[self.places_of_new] += weights
        bigrams = self._bigrams()
        return replace(
            self.base,
            index=self.index_of_all,
            rows=self.rows_of_all._replace(weights=every),
            transitions=bigrams + transitions if transitions.size else bigrams,
            opening=np.zeros_like(self.base.opening),
            temperature=1.0,
        )

    def with_support(self, support: Mask | None) -> Mask | None:
        """The label bigrams that have a weight in training or in the base."""
        table = self.base.transitions
        return None if support is None else support | ((table != 0) & np.isfinite(table))

    def _bigrams(self) -> Singles:
        table = self.base.transitions
        return np.where(np.isfinite(table), table, NEARLY_NEVER).astype(np.float32)


def keys_with_base(index: KeyIndex, keys: UInt64s, base: SequenceModel) -> KeyIndex:
    """The index of training, with all ``keys`` that the base knows, however rare."""
    distinct = np.unique(keys)
    return KeyIndex(_union(distinct[base.index.numbers(distinct) >= 0], index.keys))


def warm_start_of(base: SequenceModel, index: KeyIndex, rows: WeightRows) -> WarmStart:
    """The start from a base: the pairs of training are ``rows`` over ``index`` and the base's pairs
    of the same attributes.
    """
    n_labels = base.n_parts
    of_base = _pairs(base.rows, n_labels)
    attributes = index.numbers(base.index.keys).astype(np.int64)[of_base // n_labels]
    shared = attributes >= 0
    inherited = attributes[shared] * n_labels + of_base[shared] % n_labels
    pairs = _union(_pairs(rows, n_labels), inherited)
    weights = np.zeros(len(pairs), dtype=np.float32)
    weights[np.searchsorted(pairs, inherited)] = base.rows.weights[shared]
    every = KeyIndex(_union(base.index.keys, index.keys))
    places_of_base = (
        every.numbers(base.index.keys).astype(np.int64)[of_base // n_labels] * n_labels
        + of_base % n_labels
    )
    places_of_new = (
        every.numbers(index.keys).astype(np.int64)[pairs // n_labels] * n_labels + pairs % n_labels
    )
    all_pairs = _union(places_of_base, places_of_new)
    return WarmStart(
        base,
        rows_of(pairs, len(index), n_labels),
        weights,
        every,
        rows_of(all_pairs, len(every), n_labels),
        np.searchsorted(all_pairs, places_of_base),
        np.searchsorted(all_pairs, places_of_new),
    )


def with_seen(
    base: TagDictionary, forms: Sequence[str], labels: Sequence[int], size: int
) -> TagDictionary:
    """The base's candidates and, for the form of each word, the label that it was seen with. That
    is a candidate of words with the same suffixes too, if these have fewer than ``size`` labels or
    the base has it nowhere.

    The counts of a few sentences say nothing about the other labels of their forms and suffixes,
    and labels that were no candidates in training have never been told apart there: of every
    candidate more, others that are wrong would be chosen
    (docs/decisions/learning-in-steps.md).
    """
    distinct = list(dict.fromkeys(forms))
    guessed = base.candidates(distinct, np.arange(len(distinct), dtype=np.int32))
    of_form = {
        form: {*guessed.labels[first:end].tolist()}
        for form, first, end in zip(distinct, guessed.starts, guessed.starts[1:], strict=False)
    }
    pairs = zip(forms, labels, strict=True)
    missing = dict.fromkeys((form, label) for form, label in pairs if label not in of_form[form])
    if not missing:
        return base
    known = set().union(*base.by_form.values(), *base.by_suffix.values())
    by_form, by_suffix = dict(base.by_form), dict(base.by_suffix)
    for form, label in missing:
        of_form[form].add(label)
        by_form[form] = tuple(sorted(of_form[form]))
        for suffix in suffixes_of(form):
            others = by_suffix.get(suffix, ())
            if label not in others and (len(others) < size or label not in known):
                by_suffix[suffix] = (*others, label)
    return TagDictionary(by_form, by_suffix)


def _union(known: Sorted, others: Sorted) -> Sorted:
    """The union of two ascending arrays of distinct numbers, ascending.

    The second one is short where a large base learns from few sentences; then this takes the time
    of a copy, of which numpy's union takes a hundred.
    """
    places = np.searchsorted(known, others)
    is_new = np.ones(len(others), dtype=np.bool_)
    inside = places < len(known)
    is_new[inside] = known[places[inside]] != others[inside]
    return np.insert(known, places[is_new], others[is_new])


def _pairs(rows: WeightRows, n_labels: int) -> Longs:
    """The pairs of rows, each as attribute * n_labels + label."""
    attributes = np.repeat(np.arange(len(rows.starts) - 1, dtype=np.int64), np.diff(rows.starts))
    return attributes * n_labels + rows.labels
