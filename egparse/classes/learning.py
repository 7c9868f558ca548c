"""Learning word classes from counts: exchange with more classes than are wanted, merging down to
the number that is wanted, exchange until it gains little, and a tree over the classes.

The exchange algorithm stops at a local optimum, which depends on where it starts. Starting with
half as many classes more, and merging those that lose least, reaches a likelihood that it does not
reach by itself (docs/decisions/word-classes.md).

The tree comes from merging again and again the two classes whose union loses the least average
mutual information (Brown et al. 1992, section 3). With N, F and L as in ``exchange``, and h(x, y) =
F(x + y) - F(x) - F(y), merging classes k and m changes L by

    gain(k, m) = sum_d h(N(k, d), N(m, d)) + sum_c h(N(c, k), N(c, m)) - 2 h(N(k), N(m))
                 + F(N(k, k) + N(k, m) + N(m, k) + N(m, m))
                 - F(N(k, k)) - F(N(k, m)) - F(N(m, k)) - F(N(m, m))

with d and c other than k and m; it is never positive. The gains of all pairs are kept. A merge of i
and j changes the terms of other pairs for d and c among i and j only, so that it takes O(C^2) time,
and the tree O(C^3) (as Liang 2005). Classes that no word enters stay as they are: they are contexts
of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from egparse.classes.counting import PairCounts
from egparse.classes.exchange import (
    Classes,
    exchange,
    from_assignment,
    initial_classes,
    n_log_n,
    n_log_n_table,
)
from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.types import Floats, Ints, Longs

DEFAULT_CLASSES = 1000
DEFAULT_PASSES = 20

MAX_CLASSES = 5_000
"""Tables have a cell for each pair of classes, half as many more of them than are wanted: 1.3 GB
for so many.
"""

_MORE = 1.5
"""How many times the classes that are wanted the first passes have."""

_FIRST_PASSES = 3

_LEAST_GAIN = 1e-4
"""The part by which a pass has to reduce the perplexity for another one to follow."""


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """The number of classes, the greatest number of passes over the words, and of threads.

    Raises:
        ConfigError: a value out of range.
    """

    classes: int = DEFAULT_CLASSES
    passes: int = DEFAULT_PASSES
    threads: int = 1

    def __post_init__(self) -> None:
        if not 2 <= self.classes <= MAX_CLASSES:
            raise ConfigError(f"expected 2 to {MAX_CLASSES:,} classes, got {self.classes:,}")
        if self.passes < 1:
            raise ConfigError(f"expected at least one pass, got {self.passes}")
        if self.threads < 1:
            raise ConfigError(f"expected at least one thread, got {self.threads}")


class Pass(NamedTuple):
    """What a pass over all words has reached: with how many classes, the perplexity of a word of
    the text and the boundaries between sentences, the log likelihood in nats, and how many words
    moved to another class.
    """

    number: int
    classes: int
    perplexity: float
    log_likelihood: float
    moved: int


class Merging(NamedTuple):
    """Classes are about to be merged, down to ``until``; down to one for the tree."""

    classes: int
    until: int


Listener = Callable[[Pass | Merging], None]


class Learned(NamedTuple):
    """Classes, the path of each class, the perplexity that they reach, the passes, and whether they
    were interrupted.
    """

    classes: Classes
    paths: list[str]
    perplexity: float
    passes: list[Pass]
    interrupted: bool

    def words(self) -> Iterator[tuple[str, str, int]]:
        """Path, word and count of each word: by path, in a class from the most frequent word on."""
        counts, of = self.classes.counts, self.classes.of_words.tolist()
        order = sorted(range(len(of)), key=lambda w: (self.paths[of[w]], w))
        for w in order:
            yield self.paths[of[w]], counts.words[w], int(counts.counts[w])

    def lines(self) -> Iterator[str]:
        """The lines of a file in Liang's format: path, word and count, separated by tabs."""
        for path, word, count in self.words():
            yield f"{path}\t{word}\t{count}\n"


def learn(
    counts: PairCounts,
    options: LearningOptions,
    *,
    listener: Listener = lambda _: None,
    check: Callable[[], None] = lambda: None,
) -> Learned:
    """Classes for the words of a text; fewer than asked for if there are fewer words.

    The result does not depend on the number of threads. ``check`` is called often, and may raise
    KeyboardInterrupt: then the classes reached so far become the result.

    Raises:
        ConfigError: there are no words.
        KeyboardInterrupt: raised by ``check`` before the end of the first pass, until which words
            are in classes by chance.
    """
    if not counts.words:
        raise ConfigError("expected words that are frequent enough for classes, got none")
    passes: list[Pass] = []

    def improve(classes: Classes, last: int) -> bool:
        """Passes up to number ``last``, or until one gains little; whether all were finished."""
        before = classes.perplexity() if passes else float("inf")
        try:
            while len(passes) < last:
                moved = exchange(classes, threads, options.threads, check)
                likelihood, perplexity = classes.log_likelihood(), classes.perplexity()
                number = len(passes) + 1
                passes.append(Pass(number, classes.number, perplexity, likelihood, moved))
                listener(passes[-1])
                if perplexity > before * (1 - _LEAST_GAIN):
                    break
                before = perplexity
        except KeyboardInterrupt:
            if not passes:
                raise
            return False
        return True

    wanted = min(options.classes, len(counts.words))
    with ThreadPoolExecutor(options.threads) as threads:
        classes = initial_classes(counts, min(round(options.classes * _MORE), len(counts.words)))
        finished = improve(classes, min(_FIRST_PASSES, options.passes))
        if classes.number > wanted:
            listener(Merging(classes.number, wanted))
            merges = agglomerate(classes, threads, wanted)
            of = merged(classes.number, merges)[classes.of_words]
            classes = from_assignment(counts, wanted, of)
        finished = finished and improve(classes, options.passes)
        listener(Merging(wanted, 1))
        tree = paths(wanted, agglomerate(classes, threads))
    return Learned(classes, tree, classes.perplexity(), passes, not finished)


_ROWS = 16
"""Classes whose gains a thread computes at a time."""


class Merge(NamedTuple):
    """Class ``removed`` became part of class ``kept``, a smaller number; L changed by ``gain``."""

    kept: int
    removed: int
    gain: float


def agglomerate(classes: Classes, threads: Executor, until: int = 1) -> list[Merge]:
    """The merges that lead from ``classes``, which stay as they are, to ``until`` classes, in
    order.
    """
    table = n_log_n_table()
    forward, backward = classes.state.forward.copy(), classes.state.backward.copy()
    sizes = classes.state.sizes.copy()
    alive = np.arange(classes.number, dtype=np.int64)
    gains = np.full((len(alive), len(alive)), -np.inf)

    def fill(first: int) -> None:
        last = min(first + _ROWS, len(alive))
        fill_gains(first, last, alive, forward, backward, sizes, table, gains)

    for _ in threads.map(fill, range(0, len(alive), _ROWS)):
        pass  # raises what a task has raised
    merges = []
    while len(alive) > max(1, until):
        kept, removed = _best_pair(gains)
        merges.append(Merge(kept, removed, float(gains[kept, removed])))
        gains[removed, :] = gains[:, removed] = -np.inf
        alive = alive[alive != removed]
        merge_pair(kept, removed, alive, forward, backward, sizes, table, gains)
    return merges


def paths(number: int, merges: Sequence[Merge]) -> list[str]:
    """The path of each of ``number`` classes in the tree of merges down to one, as bits from the
    root on: 0 leads to the class that was kept. A single class has the path 0.
    """
    if number == 1:
        return ["0"]
    path = [""] * number
    for kept, removed, _ in reversed(merges):
        path[kept], path[removed] = path[kept] + "0", path[kept] + "1"
    return path


def merged(number: int, merges: Sequence[Merge]) -> Ints:
    """The class of each of ``number`` classes after merges, numbered anew from 0 in their order,
    shape (number,).
    """
    of = np.arange(number, dtype=np.int32)
    for kept, removed, _ in merges:
        of[of == removed] = kept
    return np.unique(of, return_inverse=True)[1].astype(np.int32)


def _best_pair(gains: Floats) -> tuple[int, int]:
    """The pair with the greatest gain; of equal ones the first."""
    kept, removed = divmod(int(np.argmax(gains)), gains.shape[1])
    return kept, removed


@njit
def _joined(x: int, y: int, table: Floats) -> float:
    """h(x, y)."""
    if x == 0 or y == 0:
        return 0.0
    return n_log_n(x + y, table) - n_log_n(x, table) - n_log_n(y, table)


@njit
def _gain(k: int, m: int, forward: Ints, backward: Ints, sizes: Longs, table: Floats) -> float:
    gain = -2 * _joined(sizes[k], sizes[m], table)
    for d in range(forward.shape[0]):
        if d != k and d != m:
            gain += _joined(forward[k, d], forward[m, d], table)
            gain += _joined(backward[k, d], backward[m, d], table)
    whole = forward[k, k] + forward[k, m] + forward[m, k] + forward[m, m]
    gain += n_log_n(whole, table)
    gain -= n_log_n(forward[k, k], table) + n_log_n(forward[k, m], table)
    return gain - n_log_n(forward[m, k], table) - n_log_n(forward[m, m], table)


@njit
def fill_gains(
    first: int,
    last: int,
    alive: Longs,
    forward: Ints,
    backward: Ints,
    sizes: Longs,
    table: Floats,
    gains: Floats,
) -> None:
    """Write gain(k, m) to ``gains[k, m]`` for k = ``alive[first]`` to ``alive[last - 1]`` and all
    m > k that are alive.
    """
    for x in range(first, last):
        for y in range(x + 1, alive.shape[0]):
            k, m = alive[x], alive[y]
            gains[k, m] = _gain(k, m, forward, backward, sizes, table)


@njit
def merge_pair(
    i: int,
    j: int,
    alive: Longs,
    forward: Ints,
    backward: Ints,
    sizes: Longs,
    table: Floats,
    gains: Floats,
) -> None:
    """Make class j part of class i, in the counts and in the gains of all pairs in ``alive``, which
    is without j.
    """
    _update_gains(i, j, alive, backward, table, gains)
    _update_gains(i, j, alive, forward, table, gains)
    k = forward.shape[0]
    for c in range(k):
        forward[i, c] += forward[j, c]
        forward[j, c] = 0
    for c in range(k):
        forward[c, i] += forward[c, j]
        forward[c, j] = 0
    for c in range(k):
        backward[i, c] = forward[c, i]
        backward[j, c] = 0
    for c in range(k):
        backward[c, i] = forward[i, c]
        backward[c, j] = 0
    sizes[i] += sizes[j]
    sizes[j] = 0
    for y in range(alive.shape[0]):
        other = alive[y]
        if other < i:
            gains[other, i] = _gain(other, i, forward, backward, sizes, table)
        elif other > i:
            gains[i, other] = _gain(i, other, forward, backward, sizes, table)


@njit
def _update_gains(i: int, j: int, alive: Longs, cells: Ints, table: Floats, gains: Floats) -> None:
    """In gain(k, m) of all pairs without i and j, replace h of the cells with i and h of those with
    j by h of their sums; ``cells[i, k]`` is the cell of k with i.
    """
    n = alive.shape[0]
    single = np.empty(n)
    for y in range(n):
        a, b = cells[i, alive[y]], cells[j, alive[y]]
        single[y] = n_log_n(a, table) + n_log_n(b, table) - n_log_n(a + b, table)
    for x in range(n):
        k = alive[x]
        a, b = cells[i, k], cells[j, k]
        if k == i or a + b == 0:
            continue
        for y in range(x + 1, n):
            m = alive[y]
            c, d = cells[i, m], cells[j, m]
            if m != i and c + d > 0:
                gains[k, m] += (
                    n_log_n(a + b + c + d, table)
                    - n_log_n(a + c, table)
                    - n_log_n(b + d, table)
                    + single[x]
                    + single[y]
                )
