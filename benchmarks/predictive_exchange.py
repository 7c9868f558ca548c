"""Predictive exchange (Uszkoreit and Brants 2008), to compare word classes with.

Its model predicts the class of a word from the word before instead of that word's class,

    p(w | v) = p(w | g(w)) p(g(w) | v),

so that the likelihood is sum_vc F(N(v, c)) - sum_c F(N(c)) + const, with F(n) = n log n, and the
gain of class b for a word w is sum_v D(N(v, b), N(v, w)) - D(N(b), N(w)) over the words v before w,
with D(n, k) = F(n + k) - F(n). Words move at once, as in the paper.
"""

from __future__ import annotations

import numpy as np

from egparse.classes.counting import Neighbours, PairCounts
from egparse.classes.exchange import n_log_n, n_log_n_table
from egparse.compilation import njit
from egparse.types import Floats, Ints, Longs


def predictive_exchange(counts: PairCounts, number: int, passes: int) -> Ints:
    """The class of each word (V,) after some passes, from classes dealt out by frequency."""
    of = (np.arange(len(counts.words)) % number).astype(np.int32)
    full = np.append(of, [number, number + 1]).astype(np.int32)
    before = np.zeros((len(full), number + 2), dtype=np.int32)  # N(v, c)
    starts, words, times = counts.following
    left = np.repeat(np.arange(len(full)), np.diff(starts))
    np.add.at(before, (left, full[words]), times)
    np.add.at(before, (np.arange(len(full)), full), counts.repeats.astype(np.int32))
    sizes = np.bincount(full, weights=counts.counts, minlength=number + 2).astype(np.int64)
    table = n_log_n_table()
    for _ in range(passes):
        one_pass(counts.preceding, counts.counts, counts.repeats, full, before, sizes, table)
    return full[:-2]


@njit
def one_pass(
    preceding: Neighbours,
    counts: Longs,
    repeats: Longs,
    classes: Ints,
    before: Ints,
    sizes: Longs,
    table: Floats,
) -> int:
    """Move each word to its best class; returns how many moved."""
    starts, words, times = preceding
    number = before.shape[1] - 2
    gains = np.empty(number)
    moved = 0
    for w in range(classes.shape[0] - 2):
        own = classes[w]
        before[w, own] -= repeats[w]
        sizes[own] -= counts[w]
        for j in range(starts[w], starts[w + 1]):
            before[words[j], own] -= times[j]
        for b in range(number):
            gains[b] = n_log_n(sizes[b], table) - n_log_n(sizes[b] + counts[w], table)
            if repeats[w] > 0:
                cell = before[w, b]
                gains[b] += n_log_n(cell + repeats[w], table) - n_log_n(cell, table)
        for j in range(starts[w], starts[w + 1]):
            row, n = before[words[j]], times[j]
            for b in range(number):
                gains[b] += n_log_n(row[b] + n, table) - n_log_n(row[b], table)
        best = own
        for b in range(number):
            if gains[b] > gains[best] + 1e-6:
                best = b
        classes[w] = best
        moved += best != own
        before[w, best] += repeats[w]
        sizes[best] += counts[w]
        for j in range(starts[w], starts[w + 1]):
            before[words[j], best] += times[j]
    return moved
