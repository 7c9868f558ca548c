"""The k best label sequences: Viterbi with a list of the k best paths to every candidate.

The problem and the layout are those of ``chain``. Each cell of the chart holds a list, best first,
of scores and of their origins in the cells of the word before (Huang and Chiang 2005, "Better
k-best parsing", algorithm 1). O(k sum_k K_k K_{k+1}) comparisons, and insertions into lists of k.
Without bigrams the words choose independently, so that one list a word is enough: O(k sum_k K_k).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Ints


class BestSequences(NamedTuple):
    """``choices[rank, word]`` is the index of the label among the word's candidates; ``scores``
    (ranks,) descend.
    """

    choices: Ints
    scores: Floats


def k_best(parts: Floats, starts: Ints, labels: Ints, n_labels: int, k: int) -> BestSequences:
    """The ``k`` best sequences, best first; fewer where fewer are allowed. With ``n_labels`` = 0
    the parts have no transitions.

    Raises:
        ValueError: array shapes that do not fit together, a word without candidates, or k < 1.
    """
    n_unary = len(labels)
    if len(starts) < 2 or starts[0] != 0 or np.any(np.diff(starts) < 1) or starts[-1] != n_unary:
        raise ValueError("expected at least one word and at least one candidate a word")
    if parts.shape != (n_unary + n_labels**2,):
        raise ValueError(
            f"expected {n_unary + n_labels**2} parts ({n_unary} candidates, {n_labels} labels), "
            f"got shape {parts.shape}"
        )
    if k < 1:
        raise ValueError(f"k best sequences: expected k >= 1, got {k}")
    words = len(starts) - 1
    cells = n_unary if n_labels else words
    values, origins = np.empty((cells + 1, k)), np.empty((cells + 1, k, 2), dtype=np.int32)
    counts = np.zeros(cells + 1, dtype=np.int32)
    choices = np.empty((k, words), dtype=np.int32)
    if n_labels:
        n_paths = _chain(parts, starts, labels, n_labels, values, origins, counts, choices)
        return BestSequences(choices[:n_paths], values[cells, :n_paths].copy())
    n_paths = _independent(parts, starts, values, origins, counts, choices)
    return BestSequences(choices[:n_paths], values[words - 1, :n_paths].copy())


@njit
def insert_ranked(
    value: float, place: int, rank: int, values: Floats, origins: Ints, count: int
) -> int:
    """Insert ``value`` and its origin (``place``, ``rank``) into the ``count`` best ``values`` so
    far (k,), behind equal ones; returns the new count.
    """
    k = values.size
    if value == -np.inf or (count == k and value <= values[k - 1]):
        return count
    at = min(count, k - 1)
    while at > 0 and values[at - 1] < value:
        values[at] = values[at - 1]
        origins[at] = origins[at - 1]
        at -= 1
    values[at] = value
    origins[at, 0], origins[at, 1] = place, rank
    return min(count + 1, k)


@njit
def _chain(
    parts: Floats,
    starts: Ints,
    labels: Ints,
    n_labels: int,
    values: Floats,
    origins: Ints,
    counts: Ints,
    choices: Ints,
) -> int:
    """Fill ``choices`` (k, words), best first, and return the number of sequences.

    ``values`` and ``origins`` have a list for each candidate and a last one for whole sequences.
    Origins are the candidate of the word before, and the rank in its list.
    """
    n = starts.shape[0] - 1
    n_unary = starts[n]
    for word in range(n):
        for c in range(starts[word], starts[word + 1]):
            if word == 0:
                counts[c] = insert_ranked(parts[c], -1, 0, values[c], origins[c], 0)
                continue
            count = 0
            for b in range(starts[word - 1], starts[word]):
                step = parts[n_unary + labels[b] * n_labels + labels[c]] + parts[c]
                for rank in range(counts[b]):
                    # best[c] = the k best of best[b, rank] + transitions[b, c] + unary[c]
                    value = values[b, rank] + step
                    if count == values.shape[1] and value <= values[c, count - 1]:
                        break
                    count = insert_ranked(value, b, rank, values[c], origins[c], count)
            counts[c] = count
    n_paths = 0
    for c in range(starts[n - 1], n_unary):
        for rank in range(counts[c]):
            n_paths = insert_ranked(
                values[c, rank], c, rank, values[n_unary], origins[n_unary], n_paths
            )
    for goal in range(n_paths):
        c, rank = origins[n_unary, goal]
        for word in range(n - 1, -1, -1):
            choices[goal, word] = c - starts[word]
            c, rank = origins[c, rank]
    return n_paths


@njit
def _independent(
    parts: Floats, starts: Ints, values: Floats, origins: Ints, counts: Ints, choices: Ints
) -> int:
    """``_chain`` without transitions: a list for each word, of the joint choices up to that word.

    Origins are the candidate of the word, and the rank in the list of the word before.
    """
    n = starts.shape[0] - 1
    for word in range(n):
        count = 0
        for c in range(starts[word], starts[word + 1]):
            if word == 0:
                count = insert_ranked(parts[c], c, 0, values[0], origins[0], count)
                continue
            for rank in range(counts[word - 1]):
                value = values[word - 1, rank] + parts[c]
                if count == values.shape[1] and value <= values[word, count - 1]:
                    break
                count = insert_ranked(value, c, rank, values[word], origins[word], count)
        counts[word] = count
    for goal in range(counts[n - 1]):
        rank = goal
        for word in range(n - 1, -1, -1):
            choices[goal, word] = origins[word, rank, 0] - starts[word]
            rank = origins[word, rank, 1]
    return int(counts[n - 1])
