"""Every dependency tree of a few words, by enumeration: what the tree algorithms must agree with.

Written from the definitions alone, with itertools, and sharing nothing with the package.
Conventions: words 1..n, the root at 0, ``heads[dependent]`` with ``heads[0] == -1``,
``scores[head][dependent]``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

Heads = tuple[int, ...]


class TreeFacts(NamedTuple):
    """The distribution over trees with probability proportional to exp(score), by enumeration."""

    log_partition: float
    marginals: list[list[float]]
    ranked: list[float]
    """Scores of all trees above -inf, best first."""


def is_tree(heads: Sequence[int]) -> bool:
    """Whether every word reaches position 0 by following heads."""
    if heads[0] != -1:
        return False
    for word in range(1, len(heads)):
        place, steps = word, 0
        while place > 0 and steps <= len(heads):
            place, steps = heads[place], steps + 1
        if place != 0:
            return False
    return True


def is_single_rooted(heads: Sequence[int]) -> bool:
    """Whether exactly one word hangs from position 0."""
    return list(heads).count(0) == 1


def is_projective(heads: Sequence[int]) -> bool:
    """Whether every word between a head and its dependent descends from the head."""
    for dependent in range(1, len(heads)):
        head = heads[dependent]
        for word in range(min(head, dependent) + 1, max(head, dependent)):
            place = word
            while place not in (head, -1):
                place = heads[place]
            if place == -1:
                return False
    return True


@cache
def all_trees(n: int, single_root: bool, projective: bool) -> tuple[Heads, ...]:
    """Every tree over n words of the given kind."""
    candidates = (
        (-1, *heads)
        for heads in itertools.product(
            *[[h for h in range(n + 1) if h != d] for d in range(1, n + 1)]
        )
    )
    return tuple(
        heads
        for heads in candidates
        if is_tree(heads)
        and (not single_root or is_single_rooted(heads))
        and (not projective or is_projective(heads))
    )


def tree_score(scores: Sequence[Sequence[float]], heads: Sequence[int]) -> float:
    """The sum of the scores of a tree's arcs."""
    return math.fsum(scores[heads[d]][d] for d in range(1, len(heads)))


def tree_facts(scores: Sequence[Sequence[float]], single_root: bool, projective: bool) -> TreeFacts:
    """Log partition, marginals and all scores of the trees over ``len(scores) - 1`` words."""
    size = len(scores)
    weighed = [
        (tree_score(scores, heads), heads) for heads in all_trees(size - 1, single_root, projective)
    ]
    weighed = [(score, heads) for score, heads in weighed if score > -math.inf]
    marginals = [[0.0] * size for _ in range(size)]
    if not weighed:
        return TreeFacts(-math.inf, marginals, [])
    best = max(score for score, _ in weighed)
    log_z = best + math.log(math.fsum(math.exp(score - best) for score, _ in weighed))
    for score, heads in weighed:
        for dependent in range(1, size):
            marginals[heads[dependent]][dependent] += math.exp(score - log_z)
    return TreeFacts(log_z, marginals, sorted((score for score, _ in weighed), reverse=True))
