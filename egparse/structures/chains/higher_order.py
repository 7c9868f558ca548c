"""Linear chains of labels of any order K: log partition, marginals, entropy and the best sequence.

Problem: as ``chain``, but a label may look back at K labels, not one. A label sequence y scores

    sum_k unary[k, y_k]  +  sum_{m = 1..K} sum_{k >= m} ngrams_m[y_{k-m}, ..., y_k],

an (m + 1)-gram wherever one ends, whatever its position. Forward-backward and Viterbi (Rabiner
1989) run over states that hold the last K labels, fewer at the start of the sentence: O(n L^(K+1))
for n words of L candidates each, and only states of candidates are visited.

Layout. The parts of a sentence are one flat array ``[unary | bigrams | trigrams | ... | (K +
1)-grams]``: unary scores as in ``chain``, then for each m the table ``ngrams_m`` of shape (L,) * (m
+ 1), oldest label first, in row-major order over the L labels of the sentence. Marginals have the
same layout: probabilities of labels, expected counts of n-grams. With K = 1 it is ``chain``, to the
last place.

States. A state of word k is a choice of candidates for the last min(k + 1, K) words, numbered in
row-major order, oldest first. If O is the number of candidates of the word that drops out at word k
(1 while k < K), states before are pairs (o, r), those at word k pairs (r, c):

    forward[k, (r, c)] = exp(unary[k, c]) sum_o forward[k-1, (o, r)] exp(folded[(o, r), c]),

where ``folded`` adds up the n-grams of all lengths that end at c, once a sentence (they depend on
the labels alone).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.structures.chains.chain import BestSequence, ChainMarginals, entropy
from egparse.structures.logsumexp import log_add
from egparse.structures.vector_exp import exponentials, subtract_largest
from egparse.types import Floats, Ints, Longs

__all__ = [
    "Room",
    "Workspace",
    "argmax",
    "best_path",
    "entropy",
    "fold",
    "forward_backward",
    "lay_states",
    "log_partition",
    "marginals",
    "n_ngrams",
    "pairs_before",
    "room_for",
    "table_begin",
    "viterbi",
    "workspace",
]


_SMALLEST = 1e-200  # a scale below this has lost digits to underflow: use logarithms instead
_DEEPEST = (
    -600.0
)  # nats that all paths lose from a word on: beyond, a cell lost there might have counted
_FAINTEST = 1e-280  # a cell of less mass, before it is scaled, may have lost digits, or all
_TOLERANCE = 1e-6  # of the probability of a word's labels, which is 1 unless something overflowed


class Room(NamedTuple):
    """What a workspace has to hold: states of a sentence and of its widest word, unary parts,
    words, labels.
    """

    states: int
    widest: int
    unary: int
    words: int
    labels: int


class Workspace(NamedTuple):
    """Scratch of one thread: ``states[k]`` is where the states of word k begin in ``forward``,
    ``codes`` and ``pointers``.

    The code of a state is the number of its labels, oldest first, to the base L. ``folded`` has the
    layout of the n-grams.
    """

    states: Longs
    forward: Floats
    codes: Longs
    pointers: Ints
    ahead: Floats
    message: Floats
    scaled: Floats
    scales: Floats
    folded: Floats
    exponentials: Floats
    shifted: Floats
    scratch: Floats


def n_ngrams(n_labels: int, order: int) -> int:
    """The number of n-gram parts: L^2 + ... + L^(order + 1)."""
    return sum(n_labels ** (m + 1) for m in range(1, order + 1))


def room_for(starts: Ints | Longs, sentences: Longs, n_labels: int, order: int) -> Room:
    """The most that any sentence needs: sentence i has the words ``sentences[i]:sentences[i + 1]``
    and at most ``n_labels`` labels, word k the candidates ``starts[k]:starts[k + 1]``.
    """
    states, widest, unary, words = _most(starts, sentences, order)
    return Room(int(states), int(widest), int(unary), int(words), n_labels)


@njit
def _most(starts: npt.NDArray[Any], sentences: Longs, order: int) -> tuple[int, int, int, int]:
    states, widest, unary, words = 1, 1, 1, 1
    for i in range(sentences.shape[0] - 1):
        first, end = sentences[i], sentences[i + 1]
        total = 0
        for k in range(first, end):
            own = 1
            for j in range(max(first, k - order + 1), k + 1):
                own *= starts[j + 1] - starts[j]
            total += own
            widest = max(widest, own)
        states, words = max(states, total), max(words, end - first)
        unary = max(unary, starts[end] - starts[first])
    return states, widest, unary, words


def workspace(room: Room, order: int) -> Workspace:
    """Scratch for sentences of an order that need at most this room."""
    ngrams = n_ngrams(room.labels, order)
    return Workspace(
        np.empty(room.words + 1, dtype=np.int64),
        np.empty(room.states),
        np.empty(room.states, dtype=np.int64),
        np.empty(room.states, dtype=np.int32),
        np.empty(room.widest),
        np.empty(room.widest),
        np.empty(room.unary),
        np.empty(room.words),
        np.empty(ngrams),
        np.empty(ngrams),
        np.empty(max(ngrams, room.unary)),
        np.empty(max(ngrams, room.unary)),
    )


@njit
def fold(ngrams: Floats, n_labels: int, folded: Floats) -> None:
    """folded_m[y_0, ..., y_m] = sum_{i <= m} ngrams_i[y_{m-i}, ..., y_m], in the layout of the
    n-grams.
    """
    size = n_labels * n_labels
    folded[:size] = ngrams[:size]
    begin = size
    while begin < ngrams.shape[0]:
        shorter = folded[begin - size : begin]
        for _oldest in range(n_labels):
            longer, out = ngrams[begin : begin + size], folded[begin : begin + size]
            for code in range(size):
                out[code] = longer[code] + shorter[code]
            begin += size
        size *= n_labels


@njit
def _unfold(counts: Floats, n_labels: int, order: int) -> None:
    """Add the counts of long n-grams to those of the shorter ones that end them: the transpose of
    ``fold``.
    """
    size = n_labels ** (order + 1)
    end = counts.shape[0]
    for _ in range(order - 1):
        begin = end - size
        size //= n_labels
        shorter = counts[begin - size : begin]
        for oldest in range(n_labels):
            longer = counts[begin + oldest * size : begin + (oldest + 1) * size]
            for code in range(size):
                shorter[code] += longer[code]
        end = begin


@njit
def lay_states(
    starts: Ints, labels: npt.NDArray[Any], n_labels: int, order: int, work: Workspace
) -> None:
    """Where the states of each word begin, and their codes."""
    states, codes = work.states, work.codes
    kept = n_labels ** (order - 1)  # a code modulo this forgets the oldest of K labels
    states[0] = 0
    for k in range(starts.shape[0] - 1):
        own, here = starts[k + 1] - starts[k], states[k]
        _, rest = pairs_before(starts, order, work, k)
        for r in range(rest):
            history = 0
            if k > 0:
                history = codes[states[k - 1] + r]
                if k >= order:
                    history %= kept
            for c in range(own):
                codes[here + r * own + c] = history * n_labels + labels[starts[k] + c]
        states[k + 1] = here + rest * own


@njit
def pairs_before(starts: Ints, order: int, work: Workspace, k: int) -> tuple[int, int]:
    """How many o and how many r there are in the states (o, r) before word k."""
    before = work.states[k] - work.states[k - 1] if k > 0 else 1
    oldest = starts[k - order + 1] - starts[k - order] if k >= order else 1
    return oldest, before // oldest


@njit
def table_begin(n_labels: int, order: int, k: int) -> int:
    """Where the n-grams that end at word k begin among the folded ones."""
    begin, size = 0, n_labels * n_labels
    for _ in range(min(k, order) - 1):
        begin += size
        size *= n_labels
    return begin


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
    """Write the marginals of all parts and return log Z (nats); -inf if no sequence is allowed."""
    n = starts.shape[0] - 1
    unary = starts[n]
    counts = marginals[unary:]
    folded = work.folded[: counts.shape[0]]
    fold(parts[unary:], n_labels, folded)
    lay_states(starts, labels, n_labels, order, work)
    shift = _weights(parts, starts, n_labels, order, work)
    log_z = _forward(starts, labels, n_labels, order, work)
    sound = np.isfinite(log_z) and not _may_have_lost(n, work)
    if sound:
        _backward(starts, labels, n_labels, order, work, marginals)
        for c in range(counts.shape[0]):
            counts[c] *= work.exponentials[c]
        log_z += shift
        sound = _add_up(starts, marginals)
    if not sound:
        log_z = _logarithmic(parts, starts, labels, n_labels, order, work, marginals)
    _unfold(counts, n_labels, order)
    return log_z


@njit(fast=True)
def _weights(parts: Floats, starts: Ints, n_labels: int, order: int, work: Workspace) -> float:
    """Exponentials of unary scores (``scaled``) and folded n-grams, shifted; the shift of any
    sequence is returned.

    Each word, and all folded n-grams of a length, are shifted by their largest score.
    """
    n = starts.shape[0] - 1
    unary, ngrams = starts[n], parts.shape[0] - starts[n]
    folded, shifted = work.folded[:ngrams], work.shifted
    shift, begin, size = 0.0, 0, n_labels * n_labels
    for m in range(1, order + 1):
        # n-grams of this length end at one word, but for the longest, which end at all later ones
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
    """Fill forward and scales; return log Z of the shifted scores, or nan where a scale
    underflows.
    """
    states, codes, e, forward = work.states, work.codes, work.exponentials, work.forward
    log_z = 0.0
    for k in range(starts.shape[0] - 1):
        own, scaled = labels[starts[k] : starts[k + 1]], work.scaled[starts[k] : starts[k + 1]]
        size = own.shape[0]
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
                # forward[k, (r, c)] = exp(unary[k, c]) sum_o forward[k-1, (o, r)] exp(folded[(o,
                # r), c])
                out = here[first : first + size]
                if size == n_labels:  # all labels: vectors instead of look-ups
                    for c in range(size):
                        out[c] += mass * edges[c]
                else:
                    for c in range(size):
                        out[c] += mass * edges[own[c]]
        total = 0.0
        for r in range(rest):
            out = here[r * size : (r + 1) * size]
            for c in range(size):
                out[c] *= scaled[c]
                total += out[c]
        if not total > _SMALLEST:
            return np.nan
        work.scales[k] = total
        log_z += np.log(total)
        inverse = 1.0 / total
        for s in range(here.shape[0]):
            here[s] *= inverse
    return log_z


@njit
def _may_have_lost(n: int, work: Workspace) -> bool:
    """Whether a state underflowed at some word and all others lost so much later that it would have
    counted.
    """
    ahead = 0.0
    for k in range(n - 1, -1, -1):
        ahead += np.log(work.scales[k])
        if ahead < _DEEPEST:
            for s in range(work.states[k], work.states[k + 1]):
                if work.forward[s] * work.scales[k] < _FAINTEST:
                    return True
    return False


@njit(fast=True)
def _backward(
    starts: Ints, labels: Ints, n_labels: int, order: int, work: Workspace, marginals: Floats
) -> None:
    """Marginals of labels, and counts of n-grams still to be multiplied by their exponentials, from
    the forward pass.
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
        own, scaled = labels[starts[k] : starts[k + 1]], work.scaled[starts[k] : starts[k + 1]]
        size = own.shape[0]
        oldest, rest = pairs_before(starts, order, work, k)
        # ahead holds backward[k, .]; the marginal of a state is forward * backward
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
            own,
            messages[: rest * size].reshape((rest, size)),
            counts[begin:].reshape((-1, n_labels)),
            ahead[: oldest * rest].reshape(shape),
        )


@njit(fast=True)
def _step_back(
    forward: Floats,
    codes: Longs,
    e: Floats,
    own: Ints,
    message: Floats,
    counts: Floats,
    ahead: Floats,
) -> None:
    """From word k to word k - 1: arrays of pairs (o, r), of histories and labels, and of pairs (r,
    c).

    Rows of tables, and not slices of flat arrays: numba divides to find out how long a slice is,
    and these rows are short.
    """
    size = own.shape[0]
    for o in range(forward.shape[0]):
        for r in range(forward.shape[1]):
            mass, total = forward[o, r], 0.0
            if mass > 0.0:  # what no sequence reaches sends nothing back
                edges, count, sent = e[codes[o, r]], counts[codes[o, r]], message[r]
                # backward[k-1, (o, r)] = sum_c exp(folded[(o, r), c]) message[(r, c)]
                if size == edges.shape[0]:
                    for c in range(size):
                        total += edges[c] * sent[c]
                        count[c] += mass * sent[c]
                else:
                    for c in range(size):
                        total += edges[own[c]] * sent[c]
                        count[own[c]] += mass * sent[c]
            ahead[o, r] = total


@njit
def _add_up(starts: Ints, marginals: Floats) -> bool:
    """Whether there is one label a word and, before shorter n-grams get their share, one n-gram at
    every word but the first.
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
    """The same by log-sum-exp: slow, and right where scaled probabilities underflow."""
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
                on = folded[edge] + message[(s % rest) * size + c]
                total = log_add(total, on)
                marginals[unary + edge] += np.exp(forward[before] + on - log_z)
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
    """Write the best candidate of each word into ``choice`` and return the score."""
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
    """``viterbi`` with n-grams already folded; of equal states the first wins. First candidates
    where nothing is allowed.
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
            _step_on(
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
def _step_on(
    best: Floats,
    codes: Longs,
    folded: npt.NDArray[Any],
    own: npt.NDArray[Any],
    new: Floats,
    pointers: Ints,
) -> None:
    """From word k - 1 to word k of ``best_path``; arrays as in ``_step_back``."""
    for o in range(best.shape[0]):
        for r in range(best.shape[1]):
            value = best[o, r]
            if value == -np.inf:
                continue
            edges, tops, origins = folded[codes[o, r]], new[r], pointers[r]
            # best[k, (r, c)] = unary[k, c] + max_o best[k-1, (o, r)] + folded[(o, r), c]
            if own.shape[0] == edges.shape[0]:
                for c in range(tops.shape[0]):
                    score = value + edges[c]
                    better = score > tops[c]
                    tops[c] = score if better else tops[c]
                    origins[c] = o if better else origins[c]
            else:
                for c in range(tops.shape[0]):
                    score = value + edges[own[c]]
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


def log_partition(parts: Floats, starts: Ints, labels: Ints, n_labels: int, order: int) -> float:
    """log of the sum over label sequences of exp(score)."""
    return marginals(parts, starts, labels, n_labels, order).log_partition


def argmax(parts: Floats, starts: Ints, labels: Ints, n_labels: int, order: int) -> BestSequence:
    """The best label sequence."""
    _check(parts, starts, labels, n_labels, order)
    choice = np.empty(len(starts) - 1, dtype=np.int32)
    work = workspace(room_for(starts, np.array([0, len(starts) - 1]), n_labels, order), order)
    return BestSequence(choice, viterbi(parts, starts, labels, n_labels, order, work, choice))


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
