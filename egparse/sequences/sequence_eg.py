"""The compiled loop of online EG over sentences: the kernels of learner, features and structures,
called one after another.
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
from egparse.sequences.sequence_layout import (
    Sentence,
    SequenceLayout,
    sentence_of,
    write_cost,
    write_gold,
)
from egparse.structures.chains import chain, multiclass
from egparse.types import Floats, Longs


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
