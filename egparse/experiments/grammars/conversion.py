"""Phrase-structure trees made of dependency trees: there is no phrase-structure treebank that
everybody has.

Each word with dependents heads a phrase that holds the word and the phrases of its dependents, in
order; a word without dependents is only a tag. A phrase is labelled by the UPOS of its head and
``P`` (*NOUNP*), with ``functions`` also by the dependency label of the head (*NOUNP-nsubj*). The
top is ``ROOT``. So phrases are flat: a verb, its subject and its objects are sisters.

A non-projective tree has no such phrases. Its arcs are lifted, the shortest first, to the head of
the head until none is left (Nivre and Nilsson 2005, "Pseudo-projective dependency parsing").
"""

from __future__ import annotations

from collections.abc import Sequence

from egparse.errors import EgparseError
from egparse.experiments.grammars.trees import ROOT, Tree
from egparse.sentences import MISSING, Sentence


def phrase_tree(sentence: Sentence, *, functions: bool = False) -> Tree:
    """The phrases of a sentence with UPOS tags and heads.

    Raises:
        EgparseError: a word without a tag or a head, or heads that form no tree.
    """
    heads, upos = list(sentence.heads or ()), list(sentence.upos or ())
    if not heads or min(heads) < 0 or not upos or MISSING in upos:
        raise EgparseError(
            "expected a tag and a head for every word, got none in: " + " ".join(sentence.forms[:8])
        )
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for dependent, head in enumerate(lifted(heads), 1):
        below[head].append(dependent)

    def phrase(word: int) -> Tree:
        tag = Tree(upos[word - 1], (), sentence.forms[word - 1])
        if not below[word]:
            return tag
        label = f"{upos[word - 1]}P"
        if functions and sentence.deprels:
            label += f"-{sentence.deprels[word - 1].partition(':')[0]}"
        return Tree(
            label, tuple(tag if d == word else phrase(d) for d in sorted([word, *below[word]]))
        )

    return Tree(ROOT, tuple(map(phrase, below[0])))


def lifted(heads: Sequence[int]) -> list[int]:
    """The heads of a projective tree: those given, with as many arcs lifted as need be. Words count
    from 1, 0 is the root.

    Raises:
        EgparseError: heads that form no tree.
    """
    moved = [0, *heads]
    for word in range(1, len(moved)):
        place, steps = word, 0
        while place and steps <= len(heads):
            place, steps = moved[place], steps + 1
        if place:
            raise EgparseError(f"expected heads that form a tree, got {list(heads)}")
    while True:
        crossing = [word for word in range(1, len(moved)) if not _projective(moved, word)]
        if not crossing:
            return moved[1:]
        word = min(crossing, key=lambda word: (abs(word - moved[word]), word))
        moved[word] = moved[moved[word]]


def _projective(heads: Sequence[int], dependent: int) -> bool:
    """Whether every word between a word and its head descends from the head."""
    head = heads[dependent]
    for place in range(min(head, dependent) + 1, max(head, dependent)):
        above = place
        while above and above != head:
            above = heads[above]
        if above != head:
            return False
    return True
