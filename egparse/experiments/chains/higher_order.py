"""Linear chains of labels of any order K: log partition, marginals and the best sequence.

**Problem.** As in ``chain``, but a label depends on the K labels before it. A label sequence y
scores ::

    sum_k unary[k, y_k]  +  sum_{m = 1..K} sum_{k >= m} ngrams_m[y_{k-m}, ..., y_k]

that is, one (m + 1)-gram at every word that has m words before it, whatever its position.
Forward-backward and Viterbi (Rabiner 1989) run over the states of ``higher_order_states``, in
O(n L^(K+1)) time for n words of L candidates each; only states of candidates are visited.

**Layout.** The parts of a sentence are one flat array ``[unary | bigrams | trigrams | ... |
(K + 1)-grams]``: unary scores as in ``chain``, then for each m the table ``ngrams_m`` of shape
(L,) * (m + 1), oldest label first, in row-major order over the L labels of the sentence. Marginals
have the same layout: probabilities of labels, expected counts of n-grams. With K = 1 the layout is
that of ``chain``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.experiments.chains.higher_order_states import (
    Workspace,
    fold,
    lay_states,
    n_ngrams,
    pairs_before,
    room_for,
    table_begin,
    unfold,
    workspace,
)
from egparse.structures.chains.chain import MAX_TAIL_LOSS, MIN_MASS, MIN_SCALE, ChainMarginals
from egparse.structures.logsumexp import log_add
from egparse.structures.vector_exp import exponentials, subtract_largest
from egparse.types import Floats, Ints, Longs

_TOLERANCE = 1e-6
"""The largest deviation from 1 of the sum of a word's probabilities; more means an overflow."""


@njit(fast=True)
def forward_backward(
    parts: Floats,
    starts: Ints,
    labels: Ints,
    n_labels: int,
    order: int,
    work: Workspace,
    marginals: Floats,
) -> float:
    """Write the marginals of all parts and return log Z in nats; -inf if no sequence is allowed."""
    n = starts.shape[0] - 1
    unary = starts[n]
    counts = marginals[unary:]
    folded = work.folded[: counts.shape[0]]
    fold(parts[unary:], n_labels, folded)
    lay_states(starts, labels, n_labels, order, work)
    shift = _weights(parts, starts, n_labels, order, work)
    log_z = _forward(starts, labels, n_labels, order, work)
    is_accurate = np.isfinite(log_z) and not _may_have_lost(n, work)
    if is_accurate:
        _backward(starts, labels, n_labels, order, work, marginals)
        for c in range(counts.shape[0]):
            counts[c] *= work.exponentials[c]
        log_z += shift
        is_accurate = _sums_are_right(starts, marginals)
    if not is_accurate:
        log_z = _logarithmic(parts, starts, labels, n_labels, order, work, marginals)
    unfold(counts, n_labels, order)
    return log_z


@njit(fast=True)
def _weights(parts: Floats, starts: Ints, n_labels: int, order: int, work: Workspace) -> float:
    """Write the exponentials of the unary scores (``scaled``) and of the folded n-grams, relative
    to the largest score of each word and of each length of n-grams.

    Returns the sum of these largest scores over a sequence.
    """
    n = starts.shape[0] - 1
    unary, ngrams = starts[n], parts.shape[0] - starts[n]
    folded, shifted = work.folded[:ngrams], work.shifted
    shift, begin, size = 0.0, 0, n_labels * n_labels
    for m in range(1, order + 1):
        # folded n-grams of this length are used at one word, the longest at all later words
        times = (1 if m < n else 0) if m < order else max(0, n - order)
        shift += times * subtract_largest(
            folded[begin : begin + size], shifted[begin : begin + size]
        )
        begin += size
        size *= n_labels
    exponentials(shifted[:ngrams], work.scratch, work.exponentials[:ngrams])
    for k in range(n):
        shift += subtract_largest(
            parts[starts[k] : starts[k + 1]], shifted[starts[k] : starts[k + 1]]
        )
    exponentials(shifted[:unary], work.scratch, work.scaled[:unary])
    return shift


@njit(fast=True)
def _forward(starts: Ints, labels: Ints, n_labels: int, order: int, work: Workspace) -> float:
    """Fill ``forward`` and ``scales``; returns log Z of the shifted scores, nan where a scale
    underflows.
    """
    states, codes, e, forward = work.states, work.codes, work.exponentials, work.forward
    log_z = 0.0
    for k in range(starts.shape[0] - 1):
        word_labels, scaled = (
            labels[starts[k] : starts[k + 1]],
            work.scaled[starts[k] : starts[k + 1]],
        )
        size = word_labels.shape[0]
        here = forward[states[k] : states[k + 1]]
        here[:] = 1.0 if k == 0 else 0.0
        oldest, rest = pairs_before(starts, order, work, k)
        if k > 0:
            begin, before = table_begin(n_labels, order, k), states[k - 1]
            for s in range(oldest * rest):
                mass = forward[before + s]
                if mass == 0.0:
                    continue
                row = begin + codes[before + s] * n_labels
                edges, first = e[row : row + n_labels], (s % rest) * size
                # forward[k, (r, c)] = exp(unary[k, c]) / scale[k]
                #     sum_o forward[k-1, (o, r)] exp(folded[(o, r), c])
                out = here[first : first + size]
                if size == n_labels:  # all labels: the loop vectorises
                    for c in range(size):
                        out[c] += mass * edges[c]
                else:
                    for c in range(size):
                        out[c] += mass * edges[word_labels[c]]
        total = 0.0
        for r in range(rest):
            out = here[r * size : (r + 1) * size]
            for c in range(size):
                out[c] *= scaled[c]
                total += out[c]
        if not total > MIN_SCALE:
            return np.nan
        work.scales[k] = total
        log_z += np.log(total)
        inverse = 1.0 / total
        for s in range(here.shape[0]):
            here[s] *= inverse
    return log_z


@njit
def _may_have_lost(n: int, work: Workspace) -> bool:
    """Whether a state underflowed at some word, and all other sequences then lost so many nats that
    its sequences may carry mass.
    """
    ahead = 0.0
    for k in range(n - 1, -1, -1):
        ahead += np.log(work.scales[k])
        if ahead < -MAX_TAIL_LOSS:
            for s in range(work.states[k], work.states[k + 1]):
                if work.forward[s] * work.scales[k] < MIN_MASS:
                    return True
    return False


@njit(fast=True)
def _backward(
    starts: Ints, labels: Ints, n_labels: int, order: int, work: Workspace, marginals: Floats
) -> None:
    """Write the marginals of labels, and the counts of folded n-grams divided by the exponentials
    of their scores, from the forward pass.
    """
    n = starts.shape[0] - 1
    states, codes, forward, ahead, messages = (
        work.states,
        work.codes,
        work.forward,
        work.ahead,
        work.message,
    )
    marginals[:] = 0.0
    counts = marginals[starts[n] :]
    e = work.exponentials[: counts.shape[0]]
    ahead[: states[n] - states[n - 1]] = 1.0
    for k in range(n - 1, -1, -1):
        word_labels, scaled = (
            labels[starts[k] : starts[k + 1]],
            work.scaled[starts[k] : starts[k + 1]],
        )
        size = word_labels.shape[0]
        oldest, rest = pairs_before(starts, order, work, k)
        # ahead = backward[k, .];  the marginal of state s is forward[k, s] backward[k, s]
        # message[(r, c)] = exp(unary[k, c]) backward[k, (r, c)] / scale[k]
        inverse = 1.0 / work.scales[k]
        for r in range(rest):
            first = states[k] + r * size
            here, back = forward[first : first + size], ahead[r * size : (r + 1) * size]
            out, message = marginals[starts[k] : starts[k + 1]], messages[r * size : (r + 1) * size]
            for c in range(size):
                out[c] += here[c] * back[c]
                message[c] = scaled[c] * back[c] * inverse
        if k == 0:
            break
        begin, before, shape = table_begin(n_labels, order, k), states[k - 1], (oldest, rest)
        _step_back(
            forward[before : states[k]].reshape(shape),
            codes[before : states[k]].reshape(shape),
            e[begin:].reshape((-1, n_labels)),
            word_labels,
            messages[: rest * size].reshape((rest, size)),
            counts[begin:].reshape((-1, n_labels)),
            ahead[: oldest * rest].reshape(shape),
        )


@njit(fast=True)
def _step_back(
    forward: Floats,
    codes: Longs,
    e: Floats,
    word_labels: Ints,
    message: Floats,
    counts: Floats,
    ahead: Floats,
) -> None:
    """One step of ``_backward``, from word k to word k - 1.

    ``forward``, ``codes`` and ``ahead`` are indexed by pairs (o, r), ``message`` by pairs (r, c),
    ``e`` and ``counts`` by histories and labels. They are rows of tables and not slices of flat
    arrays, because numba divides to compute the length of a slice, and these rows are short.
    """
    size = word_labels.shape[0]
    for o in range(forward.shape[0]):
        for r in range(forward.shape[1]):
            mass, total = forward[o, r], 0.0
            if mass > 0.0:  # else no sequence has this state
                edges, count, sent = e[codes[o, r]], counts[codes[o, r]], message[r]
                # backward[k-1, (o, r)] = sum_c exp(folded[(o, r), c]) message[(r, c)]
                # count[(o, r), c] += forward[k-1, (o, r)] message[(r, c)]
                if size == edges.shape[0]:
                    for c in range(size):
                        total += edges[c] * sent[c]
                        count[c] += mass * sent[c]
                else:
                    for c in range(size):
                        total += edges[word_labels[c]] * sent[c]
                        count[word_labels[c]] += mass * sent[c]
            ahead[o, r] = total


@njit
def _sums_are_right(starts: Ints, marginals: Floats) -> bool:
    """Whether the marginals of each word's labels sum to one, and the counts of folded n-grams to
    one for every word but the first.
    """
    n = starts.shape[0] - 1
    total = 0.0
    for c in range(starts[n]):
        total += marginals[c]
    ends = 0.0
    for c in range(starts[n], marginals.shape[0]):
        ends += marginals[c]
    off = max(abs(total - n), abs(ends - (n - 1)))  # nan where anything is
    return bool(off <= _TOLERANCE * n)


@njit
def _logarithmic(
    parts: Floats,
    starts: Ints,
    labels: Ints,
    n_labels: int,
    order: int,
    work: Workspace,
    marginals: Floats,
) -> float:
    """Forward-backward by log-sum-exp: slow, and accurate where scaled probabilities underflow."""
    n = starts.shape[0] - 1
    unary = starts[n]
    states, codes, folded, forward, ahead = (
        work.states,
        work.codes,
        work.folded,
        work.forward,
        work.ahead,
    )
    message = work.message
    marginals[:] = 0.0
    for k in range(n):
        size = starts[k + 1] - starts[k]
        oldest, rest = pairs_before(starts, order, work, k)
        begin = table_begin(n_labels, order, k)
        for s in range(rest * size):
            r, c = s // size, starts[k] + s % size
            total = 0.0 if k == 0 else -np.inf
            if k > 0:
                for o in range(oldest):
                    before = states[k - 1] + o * rest + r
                    total = log_add(
                        total,
                        forward[before] + folded[begin + codes[before] * n_labels + labels[c]],
                    )
            forward[states[k] + s] = total + parts[c]
    log_z = -np.inf
    for s in range(states[n - 1], states[n]):
        log_z = log_add(log_z, forward[s])
    if log_z == -np.inf:
        return log_z
    ahead[: states[n] - states[n - 1]] = 0.0
    for k in range(n - 1, -1, -1):
        size = starts[k + 1] - starts[k]
        oldest, rest = pairs_before(starts, order, work, k)
        for s in range(rest * size):
            c = starts[k] + s % size
            marginals[c] += np.exp(forward[states[k] + s] + ahead[s] - log_z)
            message[s] = parts[c] + ahead[s]
        if k == 0:
            break
        begin = table_begin(n_labels, order, k)
        for s in range(oldest * rest):
            before, total = states[k - 1] + s, -np.inf
            for c in range(size):
                edge = begin + codes[before] * n_labels + labels[starts[k] + c]
                term = folded[edge] + message[(s % rest) * size + c]
                total = log_add(total, term)
                marginals[unary + edge] += np.exp(forward[before] + term - log_z)
            ahead[s] = total
    return log_z


@njit
def viterbi(
    parts: Floats,
    starts: Ints,
    labels: Ints,
    n_labels: int,
    order: int,
    work: Workspace,
    choice: Ints,
) -> float:
    """Write the index of the best sequence's candidate of each word to ``choice`` and return the
    score.
    """
    unary = starts[starts.shape[0] - 1]
    folded = work.folded[: parts.shape[0] - unary]
    fold(parts[unary:], n_labels, folded)
    return best_path(parts, starts, labels, n_labels, order, folded, work, choice)


@njit
def best_path(
    unary: Floats,
    starts: Ints,
    labels: npt.NDArray[Any],
    n_labels: int,
    order: int,
    folded: npt.NDArray[Any],
    work: Workspace,
    choice: Ints,
) -> float:
    """``viterbi`` for n-grams that are folded already. Of equally good states the first wins; where
    no sequence is allowed, the words get their first candidates.
    """
    n = starts.shape[0] - 1
    states, codes, best, pointers = work.states, work.codes, work.forward, work.pointers
    lay_states(starts, labels, n_labels, order, work)
    for k in range(n):
        first, size, here = starts[k], starts[k + 1] - starts[k], states[k]
        oldest, rest = pairs_before(starts, order, work, k)
        for s in range(here, states[k + 1]):
            best[s] = 0.0 if k == 0 else -np.inf
            pointers[s] = 0
        if k > 0:
            begin, before, shape = table_begin(n_labels, order, k), states[k - 1], (oldest, rest)
            _step_forward(
                best[before:here].reshape(shape),
                codes[before:here].reshape(shape),
                folded[begin:].reshape((-1, n_labels)),
                labels[first : first + size],
                best[here : states[k + 1]].reshape((rest, size)),
                pointers[here : states[k + 1]].reshape((rest, size)),
            )
        for s in range(rest * size):
            best[here + s] += unary[first + s % size]
    state = 0
    for s in range(states[n] - states[n - 1]):
        if best[states[n - 1] + s] > best[states[n - 1] + state]:
            state = s
    highest: float = best[states[n - 1] + state]
    for k in range(n - 1, -1, -1):
        size = starts[k + 1] - starts[k]
        _, rest = pairs_before(starts, order, work, k)
        choice[k] = state % size
        state = pointers[states[k] + state] * rest + state // size
    return highest


@njit
def _step_forward(
    best: Floats,
    codes: Longs,
    folded: npt.NDArray[Any],
    word_labels: npt.NDArray[Any],
    new: Floats,
    pointers: Ints,
) -> None:
    """One step of ``best_path``, from word k - 1 to word k; arrays as in ``_step_back``."""
    for o in range(best.shape[0]):
        for r in range(best.shape[1]):
            value = best[o, r]
            if value == -np.inf:
                continue
            edges, tops, origins = folded[codes[o, r]], new[r], pointers[r]
            # best[k, (r, c)] = unary[k, c] + max_o best[k-1, (o, r)] + folded[(o, r), c]
            if word_labels.shape[0] == edges.shape[0]:
                for c in range(tops.shape[0]):
                    score = value + edges[c]
                    better = score > tops[c]
                    tops[c] = score if better else tops[c]
                    origins[c] = o if better else origins[c]
            else:
                for c in range(tops.shape[0]):
                    score = value + edges[word_labels[c]]
                    if score > tops[c]:
                        tops[c], origins[c] = score, o


def marginals(
    parts: Floats, starts: Ints, labels: Ints, n_labels: int, order: int
) -> ChainMarginals:
    """Log partition and marginals of one sentence; see the module for the layout.

    Raises:
        ValueError: array shapes that do not fit together, a word without candidates, or an order
            below 1.
    """
    _check(parts, starts, labels, n_labels, order)
    out = np.empty_like(parts)
    work = workspace(room_for(starts, np.array([0, len(starts) - 1]), n_labels, order), order)
    return ChainMarginals(forward_backward(parts, starts, labels, n_labels, order, work, out), out)


def _check(parts: Floats, starts: Ints, labels: Ints, n_labels: int, order: int) -> None:
    if order < 1:
        raise ValueError(f"expected an order of at least 1, got {order}")
    if len(starts) < 2 or starts[0] != 0 or np.any(np.diff(starts) < 1):
        raise ValueError("expected at least one word and at least one candidate a word")
    size = int(starts[-1]) + n_ngrams(n_labels, order)
    if starts[-1] != len(labels) or parts.shape != (size,):
        expected = f"expected {starts[-1]} labels and {size} parts"
        raise ValueError(f"{expected}, got {len(labels)} and an array of shape {parts.shape}")
    if labels.min() < 0 or labels.max() >= n_labels:
        raise ValueError(f"expected labels in 0..{n_labels - 1}")
    inside = np.ones(len(labels), dtype=np.bool_)
    inside[starts[:-1]] = False
    if np.any(np.diff(labels)[inside[1:]] < 1):
        raise ValueError("expected the candidate labels of each word in ascending order")
