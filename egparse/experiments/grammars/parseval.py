"""PARSEVAL: precision, recall and F1 of labelled brackets (Black et al. 1991), and the share of
sentences whose brackets are all correct.

A bracket is the label, the start and the end of a phrase; the top and the tags are not counted. A
bracket that occurs several times, as in a chain NP over NP, is to be found as often. Words count
all, also punctuation (evalb leaves it out).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from egparse.experiments.grammars.trees import Tree

Bracket = tuple[str, int, int]


class BracketScores(NamedTuple):
    """Counts over sentences: brackets in both trees, in those found, and in the correct ones;
    sentences, those with the same brackets; words, those with the correct tag.
    """

    common: int
    found: int
    correct: int
    sentences: int
    exact: int
    words: int
    tags: int

    @property
    def precision(self) -> float:
        """In per cent."""
        return 100.0 * self.common / max(1, self.found)

    @property
    def recall(self) -> float:
        """In per cent."""
        return 100.0 * self.common / max(1, self.correct)

    @property
    def f1(self) -> float:
        """In per cent; 100 where neither has any bracket."""
        both = self.found + self.correct
        return 200.0 * self.common / both if both else 100.0

    @property
    def exact_match(self) -> float:
        """In per cent of the sentences."""
        return 100.0 * self.exact / max(1, self.sentences)

    @property
    def tag_accuracy(self) -> float:
        """In per cent of the words."""
        return 100.0 * self.tags / max(1, self.words)


def brackets(tree: Tree) -> Counter[Bracket]:
    """The labelled brackets of a tree, without its top."""
    found: Counter[Bracket] = Counter()

    def walk(node: Tree, start: int, is_top: bool) -> int:
        if node.is_tag:
            return start + 1
        end = start
        for child in node.children:
            end = walk(child, end, False)
        if not is_top:
            found[node.label, start, end] += 1
        return end

    walk(tree, 0, True)
    return found


def score_trees(pairs: Iterable[tuple[Tree, Tree]]) -> BracketScores:
    """The scores of pairs of a correct tree and the one found."""
    totals = [0] * 7
    for correct, found in pairs:
        gold, own = brackets(correct), brackets(found)
        leaves = list(zip(correct.leaves(), found.leaves(), strict=True))
        for place, value in enumerate(
            (
                (gold & own).total(),
                own.total(),
                gold.total(),
                1,
                int(gold == own),
                len(leaves),
                sum(a.label == b.label for a, b in leaves),
            )
        ):
            totals[place] += value
    return BracketScores(*totals)
