"""Every label sequence of a few words, by enumeration: what the chain algorithms must agree with.

Word k has candidate labels ``labels[k]``, scored by ``unary[k]`` in the same order;
``transitions[previous][next]`` is indexed by label. A sequence scores the sum of both; ``-inf``
forbids. Shares nothing with the package.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple


class SequenceFacts(NamedTuple):
    """The distribution over sequences with probability proportional to exp(score), by
    enumeration.
    """

    log_partition: float
    unary: list[list[float]]
    """Marginals, shaped like the unary scores."""
    transitions: list[list[float]]
    """Expected counts of transitions, [previous][next]."""
    ranked: list[float]
    """Scores of all sequences above -inf, best first; ``ranked[:k]`` are those of the k best."""

    @property
    def best(self) -> float:
        """The highest score; -inf if every sequence is forbidden."""
        return self.ranked[0] if self.ranked else -math.inf


def sequence_score(
    choice: Sequence[int],
    unary: Sequence[Sequence[float]],
    labels: Sequence[Sequence[int]],
    transitions: Sequence[Sequence[float]],
) -> float:
    """The score of the sequence whose word k takes its candidate number ``choice[k]``."""
    chosen = [candidates[place] for candidates, place in zip(labels, choice, strict=True)]
    total = sum(scores[place] for scores, place in zip(unary, choice, strict=True))
    return total + sum(
        transitions[previous][following] for previous, following in itertools.pairwise(chosen)
    )


def sequence_facts(
    unary: Sequence[Sequence[float]],
    labels: Sequence[Sequence[int]],
    transitions: Sequence[Sequence[float]],
) -> SequenceFacts:
    """Log partition, marginals, expected transition counts and all scores."""
    weighed = []
    for choice in itertools.product(*[range(len(candidates)) for candidates in labels]):
        score = sequence_score(choice, unary, labels, transitions)
        if score > -math.inf:
            weighed.append((score, choice))
    unary_marginals = [[0.0] * len(candidates) for candidates in labels]
    counts = [[0.0] * len(row) for row in transitions]
    if not weighed:
        return SequenceFacts(-math.inf, unary_marginals, counts, [])
    best = max(score for score, _ in weighed)
    log_z = best + math.log(math.fsum(math.exp(score - best) for score, _ in weighed))
    for score, choice in weighed:
        probability = math.exp(score - log_z)
        for word, place in enumerate(choice):
            unary_marginals[word][place] += probability
        chosen = [candidates[place] for candidates, place in zip(labels, choice, strict=True)]
        for previous, following in itertools.pairwise(chosen):
            counts[previous][following] += probability
    ranked = sorted((score for score, _ in weighed), reverse=True)
    return SequenceFacts(log_z, unary_marginals, counts, ranked)
