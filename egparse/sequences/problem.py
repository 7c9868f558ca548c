"""The training problem of taggers and labellers: attributes at words, candidate labels, and label
bigrams or none.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from egparse.errors import ConfigError
from egparse.features.packed import PackedRows, Placement, pack, place, rows_of_words, unpack
from egparse.features.sequence import WHOLE_LABELS, LabelParts, WeightRows
from egparse.learners.completion import not_all, some_of
from egparse.learners.eg.step import DualVariables, StepRule
from egparse.learners.losses import LOG_LINEAR, Loss
from egparse.learners.problem import NONE, DesignMatrix, Problem
from egparse.sequences.problem_kernels import (
    Scratch,
    SequenceLayout,
    SequenceWeights,
    add_sentence,
    infer,
    lay_out,
    part_of,
    run_steps,
    score_sentence,
    sentence_of,
    start_all,
    sum_losses,
    write_cost,
    write_gold,
    write_path,
)
from egparse.structures.chains import chain, multiclass
from egparse.structures.chains import k_best as chain_k_best
from egparse.types import Floats, Ints, Longs, Mask, Shorts, Singles, UInt16s


class SequenceProblem(Problem):
    """Sentence ``i`` has the words ``word_starts[i]:word_starts[i + 1]`` of the flat arrays.

    ``attributes`` is (words, templates), -1 where absent; ``gold`` (words,) the correct labels;
    word k may have the labels ``candidates[candidate_starts[k]:candidate_starts[k + 1]]``, the
    correct one among them. ``support[previous, next]`` marks the label bigrams with a weight;
    None: no bigrams, each word chooses alone. ``rows`` holds the (attribute, label) pairs that have
    a weight.

    Where labels are ``divided``, ``rows`` holds (attribute, part) pairs of so many parts as
    ``n_parts``, of which frequent attributes have all that ``are_common``. With ``classes``
    (n_labels,) bigrams are those of the classes of labels, and ``support`` too.

    ``allowed`` (candidates,) marks the candidates that agree with the annotation; None: the correct
    ones alone. A sentence in which a word has several is annotated in part: ``gold`` is some
    completion, which is its target until ``set_target``, and such a word costs nothing.

    Raises:
        ConfigError: a table of bigrams of another shape.
        ValueError: a word whose correct label is not one of its candidates, or whose candidates do
            not ascend.
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
        support: Mask | None,
        allowed: Mask | None = None,
        divided: LabelParts = WHOLE_LABELS,
        n_parts: int | None = None,
        are_common: Mask | None = None,
        classes: UInt16s | None = None,
    ) -> None:
        n_classes = n_labels if classes is None else int(classes.max(initial=0)) + 1
        if support is not None and support.shape != (n_classes, n_classes):
            raise ConfigError(
                f"expected bigram support of shape {(n_classes,) * 2}, got {support.shape}"
            )
        n_parts = n_labels if n_parts is None else n_parts
        self._is_plain = classes is None and not len(divided.starts)
        self.support = support
        self._rows, self._attributes = rows, attributes
        self._layout = lay_out(
            word_starts, gold, candidates, candidate_starts, support is not None, classes
        )
        self.part_starts = self._layout.parts
        self._placement = place(attributes, rows, n_parts, are_common)
        packed = pack(
            attributes, rows, self._placement, candidates, candidate_starts, n_parts, divided
        )
        flat = np.empty(0) if support is None else support.reshape(-1).astype(np.float64)
        self._weights = SequenceWeights(packed, np.zeros_like(flat), flat, n_classes)
        self._n_labels, self._n_parts = n_labels, n_parts
        self._make_room()
        self._allowed, self._targets = allowed, dict[int, Floats]()
        self._decided = None if allowed is None else self._words_decided(allowed)
        self.partial = NONE if self._decided is None else not_all(self._decided)

    def _make_room(self) -> None:
        """Buffers for the longest sentence."""
        word_starts, candidate_starts = self._layout.words, self._layout.candidate_starts
        longest = int(np.diff(self.part_starts).max(initial=1))
        labels = int(np.diff(self._layout.label_starts).max(initial=1))
        work = chain.workspace(
            int(np.diff(candidate_starts[word_starts]).max(initial=1)),
            int(np.diff(word_starts).max(initial=1)),
            labels,
        )
        buffer = np.zeros(max(self._weights.rows.dense.shape[1], self._n_parts))
        scores, cost, trial, marginals, changes = np.empty((5, longest))
        self._scratch = Scratch(work, scores, cost, trial, marginals, changes, buffer)
        self._gold, self._cost = np.empty((2, longest))

    @property
    def rows(self) -> WeightRows:
        """v of the (attribute, label) pairs, copied out of the training layout into the rows given
        at the start.
        """
        unpack(self._weights.rows, self._placement, self._rows)
        return self._rows

    @property
    def transitions(self) -> Singles:
        """v of the label bigrams, [previous, next]; (0, 0) without bigrams."""
        return self._bigrams.astype(np.float32)

    def gold(self, i: int) -> Floats:
        """One on the correct label of each word; the count of each correct label bigram. Or the
        target: the probability of each label and the expected count of each bigram.
        """
        if i in self._targets:
            return self._targets[i]
        out = self._gold[: self._size(i)]
        write_gold(self._layout, i, out)
        return out

    def set_target(self, i: int, target: Floats) -> float:
        """Learn sentence i from the probabilities of labels and the expected counts of bigrams
        ``target`` from now on; returns 0.
        """
        self._targets[i] = np.array(target, dtype=np.float64)
        return 0.0

    def allowed(self, i: int) -> Mask:
        """The candidates that agree with the annotation, and all bigrams."""
        out, candidates = np.ones(self._size(i), dtype=np.bool_), self._candidates_of(i)
        n = candidates.stop - candidates.start
        out[:n] = self.gold(i)[:n] > 0 if self._allowed is None else self._allowed[candidates]
        return out

    def division(self, i: int) -> tuple[Shorts, bool]:
        """The word of each candidate, which bigrams have none of; words are independent without
        bigrams.
        """
        starts = sentence_of(self._layout, i).starts
        out = np.full(self._size(i), -1, dtype=np.int16)
        out[: starts[-1]] = np.repeat(np.arange(len(starts) - 1, dtype=np.int16), np.diff(starts))
        return out, self.support is None

    def cost(self, i: int) -> Floats:
        """Hamming cost: one for each wrong label; with a target, the probability that a label is
        wrong, and for words with several labels that agree with the annotation, nothing.
        """
        out, starts = self._cost[: self._size(i)], sentence_of(self._layout, i).starts
        write_cost(self._layout, i, out)
        n = starts[-1]
        if self._decided is not None:
            out[:n] *= np.repeat(self._decided[i], np.diff(starts))
        elif i in self._targets:
            out[:n] = 1.0 - self._targets[i][:n]
        return out

    def cost_constant(self, i: int) -> float:
        """0: the cost of the correct labels is 0."""
        return 0.0

    def scores(self, i: int) -> Floats:
        """Scores of the candidates, then of the label bigrams of the sentence's labels."""
        out, scratch = self._scratch.scores[: self._size(i)], self._scratch
        score_sentence(self._weights, sentence_of(self._layout, i), scratch.buffer, out)
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Forward-backward, or a softmax a word."""
        return float(infer(sentence_of(self._layout, i), potentials, self._scratch.chain, out))

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """Viterbi, or the best label a word."""
        sentence = sentence_of(self._layout, i)
        starts, places, size = sentence.starts, sentence.places, sentence.n_labels
        choice = np.empty(len(starts) - 1, dtype=np.int32)
        if self.support is None:
            score = multiclass.best_choice(potentials, starts, choice)
        else:
            score = chain.viterbi(potentials, starts, places, size, self._scratch.chain, choice)
        write_path(sentence, choice + starts[:-1], out)
        return float(score)

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Up to k best label sequences, (sequences, parts), best first."""
        sentence = sentence_of(self._layout, i)
        starts, places, size = sentence.starts, sentence.places, sentence.n_labels
        best = chain_k_best.k_best(potentials, starts, places, size, k)
        out = np.empty((len(best.choices), self._size(i)))
        for parts, choice in zip(out, best.choices, strict=True):
            write_path(sentence, choice + starts[:-1], parts)
        return out

    def add(self, i: int, changes: Floats) -> float:
        """Move the weights of the features of each part."""
        sentence, scratch = sentence_of(self._layout, i), self._scratch
        return float(add_sentence(self._weights, sentence, scratch.buffer, changes))

    def vectors(self) -> tuple[Floats, ...]:
        """Dense rows, sparse weights, and label bigrams; cells without support stay 0."""
        return (self._weights.rows.dense, self._weights.rows.sparse, self._bigrams)

    def with_own_weights(self) -> SequenceProblem:
        """The same sentences with separate weights."""
        other, packed = copy(self), self._weights.rows
        packed = packed._replace(
            dense=np.zeros_like(packed.dense), sparse=np.zeros_like(packed.sparse)
        )
        other._weights = self._weights._replace(
            rows=packed, bigrams=np.zeros_like(self._weights.bigrams)
        )
        other._rows = self._rows._replace(weights=np.zeros_like(self._rows.weights))
        return other

    def view(self, first: int, end: int) -> SequenceProblem:
        """Some of the sentences, with the weights of this problem and buffers of their own; it has
        no ``rows``.
        """
        other, layout = copy(self), self._layout
        of_words = slice(int(layout.words[first]), int(layout.words[end]))
        other._layout = part_of(layout, first, end)
        other.part_starts = other._layout.parts
        rows = rows_of_words(self._weights.rows, of_words.start, of_words.stop)
        other._weights = self._weights._replace(rows=rows)
        other._attributes = self._attributes[of_words]
        # which weight of the model is where is of no use without the model
        starts, labels, weights = self._rows
        other._rows = WeightRows(starts[:0], labels[:0], weights[:0])
        dense, sparse, has_common, columns = self._placement
        other._placement = Placement(dense[:0], sparse[:0], has_common[:0], columns)
        if self._allowed is not None and self._decided is not None:
            bounds = layout.candidate_starts
            other._allowed = self._allowed[bounds[of_words.start] : bounds[of_words.stop]]
            other._decided = self._decided[first:end]
        other._targets = {
            i - first: target for i, target in self._targets.items() if first <= i < end
        }
        other.partial = some_of(self.partial, first, end)
        other._make_room()
        return other

    def shard(self, first: int, end: int) -> SequenceProblem:
        """Some of the sentences, with weights and buffers of their own; it has no ``rows``."""
        return self.view(first, end).with_own_weights()

    def sweep(
        self, order: Longs, rule: StepRule, duals: DualVariables, single_rate: Mask, norm: float
    ) -> tuple[int, float]:
        """One EG step on each sentence of ``order``, compiled as a whole."""
        evaluations, norm_change = run_steps(
            order, rule, duals, self._layout, self._weights, self._scratch
        )
        return int(evaluations), norm + float(norm_change)

    def start(self, height: Floats, loss: Loss, duals: DualVariables) -> float:
        """Compiled as a whole for the log-linear loss; targets are not looked at there."""
        if self._targets or loss != LOG_LINEAR:
            return super().start(height, loss, duals)
        return float(start_all(height, duals, self._layout, self._weights, self._scratch))

    def sums(self, c: float, loss: Loss, duals: DualVariables) -> tuple[float, float]:
        """Compiled as a whole, as ``start``."""
        if self._targets or loss != LOG_LINEAR:
            return super().sums(c, loss, duals)
        total, correction = sum_losses(c, duals, self._layout, self._weights, self._scratch)
        return float(total), float(correction)

    def design(self) -> DesignMatrix:
        """Words as choices among labels, for learners that look at single weights."""
        if not self._is_plain:
            raise ConfigError(
                "expected a learner that needs no weights of single labels where labels share "
                "weights by their parts"
            )
        bigrams = self.support is not None
        return _design_of(self._attributes, self._rows, self._layout, self._n_labels, bigrams)

    def set_weights(self, pairs: Floats, bigrams: Floats | None = None) -> None:
        """Set v: the attribute weights in the order of ``rows``, and the label bigrams (None:
        0).
        """
        self.reset()
        _set_rows(self._weights.rows, self._placement, self._rows, pairs)
        if bigrams is not None:
            self._bigrams[...] = bigrams

    def _candidates_of(self, i: int) -> slice:
        """The candidates of sentence i among all."""
        starts, words = self._layout.candidate_starts, self._layout.words
        return slice(int(starts[words[i]]), int(starts[words[i + 1]]))

    def _words_decided(self, allowed: Mask) -> list[Mask]:
        """For each sentence the words of which just one candidate agrees with the annotation."""
        before = np.concatenate([[0], np.cumsum(allowed)])
        counts = np.diff(before[self._layout.candidate_starts])
        return np.split(counts == 1, self._layout.words[1:-1])

    @property
    def _bigrams(self) -> Floats:
        """A view of the weights of bigrams, [previous, next]; (0, 0) without any."""
        size = 0 if self.support is None else len(self.support)
        return self._weights.bigrams.reshape(size, size)

    def _size(self, i: int) -> int:
        return int(self.part_starts[i + 1] - self.part_starts[i])


def _design_of(
    attributes: Ints, rows: WeightRows, layout: SequenceLayout, n_labels: int, bigrams: bool
) -> DesignMatrix:
    present = attributes >= 0  # words are choices
    return DesignMatrix(
        row_starts=np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64),
        attributes=attributes[present].astype(np.int64),
        values=np.ones(int(present.sum())),
        labels=layout.candidates[_places_of_gold(layout)].astype(np.int64),
        label_count=n_labels,
        candidates=_candidates(layout, n_labels),
        pair_starts=rows.starts.astype(np.int64),
        pair_labels=rows.labels.astype(np.int64),
        bigrams=bigrams,
    )


def _set_rows(packed: PackedRows, placement: Placement, rows: WeightRows, weights: Floats) -> None:
    """The inverse of ``features.packed.unpack``."""
    attribute = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
    dense, sparse = placement.dense[attribute], placement.sparse[attribute]
    packed.dense[dense[dense >= 0], rows.labels[dense >= 0]] = weights[dense >= 0]
    column, has_common = placement.columns[rows.labels], placement.has_common[attribute]
    at_column = has_common & (column >= 0)
    before = np.concatenate([[0], np.cumsum(~at_column)])
    rank = before[:-1] - before[rows.starts[attribute]]
    rank += has_common * (placement.columns.max(initial=-1) + 1)
    places = sparse + np.where(at_column, column, rank)
    packed.sparse[places[sparse >= 0]] = weights[sparse >= 0]


def _places_of_gold(layout: SequenceLayout) -> Longs:
    """The index of each word's correct label among all candidates, shape (words,); ``gold`` counts
    from the sentence's first candidate.
    """
    sentence = np.repeat(np.arange(len(layout.words) - 1), np.diff(layout.words))
    return layout.candidate_starts[layout.words[sentence]] + layout.gold


def _candidates(layout: SequenceLayout, n_labels: int) -> Mask | None:
    """The candidates as a mask (words, labels); None if every word may have every label."""
    sizes = np.diff(layout.candidate_starts)
    if (sizes == n_labels).all():
        return None
    allowed = np.zeros((len(sizes), n_labels), dtype=bool)
    allowed[np.repeat(np.arange(len(sizes)), sizes), layout.candidates] = True
    return allowed
