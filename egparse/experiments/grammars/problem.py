"""The training problem of a log-linear grammar: hashed features of the parts of parse forests.

    p(y | x) = exp(sum over the parts r of y of s_r) / Z(x),      s_r = w . f(x, r)

over the parses y of the words x (Collins et al. 2008, section 4; McDonald 2009, p. "Factor the
feature representations"). The cost of a parse is half the number of constituents (tags among them)
that only one of it and the correct parse has: a wrong tag costs 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.grammars.binarisation import Node
from egparse.experiments.grammars.features import (
    MOST_FEATURES,
    Grouping,
    Signatures,
    Values,
    add_parts,
    score_parts,
)
from egparse.experiments.grammars.forest import Forest, parse_forest
from egparse.experiments.grammars.forest_inference import (
    best_parse,
    inside_outside,
    k_best,
    workspace,
)
from egparse.experiments.grammars.grammar import Anchored, Grammar
from egparse.experiments.grammars.lexicon import Lexicon
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs, Mask, Singles


class Encoder:
    """Makes forests and values of sentences, for training and for parsing."""

    def __init__(
        self, grammar: Grammar, lexicon: Lexicon, shapes: Signatures, *, anchored: bool
    ) -> None:
        self.grammar, self.lexicon, self._shapes = grammar, lexicon, shapes
        first_word = len(grammar.rules.binary) + len(grammar.rules.unary)
        self.grouping = Grouping(grammar.tags, first_word, anchored)

    def forest(self, words: Sequence[str]) -> Forest:
        """All parses of the words, with the tags that their types have in the lexicon."""
        allowed: Mask = np.zeros((len(words), len(self.grammar.symbols)), dtype=np.bool_)
        allowed[:, : self.grammar.tags] = self.lexicon.counts[self.lexicon.numbers(words)] > 0
        return parse_forest(self.grammar.rules, allowed)

    def values(self, words: Sequence[str]) -> Values:
        """What features see of the words."""
        return self._shapes.values(words, self.lexicon)

    def places(self, forest: Forest, node: Node) -> Longs:
        """The parts of the forest that a binarised tree has.

        Raises:
            EgparseError: a part that is not in the forest.
        """
        wanted = set(self.grammar.parts(node))
        spans = {(i, j) for i, _, j, _ in wanted}
        found = [
            r
            for t, (i, j, _) in enumerate(forest.items.tolist())
            if (i, j) in spans
            for r in range(forest.part_starts[t], forest.part_starts[t + 1])
            if anchored_part(forest, i, j, r) in wanted
        ]
        if len(found) < len(wanted):
            raise EgparseError("expected a tree of the forest, got one with other tags or rules")
        return np.array(found, dtype=np.int64)


def anchored_part(forest: Forest, i: int, j: int, r: int) -> Anchored:
    """Part r, of an item from i to j, as start, split, end and rule."""
    below = forest.left[r]
    end = int(forest.items[below, 1]) if below < len(forest.items) else j
    return i, end if end < j else -1, j, int(forest.rule[r])


def chosen_parts(forest: Forest, chosen: Floats) -> list[Anchored]:
    """The parts marked by one in ``chosen`` (parts,)."""
    parts = np.flatnonzero(chosen)
    items = np.searchsorted(forest.part_starts, parts, side="right") - 1
    return [
        anchored_part(forest, int(forest.items[t, 0]), int(forest.items[t, 1]), int(r))
        for t, r in zip(items, parts, strict=True)
    ]


class GrammarProblem(Problem):
    """Sentence i has the forest ``forests[i]`` and the correct binarised tree ``nodes[i]``.

    Raises:
        EgparseError: a tree that is not in its forest.
    """

    def __init__(self, encoder: Encoder, nodes: Sequence[Node], bits: int) -> None:
        self.encoder = encoder
        self.weights: Singles = np.zeros(1 << bits, dtype=np.float32)
        words = [_words(node) for node in nodes]
        self._forests = [encoder.forest(own) for own in words]
        self._values = [encoder.values(own) for own in words]
        correct = [
            encoder.places(forest, node) for forest, node in zip(self._forests, nodes, strict=True)
        ]
        sizes = [forest.parts for forest in self._forests]
        self.part_starts: Longs = np.cumsum([0, *sizes], dtype=np.int64)
        self._gold = np.zeros(self.part_starts[-1])
        for start, places in zip(self.part_starts, correct, strict=False):
            self._gold[start + places] = 1.0
        longest = max(sizes, default=1)
        self._scores, self._cost = np.empty((2, longest))
        self._indices = np.empty(MOST_FEATURES, dtype=np.uint32)
        items = max((len(forest.items) for forest in self._forests), default=1)
        self._work = workspace(items, longest)

    def gold(self, i: int) -> Floats:
        """One on the parts of the correct parse."""
        return self._gold[self.part_starts[i] : self.part_starts[i + 1]]

    def cost(self, i: int) -> Floats:
        """Minus one half on every part of a constituent of the correct parse, one half on every
        other part.
        """
        starts = self._forests[i].part_starts
        right = np.add.reduceat(self.gold(i), starts[:-1])
        out = self._cost[: len(self.gold(i))]
        out[:] = np.repeat(0.5 - right, np.diff(starts))
        return out

    def cost_constant(self, i: int) -> float:
        """Half the number of constituents of the correct parse."""
        return 0.5 * float(self.gold(i).sum())

    def scores(self, i: int) -> Floats:
        """The score of each part."""
        out = self._scores[: self._forests[i].parts]
        score_parts(
            self._forests[i],
            self._values[i],
            self.encoder.grouping,
            self.weights,
            self._indices,
            out,
        )
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Inside-outside."""
        return float(inside_outside(self._forests[i], potentials, out, self._work))

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """The best parse, by CKY over the forest."""
        return float(best_parse(self._forests[i], potentials, out, self._work))

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Up to k best parses, (parses, parts), best first."""
        return np.array([each.parts for each in k_best(self._forests[i], potentials, k)])

    def add(self, i: int, changes: Floats) -> float:
        """Add changes, times the features of the parts, to v; returns the change of |v|^2."""
        return float(
            add_parts(
                self._forests[i],
                self._values[i],
                self.encoder.grouping,
                changes,
                self.weights,
                self._indices,
            )
        )

    def reset(self) -> None:
        """All weights to zero."""
        self.weights[:] = 0.0

    def vectors(self) -> tuple[Singles]:
        """The hashed table."""
        return (self.weights,)

    def with_own_weights(self) -> GrammarProblem:
        """The same sentences with a separate table of weights."""
        other = copy(self)
        other.weights = np.zeros_like(self.weights)
        return other


def _words(node: Node) -> list[str]:
    return [node.word] if not node.children else [w for c in node.children for w in _words(c)]
