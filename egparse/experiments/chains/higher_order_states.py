"""The states of a chain of order K, the n-gram tables folded for them, and the buffers.

A state of word k is a choice of candidates for the last min(k + 1, K) words, numbered in row-major
order, oldest first. Let O be the number of candidates of the word that drops out of the state at
word k (1 while k < K). Then the states before are pairs (o, r), those at word k pairs (r, c), and
the forward recurrence is ::

    forward[k, (r, c)] = exp(unary[k, c]) sum_o forward[k-1, (o, r)] exp(folded[(o, r), c])

where ``folded`` adds up the n-grams of all lengths that end at c. They depend on the labels alone,
so this is done once a sentence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.types import Floats, Ints, Longs


class Room(NamedTuple):
    """The sizes that a workspace must have: states of a sentence and of its widest word, unary
    parts, words, labels.
    """

    states: int
    widest: int
    unary: int
    words: int
    labels: int


class Workspace(NamedTuple):
    """Buffers of one thread.

    The states of word k begin at ``states[k]`` in ``forward``, ``codes`` and ``pointers``. The code
    of a state is its labels, oldest first, read as a number to the base L. ``folded`` has the
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
    """The sizes that serve every sentence. Sentence i has the words ``sentences[i]:sentences[i +
    1]`` and at most ``n_labels`` labels; word k has the candidates ``starts[k]:starts[k + 1]``.
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
            n_states = 1
            for j in range(max(first, k - order + 1), k + 1):
                n_states *= starts[j + 1] - starts[j]
            total += n_states
            widest = max(widest, n_states)
        states, words = max(states, total), max(words, end - first)
        unary = max(unary, starts[end] - starts[first])
    return states, widest, unary, words


def workspace(room: Room, order: int) -> Workspace:
    """Buffers for sentences that need at most this room."""
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
def unfold(counts: Floats, n_labels: int, order: int) -> None:
    """Add the counts of longer n-grams to those of the shorter n-grams at their end, in place: the
    transpose of ``fold``.
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
    """Write where the states of each word begin, and their codes, to ``work``."""
    states, codes = work.states, work.codes
    kept = n_labels ** (order - 1)  # a code modulo this forgets the oldest of K labels
    states[0] = 0
    for k in range(starts.shape[0] - 1):
        n_candidates, here = starts[k + 1] - starts[k], states[k]
        _, rest = pairs_before(starts, order, work, k)
        for r in range(rest):
            history = 0
            if k > 0:
                history = codes[states[k - 1] + r]
                if k >= order:
                    history %= kept
            for c in range(n_candidates):
                codes[here + r * n_candidates + c] = history * n_labels + labels[starts[k] + c]
        states[k + 1] = here + rest * n_candidates


@njit
def pairs_before(starts: Ints, order: int, work: Workspace, k: int) -> tuple[int, int]:
    """The numbers of o and of r in the states (o, r) before word k."""
    before = work.states[k] - work.states[k - 1] if k > 0 else 1
    oldest = starts[k - order + 1] - starts[k - order] if k >= order else 1
    return oldest, before // oldest


@njit
def table_begin(n_labels: int, order: int, k: int) -> int:
    """The index in ``folded`` at which the n-grams that end at word k begin."""
    begin, size = 0, n_labels * n_labels
    for _ in range(min(k, order) - 1):
        begin += size
        size *= n_labels
    return begin
