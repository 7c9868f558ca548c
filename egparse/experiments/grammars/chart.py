"""Parses of a sentence of n words by rules with one score each: log Z and the expected number of
uses of every rule, and the best parse, in O(n^3 R) time and O(n^2 N) memory.

Words stand between positions 0..n. With i < k < j::

    item [A, i, j]         A derives the words from i to j
    [B, i, k] [C, k, j]    make [A, i, j] by the rule A -> B C
    [B, i, j]              makes [A, i, j] by the rule A -> B, B < A
    word i                 makes [A, i, i + 1] at the score words[i, A]

A parse derives all words from the root, the symbol N - 1. Its score is the sum of the scores of its
rules and words: no part of a parse is listed, only charts are held. Where parts have scores that
depend on their place, they are listed by ``egparse.experiments.grammars.forest``.

The sums are in the log domain. A chart is indexed [A, i, j], so that a sum over the split point k
runs over two contiguous rows, of the chart and of its transposed copy; it is made once for all
rules with the same two children. Probabilities are handed down from the root: an item of
probability m gives m exp(score + inside of the children - inside of the item) to each way of making
it (inside-outside: Baker 1979; the sum of what an item receives is inside times outside over Z).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.experiments.grammars.rules import Rules
from egparse.structures.logsumexp import NEGLIGIBLE, log_add, log_dot
from egparse.types import Floats, Ints, Longs

NO_SPLIT = -1
"""The split point of a unary or lexical rule."""


class Chart(NamedTuple):
    """Buffers for sentences of up to ``n_max`` words, with m = n_max + 1.

    ``inside``, ``inside_t`` (its transposed copy) and ``probability`` are flat, of N m^2 numbers.
    ``narrowest[A, i]`` is the least end of an item of A that starts at i, ``latest[A, j]`` the
    greatest start of one that ends at j, both (N, m): splits outside of these need no look.
    ``stack`` holds the items that the best parse has not expanded yet.
    """

    inside: Floats
    inside_t: Floats
    probability: Floats
    narrowest: Ints
    latest: Ints
    stack: Longs


class Expectations(NamedTuple):
    """log Z, the expected number of uses of every rule of ``Rules``, (R + U + N,), and the
    probability of each tag of each word, (n, N).
    """

    log_partition: float
    counts: Floats
    tags: Floats


class BestParse(NamedTuple):
    """A parse of highest score: rows (start, split, end, rule), parents before their children and
    left before right. Where no parse exists the score is ``-inf`` and there are no rows.
    """

    score: float
    parts: Ints


def chart(rules: Rules, n_max: int) -> Chart:
    """Buffers for sentences of up to ``n_max`` words."""
    m, symbols = n_max + 1, rules.symbols
    inside, inside_t, probability = np.empty((3, symbols * m * m))
    narrowest, latest = np.empty((2, symbols, m), dtype=np.int32)
    return Chart(
        inside, inside_t, probability, narrowest, latest, np.empty((2 * m, 3), dtype=np.int64)
    )


def expectations(rules: Rules, scores: npt.ArrayLike, words: npt.ArrayLike) -> Expectations:
    """Inside-outside for a sentence: ``scores`` (R + U,) of the rules, ``words`` (n, N).

    Raises:
        ValueError: another shape, or nan or +inf.
    """
    by_rule, by_word = checked_scores(rules, scores, words)
    counts, tags = np.zeros(rules.rule_count), np.empty_like(by_word)
    log_z = inside_outside(rules, by_rule, by_word, counts, tags, chart(rules, len(by_word)))
    return Expectations(float(log_z), counts, tags)


def argmax(rules: Rules, scores: npt.ArrayLike, words: npt.ArrayLike) -> BestParse:
    """A parse of highest score, by CKY; ``scores`` (R + U,) of the rules, ``words`` (n, N).

    Raises:
        ValueError: another shape, or nan or +inf.
    """
    by_rule, by_word = checked_scores(rules, scores, words)
    parts = np.empty((most_parts(rules, len(by_word)), 4), dtype=np.int32)
    score, count = cky(rules, by_rule, by_word, parts, chart(rules, len(by_word)))
    return BestParse(float(score), parts[:count].copy())


def checked_scores(
    rules: Rules, scores: npt.ArrayLike, words: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Both as contiguous arrays of float64.

    Raises:
        ValueError: another shape than (R + U,) and (n, N) with n > 0, or nan or +inf.
    """
    by_rule = np.ascontiguousarray(scores, dtype=np.float64)
    by_word = np.ascontiguousarray(words, dtype=np.float64)
    expected = len(rules.binary) + len(rules.unary)
    if by_rule.shape != (expected,):
        raise ValueError(f"rule scores: expected shape ({expected},), got {by_rule.shape}")
    if by_word.ndim != 2 or by_word.shape[1] != rules.symbols or not len(by_word):
        raise ValueError(
            f"word scores: expected shape (n, {rules.symbols}) with n > 0, got {by_word.shape}"
        )
    if not ((by_rule < np.inf).all() and (by_word < np.inf).all()):
        raise ValueError("grammar scores: expected finite numbers or -inf, got nan or +inf")
    return by_rule, by_word


def most_parts(rules: Rules, n: int) -> int:
    """The greatest number of parts of a parse of n words: 2n - 1 binary and lexical rules, each
    below the longest chain of unary ones.
    """
    depth = np.zeros(rules.symbols, dtype=np.int64)
    for parent, child in rules.unary:  # in order of the parent, and children are below
        depth[parent] = max(depth[parent], depth[child] + 1)
    return (2 * n - 1) * (1 + int(depth.max()))


@njit(separate=True)
def inside_outside(
    rules: Rules, scores: Floats, words: Floats, counts: Floats, tags: Floats, work: Chart
) -> float:
    """Add the expected number of uses of each rule to ``counts`` (R + U + N,), write the
    probability of each tag of each word to ``tags`` (n, N), and return log Z.

    Where no parse exists log Z is ``-inf``, nothing is added and all tags are 0. Probabilities
    below 1e-26 count as 0.
    """
    n, symbols = words.shape
    tags[:, :] = 0.0
    _fill(rules, scores, words, False, work)
    m = n + 1
    log_z = work.inside[: symbols * m * m].reshape((symbols, m, m))[symbols - 1, 0, n]
    if log_z > -np.inf:
        _hand_down(rules, scores, words, counts, tags, work)
    return float(log_z)


@njit
def _largest_sum(left: Floats, right: Floats) -> float:
    """The greatest of left + right."""
    largest = -np.inf
    for r in range(left.size):
        largest = max(largest, left[r] + right[r])
    return largest


@njit
def _fill(rules: Rules, scores: Floats, words: Floats, best: bool, work: Chart) -> None:
    """Fill the inside chart: with sums over parses, or, with ``best``, their maxima."""
    n, symbols = words.shape
    m = n + 1
    inside = work.inside[: symbols * m * m].reshape((symbols, m, m))
    inside_t = work.inside_t[: symbols * m * m].reshape((symbols, m, m))
    narrowest, latest = work.narrowest, work.latest
    binary, pair_starts = rules.binary, rules.pair_starts
    unary, unary_starts = rules.unary, rules.unary_starts
    first_unary = binary.shape[0]
    narrowest[:, :m] = m
    latest[:, :m] = -1
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, m):
            for a in range(symbols):
                inside[a, i, j] = words[i, a] if j == i + 1 else -np.inf
            for p in range(pair_starts.size - 1):
                b, c = binary[pair_starts[p], 1], binary[pair_starts[p], 2]
                first, end = max(i + 1, narrowest[b, i]), min(j - 1, latest[c, j]) + 1
                if first >= end:
                    continue
                left, right = inside[b, i, first:end], inside_t[c, j, first:end]
                value = _largest_sum(left, right) if best else log_dot(left, right)
                if value == -np.inf:
                    continue
                # inside[A, i, j] = log sum over A -> B C and k of
                #                   exp(score + inside[B, i, k] + inside[C, k, j])
                for r in range(pair_starts[p], pair_starts[p + 1]):
                    a, own = binary[r, 0], scores[r] + value
                    old = inside[a, i, j]
                    inside[a, i, j] = max(old, own) if best else log_add(old, own)
            for a in range(symbols):
                # ... + exp(score(A -> B) + inside[B, i, j]): children are numbered below
                for u in range(unary_starts[a], unary_starts[a + 1]):
                    old = inside[a, i, j]
                    own = scores[first_unary + u] + inside[unary[u, 1], i, j]
                    inside[a, i, j] = max(old, own) if best else log_add(old, own)
                inside_t[a, j, i] = inside[a, i, j]
                if inside[a, i, j] > -np.inf:
                    narrowest[a, i] = min(narrowest[a, i], j)
                    latest[a, j] = max(latest[a, j], i)


@njit
def _hand_down(
    rules: Rules, scores: Floats, words: Floats, counts: Floats, tags: Floats, work: Chart
) -> None:
    """Write the probability of every item, and add up those of the parts by their rules."""
    n, symbols = words.shape
    m = n + 1
    inside = work.inside[: symbols * m * m].reshape((symbols, m, m))
    inside_t = work.inside_t[: symbols * m * m].reshape((symbols, m, m))
    probability = work.probability[: symbols * m * m].reshape((symbols, m, m))
    probability[:, :, :] = 0.0
    probability[symbols - 1, 0, n] = 1.0
    narrowest, latest = work.narrowest, work.latest
    binary, pair_starts = rules.binary, rules.pair_starts
    unary, unary_starts = rules.unary, rules.unary_starts
    first_unary = binary.shape[0]
    first_word = first_unary + unary.shape[0]
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            for a in range(symbols - 1, -1, -1):
                mass = probability[a, i, j]
                if mass == 0.0:
                    continue
                for u in range(unary_starts[a], unary_starts[a + 1]):
                    b = unary[u, 1]
                    own = scores[first_unary + u] + inside[b, i, j] - inside[a, i, j]
                    share = mass * math.exp(own)
                    probability[b, i, j] += share
                    counts[first_unary + u] += share
                if length == 1:
                    share = mass * math.exp(words[i, a] - inside[a, i, j])
                    tags[i, a] = share
                    counts[first_word + a] += share
            for p in range(pair_starts.size - 1):
                b, c = binary[pair_starts[p], 1], binary[pair_starts[p], 2]
                first, end = max(i + 1, narrowest[b, i]), min(j - 1, latest[c, j]) + 1
                if first >= end:
                    continue
                # the logarithm of the sum over A -> B C of m(A) exp(score - inside[A, i, j])
                factor = -np.inf
                for r in range(pair_starts[p], pair_starts[p + 1]):
                    factor = log_add(factor, _share(r, i, j, binary, scores, inside, probability))
                if factor == -np.inf:
                    continue
                handed = 0.0
                for k in range(first, end):
                    own = factor + inside[b, i, k] + inside_t[c, j, k]
                    if own > NEGLIGIBLE:
                        share = math.exp(own)
                        probability[b, i, k] += share
                        probability[c, k, j] += share
                        handed += share
                for r in range(pair_starts[p], pair_starts[p + 1]):
                    own = _share(r, i, j, binary, scores, inside, probability)
                    if own - factor > NEGLIGIBLE:
                        counts[r] += handed * math.exp(own - factor)


@njit
def _share(
    r: int, i: int, j: int, binary: Ints, scores: Floats, inside: Floats, probability: Floats
) -> float:
    """log(m(A)) + score - inside[A, i, j] for the parent A of the rule r."""
    a = binary[r, 0]
    mass = probability[a, i, j]
    return math.log(mass) + scores[r] - inside[a, i, j] if mass > 0.0 else -np.inf


@njit(separate=True)
def cky(rules: Rules, scores: Floats, words: Floats, parts: Ints, work: Chart) -> tuple[float, int]:
    """Write the rows (start, split, end, rule) of a best parse to ``parts``; returns its score and
    their number, ``-inf`` and 0 where no parse exists.

    The rules and splits of the best items are not stored but searched again for the parse.
    """
    n, symbols = words.shape
    m = n + 1
    _fill(rules, scores, words, True, work)
    inside = work.inside[: symbols * m * m].reshape((symbols, m, m))
    score = inside[symbols - 1, 0, n]
    if score == -np.inf:
        return -np.inf, 0
    stack = work.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = symbols - 1, 0, n
    top, count = 1, 0
    while top > 0:
        top -= 1
        a, i, j = stack[top, 0], stack[top, 1], stack[top, 2]
        rule, split = _best_rule(rules, scores, words, inside, a, i, j)
        parts[count, 0], parts[count, 1], parts[count, 2], parts[count, 3] = i, split, j, rule
        count += 1
        if rule < rules.binary.shape[0]:
            stack[top, 0], stack[top, 1], stack[top, 2] = rules.binary[rule, 2], split, j
            stack[top + 1, 0], stack[top + 1, 1] = rules.binary[rule, 1], i
            stack[top + 1, 2] = split
            top += 2
        elif rule < rules.binary.shape[0] + rules.unary.shape[0]:
            child = rules.unary[rule - rules.binary.shape[0], 1]
            stack[top, 0], stack[top, 1], stack[top, 2] = child, i, j
            top += 1
    return float(score), count


@njit
def _best_rule(
    rules: Rules, scores: Floats, words: Floats, inside: Floats, a: int, i: int, j: int
) -> tuple[int, int]:
    """The rule that makes the item [A, i, j] best, and its split point."""
    binary, unary = rules.binary, rules.unary
    first_unary = binary.shape[0]
    best, rule, split = -np.inf, first_unary + unary.shape[0] + a, NO_SPLIT
    if j == i + 1:
        best = words[i, a]
    for u in range(rules.unary_starts[a], rules.unary_starts[a + 1]):
        own = scores[first_unary + u] + inside[unary[u, 1], i, j]
        if own > best:
            best, rule, split = own, first_unary + u, NO_SPLIT
    for place in range(rules.parent_starts[a], rules.parent_starts[a + 1]):
        r = rules.by_parent[place]
        for k in range(i + 1, j):
            own = scores[r] + inside[binary[r, 1], i, k] + inside[binary[r, 2], k, j]
            if own > best:
                best, rule, split = own, r, k
    return int(rule), int(split)
