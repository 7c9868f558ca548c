"""Learning sequences whose labels look back at more than one label: the problem of taggers with
trigrams and 4-grams of labels in addition to bigrams (``higher_order``).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from egparse.experiments.chains import higher_order
from egparse.experiments.chains.higher_order_k_best import k_best
from egparse.experiments.chains.higher_order_states import n_ngrams, room_for, workspace
from egparse.features.sequence import WeightRows
from egparse.learners.problem import Problem
from egparse.sequences.problem import SequenceProblem
from egparse.types import Floats, Ints, Longs, Mask, UInt16s


class HigherOrderProblem(Problem):
    """As ``SequenceProblem`` without bigrams, and a weight for each label n-gram that ``support``
    marks: masks of shapes (n_labels,) * 2, (n_labels,) * 3, ..., oldest label first, as many as the
    ``order``. The parts of a sentence are its candidates, then n-grams of all labels.
    """

    def __init__(
        self,
        *,
        attributes: Ints,
        word_starts: Longs,
        gold: Ints,
        candidates: UInt16s,
        candidate_starts: Longs,
        rows: WeightRows,
        n_labels: int,
        support: Sequence[Mask],
    ) -> None:
        self.words = SequenceProblem(
            attributes=attributes,
            word_starts=word_starts,
            gold=gold,
            candidates=candidates,
            candidate_starts=candidate_starts,
            rows=rows,
            n_labels=n_labels,
            support=None,
        )
        self.n_labels, self.order = n_labels, len(support)
        self._labels, self._starts, self._words = candidates, candidate_starts, word_starts
        self._support = np.concatenate([mask.reshape(-1) for mask in support]).astype(np.float64)
        self.ngrams = np.zeros_like(self._support)
        n = np.arange(len(word_starts))
        self.part_starts = self.words.part_starts + n * n_ngrams(n_labels, self.order)
        room = room_for(candidate_starts, word_starts, n_labels, self.order)
        self._work = workspace(room, self.order)

    def gold(self, i: int) -> Floats:
        """One on the correct label of each word; the count of each correct n-gram."""
        _, starts, labels = self._sentence(i)
        correct = np.flatnonzero(self.words.gold(i))
        return self._parts(starts, labels, correct)

    def cost(self, i: int) -> Floats:
        """Hamming cost."""
        return np.concatenate([self.words.cost(i), np.zeros(len(self.ngrams))])

    def cost_constant(self, i: int) -> float:
        """0: the cost of the correct labels is 0."""
        return 0.0

    def scores(self, i: int) -> Floats:
        """Scores of the candidates, then of n-grams, shortest first."""
        return np.concatenate([self.words.scores(i), self.ngrams])

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Forward-backward."""
        shape = self._shape(i)
        return float(higher_order.forward_backward(potentials, *shape, self._work, out))

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """Viterbi."""
        _, starts, labels = self._sentence(i)
        choice = np.empty(len(starts) - 1, dtype=np.int32)
        score = higher_order.viterbi(potentials, *self._shape(i), self._work, choice)
        out[:] = self._parts(starts, labels, choice + starts[:-1])
        return float(score)

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Up to k best label sequences, (sequences, parts), best first."""
        _, starts, labels = self._sentence(i)
        found = k_best(potentials, *self._shape(i), k).choices
        return np.array([self._parts(starts, labels, choice + starts[:-1]) for choice in found])

    def add(self, i: int, changes: Floats) -> float:
        """Move the weights of the features of each part."""
        n = len(changes) - len(self.ngrams)
        moved = changes[n:] * self._support
        grown = float(moved @ (2.0 * self.ngrams + moved))
        self.ngrams += moved
        return self.words.add(i, np.ascontiguousarray(changes[:n])) + grown

    def vectors(self) -> tuple[Floats, ...]:
        """Those of words, then the weights of n-grams."""
        return (*self.words.vectors()[:2], self.ngrams)

    def with_own_weights(self) -> HigherOrderProblem:
        """The same sentences with separate weights."""
        other = copy(self)
        other.words, other.ngrams = self.words.with_own_weights(), np.zeros_like(self.ngrams)
        return other

    def _sentence(self, i: int) -> tuple[int, Ints, Ints]:
        first, end = self._words[i], self._words[i + 1]
        begin = int(self._starts[first])
        starts = (self._starts[first : end + 1] - begin).astype(np.int32)
        return begin, starts, self._labels[begin : begin + starts[-1]].astype(np.int32)

    def _shape(self, i: int) -> tuple[Ints, Ints, int, int]:
        _, starts, labels = self._sentence(i)
        return starts, labels, self.n_labels, self.order

    def _parts(self, starts: Ints, labels: Ints, path: Ints | Longs) -> Floats:
        """The parts of a label sequence, given by the candidate ``path[k]`` of each word."""
        out = np.zeros(starts[-1] + len(self.ngrams))
        out[path] = 1.0
        chosen, begin = labels[path], int(starts[-1])
        for m in range(1, self.order + 1):
            code = np.zeros(max(0, len(chosen) - m), dtype=np.int64)
            for back in range(m, -1, -1):
                code = code * self.n_labels + chosen[m - back : len(chosen) - back]
            np.add.at(out, begin + code, 1.0)
            begin += self.n_labels ** (m + 1)
        return out


def observed_ngrams(gold: Ints, word_starts: Longs, n_labels: int, order: int) -> tuple[Mask, ...]:
    """Which label (m + 1)-grams are seen inside sentences, for m = 1..order, shapes (n_labels,) *
    (m + 1), oldest label first.
    """
    place_in_sentence = np.arange(len(gold)) - np.repeat(word_starts[:-1], np.diff(word_starts))
    masks = []
    for m in range(1, order + 1):
        seen = np.zeros((n_labels,) * (m + 1), dtype=np.bool_)
        ends = np.flatnonzero(place_in_sentence >= m)
        seen[tuple(gold[ends - back] for back in range(m, -1, -1))] = True
        masks.append(seen)
    return tuple(masks)
