"""Word classes by the definitions of Brown et al. (1992), slowly: what learning must agree with.

Shares nothing with the package. A text is a list of runs of words; ``None`` stands between them, at
the beginning and at the end. ``classes`` maps each word to its class; words that it lacks are one
class of one word together, and so is ``None``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

OTHER = "other words"

Runs = Sequence[Sequence[str]]


def neighbours(runs: Runs, classes: Mapping[str, object]) -> list[tuple[str | None, str | None]]:
    """Each pair of neighbours of the text, with words that have no class as ``OTHER``."""
    line: list[str | None] = [None]
    for run in runs:
        if run:
            line += [word if word in classes else OTHER for word in run]
            line.append(None)
    return list(pairwise(line))


def log_likelihood(runs: Runs, classes: Mapping[str, object]) -> float:
    """The sum over the text of log p(w | class of w) p(class of w | class of the word before)."""
    pairs = neighbours(runs, classes)

    def class_of(word: str | None) -> object:
        return ("class", classes[word]) if word in classes else word

    words = Counter(right for _, right in pairs)
    sizes = Counter(class_of(right) for _, right in pairs)
    left = Counter(class_of(word) for word, _ in pairs)
    bigrams = Counter((class_of(a), class_of(b)) for a, b in pairs)
    return math.fsum(
        math.log(words[b] / sizes[class_of(b)])
        + math.log(bigrams[class_of(a), class_of(b)] / left[class_of(a)])
        for a, b in pairs
    )


def merge(classes: Mapping[str, int], kept: int, removed: int) -> dict[str, int]:
    """The classes after a merge."""
    return {word: kept if c == removed else c for word, c in classes.items()}


def best_merge(runs: Runs, classes: Mapping[str, int]) -> tuple[float, list[tuple[int, int]]]:
    """The greatest log likelihood after a merge of two classes, and all pairs that reach it but for
    rounding.
    """
    values = {
        pair: log_likelihood(runs, merge(classes, *pair))
        for pair in combinations(sorted(set(classes.values())), 2)
    }
    best = max(values.values())
    return best, [pair for pair, value in values.items() if value > best - 1e-9]


def brown_classes(runs: Runs, words: Sequence[str], number: int) -> dict[str, int]:
    """Brown's greedy algorithm (section 3): each word in a class of its own, then the merge that
    loses least, until ``number`` classes are left.
    """
    classes = {word: k for k, word in enumerate(words)}
    while len(set(classes.values())) > number:
        _, pairs = best_merge(runs, classes)
        classes = merge(classes, *pairs[0])
    return classes


def partitions(words: Sequence[str], number: int) -> Iterator[dict[str, int]]:
    """Every way to put words into at most ``number`` classes that are numbered as they are met."""

    def extended(classes: dict[str, int], left: Sequence[str]) -> Iterator[dict[str, int]]:
        if not left:
            yield classes
            return
        for c in range(min(number, len(set(classes.values())) + 1)):
            yield from extended({**classes, left[0]: c}, left[1:])

    yield from extended({}, words)
