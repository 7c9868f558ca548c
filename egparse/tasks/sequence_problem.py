"""The training problem of taggers and labellers: attributes at words, candidate labels, and label bigrams or none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.features.sequence import WeightRows, add_candidates, score_candidates
from egparse.learners.problem import Floats
from egparse.structures import chain, multiclass

Ints = npt.NDArray[np.int32]


@njit
def _score_transitions(weights: npt.NDArray[np.float32], labels: npt.NDArray[np.uint16], scores: Floats) -> None:
    size = labels.shape[0]
    for p in range(size):
        for q in range(size):
            scores[p * size + q] = weights[labels[p], labels[q]]


@njit
def _add_transitions(
    weights: npt.NDArray[np.float32], support: npt.NDArray[np.bool_], labels: npt.NDArray[np.uint16], changes: Floats
) -> float:
    """Add expected-count changes to the label bigrams of the support; returns the change of the squared norm."""
    grown = 0.0
    size = labels.shape[0]
    for p in range(size):
        for q in range(size):
            if support[labels[p], labels[q]]:
                old = weights[labels[p], labels[q]]
                new = np.float32(old + changes[p * size + q])
                weights[labels[p], labels[q]] = new
                grown += (np.float64(new) - np.float64(old)) * (np.float64(new) + np.float64(old))
    return grown


class SequenceProblem:
    """Sentences laid end to end; sentence ``i`` owns the words ``word_starts[i]:word_starts[i + 1]``.

    ``attributes`` is (words, templates), -1 where absent. Word ``k`` has the candidate labels
    ``candidates[candidate_starts[k]:candidate_starts[k + 1]]`` (ascending, the correct one among them). ``gold`` is the
    correct label of each word. ``support[previous, next]`` says which label bigrams have a weight; None: no label bigrams, and
    the words of a sentence are independent.
    """

    def __init__(
        self,
        *,
        attributes: Ints,
        word_starts: npt.NDArray[np.int64],
        gold: Ints,
        candidates: npt.NDArray[np.uint16],
        candidate_starts: npt.NDArray[np.int64],
        rows: WeightRows,
        n_labels: int,
        support: npt.NDArray[np.bool_] | None,
    ) -> None:
        self.rows = rows
        self.support = support
        self.transitions = np.zeros((n_labels, n_labels) if support is not None else (0, 0), dtype=np.float32)
        self._attributes = attributes
        self._words = word_starts
        self._candidates = candidates
        self._candidate_starts = candidate_starts
        self._buffer = np.zeros(n_labels)
        n = len(word_starts) - 1
        self._label_sets: list[npt.NDArray[np.uint16]] = []
        self._starts: list[Ints] = []
        local: list[Ints] = []
        sizes = np.zeros(n + 1, dtype=np.int64)
        for i in range(n):
            words = slice(word_starts[i], word_starts[i + 1])
            begin, end = candidate_starts[word_starts[i]], candidate_starts[word_starts[i + 1]]
            labels, places = np.unique(candidates[begin:end], return_inverse=True)
            self._label_sets.append(labels)
            local.append(places.astype(np.int32))
            self._starts.append((candidate_starts[words.start : words.stop + 1] - begin).astype(np.int32))
            sizes[i + 1] = end - begin + (len(labels) ** 2 if support is not None else 0)
        self._local = local
        self.part_starts = np.cumsum(sizes)
        self._gold_places = _places_of(gold, candidates, candidate_starts)
        longest = int(np.diff(self.part_starts).max(initial=1))
        self._scores = np.empty(longest)
        self._gold = np.empty(longest)
        self._cost = np.empty(longest)
        self._work = chain.workspace(
            max((len(places) for places in local), default=1),
            int(np.diff(word_starts).max(initial=1)),
            max((len(labels) for labels in self._label_sets), default=1),
        )

    def gold(self, i: int) -> Floats:
        """One on the correct label of each word; the count of each correct label bigram."""
        starts, labels = self._starts[i], self._label_sets[i]
        out = self._gold[: self.part_starts[i + 1] - self.part_starts[i]]
        out[:] = 0.0
        places = self._gold_places[self._words[i] : self._words[i + 1]] + starts[:-1]
        out[places] = 1.0
        if self.support is not None:
            correct = self._local[i][places]
            np.add.at(out, starts[-1] + correct[:-1] * len(labels) + correct[1:], 1.0)
        return out

    def cost(self, i: int) -> Floats:
        """Hamming cost: one for each wrong label."""
        out = self._cost[: self.part_starts[i + 1] - self.part_starts[i]]
        out[:] = 0.0
        n_unary = self._starts[i][-1]
        out[:n_unary] = 1.0
        out[self._gold_places[self._words[i] : self._words[i + 1]] + self._starts[i][:-1]] = 0.0
        return out

    def cost_constant(self, i: int) -> float:
        """0: the cost of the correct labels is 0 as it stands."""
        return 0.0

    def scores(self, i: int) -> Floats:
        """Scores of the candidates, then of the label bigrams of the sentence's labels."""
        out = self._scores[: self.part_starts[i + 1] - self.part_starts[i]]
        words, starts = slice(self._words[i], self._words[i + 1]), self._starts[i]
        score_candidates(
            self._attributes[words], self.rows, starts, self._own_candidates(i), self._buffer, out
        )
        if self.support is not None:
            _score_transitions(self.transitions, self._label_sets[i], out[starts[-1] :])
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Forward-backward, or a softmax a word."""
        if self.support is None:
            return float(multiclass.softmax(potentials, self._starts[i], out))
        return float(
            chain.forward_backward(
                potentials, self._starts[i], self._local[i], len(self._label_sets[i]), self._work, out
            )
        )

    def maximum(self, i: int, potentials: Floats, out: Floats) -> float:
        """Viterbi, or the best label a word."""
        starts = self._starts[i]
        choice = np.empty(len(starts) - 1, dtype=np.int32)
        out[:] = 0.0
        if self.support is None:
            score = float(multiclass.best_choice(potentials, starts, choice))
        else:
            size = len(self._label_sets[i])
            score = float(chain.viterbi(potentials, starts, self._local[i], size, self._work, choice))
            labels = self._local[i][choice + starts[:-1]]
            np.add.at(out, starts[-1] + labels[:-1] * size + labels[1:], 1.0)
        out[choice + starts[:-1]] = 1.0
        return score

    def add(self, i: int, changes: Floats) -> float:
        """Move the weights of the features of each part."""
        words, starts = slice(self._words[i], self._words[i + 1]), self._starts[i]
        self._buffer[:] = 0.0
        grown = add_candidates(
            self._attributes[words], self.rows, starts, self._own_candidates(i), self._buffer, changes
        )
        if self.support is not None:
            grown += _add_transitions(self.transitions, self.support, self._label_sets[i], changes[starts[-1] :])
        return float(grown)

    def reset(self) -> None:
        """All weights to zero."""
        self.rows.weights[:] = 0.0
        self.transitions[:] = 0.0

    def _own_candidates(self, i: int) -> npt.NDArray[np.uint16]:
        begin = self._candidate_starts[self._words[i]]
        return self._candidates[begin : begin + self._starts[i][-1]]


def _places_of(
    gold: Ints, candidates: npt.NDArray[np.uint16], starts: npt.NDArray[np.int64]
) -> Ints:
    """The place of each word's correct label among its candidates."""
    word = np.repeat(np.arange(len(gold)), np.diff(starts))
    found = np.flatnonzero(candidates == gold[word])
    if len(found) != len(gold):
        raise ValueError("expected the correct label of every word among its candidates")
    return (found - starts[:-1]).astype(np.int32)
