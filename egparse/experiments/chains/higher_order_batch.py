"""Viterbi for many sentences that share tables of label n-grams: the decoder of a tagger of order
K, one call for a batch.

The recursion is that of ``higher_order.viterbi``. Candidates carry labels of the whole model, so
that the tables are folded once for a batch. As in ``batch``, a candidate is skipped where no n-gram
could make it the best: its unary score is lower than the best of its word by more than the K + 1
folded scores that its label is part of can differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.compilation import njit
from egparse.experiments.chains.higher_order import best_path
from egparse.experiments.chains.higher_order_states import Workspace, fold, room_for, workspace
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
    """Write the label of each word to ``chosen`` (words,).

    Word k has the candidates ``labels[starts[k]:starts[k + 1]]`` with ``unary`` scores in the same
    places; sentence i has the words ``sentences[i]:sentences[i + 1]``. ``ngrams`` are the tables of
    shapes (L, L), (L, L, L), ..., oldest label first; cells may be -inf. ``opening[label]`` is the
    score of a label at the first word; ``allowed[previous, next]`` is False for forbidden bigrams
    (None: all are allowed). Where no sequence is allowed, the words get arbitrary candidates.

    Raises:
        ValueError: no n-gram table, or tables of other shapes.
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
    """The largest difference that n-grams and opening can make between two labels of a word; inf if
    any score is not finite.
    """
    widest, begin = 0.0, 0
    if not np.isfinite(folded).all() or not np.isfinite(opening).all():
        return float("inf")
    for m in range(1, order + 1):
        table = folded[begin : begin + n_labels ** (m + 1)]
        widest = max(widest, float(table.max() - table.min()))
        begin += len(table)
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
        offsets = kept_starts[: n + 1]
        best_path(kept, offsets, kept_labels, n_labels, order, folded, work, choice)
        for k in range(n):
            choice[k] = kept_labels[offsets[k] + choice[k]]
