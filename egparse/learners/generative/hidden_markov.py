"""The hidden Markov tagger, first order, trained by counting (McDonald 2009, "Discriminative versus Generative").

P(words, tags) = prod_i P(t_i | t_{i-1}) P(x_i | t_i) P(end | t_n), with t_0 the start and x_i the symbol of word i (``word_symbols``).
Every distribution is (count + lambda) / (total + lambda * outcomes). Training is O(n); Viterbi O(n L^2). All logarithms are natural.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.errors import ConfigError, EgparseError
from egparse.learners.generative.word_symbols import WordSymbols

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class HMMConfig:
    """``transition_smoothing`` and ``emission_smoothing`` are the lambdas; 0 is maximum likelihood, where what was not seen is impossible.

    ``rare``: words seen at most so often in training stand for the unknown ones; ``class_minimum``: rare tokens that a class needs.

    Raises:
        ConfigError: negative values.
    """

    transition_smoothing: float = 0.1
    emission_smoothing: float = 0.01
    rare: int = 1
    class_minimum: int = 5

    def __post_init__(self) -> None:
        if not min(self.transition_smoothing, self.emission_smoothing, self.rare, self.class_minimum) >= 0:
            raise ConfigError(f"hmm: expected no negative settings, got {self}")


@dataclass(frozen=True)
class HMM:
    """Log probabilities of L tags: ``start`` (L,), ``transitions[previous, next]`` (L, L), ``end`` (L,), ``emissions[tag, symbol]``."""

    start: Floats
    transitions: Floats
    end: Floats
    emissions: Floats
    word_symbols: WordSymbols

    def predict(
        self, words: npt.ArrayLike, starts: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> Ints:
        """(n,): the best tag sequence of every sentence; arguments as in ``train_hmm``, with -1 for unknown words.

        Of equally good sequences it is the one with the smallest last tag, then the smallest one before, and so on.

        Raises:
            EgparseError: arrays that do not fit together, or a sentence that is impossible (only without smoothing).
        """
        sentence_starts = _starts(starts, len(np.asarray(words)))
        symbols = self.symbols(words, classes)
        tags = np.zeros(len(symbols), dtype=np.int64)
        failed = _viterbi_all(
            self.start, self.transitions, self.end, self.emissions, symbols, sentence_starts, tags
        )
        if failed >= 0:
            raise EgparseError(
                f"hmm: sentence {failed}: expected a tag sequence of positive probability, got none"
            )
        return tags

    def log_joint(
        self,
        words: npt.ArrayLike,
        tags: npt.ArrayLike,
        starts: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
    ) -> float:
        """log P(words, tags) in nats, summed over the sentences."""
        symbols, own = self.symbols(words, classes), np.asarray(tags, dtype=np.int64)
        first, last, inside = _places(_starts(starts, len(symbols)))
        return float(
            self.start[own[first]].sum()
            + self.end[own[last]].sum()
            + self.transitions[own[inside - 1], own[inside]].sum()
            + self.emissions[own, symbols].sum()
        )

    def symbols(self, words: npt.ArrayLike, classes: npt.ArrayLike | None = None) -> Ints:
        """(n,): what the model takes each word for."""
        candidates = None if classes is None else np.asarray(classes, dtype=np.int64)
        return self.word_symbols.symbols(np.asarray(words, dtype=np.int64), candidates)


def train_hmm(
    words: npt.ArrayLike,
    tags: npt.ArrayLike,
    starts: npt.ArrayLike,
    *,
    tag_count: int | None = None,
    classes: npt.ArrayLike | None = None,
    config: HMMConfig | None = None,
) -> HMM:
    """Count. ``words`` and ``tags`` (n,) from 0; sentence s is ``starts[s]:starts[s + 1]`` (sentences + 1).

    ``classes`` (n, candidates): numbers of the classes that a rare word may stand for, best first (see ``suffix_classes``), or None.

    Raises:
        EgparseError: arrays that do not fit together.
    """
    config = config or HMMConfig()
    own_words, own_tags = np.asarray(words, dtype=np.int64), np.asarray(tags, dtype=np.int64)
    count = tag_count if tag_count is not None else int(np.max(own_tags, initial=-1)) + 1
    if own_words.ndim != 1 or own_words.shape != own_tags.shape or len(own_words) == 0:
        raise EgparseError(
            f"hmm: expected as many words as tags, got shapes {own_words.shape} and {own_tags.shape}"
        )
    if own_tags.min() < 0 or own_tags.max() >= count:
        raise EgparseError(f"hmm: expected tags in 0..{count - 1}, got {own_tags.min()}..{own_tags.max()}")
    first, last, inside = _places(_starts(starts, len(own_words)))
    candidates = None if classes is None else np.asarray(classes, dtype=np.int64)
    word_symbols = WordSymbols.learn(
        own_words, candidates, rare=config.rare, class_minimum=config.class_minimum
    )
    symbols = word_symbols.symbols(own_words, candidates)
    emitted = _pairs(own_tags, symbols, count, word_symbols.count)
    followed = np.zeros((count + 1, count + 1))  # row L is the start, column L the end
    followed[:count, :count] = _pairs(own_tags[inside - 1], own_tags[inside], count, count)
    followed[count, :count] = np.bincount(own_tags[first], minlength=count)
    followed[:count, count] = np.bincount(own_tags[last], minlength=count)
    following = _log_shares(followed[:count], config.transition_smoothing)
    start = _log_shares(followed[count:, :count], config.transition_smoothing)[
        0
    ]  # no empty sentence: no end after the start
    emissions = _log_shares(emitted, config.emission_smoothing)
    return HMM(start, following[:, :count].copy(), following[:, count].copy(), emissions, word_symbols)


def _log_shares(counts: Floats, smoothing: float) -> Floats:
    """Row by row log((count + lambda) / (total + lambda outcomes)); -inf where nothing was seen and lambda is 0."""
    totals = counts.sum(axis=1, keepdims=True) + smoothing * counts.shape[1]
    shares = np.divide(counts + smoothing, totals, out=np.zeros_like(counts), where=totals > 0)
    logarithms: Floats = np.log(shares, out=np.full_like(counts, -np.inf), where=shares > 0)
    return logarithms


def _pairs(rows: Ints, columns: Ints, row_count: int, column_count: int) -> Floats:
    cells = np.bincount(rows * column_count + columns, minlength=row_count * column_count)
    return cells.reshape(row_count, column_count).astype(np.float64)


def _starts(starts: npt.ArrayLike, n: int) -> Ints:
    own = np.asarray(starts, dtype=np.int64)
    if own.ndim != 1 or len(own) == 0 or own[0] != 0 or own[-1] != n or np.any(np.diff(own) < 0):
        raise EgparseError(f"hmm: expected sentence starts from 0 up to {n}, got others")
    return own


def _places(starts: Ints) -> tuple[Ints, Ints, Ints]:
    """The first and last word of every sentence that has any, and the words that have one before them."""
    filled = np.diff(starts) > 0
    first, last = starts[:-1][filled], starts[1:][filled] - 1
    return first, last, np.setdiff1d(np.arange(starts[-1]), first)


@njit
def _viterbi_all(
    start: Floats,
    transitions: Floats,
    end: Floats,
    emissions: Floats,
    symbols: Ints,
    starts: Ints,
    tags: Ints,
) -> int:
    """Write the best tags; returns a sentence without any of positive probability, or -1."""
    for s in range(starts.shape[0] - 1):
        own = slice(starts[s], starts[s + 1])
        if starts[s] == starts[s + 1]:
            continue
        if viterbi(start, transitions, end, emissions, symbols[own], tags[own]) == -np.inf:
            return s
    return -1


@njit
def viterbi(
    start: Floats, transitions: Floats, end: Floats, emissions: Floats, symbols: Ints, tags: Ints
) -> float:
    """Write the best tags of one sentence and return its log probability."""
    n, label_count = symbols.shape[0], start.shape[0]
    back = np.zeros((n, label_count), dtype=np.int32)
    # best[t] = log P(x_1..x_i, best tags that end in t)
    best = start + emissions[:, symbols[0]]
    new = np.empty(label_count)
    for i in range(1, n):
        # best'[t] = max over u of best[u] + log P(t | u) + log P(x_i | t)
        for t in range(label_count):
            source, value = 0, best[0] + transitions[0, t]
            for u in range(1, label_count):
                candidate = best[u] + transitions[u, t]
                if candidate > value:
                    source, value = u, candidate
            back[i, t] = source
            new[t] = value + emissions[t, symbols[i]]
        best, new = new, best
    best += end
    tags[n - 1] = np.argmax(best)
    for i in range(n - 1, 0, -1):
        tags[i - 1] = back[i, tags[i]]
    return float(best[tags[n - 1]])
