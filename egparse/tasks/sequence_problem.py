"""The training problem of taggers and labellers: attributes at words, candidate labels, and label bigrams or none."""

from __future__ import annotations

from copy import copy

import numpy as np
import numpy.typing as npt

from egparse.features.packed import pack, place, unpack
from egparse.features.sequence import WeightRows
from egparse.learners.eg_step import Duals, Rule
from egparse.learners.problem import Floats
from egparse.structures import chain, multiclass
from egparse.structures.chain_k_best import k_best
from egparse.tasks.sequence_layout import Ints, Labels, Longs, lay_out, sentence_of, write_cost, write_gold
from egparse.tasks.sequence_sweep import Scratch, SequenceWeights, add_sentence, infer, score_sentence, sweep


class SequenceProblem:
    """Sentence ``i`` has the words ``word_starts[i]:word_starts[i + 1]`` of the flat arrays.

    ``attributes`` is (words, templates), -1 where absent; ``gold`` (words,) the correct labels; word k may have the labels
    ``candidates[candidate_starts[k]:candidate_starts[k + 1]]``, the correct one among them. ``support[previous, next]`` says which
    label bigrams have a weight; None: no bigrams, each word chooses alone. ``rows`` says which (attribute, label) pairs have one.
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
        support: npt.NDArray[np.bool_] | None,
    ) -> None:
        self.support = support
        self._rows = rows
        self._layout = lay_out(word_starts, gold, candidates, candidate_starts, support is not None)
        self.part_starts = self._layout.parts
        self._placement = place(attributes, rows, n_labels)
        bigrams = np.zeros((0, 0)) if support is None else support.astype(np.float64)
        packed = pack(attributes, rows, self._placement, candidates, candidate_starts, n_labels)
        self._weights = SequenceWeights(packed, np.zeros_like(bigrams), bigrams)
        longest = int(np.diff(self.part_starts).max(initial=1))
        work = chain.workspace(
            int(np.diff(candidate_starts[word_starts]).max(initial=1)),
            int(np.diff(word_starts).max(initial=1)),
            int(np.diff(self._layout.label_starts).max(initial=1)),
        )
        buffer = np.zeros(max(packed.dense.shape[1], n_labels))
        scores, cost, trial, marginals, changes = np.empty((5, longest))
        self._scratch = Scratch(work, scores, cost, trial, marginals, changes, buffer)
        self._gold = np.empty(longest)
        self._cost = np.empty(longest)

    @property
    def rows(self) -> WeightRows:
        """v of the (attribute, label) pairs, copied out of the training layout into the rows given at the start."""
        unpack(self._weights.rows, self._placement, self._rows)
        return self._rows

    @property
    def transitions(self) -> npt.NDArray[np.float32]:
        """v of the label bigrams, [previous, next]; (0, 0) without bigrams."""
        return self._weights.transitions.astype(np.float32)

    def gold(self, i: int) -> Floats:
        """One on the correct label of each word; the count of each correct label bigram."""
        out = self._gold[: self._size(i)]
        write_gold(self._layout, i, out)
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
        """Scores of the candidates, then of the label bigrams of the sentence's labels."""
        out = self._scratch.scores[: self._size(i)]
        score_sentence(self._weights, sentence_of(self._layout, i), self._scratch.buffer, out)
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Forward-backward, or a softmax a word."""
        return float(infer(sentence_of(self._layout, i), potentials, self._scratch.chain, out))

    def maximum(self, i: int, potentials: Floats, out: Floats) -> float:
        """Viterbi, or the best label a word."""
        sentence = sentence_of(self._layout, i)
        starts, size = sentence.starts, sentence.n_labels
        choice = np.empty(len(starts) - 1, dtype=np.int32)
        out[:] = 0.0
        if self.support is None:
            score = float(multiclass.best_choice(potentials, starts, choice))
        else:
            score = float(
                chain.viterbi(potentials, starts, sentence.places, size, self._scratch.chain, choice)
            )
            labels = sentence.places[choice + starts[:-1]]
            np.add.at(out, starts[-1] + labels[:-1] * size + labels[1:], 1.0)
        out[choice + starts[:-1]] = 1.0
        return score

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """The k best label sequences, (found, parts), best first."""
        sentence = sentence_of(self._layout, i)
        starts, size = sentence.starts, sentence.n_labels
        choices = k_best(potentials, starts, sentence.places, size, k).choices
        out = np.zeros((len(choices), self._size(i)))
        for own, choice in zip(out, choices, strict=True):
            own[choice + starts[:-1]] = 1.0
            if size:
                labels = sentence.places[choice + starts[:-1]]
                np.add.at(own, starts[-1] + labels[:-1] * size + labels[1:], 1.0)
        return out

    def add(self, i: int, changes: Floats) -> float:
        """Move the weights of the features of each part."""
        sentence = sentence_of(self._layout, i)
        return float(add_sentence(self._weights, sentence, self._scratch.buffer, changes))

    def reset(self) -> None:
        """All weights to zero."""
        self._weights.rows.dense[:] = 0.0
        self._weights.rows.sparse[:] = 0.0
        self._weights.transitions[:] = 0.0

    def vectors(self) -> tuple[Floats, Floats, Floats]:
        """Dense rows, sparse weights, label bigrams; cells without support stay 0."""
        return self._weights.rows.dense, self._weights.rows.sparse, self._weights.transitions

    def twin(self) -> SequenceProblem:
        """The same sentences with weights of their own."""
        other = copy(self)
        packed, transitions, support = self._weights
        packed = packed._replace(dense=np.zeros_like(packed.dense), sparse=np.zeros_like(packed.sparse))
        other._weights = SequenceWeights(packed, np.zeros_like(transitions), support)
        other._rows = self._rows._replace(weights=np.zeros_like(self._rows.weights))
        return other

    def sweep(self, order: npt.NDArray[np.int64], rule: Rule, duals: Duals) -> tuple[int, float]:
        """One EG step on each sentence of ``order``, compiled as a whole."""
        evaluations, grown = sweep(order, rule, duals, self._layout, self._weights, self._scratch)
        return int(evaluations), float(grown)

    def _size(self, i: int) -> int:
        return int(self.part_starts[i + 1] - self.part_starts[i])
