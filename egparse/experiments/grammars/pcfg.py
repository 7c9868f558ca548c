"""Probabilistic context-free grammars: estimated by counting, improved by EM, and sampled.

A rule A -> alpha has the probability p(alpha | A), a word p(type | tag); those of each parent sum
to one. A parse has the product of the probabilities of its rules and words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from egparse.experiments.grammars.binarisation import Node, tree_of
from egparse.experiments.grammars.chart import argmax, chart, inside_outside
from egparse.experiments.grammars.grammar import Grammar
from egparse.experiments.grammars.lexicon import Lexicon
from egparse.experiments.grammars.trees import ROOT, Tree
from egparse.types import Floats


class Pcfg(NamedTuple):
    """``rule_scores`` (R + U,) and ``word_scores`` (types, T) are logarithms of probabilities."""

    grammar: Grammar
    lexicon: Lexicon
    rule_scores: Floats
    word_scores: Floats

    def words(self, words: Sequence[str]) -> Floats:
        """The score of each word under each symbol, (n, N); ``-inf`` for what is no tag."""
        found = np.full((len(words), len(self.grammar.symbols)), -np.inf)
        found[:, : self.grammar.tags] = self.word_scores[self.lexicon.numbers(words)]
        return found

    def parse(self, words: Sequence[str]) -> Tree | None:
        """The most probable tree; None where the grammar has none."""
        found = argmax(self.grammar.rules, self.rule_scores, self.words(words))
        if not len(found.parts):
            return None
        return tree_of(self.grammar.tree(map(tuple, found.parts.tolist()), list(words)))

    def log_probability(self, node: Node) -> float:
        """log p of a binarised tree, with types for words.

        Raises:
            EgparseError: a rule that the grammar does not have.
        """
        by_rule = [rule for *_, rule in self.grammar.parts(node) if rule < len(self.rule_scores)]
        total = float(self.rule_scores[by_rule].sum())
        leaves = list(tree_of(node).leaves())
        types = self.lexicon.numbers([leaf.word for leaf in leaves])
        tags = [symbol.labels[0] for symbol in self.grammar.symbols[: self.grammar.tags]]
        numbers = [tags.index(leaf.label) for leaf in leaves]
        return total + float(self.word_scores[types, numbers].sum())


def estimate(grammar: Grammar, lexicon: Lexicon) -> Pcfg:
    """The probabilities that make the counted trees most probable: relative frequencies."""
    return Pcfg(
        grammar,
        lexicon,
        relative_frequencies(grammar, grammar.counts),
        lexicon.log_probabilities(),
    )


def relative_frequencies(grammar: Grammar, counts: Floats) -> Floats:
    """log(count / the sum of the counts of rules with the same parent), (R + U,)."""
    parents = np.concatenate([grammar.rules.binary[:, 0], grammar.rules.unary[:, 0]])
    totals = np.bincount(parents, weights=counts, minlength=len(grammar.symbols))[parents]
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(counts > 0, np.log(counts / totals), -np.inf)
    return found


class EmStep(NamedTuple):
    """A grammar after a step of EM, and the log-likelihood of the sentences before it: the sum over
    those that have a parse, which are ``parsed``.
    """

    pcfg: Pcfg
    log_likelihood: float
    parsed: int


def em_step(pcfg: Pcfg, sentences: Iterable[Sequence[str]]) -> EmStep:
    """A step of expectation and maximisation on sentences without trees (Baker 1979; Dempster et
    al. 1977): expected counts by inside-outside, then relative frequencies. The likelihood never
    falls.

    A symbol that is expected nowhere keeps its probabilities.
    """
    rules, tags = pcfg.grammar.rules, pcfg.grammar.tags
    counts, by_word = np.zeros(rules.rule_count), np.zeros_like(pcfg.lexicon.counts)
    total, parsed, buffers = 0.0, 0, None
    for words in sentences:
        if buffers is None or len(words) > buffers[0]:
            buffers = (len(words), chart(rules, len(words)))
        found = np.empty((len(words), rules.symbols))
        log_z = inside_outside(
            rules, pcfg.rule_scores, pcfg.words(words), counts, found, buffers[1]
        )
        if log_z > -np.inf:
            total += log_z
            parsed += 1
            np.add.at(by_word, pcfg.lexicon.numbers(words), found[:, :tags])
    own = relative_frequencies(pcfg.grammar, counts[: len(pcfg.rule_scores)])
    parents = np.concatenate([rules.binary[:, 0], rules.unary[:, 0]])
    used = np.bincount(parents, weights=np.exp(own), minlength=rules.symbols)[parents] > 0
    lexicon = pcfg.lexicon.with_counts(by_word)
    tag_used = by_word.sum(axis=0) > 0
    return EmStep(
        Pcfg(
            pcfg.grammar,
            lexicon,
            np.where(used, own, pcfg.rule_scores),
            np.where(tag_used, lexicon.log_probabilities(), pcfg.word_scores),
        ),
        total,
        parsed,
    )


def sample_tree(pcfg: Pcfg, random: np.random.Generator) -> Tree:
    """A tree drawn from the distribution of the grammar; its words are the names of types. The
    grammar must expect finite trees.
    """
    grammar, rules = pcfg.grammar, pcfg.grammar.rules
    first_unary = len(rules.binary)
    names = list(pcfg.lexicon.types)

    def node(symbol: int) -> Node:
        own = grammar.symbols[symbol]
        if symbol < grammar.tags:
            number = random.choice(len(names), p=np.exp(pcfg.word_scores[:, symbol]))
            return Node(own, (), names[number])
        numbers = [
            *rules.by_parent[rules.parent_starts[symbol] : rules.parent_starts[symbol + 1]],
            *range(
                first_unary + rules.unary_starts[symbol],
                first_unary + rules.unary_starts[symbol + 1],
            ),
        ]
        rule = random.choice(numbers, p=np.exp(pcfg.rule_scores[numbers]))
        below = (
            rules.binary[rule, 1:] if rule < first_unary else rules.unary[rule - first_unary, 1:]
        )
        return Node(own, tuple(node(int(child)) for child in below))

    return tree_of(node(len(grammar.symbols) - 1))


def flat(words: Sequence[str], tag: str) -> Tree:
    """What stands for the parse of a sentence that has none: no phrases, one tag for all words."""
    return Tree(ROOT, tuple(Tree(tag, (), word) for word in words))
