"""The training problem of taggers whose labels look back at K labels: attributes at words, candidate labels, and label n-grams.

Parts are those of ``structures.higher_order_chain`` over the labels of each sentence: candidates, then tables of L^2, L^3, ..., L^(K + 1)
label n-grams. A learner in the dual keeps eight bytes a part: with K = 2, a sentence costs 6 KB with 9 labels, 100 KB with 23, 750 KB
with 45. Attribute weights are those of ``SequenceProblem``; n-gram weights are dense tables over all labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.features.packed import PackedRows, add_words, pack, place, score_words, unpack
from egparse.features.sequence import WeightRows
from egparse.learners.problem import Floats
from egparse.structures import higher_order_chain as chain
from egparse.structures.higher_order_k_best import k_best
from egparse.tasks.sequence_layout import (
    Ints,
    Labels,
    Longs,
    Sentence,
    SequenceLayout,
    lay_out,
    sentence_of,
    write_cost,
)

Masks = tuple[npt.NDArray[np.bool_], ...]


class _Weights(NamedTuple):
    """v: attributes with labels, and label n-grams, the tables one after the other, where ``support`` is 1."""

    rows: PackedRows
    ngrams: Floats
    support: Floats


class HigherOrderProblem:
    """As ``SequenceProblem``, with ``support``: for each m = 1..K which label (m + 1)-grams have a weight, shape (n_labels,) * (m + 1),
    oldest label first. The order K is its length.

    Raises:
        ConfigError: no support, or one of other shapes.
        ValueError: a word whose correct label is not one of its candidates, or whose candidates do not ascend.
    """

    def __init__(
        self,
        *,
        attributes: Ints,
        word_starts: Longs,
        gold: Ints,
        candidates: Labels,
        candidate_starts: Longs,
        rows: WeightRows,
        n_labels: int,
        support: Sequence[npt.NDArray[np.bool_]],
    ) -> None:
        shapes, wanted = [own.shape for own in support], [(n_labels,) * (m + 2) for m in range(len(support))]
        if not shapes or shapes != wanted:
            raise ConfigError(
                f"expected n-gram support of shapes {wanted or [(n_labels,) * 2]}, got {shapes}"
            )
        self.support = tuple(support)
        self.order, self.n_labels = len(support), n_labels
        self._rows = rows
        layout = lay_out(word_starts, gold, candidates, candidate_starts, bigrams=True)
        sizes = np.diff(candidate_starts[word_starts])
        for m in range(len(support)):
            sizes = sizes + np.diff(layout.label_starts) ** (m + 2)
        self._layout = layout._replace(parts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
        self.part_starts = self._layout.parts
        self._placement = place(attributes, rows, n_labels)
        packed = pack(attributes, rows, self._placement, candidates, candidate_starts, n_labels)
        mask = np.concatenate([own.reshape(-1) for own in support]).astype(np.float64)
        self._weights = _Weights(packed, np.zeros_like(mask), mask)
        most = int(np.diff(layout.label_starts).max(initial=1))
        room = chain.room_for(candidate_starts, word_starts, most, self.order)
        self._work = chain.workspace(room, self.order)
        self._codes = np.empty(most ** (self.order + 1), dtype=np.int64)
        self._buffer = np.zeros(max(packed.dense.shape[1], n_labels))
        self._choice = np.empty(room.words, dtype=np.int32)
        self._scores, self._gold, self._cost = np.empty((3, int(sizes.max(initial=1))))

    @property
    def rows(self) -> WeightRows:
        """v of the (attribute, label) pairs, copied out of the training layout into the rows given at the start."""
        unpack(self._weights.rows, self._placement, self._rows)
        return self._rows

    @property
    def ngrams(self) -> tuple[npt.NDArray[np.float32], ...]:
        """v of the label bigrams, trigrams, ..., a copy; shapes as those of ``support``."""
        return tuple(table.astype(np.float32) for table in self._tables())

    def gold(self, i: int) -> Floats:
        """One on the correct label of each word; the count of each correct label n-gram."""
        out = self._gold[: self._size(i)]
        _write_gold(self._layout, i, self.order, self._choice, out)
        return out

    def cost(self, i: int) -> Floats:
        """Hamming cost: one for each wrong label."""
        out = self._cost[: self._size(i)]
        write_cost(self._layout, i, out)
        return out

    def cost_constant(self, i: int) -> float:
        """0: the cost of the correct labels is 0 as it stands."""
        return 0.0

    def scores(self, i: int) -> Floats:
        """Scores of the candidates, then of the label n-grams of the sentence's labels."""
        out = self._scores[: self._size(i)]
        _score(self._layout, i, self.order, self._weights, self.n_labels, self._buffer, self._codes, out)
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Forward-backward over states of K labels."""
        return float(_infer(self._layout, i, self.order, potentials, self._work, out))

    def maximum(self, i: int, potentials: Floats, out: Floats) -> float:
        """Viterbi over states of K labels."""
        return float(_maximise(self._layout, i, self.order, potentials, self._work, self._choice, out))

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """The k best label sequences, (found, parts), best first."""
        sentence = sentence_of(self._layout, i)
        found = k_best(potentials, sentence.starts, sentence.places, sentence.n_labels, self.order, k)
        out = np.zeros((len(found.choices), self._size(i)))
        for own, choice in zip(out, found.choices, strict=True):
            _write_choice(sentence, self.order, choice, own)
        return out

    def add(self, i: int, changes: Floats) -> float:
        """Move the weights of the features of each part."""
        return float(
            _add(
                self._layout, i, self.order, self._weights, self.n_labels, self._buffer, self._codes, changes
            )
        )

    def reset(self) -> None:
        """All weights to zero."""
        for array in self.vectors():
            array[...] = 0.0

    def vectors(self) -> tuple[Floats, ...]:
        """Dense rows, sparse weights, and a table of label n-grams of each length; cells without support stay 0."""
        return (self._weights.rows.dense, self._weights.rows.sparse, *self._tables())

    def twin(self) -> HigherOrderProblem:
        """The same sentences with weights of their own."""
        other = copy(self)
        packed, ngrams, support = self._weights
        packed = packed._replace(dense=np.zeros_like(packed.dense), sparse=np.zeros_like(packed.sparse))
        other._weights = _Weights(packed, np.zeros_like(ngrams), support)
        other._rows = self._rows._replace(weights=np.zeros_like(self._rows.weights))
        return other

    def _tables(self) -> tuple[Floats, ...]:
        flat = np.split(self._weights.ngrams, np.cumsum([own.size for own in self.support])[:-1])
        return tuple(own.reshape(mask.shape) for own, mask in zip(flat, self.support, strict=True))

    def _size(self, i: int) -> int:
        return int(self.part_starts[i + 1] - self.part_starts[i])


def observed_ngrams(gold: Ints, word_starts: Longs, n_labels: int, order: int) -> Masks:
    """Which label (m + 1)-grams are seen inside sentences, for m = 1..order, shapes (n_labels,) * (m + 1), oldest label first.

    Raises:
        ConfigError: an order below 1.
    """
    if order < 1:
        raise ConfigError(f"expected an order of label n-grams of at least 1, got {order}")
    lengths = np.diff(word_starts)
    place_in_sentence = np.arange(len(gold)) - np.repeat(word_starts[:-1], lengths)
    masks = []
    for m in range(1, order + 1):
        seen = np.zeros((n_labels,) * (m + 1), dtype=np.bool_)
        ends = np.flatnonzero(place_in_sentence >= m)
        seen[tuple(gold[ends - back] for back in range(m, -1, -1))] = True
        masks.append(seen)
    return tuple(masks)


@njit
def _write_choice(sentence: Sentence, order: int, choice: Ints, out: Floats) -> None:
    """The parts of a choice of candidates: one on each, and the counts of the n-grams that end at each word."""
    starts, places, size = sentence.starts, sentence.places, sentence.n_labels
    n = starts.shape[0] - 1
    out[:] = 0.0
    for k in range(n):
        chosen = starts[k] + choice[k]
        out[chosen] = 1.0
        begin, code, power = starts[n], int(places[chosen]), 1
        for m in range(1, min(k, order) + 1):
            power *= size
            code += power * places[starts[k - m] + choice[k - m]]
            out[begin + code] += 1.0
            begin += power * size


@njit
def _write_gold(layout: SequenceLayout, i: int, order: int, choice: Ints, out: Floats) -> None:
    sentence = sentence_of(layout, i)
    for k in range(sentence.starts.shape[0] - 1):
        choice[k] = layout.gold[sentence.first + k] - sentence.starts[k]
    _write_choice(sentence, order, choice, out)


@njit
def _maximise(
    layout: SequenceLayout,
    i: int,
    order: int,
    potentials: Floats,
    work: chain.Workspace,
    choice: Ints,
    out: Floats,
) -> float:
    sentence = sentence_of(layout, i)
    score = chain.viterbi(
        potentials, sentence.starts, sentence.places, sentence.n_labels, order, work, choice
    )
    _write_choice(sentence, order, choice, out)
    return score


@njit
def _infer(
    layout: SequenceLayout, i: int, order: int, potentials: Floats, work: chain.Workspace, out: Floats
) -> float:
    sentence = sentence_of(layout, i)
    return chain.forward_backward(
        potentials, sentence.starts, sentence.places, sentence.n_labels, order, work, out
    )


@njit
def _next_codes(labels: Labels, n_labels: int, size: int, codes: Longs) -> None:
    """Places of n-grams in the table of all labels, from those of n-grams one label shorter, in place; ``size`` is the new number."""
    own = labels.shape[0]
    for x in range(size - 1, -1, -1):  # downwards: x // own is not overwritten before it is read
        codes[x] = codes[x // own] * n_labels + labels[x % own]


@njit
def _score(
    layout: SequenceLayout, i: int, order: int, weights: _Weights, n_labels: int, buffer: Floats, codes: Longs,
    scores: Floats,
) -> None:  # fmt: skip
    sentence = sentence_of(layout, i)
    starts, labels, ngrams = sentence.starts, sentence.labels, weights.ngrams
    score_words(weights.rows, sentence.first, starts, sentence.candidates, buffer, scores)
    buffer[:] = 0.0
    out = scores[starts[starts.shape[0] - 1] :]
    own = labels.shape[0]
    if own == n_labels:
        out[:] = ngrams
        return
    codes[:own] = labels
    begin, table, size, whole = 0, 0, own, n_labels
    for _ in range(order):
        size, whole = size * own, whole * n_labels
        _next_codes(labels, n_labels, size, codes)
        for x in range(size):
            out[begin + x] = ngrams[table + codes[x]]
        begin, table = begin + size, table + whole


@njit
def _add(
    layout: SequenceLayout, i: int, order: int, weights: _Weights, n_labels: int, buffer: Floats, codes: Longs,
    changes: Floats,
) -> float:  # fmt: skip
    sentence = sentence_of(layout, i)
    starts, labels, ngrams, support = sentence.starts, sentence.labels, weights.ngrams, weights.support
    grown: float = add_words(weights.rows, sentence.first, starts, sentence.candidates, buffer, changes)
    change = changes[starts[starts.shape[0] - 1] :]
    own = labels.shape[0]
    codes[:own] = labels
    begin, table, size, whole = 0, 0, own, n_labels
    for _ in range(order):
        size, whole = size * own, whole * n_labels
        if own < n_labels:
            _next_codes(labels, n_labels, size, codes)
        for x in range(size):
            if change[begin + x] != 0.0:
                at = table + (codes[x] if own < n_labels else x)
                old = ngrams[at]
                new = old + change[begin + x] * support[at]
                ngrams[at] = new
                grown += (new - old) * (new + old)
        begin, table = begin + size, table + whole
    return grown
