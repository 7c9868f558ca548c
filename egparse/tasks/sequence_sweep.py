"""The compiled loop of online EG over sentences: the kernels of learner, features and structures, called one after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.features.packed import PackedRows, add_words, score_words
from egparse.learners.eg_step import Duals, Parts, Rule, compare, decide, keep, propose, remember
from egparse.structures import chain, multiclass
from egparse.tasks.sequence_layout import Sentence, SequenceLayout, sentence_of, write_cost

Floats = npt.NDArray[np.float64]


class SequenceWeights(NamedTuple):
    """v: attributes with labels, and label bigrams ``transitions[previous, next]`` where ``support`` is 1."""

    rows: PackedRows
    transitions: Floats
    support: Floats


class Scratch(NamedTuple):
    """Room for the longest sentence; ``buffer`` has one place a label and is zero between calls."""

    chain: chain.Workspace
    scores: Floats
    cost: Floats
    trial: Floats
    marginals: Floats
    changes: Floats
    buffer: Floats


@njit
def score_sentence(weights: SequenceWeights, sentence: Sentence, buffer: Floats, scores: Floats) -> None:
    """Scores of the candidates, then of the bigrams."""
    starts, labels, transitions = sentence.starts, sentence.labels, weights.transitions
    score_words(weights.rows, sentence.first, starts, sentence.candidates, buffer, scores)
    buffer[:] = 0.0
    size = sentence.n_labels
    bigrams = scores[starts[starts.shape[0] - 1] :]
    for p in range(size):
        row, out = transitions[labels[p]], bigrams[p * size : (p + 1) * size]
        if size == row.shape[0]:  # all labels: vectors instead of look-ups
            out[:] = row
        else:
            for q in range(size):
                out[q] = row[labels[q]]


@njit
def add_sentence(weights: SequenceWeights, sentence: Sentence, buffer: Floats, changes: Floats) -> float:
    """Move the weights of the features of each part; returns the change of the squared norm."""
    starts, labels = sentence.starts, sentence.labels
    grown = add_words(weights.rows, sentence.first, starts, sentence.candidates, buffer, changes)
    size = sentence.n_labels
    bigrams = changes[starts[starts.shape[0] - 1] :]
    transitions, support = weights.transitions, weights.support
    for p in range(size):
        row, mask, change = transitions[labels[p]], support[labels[p]], bigrams[p * size : (p + 1) * size]
        if size == row.shape[0]:
            grown += _add_row(row, mask, change)
        else:
            for q in range(size):
                old = row[labels[q]]
                new = old + change[q] * mask[labels[q]]
                row[labels[q]] = new
                grown += (new - old) * (new + old)
    return grown


@njit(fast=True)
def _add_row(row: Floats, mask: Floats, change: Floats) -> float:
    grown = 0.0
    for q in range(row.shape[0]):
        old = row[q]
        new = old + change[q] * mask[q]
        row[q] = new
        grown += (new - old) * (new + old)
    return grown


@njit
def infer(sentence: Sentence, potentials: Floats, work: chain.Workspace, marginals: Floats) -> float:
    """Forward-backward, or a softmax a word where there are no bigrams."""
    if sentence.n_labels == 0:
        return multiclass.softmax(potentials, sentence.starts, marginals)
    return chain.forward_backward(
        potentials, sentence.starts, sentence.places, sentence.n_labels, work, marginals
    )


@njit
def sweep(
    order: npt.NDArray[np.int64],
    rule: Rule,
    duals: Duals,
    layout: SequenceLayout,
    weights: SequenceWeights,
    scratch: Scratch,
) -> tuple[int, float]:
    """One step on each sentence of ``order``; returns the evaluations made and the change of |v|^2."""
    evaluations, grown = 0, 0.0
    for i in order:
        made, change = _visit(i, rule, duals, layout, weights, scratch)
        evaluations += made
        grown += change
    return evaluations, grown


@njit
def _visit(
    i: int, rule: Rule, duals: Duals, layout: SequenceLayout, weights: SequenceWeights, scratch: Scratch
) -> tuple[int, float]:
    """As ``OnlineEG.update``."""
    sentence = sentence_of(layout, i)
    parts = _parts(i, duals, layout, scratch)
    score_sentence(weights, sentence, scratch.buffer, parts.scores)
    if rule.max_margin:
        write_cost(layout, i, parts.cost)
    moved, evaluations, eta = 0.0, 0, duals.eta[i]
    for _ in range(rule.attempts):
        evaluations += 1
        propose(parts, rule, eta)
        log_z = infer(sentence, parts.trial, scratch.chain, parts.marginals)
        value, slope = compare(parts, rule, log_z, 0.0)
        grown = add_sentence(weights, sentence, scratch.buffer, parts.changes)
        increase = value - duals.value[i] - grown / (2.0 * rule.c)
        accepted, eta = decide(rule, eta, increase, slope, grown)
        moved += grown
        if accepted:
            keep(parts)
            remember(duals, i, value, increase)
            break
        for r in range(parts.changes.shape[0]):
            parts.changes[r] = -parts.changes[r]
        moved += add_sentence(weights, sentence, scratch.buffer, parts.changes)
    duals.eta[i] = eta
    return evaluations, moved


@njit
def _parts(i: int, duals: Duals, layout: SequenceLayout, scratch: Scratch) -> Parts:
    begin, end = layout.parts[i], layout.parts[i + 1]
    size = end - begin
    return Parts(
        duals.theta[begin:end], duals.marginals[begin:end], scratch.scores[:size], scratch.cost[:size],
        scratch.trial[:size], scratch.marginals[:size], scratch.changes[:size],
    )  # fmt: skip
