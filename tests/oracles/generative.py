"""The hidden Markov model and multinomial naive Bayes, counted with dictionaries.

Source: McDonald 2009, "Discriminative versus Generative". Every distribution is (count + lambda) /
(total + lambda * outcomes). Shares nothing with the package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

RARE = "a word seen at most once"


class HiddenMarkov:
    """P(words, tags) = prod_i P(t_i | t_{i-1}) P(x_i | t_i); the first tag is uniform, and
    sentences have no end. Words seen at most once in training are one symbol.
    """

    def __init__(
        self,
        sentences: Sequence[tuple[Sequence[int], Sequence[int]]],
        tag_count: int,
        *,
        emission_smoothing: float,
        transition_smoothing: float,
    ) -> None:
        self.tag_count = tag_count
        self.emission_smoothing = emission_smoothing
        self.transition_smoothing = transition_smoothing
        self.seen = Counter(word for words, _ in sentences for word in words)
        self.emitted: Counter[tuple[int, Hashable]] = Counter()
        self.followed: Counter[tuple[int, int]] = Counter()
        for words, tags in sentences:
            symbols = map(self.symbol, words)
            self.emitted.update(zip(tags, symbols, strict=True))
            self.followed.update(pairwise(tags))
        self.symbol_count = 1 + sum(count > 1 for count in self.seen.values())

    def symbol(self, word: int) -> Hashable:
        """What the model takes a word for."""
        return word if self.seen[word] > 1 else RARE

    def log_joint(self, words: Sequence[int], tags: Sequence[int]) -> float:
        """log P(words, tags) of a sentence, nats."""
        total = -math.log(self.tag_count)
        for word, tag in zip(words, tags, strict=True):
            of_tag = sum(count for (own, _), count in self.emitted.items() if own == tag)
            count = self.emitted[tag, self.symbol(word)]
            smoothing = self.emission_smoothing
            total += math.log((count + smoothing) / (of_tag + smoothing * self.symbol_count))
        for previous, tag in pairwise(tags):
            after = sum(self.followed[previous, other] for other in range(self.tag_count))
            smoothing = self.transition_smoothing
            count = self.followed[previous, tag]
            total += math.log((count + smoothing) / (after + smoothing * self.tag_count))
        return total


def naive_bayes_log_joint(
    examples: Sequence[tuple[Sequence[float], int]],
    label_count: int,
    smoothing: float,
    x: Sequence[float],
) -> list[float]:
    """log P(y) + sum_a x_a log P(a | y) for every label y, nats; x_a counts attribute a."""
    joint = []
    for label in range(label_count):
        own = [values for values, y in examples if y == label]
        total = math.log((len(own) + smoothing) / (len(examples) + smoothing * label_count))
        counts = [sum(values[a] for values in own) + smoothing for a in range(len(x))]
        total += sum(
            x_a * math.log(count / sum(counts)) for x_a, count in zip(x, counts, strict=True)
        )
        joint.append(total)
    return joint
