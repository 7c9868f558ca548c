"""Projective trees of a few words with their second-order parts, by enumeration: what the
second-order dynamic programs must agree with.

Written from the definitions alone, and sharing nothing with the package: ``siblings[h][s][d]``,
where s is the modifier of h next to d among those between h and d, or h if there is none;
``grandparents[g][h][d]`` for h > 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from oracles.trees import Heads, all_trees

Part = tuple[int, int, int]


class SecondOrderFacts(NamedTuple):
    """The distribution over trees with probability proportional to exp(score), by enumeration;
    parts that no tree has are absent.
    """

    log_partition: float
    arcs: dict[tuple[int, int], float]
    siblings: dict[Part, float]
    grandparents: dict[Part, float]
    best: float


def sibling_parts(heads: Heads) -> list[Part]:
    """(h, s, d) for each word d."""
    parts = []
    for d in range(1, len(heads)):
        h = heads[d]
        between = [s for s in range(min(h, d) + 1, max(h, d)) if heads[s] == h]
        parts.append((h, min(between, key=lambda s: abs(s - d), default=h), d))
    return parts


def grandparent_parts(heads: Heads) -> list[Part]:
    """(g, h, d) for each word d whose head is not the root."""
    return [(heads[heads[d]], heads[d], d) for d in range(1, len(heads)) if heads[d] > 0]


def second_order_score(arcs: Any, siblings: Any, grandparents: Any, heads: Sequence[int]) -> float:
    """The sum of the scores of a tree's parts; the scores are arrays, ``grandparents`` may be
    None.
    """
    heads = tuple(heads)
    terms = [arcs[heads[d], d] for d in range(1, len(heads))]
    terms += [siblings[part] for part in sibling_parts(heads)]
    if grandparents is not None:
        terms += [grandparents[part] for part in grandparent_parts(heads)]
    return math.fsum(map(float, terms)) if min(terms) > -math.inf else -math.inf


def second_order_facts(
    arcs: Any, siblings: Any, grandparents: Any, single_root: bool
) -> SecondOrderFacts:
    """Log partition, marginals and best score of the projective trees over ``len(arcs) - 1``
    words.
    """
    trees = all_trees(len(arcs) - 1, single_root, True)
    weighed = [(second_order_score(arcs, siblings, grandparents, heads), heads) for heads in trees]
    weighed = [(score, heads) for score, heads in weighed if score > -math.inf]
    if not weighed:
        return SecondOrderFacts(-math.inf, {}, {}, {}, -math.inf)
    best = max(score for score, _ in weighed)
    log_z = best + math.log(math.fsum(math.exp(score - best) for score, _ in weighed))
    of_arcs: Counter[Any] = Counter()
    of_siblings: Counter[Any] = Counter()
    of_grandparents: Counter[Any] = Counter()
    for score, heads in weighed:
        probability = math.exp(score - log_z)
        for d in range(1, len(heads)):
            of_arcs[heads[d], d] += probability  # type: ignore[assignment]
        for part in sibling_parts(heads):
            of_siblings[part] += probability  # type: ignore[assignment]
        for part in grandparent_parts(heads):
            of_grandparents[part] += probability  # type: ignore[assignment]
    return SecondOrderFacts(log_z, dict(of_arcs), dict(of_siblings), dict(of_grandparents), best)
