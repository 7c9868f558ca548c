"""The k best label sequences of a chain of order K: Viterbi with a list of the k best paths to
every state.

The problem, layout and states are those of ``higher_order``, the lists those of ``chains.k_best``
(Huang and Chiang 2005, "Better k-best parsing", algorithm 1). O(k n L^(K+1)) comparisons, and
insertions into lists of k.
"""

from __future__ import annotations

import numpy as np

from egparse.compilation import njit
from egparse.experiments.chains.higher_order_states import (
    Workspace,
    fold,
    lay_states,
    n_ngrams,
    pairs_before,
    room_for,
    table_begin,
    workspace,
)
from egparse.structures.chains.k_best import BestSequences, insert_ranked
from egparse.types import Floats, Ints


def k_best(
    parts: Floats, starts: Ints, labels: Ints, n_labels: int, order: int, k: int
) -> BestSequences:
    """The ``k`` best sequences, best first; fewer where fewer are allowed.

    Raises:
        ValueError: array shapes that do not fit together, a word without candidates, an order below
            1, or k < 1.
    """
    if order < 1 or k < 1:
        raise ValueError(
            f"k best sequences: expected k >= 1 and an order of at least 1, got {k} and {order}"
        )
    n_unary = len(labels)
    if len(starts) < 2 or starts[0] != 0 or np.any(np.diff(starts) < 1) or starts[-1] != n_unary:
        raise ValueError("expected at least one word and at least one candidate a word")
    size = n_unary + n_ngrams(n_labels, order)
    if parts.shape != (size,):
        raise ValueError(
            f"expected {size} parts ({n_unary} candidates, {n_labels} labels), got shape "
            f"{parts.shape}"
        )
    words = len(starts) - 1
    room = room_for(starts, np.array([0, words]), n_labels, order)
    work = workspace(room, order)
    values, origins = (
        np.empty((room.states + 1, k)),
        np.empty((room.states + 1, k, 2), dtype=np.int32),
    )
    counts = np.zeros(room.states + 1, dtype=np.int32)
    choices = np.empty((k, words), dtype=np.int32)
    n_paths = _search(
        parts, starts, labels, n_labels, order, work, values, origins, counts, choices
    )
    return BestSequences(choices[:n_paths], values[room.states, :n_paths].copy())


@njit
def _search(
    parts: Floats,
    starts: Ints,
    labels: Ints,
    n_labels: int,
    order: int,
    work: Workspace,
    values: Floats,
    origins: Ints,
    counts: Ints,
    choices: Ints,
) -> int:
    """Fill ``choices`` (k, words), best first, and return the number of sequences.

    ``values`` and ``origins`` have a list for each state and a last one for whole sequences.
    Origins are the state of the word before, and the rank in its list.
    """
    n, states, codes = starts.shape[0] - 1, work.states, work.codes
    folded = work.folded[: parts.shape[0] - starts[n]]
    fold(parts[starts[n] :], n_labels, folded)
    lay_states(starts, labels, n_labels, order, work)
    for word in range(n):
        size = starts[word + 1] - starts[word]
        oldest, rest = pairs_before(starts, order, work, word)
        begin = table_begin(n_labels, order, word)
        for s in range(rest * size):
            state, c = states[word] + s, starts[word] + s % size
            if word == 0:
                counts[state] = insert_ranked(parts[c], -1, 0, values[state], origins[state], 0)
                continue
            count = 0
            for o in range(oldest):
                before = states[word - 1] + o * rest + s // size
                step = folded[begin + codes[before] * n_labels + labels[c]] + parts[c]
                for rank in range(counts[before]):
                    # best[(r, c)] = the k best of best[(o, r), rank] + folded[(o, r), c] + unary[c]
                    value = values[before, rank] + step
                    if count == values.shape[1] and value <= values[state, count - 1]:
                        break
                    count = insert_ranked(value, before, rank, values[state], origins[state], count)
            counts[state] = count
    n_paths, goals = 0, values.shape[0] - 1
    for state in range(states[n - 1], states[n]):
        for rank in range(counts[state]):
            n_paths = insert_ranked(
                values[state, rank], state, rank, values[goals], origins[goals], n_paths
            )
    for goal in range(n_paths):
        state, rank = origins[goals, goal]
        for word in range(n - 1, -1, -1):
            choices[goal, word] = (state - states[word]) % (starts[word + 1] - starts[word])
            state, rank = origins[state, rank]
    return n_paths
