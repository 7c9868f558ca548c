"""Viterbi for many sentences that share tables of label n-grams: the decoder of a tagger of order
K, one call a batch.

The same recursion as ``higher_order_chain.viterbi``; candidates carry global labels, so that the
tables are folded once a batch. As in ``shared_chain``, a candidate that no n-gram could save is
passed over: its unary score is lower than the best of its word by more than the n-grams that its
label is part of can differ, K + 1 folded scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.compilation import njit
from egparse.structures.chains.higher_order import Workspace, best_path, fold, room_for, workspace
from egparse.types import Floats, Ints, Longs, Mask, Singles, UInt16s


def best_sequences(
    unary: Floats,
    starts: Longs,
    labels: UInt16s,
    sentences: Longs,
    ngrams: Sequence[Singles],
    opening: Singles,
    allowed: Mask | None,
    chosen: Ints,
) -> None:
    """Write the label of each word into ``chosen`` (words,).

    Word k has the candidates ``labels[starts[k]:starts[k + 1]]`` with ``unary`` scores in the same
    places; sentence i has the words ``sentences[i]:sentences[i + 1]``. ``ngrams`` are the tables of
    shapes (L, L), (L, L, L), ..., oldest label first; cells may be -inf. ``opening[label]`` scores
    the first word's label; ``allowed[previous, next]`` is False for bigrams that no sequence may
    have (None: all are allowed). Where no sequence is allowed, the words get candidates that mean
    nothing.

    Raises:
        ValueError: n-gram tables of other shapes, or none.
    """
    n_labels, order = len(opening), len(ngrams)
    shapes = [table.shape for table in ngrams]
    if not shapes or shapes != [(n_labels,) * (m + 2) for m in range(order)]:
        raise ValueError(
            f"expected n-gram tables ({n_labels}, {n_labels}), ... by length, got {shapes}"
        )
    if len(sentences) < 2 or sentences[-1] == sentences[0]:
        return
    flat = np.concatenate([table.reshape(-1) for table in ngrams]).astype(np.float64)
    if allowed is not None:
        flat[: n_labels**2][~allowed.reshape(-1)] = -np.inf
    folded = np.empty_like(flat)
    fold(flat, n_labels, folded)
    work = workspace(room_for(starts, sentences, 0, order), order)
    slack = _slack(folded, n_labels, order, opening)
    _decode(unary, starts, labels, sentences, order, folded, opening, slack, work, chosen)


def _slack(folded: Floats, n_labels: int, order: int, opening: Singles) -> float:
    """The most that n-grams and opening can differ between two labels of a word; inf if anything is
    forbidden.
    """
    widest, begin = 0.0, 0
    if not np.isfinite(folded).all() or not np.isfinite(opening).all():
        return float("inf")
    for m in range(1, order + 1):
        own = folded[begin : begin + n_labels ** (m + 1)]
        widest = max(widest, float(own.max() - own.min()))
        begin += len(own)
    return (order + 1) * widest + float(opening.max() - opening.min())


@njit
def _decode(
    unary: Floats,
    starts: Longs,
    labels: UInt16s,
    sentences: Longs,
    order: int,
    folded: Floats,
    opening: Singles,
    slack: float,
    work: Workspace,
    chosen: Ints,
) -> None:
    n_labels = opening.shape[0]
    kept, kept_labels = work.scaled, np.empty(work.scaled.shape[0], dtype=np.uint16)
    kept_starts = np.zeros(work.scales.shape[0] + 1, dtype=np.int32)
    for i in range(sentences.shape[0] - 1):
        first, n = sentences[i], sentences[i + 1] - sentences[i]
        if n == 0:
            continue
        count = 0
        for k in range(n):
            threshold = -np.inf
            for c in range(starts[first + k], starts[first + k + 1]):
                threshold = max(threshold, unary[c] - slack)
            for c in range(starts[first + k], starts[first + k + 1]):
                if unary[c] >= threshold:
                    kept[count] = unary[c] + (np.float64(opening[labels[c]]) if k == 0 else 0.0)
                    kept_labels[count] = labels[c]
                    count += 1
            kept_starts[k + 1] = count
        choice = chosen[first : first + n]
        own = kept_starts[: n + 1]
        best_path(kept, own, kept_labels, n_labels, order, folded, work, choice)
        for k in range(n):
            choice[k] = kept_labels[own[k] + choice[k]]
