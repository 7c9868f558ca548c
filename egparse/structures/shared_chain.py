"""Viterbi for many sentences that share one table of transitions: the decoder of a tagger, one call a batch.

The same recursion as ``chain.viterbi``; candidates carry global labels and index the table directly, so nothing is copied a
sentence. A candidate that no transition could save is passed over: its unary score is lower than the best of its word by
more than the transitions at both of its sides can differ. That never changes the best score, and leaves few candidates a word.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@njit
def best_sequences(
    unary: Floats,
    starts: npt.NDArray[np.int64],
    labels: npt.NDArray[np.uint16],
    sentences: npt.NDArray[np.int64],
    transitions: npt.NDArray[np.float32],
    opening: npt.NDArray[np.float32],
    chosen: Ints,
) -> None:
    """Write the label of each word into ``chosen``.

    Word k has the candidates ``labels[starts[k]:starts[k + 1]]`` with ``unary`` scores in the same places; sentence i has the
    words ``sentences[i]:sentences[i + 1]``. ``transitions[previous, next]`` may be -inf; ``opening[label]`` scores the first
    word's label. Where no sequence is allowed, the words get their first candidates.
    """
    lowest, highest = _range_of(transitions)
    slack = 2.0 * (highest - lowest)  # a word has a transition at each side
    forbids = not np.isfinite(slack)
    best = np.empty(unary.shape[0])
    pointers = np.empty(unary.shape[0], dtype=np.int32)
    kept = np.empty(unary.shape[0], dtype=np.int32)  # places of the candidates worth following
    ends = np.empty(starts.shape[0], dtype=np.int64)
    for i in range(sentences.shape[0] - 1):
        first, last = sentences[i], sentences[i + 1]
        if first == last:
            continue
        for k in range(first, last):
            ends[k] = _keep(unary, starts[k], starts[k + 1], slack, forbids, kept)
            for c in range(starts[k], ends[k]):
                place = kept[c]
                top, pointer = -np.inf, -1
                if k == first:
                    top = np.float64(opening[labels[place]])
                else:
                    for b in range(starts[k - 1], ends[k - 1]):
                        score = best[b] + transitions[labels[kept[b]], labels[place]]
                        if score > top or pointer < 0:
                            top, pointer = score, b
                best[c] = top + unary[place]
                pointers[c] = pointer
        c = starts[last - 1]
        for b in range(starts[last - 1], ends[last - 1]):
            if best[b] > best[c]:
                c = b
        for k in range(last - 1, first - 1, -1):
            chosen[k] = labels[kept[c]]
            c = pointers[c]


@njit
def _range_of(table: npt.NDArray[np.float32]) -> tuple[float, float]:
    lowest, highest = np.inf, -np.inf
    for p in range(table.shape[0]):
        for q in range(table.shape[1]):
            lowest = min(lowest, np.float64(table[p, q]))
            highest = max(highest, np.float64(table[p, q]))
    return lowest, highest


@njit
def _keep(
    unary: Floats, start: int, end: int, slack: float, forbids: bool, kept: npt.NDArray[np.int32]
) -> int:
    """List the candidates of a word that can be on a best path, from ``kept[start]`` on; returns the end of the list."""
    threshold = -np.inf
    if not forbids:
        for c in range(start, end):
            threshold = max(threshold, unary[c])
        threshold -= slack
    count = start
    for c in range(start, end):
        if unary[c] >= threshold:
            kept[count] = c
            count += 1
    return count
