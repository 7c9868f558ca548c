"""Word classes with the greatest likelihood of a class bigram model, by the exchange algorithm.

Every word w has one class g(w), and the model is (Brown et al. 1992, section 3)

    p(w | v) = p(w | g(w)) p(g(w) | g(v))

with relative frequencies for both. With N for counts in the text and F(n) = n log n, its log
likelihood in nats is (Martin, Liermann and Ney 1998)

    L = sum_cd F(N(c, d)) - 2 sum_c F(N(c)) + sum_w F(N(w)),

which is Brown's average mutual information of neighbouring classes times the number of pairs, less
what does not depend on classes. The exchange algorithm takes one word after the other out of its
class, and puts it into the class that gives the greatest L (ibid.).

Taking w out and putting it into class b changes only the cells (b, d) for the classes d of words
that follow w, and (c, b) for those of words that precede it. So the gains of all classes for w are

    gain(b) = sum_d D(N(b, d), s(d)) + sum_c D(N(c, b), p(c)) - 2 D(N(b), N(w)),

D(n, k) = F(n + k) - F(n), s(d) and p(c) = how often words of that class follow and precede w, N
without w; the cell (b, b) gets both, and repetitions of w. That are as many terms as w has classes
of neighbours, times the number of classes: O(pairs C) for all words.

Words are visited in batches, from the most frequent ones on. For a batch the best class of each
word is found for the same counts, by all threads. Then words move one after the other, each only if
that raises L, which is computed anew: L never falls, and the result does not depend on the number
of threads.

Words that get no class (rare ones, the boundary) are neighbours in classes of their own, which no
word enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from egparse.classes.counting import Neighbours, PairCounts
from egparse.compilation import njit
from egparse.types import Floats, Ints, Longs

FIXED = 2
"""Classes that no word enters: of the other words, and of the boundary."""

TABLE = 1 << 16
"""Numbers n of which n log n is tabulated: half a megabyte, which a processor keeps at hand."""

_SMALLEST_BATCH, _LARGEST_BATCH = 16, 1024
_SHARE = 32
"""A batch has this part of the words before it: frequent words change counts the most."""

_TASKS = 8
"""Pieces of a batch for each thread, whose words take different times."""

_TOLERANCE = 1e-6
_ROUNDING = 1e-14
"""A move has to gain so many nats, or in long texts this part of n log n of all words, the greatest
number that is rounded: some 45 units of its last place.
"""


class ClassCounts(NamedTuple):
    """The class of each word, and the counts of classes in the text.

    ``of``, shape (V + 2,), is the class of each word; ``forward[c, d]`` counts words of class c
    before words of class d, ``backward`` is its transpose, both of shape (K, K) with K = C + FIXED;
    ``sizes`` (K,) counts the words of each class.
    """

    of: Ints
    forward: Ints
    backward: Ints
    sizes: Longs


@dataclass(frozen=True)
class Classes:
    """``number`` classes of the words of a text; the arrays of ``state`` change as words move."""

    counts: PairCounts
    number: int
    state: ClassCounts

    @property
    def of_words(self) -> Ints:
        """The class of each word that has one, shape (V,)."""
        return self.state.of[:-2]

    def log_likelihood(self) -> float:
        """L in nats, from the counts alone."""
        return (
            _sum_of_n_log_n(self.state.forward)
            - 2 * _sum_of_n_log_n(self.state.sizes)
            + _sum_of_n_log_n(self.counts.counts)
        )

    def perplexity(self) -> float:
        """exp(-L / number of pairs)."""
        return math.exp(-self.log_likelihood() / max(1, self.counts.total))


def n_log_n_table(length: int = TABLE) -> Floats:
    """n log n for n = 0, 1, ..., shape (length,)."""
    numbers = np.arange(length, dtype=np.float64)
    return numbers * np.log(np.maximum(numbers, 1.0))


def from_assignment(counts: PairCounts, number: int, of: Ints) -> Classes:
    """Classes of the V words, ``of`` (V,), all below ``number``."""
    k = number + FIXED
    full = np.append(of, [number, number + 1]).astype(np.int32)
    starts, words, times = counts.following
    left = np.repeat(full, np.diff(starts)).astype(np.int64)
    cells = np.bincount(left * k + full[words], weights=times, minlength=k * k).astype(np.int32)
    np.add.at(cells, full.astype(np.int64) * (k + 1), counts.repeats.astype(np.int32))
    forward = cells.reshape(k, k)
    sizes = np.bincount(full, weights=counts.counts, minlength=k).astype(np.int64)
    state = ClassCounts(full, forward, np.ascontiguousarray(forward.T), sizes)
    return Classes(counts, number, state)


def initial_classes(counts: PairCounts, number: int) -> Classes:
    """Words dealt out by frequency: to classes 0, 1, ..., ``number`` - 1, 0, 1, ..."""
    return from_assignment(counts, number, (np.arange(len(counts.words)) % number).astype(np.int32))


def exchange(
    classes: Classes, threads: Executor, jobs: int, check: Callable[[], None] = lambda: None
) -> int:
    """One pass over all words by ``jobs`` threads; returns how many words moved. ``check`` is
    called between batches, where the state is consistent, and may raise.
    """
    counts, state = classes.counts, classes.state
    table = n_log_n_table()
    targets = np.empty(len(counts.words), dtype=np.int32)

    def find(task: tuple[int, int]) -> None:
        start, end = task
        best_classes(start, end, *_arrays_of(counts), state, table, targets)

    tolerance = max(_TOLERANCE, _ROUNDING * counts.total * math.log(counts.total + 1))
    moved = 0
    for first, last in _batches(len(counts.words)):
        check()
        for _ in threads.map(find, _tasks(first, last, _TASKS * jobs)):
            pass  # raises what a task has raised
        moved += move_words(first, last, *_arrays_of(counts), state, table, targets, tolerance)
    return moved


def _arrays_of(counts: PairCounts) -> tuple[Neighbours, Neighbours, Longs, Longs]:
    return counts.following, counts.preceding, counts.counts, counts.repeats


def _sum_of_n_log_n(numbers: Ints | Longs) -> float:
    positive = numbers[numbers > 1].astype(np.float64)
    return math.fsum((positive * np.log(positive)).tolist())


def _batches(words: int) -> Iterator[tuple[int, int]]:
    first = 0
    while first < words:
        size = min(max(first // _SHARE, _SMALLEST_BATCH), _LARGEST_BATCH)
        yield first, min(words, first + size)
        first += size


def _tasks(first: int, last: int, pieces: int) -> Iterator[tuple[int, int]]:
    step = max(1, -(-(last - first) // pieces))
    for start in range(first, last, step):
        yield start, min(last, start + step)


@njit
def n_log_n(n: int, table: Floats) -> float:
    """n log n, with 0 for 0."""
    if n < table.shape[0]:
        return float(table[n])
    return float(n * np.log(n))


@njit
def best_classes(
    first: int,
    last: int,
    following: Neighbours,
    preceding: Neighbours,
    counts: Longs,
    repeats: Longs,
    state: ClassCounts,
    table: Floats,
    targets: Ints,
) -> None:
    """Write the best class of the words from ``first`` to ``last`` - 1 to ``targets``; it is their
    class where no other is better.
    """
    classes, forward, backward, sizes = state
    k = forward.shape[0]
    number = k - FIXED
    gains = np.empty(number)
    after = np.zeros(k, dtype=np.int32)  # s(d)
    before = np.zeros(k, dtype=np.int32)  # p(c)
    row = np.empty(k, dtype=np.int32)
    for w in range(first, last):
        own = classes[w]
        _count_classes(w, following, classes, after)
        _count_classes(w, preceding, classes, before)
        for b in range(number):
            size = sizes[b]
            gains[b] = -2 * (n_log_n(size + counts[w], table) - n_log_n(size, table))
        for d in range(k):
            if after[d] > 0:
                if d == own:
                    for b in range(number):
                        row[b] = backward[d, b] - before[b]
                    _add_gains(row, after[d], number, table, gains)
                else:
                    _add_gains(backward[d], after[d], number, table, gains)
            if before[d] > 0:
                if d == own:
                    for b in range(number):
                        row[b] = forward[d, b] - after[b]
                    _add_gains(row, before[d], number, table, gains)
                else:
                    _add_gains(forward[d], before[d], number, table, gains)
        for b in range(number):
            if b != own and after[b] + before[b] + repeats[w] > 0:
                cell = forward[b, b]
                gains[b] += (
                    n_log_n(cell + after[b] + before[b] + repeats[w], table)
                    - n_log_n(cell + after[b], table)
                    - n_log_n(cell + before[b], table)
                    + n_log_n(cell, table)
                )
        gains[own] = _gain_of_staying(own, after, before, counts[w], repeats[w], state, table)
        best = own
        for b in range(number):
            if gains[b] > gains[best]:
                best = b
        targets[w] = best


@njit
def _count_classes(w: int, neighbours: Neighbours, classes: Ints, out: Ints) -> None:
    """Write how often the neighbours of word w have each class."""
    for c in range(out.shape[0]):
        out[c] = 0
    starts, words, counts = neighbours
    for j in range(starts[w], starts[w + 1]):
        out[classes[words[j]]] += counts[j]


@njit
def _add_gains(cells: Ints, added: int, number: int, table: Floats, gains: Floats) -> None:
    """gain(b) += D(cells[b], added) for all classes b."""
    for b in range(number):
        gains[b] += n_log_n(cells[b] + added, table) - n_log_n(cells[b], table)


@njit
def _gain_of_staying(
    own: int,
    after: Ints,
    before: Ints,
    count: int,
    repeated: int,
    state: ClassCounts,
    table: Floats,
) -> float:
    """gain(own): the cells hold the counts with the word."""
    _, forward, backward, sizes = state
    gain = -2 * (n_log_n(sizes[own], table) - n_log_n(sizes[own] - count, table))
    for d in range(forward.shape[0]):
        if d != own:
            if after[d] > 0:
                cell = forward[own, d]
                gain += n_log_n(cell, table) - n_log_n(cell - after[d], table)
            if before[d] > 0:
                cell = backward[own, d]
                gain += n_log_n(cell, table) - n_log_n(cell - before[d], table)
    cell = forward[own, own]
    rest = cell - after[own] - before[own] - repeated
    return gain + n_log_n(cell, table) - n_log_n(rest, table)


@njit
def move_words(
    first: int,
    last: int,
    following: Neighbours,
    preceding: Neighbours,
    counts: Longs,
    repeats: Longs,
    state: ClassCounts,
    table: Floats,
    targets: Ints,
    tolerance: float,
) -> int:
    """Move the words from ``first`` to ``last`` - 1 to their ``targets``, one after the other, each
    if that raises L by more than ``tolerance``. Returns how many moved.
    """
    classes = state.of
    k = state.forward.shape[0]
    after = np.zeros(k, dtype=np.int32)
    before = np.zeros(k, dtype=np.int32)
    moved = 0
    for w in range(first, last):
        own, target = classes[w], targets[w]
        if own == target:
            continue
        _count_classes(w, following, classes, after)
        _count_classes(w, preceding, classes, before)
        count, repeated = counts[w], repeats[w]
        gain = _shift(own, -1, after, before, count, repeated, state, table)
        gain += _shift(target, 1, after, before, count, repeated, state, table)
        if gain > tolerance:
            classes[w] = target
            moved += 1
        else:
            _shift(target, -1, after, before, count, repeated, state, table)
            _shift(own, 1, after, before, count, repeated, state, table)
    return moved


@njit
def _shift(
    c: int,
    sign: int,
    after: Ints,
    before: Ints,
    count: int,
    repeated: int,
    state: ClassCounts,
    table: Floats,
) -> float:
    """Put a word into class c, or with ``sign`` -1 take it out; returns by how much L changes."""
    _, forward, backward, sizes = state
    gain = 0.0
    for d in range(forward.shape[0]):
        if after[d] > 0:
            gain += _add_to_cell(c, d, sign * after[d], forward, backward, table)
        if before[d] > 0:
            gain += _add_to_cell(d, c, sign * before[d], forward, backward, table)
    if repeated > 0:
        gain += _add_to_cell(c, c, sign * repeated, forward, backward, table)
    size = sizes[c]
    sizes[c] = size + sign * count
    return gain - 2 * (n_log_n(sizes[c], table) - n_log_n(size, table))


@njit
def _add_to_cell(c: int, d: int, added: int, forward: Ints, backward: Ints, table: Floats) -> float:
    old = forward[c, d]
    new = old + added
    forward[c, d] = new
    backward[d, c] = new
    return n_log_n(new, table) - n_log_n(old, table)
