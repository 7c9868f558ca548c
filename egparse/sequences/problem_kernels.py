"""The training problem of sequences as compiled kernels take it: flat arrays with the parts of each
sentence (candidate labels, then label bigrams), and the loop of online EG over sentences, which
calls the kernels of learner, features and structures one after another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.features.packed import PackedRows, add_words, score_words
from egparse.learners.eg.step import (
    PLAIN,
    DualVariables,
    StepBuffers,
    StepRule,
    accept_step,
    evaluate_step,
    propose_step,
    record_gain,
    store_step,
    without_rounding,
)
from egparse.structures.chains import chain, multiclass
from egparse.types import Floats, Ints, Longs, UInt16s


class SequenceLayout(NamedTuple):
    """Sentence ``i`` has the words ``words[i]:words[i + 1]``, and with n words n + 1 entries of
    ``starts`` from ``words[i] + i`` on.

    Its candidates, ``candidates[candidate_starts[words[i]]:...]``, are labels; ``places`` numbers
    them, or their classes, within ``label_sets[label_starts[i]:label_starts[i + 1]]``, the L labels
    or classes of the sentence.
    Its parts are the candidates, then a table of L^2 label bigrams as in
    ``structures.chains.chain`` (none without bigrams, where L is 0). ``gold[k]`` is the correct
    candidate of word k, counted from the first of its sentence.
    """

    parts: Longs
    words: Longs
    starts: Ints
    candidates: UInt16s
    candidate_starts: Longs
    places: Ints
    label_sets: UInt16s
    label_starts: Longs
    gold: Ints


class Sentence(NamedTuple):
    """One sentence's slices; ``n_labels`` is 0 without bigrams."""

    first: int
    starts: Ints
    candidates: UInt16s
    places: Ints
    labels: UInt16s
    n_labels: int


def lay_out(
    word_starts: Longs,
    gold: Ints,
    candidates: UInt16s,
    candidate_starts: Longs,
    bigrams: bool,
    classes: UInt16s | None = None,
) -> SequenceLayout:
    """Lay out sentences, with ``bigrams`` of labels, or of their ``classes[label]``; see
    ``SequenceProblem`` for the other arguments.

    Raises:
        ValueError: a word whose correct label is not one of its candidates, or whose candidates do
            not ascend.
    """
    n = len(word_starts) - 1
    if not _ascend(candidates, candidate_starts):
        raise ValueError("expected the candidates of each word in ascending order")
    starts = np.empty(len(gold) + n, dtype=np.int32)
    _fill_starts(word_starts, candidate_starts, starts)
    places = np.zeros(len(candidates), dtype=np.int32)
    sizes = np.diff(candidate_starts[word_starts])
    label_starts = np.zeros(n + 1, dtype=np.int64)
    label_sets = np.empty(0, dtype=np.uint16)
    if bigrams:
        in_ngrams = candidates if classes is None else classes[candidates]
        n_labels = 1 + int(in_ngrams.max(initial=0))
        label_sets = np.empty(int(np.minimum(sizes, n_labels).sum()), dtype=np.uint16)
        place_of = np.full(n_labels, -1, dtype=np.int32)
        bounds = candidate_starts[word_starts]
        _find_label_sets(in_ngrams, bounds, place_of, label_sets, label_starts, places)
        label_sets = label_sets[: label_starts[-1]].copy()
        sizes = sizes + np.diff(label_starts) ** 2
    layout = SequenceLayout(
        np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]),
        word_starts,
        starts,
        candidates,
        candidate_starts,
        places,
        label_sets,
        label_starts,
        np.empty(len(gold), dtype=np.int32),
    )
    if not _find_gold(layout, gold):
        raise ValueError("expected the correct label of every word among its candidates")
    return layout


def part_of(layout: SequenceLayout, first: int, end: int) -> SequenceLayout:
    """The layout of the sentences from ``first`` up to ``end``, numbered from 0; their arrays are
    views.
    """
    words = layout.words[first : end + 1]
    of_words = slice(int(words[0]), int(words[-1]))
    candidate_starts = layout.candidate_starts[of_words.start : of_words.stop + 1]
    of_candidates = slice(int(candidate_starts[0]), int(candidate_starts[-1]))
    label_starts = layout.label_starts[first : end + 1]
    parts = layout.parts[first : end + 1]
    return SequenceLayout(
        parts - parts[0],
        words - words[0],
        layout.starts[of_words.start + first : of_words.stop + end],
        layout.candidates[of_candidates],
        candidate_starts - candidate_starts[0],
        layout.places[of_candidates],
        layout.label_sets[label_starts[0] : label_starts[-1]],
        label_starts - label_starts[0],
        layout.gold[of_words],
    )


@njit
def _fill_starts(word_starts: Longs, candidate_starts: Longs, starts: Ints) -> None:
    # where the candidates of each word begin within its sentence
    for i in range(word_starts.shape[0] - 1):
        first = candidate_starts[word_starts[i]]
        for word in range(word_starts[i], word_starts[i + 1] + 1):
            starts[word + i] = candidate_starts[word] - first


@njit
def _find_label_sets(
    labels: UInt16s,
    bounds: Longs,
    place_of: Ints,
    label_sets: UInt16s,
    label_starts: Longs,
    places: Ints,
) -> None:
    # the distinct labels[bounds[i]:bounds[i + 1]] of each sentence ascend; place_of (labels,) is -1
    # between sentences
    total = 0
    for i in range(bounds.shape[0] - 1):
        first, end = bounds[i], bounds[i + 1]
        least, most = place_of.shape[0], -1
        for c in range(first, end):
            label = int(labels[c])
            place_of[label] = 0
            if label < least:
                least = label
            if label > most:
                most = label
        begin = total
        for label in range(least, most + 1):
            if place_of[label] == 0:
                label_sets[total] = label
                place_of[label] = total - begin
                total += 1
        for c in range(first, end):
            places[c] = place_of[labels[c]]
        for place in range(begin, total):
            place_of[label_sets[place]] = -1
        label_starts[i + 1] = total


@njit
def sentence_of(layout: SequenceLayout, i: int) -> Sentence:
    """The slices of sentence i."""
    words, label_starts = layout.words, layout.label_starts
    first, end = words[i], words[i + 1]
    begin, stop = layout.candidate_starts[first], layout.candidate_starts[end]
    labels = layout.label_sets[label_starts[i] : label_starts[i + 1]]
    return Sentence(
        first,
        layout.starts[first + i : end + i + 1],
        layout.candidates[begin:stop],
        layout.places[begin:stop],
        labels,
        labels.shape[0],
    )


@njit
def _ascend(candidates: UInt16s, starts: Longs) -> bool:
    for k in range(starts.shape[0] - 1):
        for c in range(starts[k] + 1, starts[k + 1]):
            if candidates[c] <= candidates[c - 1]:
                return False
    return True


@njit
def _find_gold(layout: SequenceLayout, correct: Ints) -> bool:
    gold = layout.gold
    for i in range(layout.words.shape[0] - 1):
        sentence = sentence_of(layout, i)
        starts, candidates = sentence.starts, sentence.candidates
        for k in range(starts.shape[0] - 1):
            word = sentence.first + k
            gold[word] = -1
            for c in range(starts[k], starts[k + 1]):
                if candidates[c] == correct[word]:
                    gold[word] = c
            if gold[word] < 0:
                return False
    return True


@njit
def write_gold(layout: SequenceLayout, i: int, out: Floats) -> None:
    """One on the correct label of each word; the count of each correct label bigram."""
    write_path(sentence_of(layout, i), layout.gold[layout.words[i] : layout.words[i + 1]], out)


@njit
def write_path(sentence: Sentence, path: Ints, out: Floats) -> None:
    """The parts of a label sequence, given by the candidate ``path[k]`` of each word, counted as in
    ``gold``.
    """
    starts, places, size = sentence.starts, sentence.places, sentence.n_labels
    n = starts.shape[0] - 1
    out[:] = 0.0
    for k in range(n):
        out[path[k]] = 1.0
        if k > 0 and size > 0:
            out[np.int64(starts[n]) + size * places[path[k - 1]] + places[path[k]]] += 1.0


@njit
def write_cost(layout: SequenceLayout, i: int, out: Floats) -> None:
    """Hamming cost: one for each wrong label, nothing for bigrams."""
    gold, starts = layout.gold, sentence_of(layout, i).starts
    out[:] = 0.0
    out[: starts[starts.shape[0] - 1]] = 1.0
    for word in range(layout.words[i], layout.words[i + 1]):
        out[gold[word]] = 0.0


class SequenceWeights(NamedTuple):
    """v: attributes with labels, and label bigrams where ``support`` is 1, in ``n_labels``^2 cells
    [previous, next], or none.
    """

    rows: PackedRows
    bigrams: Floats
    support: Floats
    n_labels: int


class Scratch(NamedTuple):
    """Buffers for the longest sentence; ``buffer`` has a cell for each label and is zero between
    calls.
    """

    chain: chain.Workspace
    scores: Floats
    cost: Floats
    trial: Floats
    marginals: Floats
    changes: Floats
    buffer: Floats


@njit
def score_sentence(
    weights: SequenceWeights, sentence: Sentence, buffer: Floats, scores: Floats
) -> None:
    """Scores of the candidates, then of the bigrams."""
    starts, labels, bigrams = sentence.starts, sentence.labels, weights.bigrams
    score_words(weights.rows, sentence.first, starts, sentence.candidates, buffer, scores)
    buffer[:] = 0.0
    n_labels, rest = sentence.n_labels, scores[starts[starts.shape[0] - 1] :]
    if n_labels == weights.n_labels:  # all labels: vectors instead of look-ups
        copy_numbers(bigrams, rest)
        return
    for r in range(n_labels):
        row, out = np.int64(labels[r]) * weights.n_labels, rest[r * n_labels : (r + 1) * n_labels]
        for q in range(n_labels):
            out[q] = bigrams[row + labels[q]]


@njit
def add_sentence(
    weights: SequenceWeights, sentence: Sentence, buffer: Floats, changes: Floats
) -> float:
    """Move the weights of the features of each part; returns the change of the squared norm."""
    starts, labels = sentence.starts, sentence.labels
    bigrams, support = weights.bigrams, weights.support
    norm_change = add_words(
        weights.rows, sentence.first, starts, sentence.candidates, buffer, changes
    )
    n_labels, rest = sentence.n_labels, changes[starts[starts.shape[0] - 1] :]
    if n_labels == weights.n_labels:
        return norm_change + _add_all(bigrams, support, rest)
    for r in range(n_labels):
        row, change = (
            np.int64(labels[r]) * weights.n_labels,
            rest[r * n_labels : (r + 1) * n_labels],
        )
        for q in range(n_labels):
            if change[q] != 0.0:
                at = row + labels[q]
                old = bigrams[at]
                new = old + change[q] * support[at]
                bigrams[at] = new
                norm_change += (new - old) * (new + old)
    return norm_change


@njit(fast=True)
def _add_all(bigrams: Floats, support: Floats, change: Floats) -> float:
    norm_change = 0.0
    for c in range(bigrams.shape[0]):
        old = bigrams[c]
        new = old + change[c] * support[c]
        bigrams[c] = new
        norm_change += (new - old) * (new + old)
    return norm_change


@njit
def infer(
    sentence: Sentence, potentials: Floats, work: chain.Workspace, marginals: Floats
) -> float:
    """Forward-backward, or a softmax a word where there are no bigrams."""
    starts, places, size = sentence.starts, sentence.places, sentence.n_labels
    if size == 0:
        return multiclass.softmax(potentials, starts, marginals)
    return chain.forward_backward(potentials, starts, places, size, work, marginals)


@njit
def run_steps(
    visits: Longs,
    rule: StepRule,
    duals: DualVariables,
    layout: SequenceLayout,
    weights: SequenceWeights,
    scratch: Scratch,
) -> tuple[int, float]:
    """One step on each sentence of ``visits``; returns the evaluations made and the change of
    |v|^2.
    """
    evaluations, norm_change = 0, 0.0
    for i in visits:
        made, change = _visit(i, rule, duals, layout, weights, scratch)
        evaluations += made
        norm_change += change
    return evaluations, norm_change


@njit
def start_all(
    height: Floats,
    duals: DualVariables,
    layout: SequenceLayout,
    weights: SequenceWeights,
    scratch: Scratch,
) -> float:
    """``OnlineEG.initialise`` for the log-linear loss: fill the dual variables, with theta
    ``height[i]`` on the correct parts of sentence i; returns |v|^2.
    """
    norm = 0.0
    for i in range(layout.words.shape[0] - 1):
        sentence = sentence_of(layout, i)
        parts = _parts(i, duals, layout, scratch)
        write_gold(layout, i, parts.changes)
        for r in range(parts.theta.shape[0]):
            parts.theta[r] = np.float32(height[i]) if parts.changes[r] > 0.0 else np.float32(0.0)
            parts.trial[r] = parts.theta[r]
        value = infer(sentence, parts.trial, scratch.chain, parts.marginals)
        for r in range(parts.theta.shape[0]):
            parts.stored[r] = np.float32(parts.marginals[r])
            if parts.stored[r] > 0.0:
                value -= parts.trial[r] * parts.stored[r]
            parts.changes[r] -= parts.stored[r]
        duals.value[i] = value
        norm += add_sentence(weights, sentence, scratch.buffer, parts.changes)
    return norm


@njit
def sum_losses(
    c: float,
    duals: DualVariables,
    layout: SequenceLayout,
    weights: SequenceWeights,
    scratch: Scratch,
) -> tuple[float, float]:
    """The sums of ``OnlineEG.certificate`` for the log-linear loss: the losses at w = v / c, and
    what the rounding of marginals takes from the dual.
    """
    loss, correction = 0.0, 0.0
    for i in range(layout.words.shape[0] - 1):
        sentence = sentence_of(layout, i)
        parts = _parts(i, duals, layout, scratch)
        score_sentence(weights, sentence, scratch.buffer, parts.scores)
        write_gold(layout, i, parts.changes)
        for r in range(parts.scores.shape[0]):
            parts.scores[r] /= c
            loss -= parts.scores[r] * parts.changes[r]
        loss += infer(sentence, parts.scores, scratch.chain, parts.marginals)
        for r in range(parts.theta.shape[0]):
            parts.trial[r] = parts.theta[r]
        infer(sentence, parts.trial, scratch.chain, parts.marginals)
        for r in range(parts.theta.shape[0]):
            # d dual / d mu = s / C - theta
            gradient = parts.scores[r] - parts.trial[r]
            correction += gradient * (parts.marginals[r] - parts.stored[r])
    return loss, correction


@njit
def _visit(
    i: int,
    rule: StepRule,
    duals: DualVariables,
    layout: SequenceLayout,
    weights: SequenceWeights,
    scratch: Scratch,
) -> tuple[int, float]:
    """The step of ``OnlineEG.update``, compiled as a whole;
    ``tests/learners/test_learner_sequences`` (``test_compiled_sweep_is_the_generic_step``) holds
    the two equal.
    """
    sentence = sentence_of(layout, i)
    parts = _parts(i, duals, layout, scratch)
    score_sentence(weights, sentence, scratch.buffer, parts.scores)
    if rule.form != PLAIN:
        write_cost(layout, i, parts.cost)
    moved, evaluations, eta = 0.0, 0, duals.eta[i]
    for _ in range(rule.attempts):
        evaluations += 1
        propose_step(parts, rule, eta)
        log_z = infer(sentence, parts.trial, scratch.chain, parts.marginals)
        value, slope = evaluate_step(parts, rule, log_z, 0.0)
        norm_change = add_sentence(weights, sentence, scratch.buffer, parts.changes)
        increase = value - duals.value[i] - norm_change / (2.0 * rule.c)
        increase = without_rounding(parts, rule, increase)
        accepted, eta = accept_step(rule, eta, increase, slope, norm_change)
        moved += norm_change
        if accepted:
            store_step(parts)
            record_gain(duals, i, value, increase)
            break
        for r in range(parts.changes.shape[0]):
            parts.changes[r] = -parts.changes[r]
        moved += add_sentence(weights, sentence, scratch.buffer, parts.changes)
    duals.eta[i] = eta
    return evaluations, moved


@njit
def _parts(i: int, duals: DualVariables, layout: SequenceLayout, scratch: Scratch) -> StepBuffers:
    begin, end = layout.parts[i], layout.parts[i + 1]
    size = end - begin
    return StepBuffers(
        duals.theta[begin:end],
        duals.marginals[begin:end],
        scratch.scores[:size],
        scratch.cost[:size],
        scratch.trial[:size],
        scratch.marginals[:size],
        scratch.changes[:size],
    )
