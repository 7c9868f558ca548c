"""Learning word classes from counts: exchange with more classes than are wanted, merging down to
the number that is wanted, exchange until it gains little, and a tree over the classes.

The exchange algorithm stops at a local optimum, which depends on where it starts. Starting with
half as many classes more, and merging those that lose least, reaches a likelihood that it does not
reach by itself (docs/decisions/word-classes.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from egparse.classes import agglomeration
from egparse.classes.counting import PairCounts
from egparse.classes.exchange import Classes, exchange, from_assignment, initial_classes
from egparse.errors import ConfigError

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
    with ThreadPoolExecutor(options.threads) as threads:
        learning = _Learning(counts, options, threads, listener, check)
        return learning.run()


class _Learning:
    """One run: ``classes`` are those reached so far."""

    def __init__(
        self,
        counts: PairCounts,
        options: LearningOptions,
        threads: ThreadPoolExecutor,
        listener: Listener,
        check: Callable[[], None],
    ) -> None:
        self._options = options
        self._threads = threads
        self._listener = listener
        self._check = check
        self._passes: list[Pass] = []
        self._number = min(options.classes, len(counts.words))
        more = min(round(options.classes * _MORE), len(counts.words))
        self.classes = initial_classes(counts, more)

    def run(self) -> Learned:
        interrupted = False
        try:
            self._exchange(min(_FIRST_PASSES, self._options.passes))
        except KeyboardInterrupt:
            if not self._passes:
                raise
            interrupted = True
        self._merge()
        if not interrupted:
            try:
                self._exchange(self._options.passes)
            except KeyboardInterrupt:
                interrupted = True
        self._listener(Merging(self._number, 1))
        merges = agglomeration.agglomerate(self.classes, self._threads)
        paths = agglomeration.paths(self._number, merges)
        return Learned(self.classes, paths, self.classes.perplexity(), self._passes, interrupted)

    def _exchange(self, last: int) -> None:
        """Passes up to number ``last``, or until one gains little."""
        before = self.classes.perplexity() if self._passes else float("inf")
        while len(self._passes) < last:
            moved = exchange(self.classes, self._threads, self._options.threads, self._check)
            value = self.classes.log_likelihood()
            perplexity = self.classes.perplexity()
            self._passes.append(
                Pass(len(self._passes) + 1, self.classes.number, perplexity, value, moved)
            )
            self._listener(self._passes[-1])
            if perplexity > before * (1 - _LEAST_GAIN):
                break
            before = perplexity

    def _merge(self) -> None:
        """Merge down to the number of classes that is wanted."""
        many = self.classes
        if many.number > self._number:
            self._listener(Merging(many.number, self._number))
            merges = agglomeration.agglomerate(many, self._threads, self._number)
            of = agglomeration.merged(many.number, merges)[many.of_words]
            self.classes = from_assignment(many.counts, self._number, of)
