"""Trees with at most two children a node, and back.

A phrase with more than two children becomes a chain of nodes, from the left or from the right. A
node of the chain remembers the label of the phrase and those of the last ``horizontal`` sisters
that came before; with ``vertical`` 2 a phrase also remembers the label of the phrase around it
(Johnson 1998; Klein and Manning 2003, "Accurate unlexicalized parsing", section 2). The less is
remembered, the more sentences the grammar covers.

A chain of phrases with one child each becomes one node with all their labels, so that the only
unary rules lead from the root, or from a phrase to a tag: they have no cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from egparse.errors import ConfigError
from egparse.experiments.grammars.trees import ROOT, Tree

Direction = Literal["right", "left"]


class Symbol(NamedTuple):
    """A symbol of a grammar. ``kind`` is *tag*, *phrase*, *rest* (a node inside of a phrase) or
    *root*.

    ``labels`` are those of a chain of phrases, the topmost first. ``around`` is the label of the
    phrase around it ("": not remembered), ``sisters`` the labels that came before a rest.
    """

    kind: str
    labels: tuple[str, ...]
    around: str = ""
    sisters: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A name for people, as NOUNP^VERBP or @VERBP|NOUNP."""
        name = "+".join(self.labels) + (f"^{self.around}" if self.around else "")
        return f"@{name}|{','.join(self.sisters)}" if self.kind == "rest" else name


class Node(NamedTuple):
    """A node of a binarised tree: up to two children, or a word."""

    symbol: Symbol
    children: tuple[Node, ...] = ()
    word: str = ""


@dataclass(frozen=True, kw_only=True)
class Binarisation:
    """How trees are binarised; ``horizontal`` is the number of sisters remembered, ``vertical`` 2
    remembers the phrase around a phrase. ``direction`` is the side to which the chain descends.

    Raises:
        ConfigError: a value out of range.
    """

    direction: Direction = "right"
    horizontal: int = 1
    vertical: int = 1

    def __post_init__(self) -> None:
        if self.direction not in ("right", "left"):
            raise ConfigError(f"expected a direction among right, left, got {self.direction!r}")
        if self.horizontal < 0 or self.vertical not in (1, 2):
            raise ConfigError(
                "expected horizontal >= 0 and vertical 1 or 2, got "
                f"{self.horizontal} and {self.vertical}"
            )

    def binarised(self, tree: Tree) -> Node:
        """The tree with at most two children a node."""
        return self._node(tree, "")

    def _node(self, tree: Tree, around: str) -> Node:
        if tree.is_tag:
            return Node(Symbol("tag", (tree.label,)), (), tree.word)
        labels = [tree.label]
        if tree.label == ROOT and not around:
            symbol = Symbol("root", (ROOT,))
        else:
            while len(tree.children) == 1 and not tree.children[0].is_tag:
                tree = tree.children[0]
                labels.append(tree.label)
            symbol = Symbol("phrase", tuple(labels), around if self.vertical > 1 else "")
        children = [self._node(child, labels[-1]) for child in tree.children]
        names = [child.label for child in tree.children]
        if self.direction == "left":
            children.reverse()
            names.reverse()
        return Node(symbol, self._chain(symbol, children, names))

    def _chain(self, symbol: Symbol, children: list[Node], names: list[str]) -> tuple[Node, ...]:
        """One or two nodes in place of all children, which come from the outside in."""
        below: tuple[Node, ...] = self._pair(children[-2:])
        for first in range(len(children) - 2, 0, -1):
            sisters = tuple(names[max(0, first - self.horizontal) : first])
            rest = Symbol("rest", symbol.labels, symbol.around, sisters)
            below = self._pair([children[first - 1], Node(rest, below)])
        return below

    def _pair(self, nodes: list[Node]) -> tuple[Node, ...]:
        return tuple(nodes if self.direction == "right" else reversed(nodes))


def tree_of(node: Node) -> Tree:
    """The tree that was binarised."""
    if node.symbol.kind == "tag":
        return Tree(node.symbol.labels[0], (), node.word)
    tree = Tree(node.symbol.labels[-1], tuple(_children(node)))
    for label in reversed(node.symbol.labels[:-1]):
        tree = Tree(label, (tree,))
    return tree


def _children(node: Node) -> list[Tree]:
    found: list[Tree] = []
    for child in node.children:
        found += _children(child) if child.symbol.kind == "rest" else [tree_of(child)]
    return found
