"""The trees of an experiment: those of a file in brackets, or phrases made of a dependency
treebank; and the grammar that is taken from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from egparse.errors import EgparseError
from egparse.experiments.data.samples import UD_ENGLISH, sample
from egparse.experiments.grammars.binarisation import Binarisation, Node
from egparse.experiments.grammars.conversion import phrase_tree
from egparse.experiments.grammars.grammar import Grammar, extract
from egparse.experiments.grammars.lexicon import Lexicon, learn_lexicon
from egparse.experiments.grammars.pcfg import Pcfg, estimate
from egparse.experiments.grammars.trees import Tree, read_brackets
from egparse.experiments.report.request import Request

BRACKETS = "trees.mrg"
"""A file in brackets in the data directory takes the place of the dependency treebank."""

_HELD_OUT = 10  # of a file in brackets, one tree in so many for validation, and one for the test


class Treebank(NamedTuple):
    """``name`` says where the trees come from; ``unlabelled`` are sentences whose trees are not
    used.
    """

    name: str
    train: Sequence[Tree]
    dev: Sequence[Tree]
    test: Sequence[Tree]
    unlabelled: Sequence[list[str]]


class Sizes(NamedTuple):
    """How much of a treebank is used: sentences of at most ``words`` words, the first of each
    part.
    """

    words: int
    train: int
    dev: int
    test: int
    unlabelled: int


class Model(NamedTuple):
    """What is taken from the trees: binarised trees, and the grammar with its probabilities."""

    nodes: Sequence[Node]
    grammar: Grammar
    lexicon: Lexicon
    pcfg: Pcfg


def treebank(request: Request, sizes: Sizes) -> Treebank:
    """The trees of ``trees.mrg``, if the data directory has it, else of UD English EWT; a quick run
    without either takes the sample treebank.

    Raises:
        ConfigError: no data.
        EgparseError: too few trees, or a treebank without heads.
    """
    path = None if request.data is None else request.data / BRACKETS
    if path is not None and path.is_file():
        name, (train, dev, test) = BRACKETS, _divided(path)
    else:
        found = sample(request, UD_ENGLISH, (400, 80))
        name = found.name
        train, dev, test = (
            [phrase_tree(sentence) for sentence in part if len(sentence) <= sizes.words]
            for part in (found.train, found.dev, found.test)
        )
    train, dev, test = (
        [tree for tree in part if len(tree.words()) <= sizes.words] for part in (train, dev, test)
    )
    if not train or not dev:
        raise EgparseError(
            f"{name}: expected trees of at most {sizes.words} words for training and validation, "
            f"got {len(train)} and {len(dev)}"
        )
    rest = train[sizes.train : sizes.train + sizes.unlabelled] or train
    return Treebank(
        name,
        train[: sizes.train],
        dev[: sizes.dev],
        test[: sizes.test] or dev[: sizes.dev],
        [tree.words() for tree in rest[: sizes.unlabelled]],
    )


def learn_model(trees: Sequence[Tree], binarisation: Binarisation, min_count: int = 2) -> Model:
    """The grammar of the trees, with relative frequencies for probabilities."""
    nodes = [binarisation.binarised(tree) for tree in trees]
    grammar = extract(nodes)
    tags = [symbol.labels[0] for symbol in grammar.symbols[: grammar.tags]]
    lexicon = learn_lexicon(trees, tags, min_count)
    return Model(nodes, grammar, lexicon, estimate(grammar, lexicon))


def _divided(path: Path) -> tuple[list[Tree], list[Tree], list[Tree]]:
    """Training, validation and test trees of a file: the last tenth but one, and the last."""
    trees = list(read_brackets(path))
    part = max(1, len(trees) // _HELD_OUT)
    if len(trees) < 3:
        raise EgparseError(f"{path}: expected at least 3 trees, got {len(trees)}")
    return trees[: -2 * part], trees[-2 * part : -part], trees[-part:]
