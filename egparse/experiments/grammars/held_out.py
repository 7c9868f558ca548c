"""What a model finds in sentences that it was not trained on: trees, the best of k trees, and the
probability of the correct tree.

All models are rated over the same parse forests, those of the grammar; they differ in the scores of
parts. A sentence without any parse counts as one without phrases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.grammars.binarisation import Binarisation, tree_of
from egparse.experiments.grammars.features import MOST_FEATURES, Values, score_parts
from egparse.experiments.grammars.forest import Forest
from egparse.experiments.grammars.forest_inference import argmax, k_best, marginals
from egparse.experiments.grammars.parseval import BracketScores, score_trees
from egparse.experiments.grammars.pcfg import Pcfg, flat
from egparse.experiments.grammars.problem import Encoder, chosen_parts
from egparse.experiments.grammars.trees import Tree
from egparse.types import Floats, Ints, Longs, Singles

Scorer = Callable[[int], Floats]
"""The scores of the parts of sentence i."""


class Likelihood(NamedTuple):
    """The mean of log p(correct tree | words) in nats a sentence, over the sentences whose correct
    tree the grammar has, and the number of these.
    """

    mean: float
    sentences: int


class HeldOut:
    """Trees with their forests."""

    def __init__(self, encoder: Encoder, trees: Sequence[Tree]) -> None:
        self.trees, self._encoder = trees, encoder
        self._words = [tree.words() for tree in trees]
        self._forests: list[Forest] = [encoder.forest(words) for words in self._words]
        self._values: list[Values] = [encoder.values(words) for words in self._words]
        self._types: list[Ints] = [encoder.lexicon.numbers(words) for words in self._words]
        self._tag = encoder.grammar.symbols[0].labels[0]

    @property
    def without_parse(self) -> int:
        """The number of sentences that the grammar does not cover."""
        return sum(not len(forest.items) for forest in self._forests)

    def by_weights(self, weights: Singles) -> Scorer:
        """The scores of a log-linear grammar."""
        indices = np.empty(MOST_FEATURES, dtype=np.uint32)

        def score(i: int) -> Floats:
            out = np.empty(self._forests[i].parts)
            score_parts(
                self._forests[i], self._values[i], self._encoder.grouping, weights, indices, out
            )
            return out

        return score

    def by_probability(self, pcfg: Pcfg) -> Scorer:
        """The logarithms of the probabilities of a grammar with the same rules."""
        first_word = len(pcfg.rule_scores)

        def score(i: int) -> Floats:
            forest = self._forests[i]
            starts = np.repeat(forest.items[:, 0], np.diff(forest.part_starts))
            lexical = forest.rule >= first_word
            out = np.empty(forest.parts)
            out[~lexical] = pcfg.rule_scores[forest.rule[~lexical]]
            types = self._types[i][starts[lexical]]
            out[lexical] = pcfg.word_scores[types, forest.rule[lexical] - first_word]
            return out

        return score

    def parse(self, i: int, scores: Scorer) -> Tree:
        """The best tree of sentence i."""
        best = argmax(self._forests[i], scores(i))
        return (
            self._tree(i, best.parts) if best.score > -np.inf else flat(self._words[i], self._tag)
        )

    def rate(self, scores: Scorer) -> BracketScores:
        """PARSEVAL of the best trees."""
        return score_trees((tree, self.parse(i, scores)) for i, tree in enumerate(self.trees))

    def outcomes(self, scores: Scorer) -> Longs:
        """(common, correct, found) brackets of each sentence, (sentences, 3)."""
        own = [score_trees([(tree, self.parse(i, scores))]) for i, tree in enumerate(self.trees)]
        return np.array([[each.common, each.correct, each.found] for each in own], dtype=np.int64)

    def oracle(self, scores: Scorer, sizes: Sequence[int], sentences: int) -> list[float]:
        """F1 of the best of the first k trees of each list, for each k, of the first sentences."""
        totals = np.zeros((len(sizes), 3))
        for i, tree in enumerate(self.trees[:sentences]):
            found = k_best(self._forests[i], scores(i), max(sizes))
            ranked = [self._tree(i, each.parts) for each in found]
            ranked = ranked or [flat(self._words[i], self._tag)]
            own = [score_trees([(tree, each)]) for each in ranked]
            for place, size in enumerate(sizes):
                best = max(own[:size], key=lambda each: each.f1)
                totals[place] += best.common, best.found, best.correct
        return [float(200.0 * common / max(1.0, a + b)) for common, a, b in totals]

    def likelihood(self, scores: Scorer, binarisation: Binarisation) -> Likelihood:
        """The conditional log-likelihood of the correct trees."""
        values = []
        for i, tree in enumerate(self.trees):
            try:
                places = self._encoder.places(self._forests[i], binarisation.binarised(tree))
            except EgparseError:  # a rule or a tag that training has not seen
                continue
            own = scores(i)
            log_z, _ = marginals(self._forests[i], own)
            values.append(float(own[places].sum()) - log_z)
        return Likelihood(float(np.mean(values)) if values else float("nan"), len(values))

    def _tree(self, i: int, chosen: Floats) -> Tree:
        parts = chosen_parts(self._forests[i], chosen)
        return tree_of(self._encoder.grammar.tree(parts, self._words[i]))
