"""Linear chains of labels: log partition, marginals and the best sequence.

**Problem.** There are n words, and word k has a list of candidate labels. A label sequence y
scores ::

    sum_k unary[k, y_k] + sum_{k >= 1} transitions[y_{k-1}, y_k]

in nats. Transitions do not depend on the position, so their marginals are expected counts.
Forward-backward and Viterbi (Rabiner 1989) take O(sum_k K_k K_{k+1}) time for K_k candidates of
word k.

**Layout.** The parts of a sentence are one flat array ``[unary | transitions]``: first the unary
scores, word after word, those of word k at ``starts[k]:starts[k + 1]``, where the array ``labels``
holds their labels in ascending order; then ``transitions[previous, next]`` in row-major order over
the ``L`` labels of the sentence. ``labels`` are therefore numbers 0..L-1 of the sentence, not of
the corpus. Marginals have the same layout.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.vector_exp import exponentials, subtract_largest
from egparse.types import Floats, Ints

# The forward pass scales the probabilities of each word to sum to one. Each of these bounds tells
# where it may have lost digits to underflow, so that the log domain has to be used.
MIN_SCALE = 1e-200
"""The least sum of a word's probabilities before scaling."""

MIN_MASS = 1e-280
"""The least probability of a label before scaling."""

MAX_TAIL_LOSS = 600.0
"""Nats by which the scores of all sequences may fall from a word on. If they fall by more, a label
that underflowed at the word may carry mass after all.
"""


class ChainMarginals(NamedTuple):
    """log Z in nats, and ``marginals`` in the layout of the parts: probabilities of labels,
    expected counts of transitions.
    """

    log_partition: float
    marginals: Floats


class BestSequence(NamedTuple):
    """``choice[k]`` is the index of the label among the candidates of word k. The score is -inf if
    no sequence is allowed.
    """

    choice: Ints
    score: float


class Workspace(NamedTuple):
    """Buffers of one thread, made by ``workspace``; they serve any sentence that is not larger."""

    forward: Floats
    scaled: Floats
    scales: Floats
    exponentials: Floats
    row: Floats
    scratch: Floats
    pointers: Ints


@njit
def workspace(n_unary: int, n_words: int, n_labels: int) -> Workspace:
    """Buffers for sentences of at most ``n_unary`` unary parts, ``n_words`` words and ``n_labels``
    labels.
    """
    transitions = n_labels * n_labels
    most = max(n_unary, transitions)
    return Workspace(
        np.empty(most),
        np.empty(n_unary),
        np.empty(n_words + 1),
        np.empty(transitions),
        np.empty(n_labels),
        np.empty(most),
        np.empty(n_unary, dtype=np.int32),
    )


@njit(fast=True, separate=True)
def forward_backward(
    parts: Floats, starts: Ints, labels: Ints, n_labels: int, work: Workspace, marginals: Floats
) -> float:
    """Write the marginals of all parts and return log Z (nats); -inf if no sequence is allowed."""
    n = starts.shape[0] - 1
    n_unary = starts[n]
    if n_unary == n * n_labels and _is_dense(labels, n_labels):
        log_z = _dense(parts, starts, n_labels, work, marginals)
    else:
        log_z = _sparse(parts, starts, labels, n_labels, work, marginals)
    if not np.isfinite(log_z) or _may_have_lost(starts, work):
        log_z = _logarithmic(parts, starts, labels, n_labels, work, marginals)
    return log_z


@njit
def _is_dense(labels: Ints, n_labels: int) -> bool:
    """Whether the words have all labels, which may be classes that several candidates share."""
    others = 0
    for c in range(labels.shape[0]):
        others += labels[c] != c % n_labels
    return others == 0


@njit
def _may_have_lost(starts: Ints, work: Workspace) -> bool:
    """Whether a label underflowed at some word, and all other sequences then lost so many nats that
    its sequences may carry mass.
    """
    ahead = 0.0
    for k in range(starts.shape[0] - 2, -1, -1):
        ahead += np.log(work.scales[k])
        if ahead < -MAX_TAIL_LOSS:
            for c in range(starts[k], starts[k + 1]):
                if work.forward[c] * work.scales[k] < MIN_MASS:
                    return True
    return False


@njit(fast=True)
def _weights(parts: Floats, starts: Ints, n_labels: int, work: Workspace) -> float:
    """Write the exponentials of the unary scores (``scaled``) and of the transitions
    (``exponentials``), relative to the largest score of each word and the largest transition.

    Returns the sum of these largest scores over a sequence. Overwrites ``forward``.
    """
    n = starts.shape[0] - 1
    unary, transitions = starts[n], n_labels * n_labels
    shifted = work.forward
    shift: float = subtract_largest(parts[unary : unary + transitions], shifted[:transitions]) * (
        n - 1
    )
    exponentials(shifted[:transitions], work.scratch, work.exponentials[:transitions])
    for k in range(n):
        shift += subtract_largest(
            parts[starts[k] : starts[k + 1]], shifted[starts[k] : starts[k + 1]]
        )
    exponentials(shifted[:unary], work.scratch, work.scaled[:unary])
    return shift


@njit(fast=True)
def _dense(parts: Floats, starts: Ints, n_labels: int, work: Workspace, marginals: Floats) -> float:
    """Forward-backward where all words have all labels, with contiguous inner loops. Returns log Z,
    nan where a scale underflows.
    """
    unary, transitions = starts[starts.shape[0] - 1], n_labels * n_labels
    shift = _weights(parts, starts, n_labels, work)
    e, row = work.exponentials[:transitions], work.row[:n_labels]
    log_z = _dense_forward(unary, e, work, row)
    if np.isfinite(log_z):
        _dense_backward(e, work, row, marginals[:unary], marginals[unary : unary + transitions])
    return log_z + shift


@njit(fast=True)
def _dense_forward(unary: int, e: Floats, work: Workspace, row: Floats) -> float:
    """Fill ``forward`` and ``scales``; returns log Z of the shifted scores, nan where a scale
    underflows.
    """
    size, scales = row.shape[0], work.scales
    log_z = 0.0
    for k in range(unary // size):
        here = k * size
        forward, scaled = work.forward[here : here + size], work.scaled[here : here + size]
        # forward[k, q] = exp(unary[k, q]) sum_p forward[k-1, p] exp(transitions[p, q]) / scale[k],
        # with scale[k] such that they sum to one
        row[:] = 1.0 if k == 0 else 0.0
        if k > 0:
            before = work.forward[here - size : here]
            for p in range(size):
                mass, edges = before[p], e[p * size : (p + 1) * size]
                for q in range(size):
                    row[q] += mass * edges[q]
        total = 0.0
        for q in range(size):
            forward[q] = row[q] * scaled[q]
            total += forward[q]
        if not total > MIN_SCALE:
            return np.nan
        scales[k] = total
        log_z += np.log(total)
        inverse = 1.0 / total
        for q in range(size):
            forward[q] *= inverse
    return log_z


@njit(fast=True)
def _dense_backward(e: Floats, work: Workspace, row: Floats, unary: Floats, counts: Floats) -> None:
    """Marginals of labels and expected counts of transitions, from the forward pass."""
    size, scales = row.shape[0], work.scales
    counts[:] = 0.0
    row[:] = 1.0
    for k in range(unary.shape[0] // size - 1, -1, -1):
        here = k * size
        forward, message, out = (
            work.forward[here : here + size],
            work.scaled[here : here + size],
            unary[here : here + size],
        )
        # row[q] = backward[k, q];  marginal[k, q] = forward[k, q] backward[k, q]
        for q in range(size):
            out[q] = forward[q] * row[q]
        if k == 0:
            break
        # message[q] = exp(unary[k, q]) backward[k, q] / scale[k]
        inverse = 1.0 / scales[k]
        for q in range(size):
            message[q] *= row[q] * inverse
        # backward[k-1, p] = sum_q exp(transitions[p, q]) message[q]
        # count[p, q] = sum_k forward[k-1, p] message[q] exp(transitions[p, q])
        before = work.forward[here - size : here]
        for p in range(size):
            edges, count = e[p * size : (p + 1) * size], counts[p * size : (p + 1) * size]
            mass, total = before[p], 0.0
            for q in range(size):
                total += edges[q] * message[q]
                count[q] += mass * message[q]
            row[p] = total
    for c in range(counts.shape[0]):
        counts[c] *= e[c]


@njit(fast=True)
def _sparse(
    parts: Floats, starts: Ints, labels: Ints, n_labels: int, work: Workspace, marginals: Floats
) -> float:
    """``_dense`` where the words have candidate lists, with a look-up of each transition."""
    n = starts.shape[0] - 1
    n_unary = starts[n]
    size = n_labels
    shift = _weights(parts, starts, n_labels, work)
    e, forward, scaled, scales = work.exponentials, work.forward, work.scaled, work.scales
    for k in range(n):
        here, end = starts[k], starts[k + 1]
        total = 0.0
        for c in range(here, end):
            mass = 1.0
            if k > 0:
                mass = 0.0
                for b in range(starts[k - 1], here):
                    mass += forward[b] * e[labels[b] * size + labels[c]]
            forward[c] = mass * scaled[c]
            total += forward[c]
        if not total > MIN_SCALE:
            return np.nan
        scales[k] = total
        shift += np.log(total)
        for c in range(here, end):
            forward[c] /= total
    counts = marginals[n_unary : n_unary + size * size]
    counts[:] = 0.0
    for c in range(starts[n - 1], n_unary):
        marginals[c] = forward[c]
    for k in range(n - 1, 0, -1):
        here, end = starts[k], starts[k + 1]
        for c in range(here, end):
            # backward[c] = marginals[c] / forward[c], or 0 where no sequence reaches c
            back = marginals[c] / forward[c] if forward[c] > 0.0 else 0.0
            scaled[c] *= back / scales[k]
        for b in range(starts[k - 1], here):
            total = 0.0
            for c in range(here, end):
                edge = e[labels[b] * size + labels[c]] * scaled[c]
                total += edge
                counts[labels[b] * size + labels[c]] += forward[b] * edge
            marginals[b] = forward[b] * total
    return shift


@njit
def _logarithmic(
    parts: Floats, starts: Ints, labels: Ints, n_labels: int, work: Workspace, marginals: Floats
) -> float:
    """Forward-backward by log-sum-exp: slow, and accurate where scaled probabilities underflow."""
    n = starts.shape[0] - 1
    n_unary = starts[n]
    forward, backward = work.forward, work.scaled
    for k in range(n):
        for c in range(starts[k], starts[k + 1]):
            total = 0.0 if k == 0 else -np.inf
            if k > 0:
                for b in range(starts[k - 1], starts[k]):
                    total = np.logaddexp(
                        total, forward[b] + parts[n_unary + labels[b] * n_labels + labels[c]]
                    )
            forward[c] = total + parts[c]
    log_z = -np.inf
    for c in range(starts[n - 1], n_unary):
        log_z = np.logaddexp(log_z, forward[c])
    marginals[: n_unary + n_labels * n_labels] = 0.0
    if log_z == -np.inf:
        return log_z
    for k in range(n - 1, -1, -1):
        for b in range(starts[k], starts[k + 1]):
            total = 0.0 if k == n - 1 else -np.inf
            if k < n - 1:
                for c in range(starts[k + 1], starts[k + 2]):
                    edge = n_unary + labels[b] * n_labels + labels[c]
                    ahead = parts[edge] + parts[c] + backward[c]
                    total = np.logaddexp(total, ahead)
                    marginals[edge] += np.exp(forward[b] + ahead - log_z)
            backward[b] = total
            marginals[b] = np.exp(forward[b] + total - log_z)
    return log_z


@njit
def viterbi(
    parts: Floats, starts: Ints, labels: Ints, n_labels: int, work: Workspace, choice: Ints
) -> float:
    """Write the index of the best sequence's candidate of each word to ``choice`` and return the
    score; of equally good candidates the first wins.
    """
    n = starts.shape[0] - 1
    n_unary = starts[n]
    best, pointers = work.forward, work.pointers
    for k in range(n):
        for c in range(starts[k], starts[k + 1]):
            # best[k, c] = unary[k, c] + max_b best[k-1, b] + transitions[b, c]
            top = 0.0
            pointers[c] = 0
            if k > 0:
                top = -np.inf
                for b in range(starts[k - 1], starts[k]):
                    score = best[b] + parts[n_unary + labels[b] * n_labels + labels[c]]
                    if score > top:
                        top = score
                        pointers[c] = b - starts[k - 1]
            best[c] = top + parts[c]
    last = starts[n - 1]
    place = 0
    for c in range(last, n_unary):
        if best[c] > best[last + place]:
            place = c - last
    highest: float = best[last + place]
    for k in range(n - 1, -1, -1):
        choice[k] = place
        place = pointers[starts[k] + place]
    return highest


def marginals(parts: Floats, starts: Ints, labels: Ints, n_labels: int) -> ChainMarginals:
    """Log partition and marginals of one sentence; see the module for the layout.

    Raises:
        ValueError: array shapes that do not fit together, or a word without candidates.
    """
    _check(parts, starts, labels, n_labels)
    out = np.empty_like(parts)
    work = workspace(len(labels), len(starts), n_labels)
    return ChainMarginals(forward_backward(parts, starts, labels, n_labels, work, out), out)


def argmax(parts: Floats, starts: Ints, labels: Ints, n_labels: int) -> BestSequence:
    """The best label sequence; arguments and errors as for ``marginals``."""
    _check(parts, starts, labels, n_labels)
    choice = np.empty(len(starts) - 1, dtype=np.int32)
    work = workspace(len(labels), len(starts), n_labels)
    return BestSequence(choice, viterbi(parts, starts, labels, n_labels, work, choice))


def _check(parts: Floats, starts: Ints, labels: Ints, n_labels: int) -> None:
    if len(starts) < 2 or starts[0] != 0 or np.any(np.diff(starts) < 1):
        raise ValueError("expected at least one word and at least one candidate a word")
    if starts[-1] != len(labels) or parts.shape != (len(labels) + n_labels * n_labels,):
        expected = f"expected {starts[-1]} labels and {starts[-1] + n_labels**2} parts"
        raise ValueError(f"{expected}, got {len(labels)} and an array of shape {parts.shape}")
    if labels.min() < 0 or labels.max() >= n_labels:
        raise ValueError(f"expected labels in 0..{n_labels - 1}")
    inside = np.ones(len(labels), dtype=np.bool_)
    inside[starts[:-1]] = False
    if np.any(np.diff(labels)[inside[1:]] < 1):
        raise ValueError("expected the candidate labels of each word in ascending order")
