"""Every parse of a few words by a context-free grammar, by enumeration: what the chart and the
forest must agree with.

Written from the definition of a derivation alone, sharing nothing with the package. Words stand
between positions 0..n. A rule is a tuple of symbols, the parent first: (A, B, C), (A, B), or (A,)
for A -> word. A part is (start, split, end, rule); the split of a rule with fewer than two children
is -1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

Rule = tuple[int, ...]
Part = tuple[int, int, int, Rule]
Parse = tuple[Part, ...]


class ParseFacts(NamedTuple):
    """The distribution over parses with probability proportional to exp(score), by enumeration."""

    log_partition: float
    marginals: dict[Part, float]
    ranked: list[float]
    """Scores of all parses above -inf, best first."""


def all_parses(
    rules: Collection[Rule], tags: Sequence[Collection[int]], root: int
) -> Iterator[Parse]:
    """Every derivation of the words from the root; ``tags`` are the symbols that may stand above
    each word.
    """
    return _derivations(tuple(rules), tags, root, 0, len(tags))


def _derivations(
    rules: Sequence[Rule], tags: Sequence[Collection[int]], symbol: int, start: int, end: int
) -> Iterator[Parse]:
    if end == start + 1 and symbol in tags[start]:
        yield ((start, -1, end, (symbol,)),)
    for rule in rules:
        if rule[0] != symbol:
            continue
        if len(rule) == 2:
            for below in _derivations(rules, tags, rule[1], start, end):
                yield ((start, -1, end, rule), *below)
            continue
        for split in range(start + 1, end):
            for left, right in itertools.product(
                list(_derivations(rules, tags, rule[1], start, split)),
                list(_derivations(rules, tags, rule[2], split, end)),
            ):
                yield ((start, split, end, rule), *left, *right)


def parse_score(parse: Parse, score: Callable[[Part], float]) -> float:
    """The sum of the scores of its parts."""
    return math.fsum(score(part) for part in parse)


def parse_facts(parses: Sequence[Parse], score: Callable[[Part], float]) -> ParseFacts:
    """Log partition, marginals and all scores."""
    weighed = [(parse_score(parse, score), parse) for parse in parses]
    weighed = [(value, parse) for value, parse in weighed if value > -math.inf]
    if not weighed:
        return ParseFacts(-math.inf, {}, [])
    best = max(value for value, _ in weighed)
    log_z = best + math.log(math.fsum(math.exp(value - best) for value, _ in weighed))
    marginals: dict[Part, float] = {}
    for value, parse in weighed:
        for part in parse:
            marginals[part] = marginals.get(part, 0.0) + math.exp(value - log_z)
    return ParseFacts(log_z, marginals, sorted((value for value, _ in weighed), reverse=True))
