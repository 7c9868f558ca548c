"""The grammar of a treebank: its symbols by number, its rules, and how often each is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.grammars.binarisation import Node, Symbol
from egparse.experiments.grammars.chart import NO_SPLIT
from egparse.experiments.grammars.rules import Rules, checked_rules
from egparse.types import Floats

_KINDS = ("tag", "phrase", "rest", "root")

Anchored = tuple[int, int, int, int]
"""A part of a parse: start, split (-1 without), end, and the number of the rule."""


class Grammar(NamedTuple):
    """``symbols`` in the order of their numbers (tags, phrases, rests, the root), ``numbers`` the
    other way round, and the ``rules``. ``counts`` (R + U,) says how often each is used.
    """

    symbols: tuple[Symbol, ...]
    numbers: dict[Symbol, int]
    rules: Rules
    rule_numbers: dict[tuple[int, ...], int]
    counts: Floats

    @property
    def tags(self) -> int:
        """The number of tags, which come first."""
        return sum(symbol.kind == "tag" for symbol in self.symbols)

    def parts(self, node: Node) -> Iterator[Anchored]:
        """The parts of a binarised tree.

        Raises:
            EgparseError: a rule that the grammar does not have.
        """
        yield from _anchored(self, node, 0)[1]

    def tree(self, parts: Iterable[Anchored], words: list[str]) -> Node:
        """The binarised tree of the parts of a parse."""
        below = {(i, j, self.parent(rule)): (k, rule) for i, k, j, rule in parts}
        first_unary = len(self.rules.binary)

        def node(i: int, j: int, symbol: int) -> Node:
            k, rule = below[i, j, symbol]
            if rule < first_unary:
                _, left, right = self.rules.binary[rule].tolist()
                children: tuple[Node, ...] = (node(i, k, left), node(k, j, right))
            elif rule < first_unary + len(self.rules.unary):
                children = (node(i, j, int(self.rules.unary[rule - first_unary, 1])),)
            else:
                return Node(self.symbols[symbol], (), words[i])
            return Node(self.symbols[symbol], children)

        return node(0, len(words), len(self.symbols) - 1)

    def parent(self, rule: int) -> int:
        """The symbol that a rule rewrites."""
        binary, unary = len(self.rules.binary), len(self.rules.unary)
        if rule < binary:
            return int(self.rules.binary[rule, 0])
        if rule < binary + unary:
            return int(self.rules.unary[rule - binary, 0])
        return rule - binary - unary


def extract(nodes: Iterable[Node]) -> Grammar:
    """The grammar of binarised trees.

    Raises:
        EgparseError: no trees.
    """
    used: Counter[tuple[Symbol, ...]] = Counter()
    symbols: set[Symbol] = set()

    def count(node: Node) -> None:
        symbols.add(node.symbol)
        if node.children:
            used[node.symbol, *(child.symbol for child in node.children)] += 1
        for child in node.children:
            count(child)

    for node in nodes:
        count(node)
    if not symbols:
        raise EgparseError("expected trees to take a grammar from, got none")
    return grammar_of(symbols, used)


def grammar_of(symbols: Iterable[Symbol], used: Counter[tuple[Symbol, ...]]) -> Grammar:
    """The grammar with these symbols and rules, each rule a parent and its children."""
    ordered = tuple(sorted(symbols, key=lambda symbol: (_KINDS.index(symbol.kind), symbol)))
    numbers = {symbol: number for number, symbol in enumerate(ordered)}
    by_number = {tuple(numbers[symbol] for symbol in rule): times for rule, times in used.items()}
    rules = checked_rules(
        len(ordered),
        [rule for rule in by_number if len(rule) == 3],
        [rule for rule in by_number if len(rule) == 2],
    )
    names = [*map(tuple, rules.binary.tolist()), *map(tuple, rules.unary.tolist())]
    return Grammar(
        ordered,
        numbers,
        rules,
        {name: number for number, name in enumerate(names)},
        np.array([by_number[name] for name in names], dtype=np.float64),
    )


def _anchored(grammar: Grammar, node: Node, start: int) -> tuple[int, list[Anchored]]:
    """The end of a node that starts there, and its parts."""
    symbol = grammar.numbers.get(node.symbol)
    if symbol is not None and not node.children:
        rule = len(grammar.rules.binary) + len(grammar.rules.unary) + symbol
        return start + 1, [(start, NO_SPLIT, start + 1, rule)]
    name = (symbol, *(grammar.numbers.get(child.symbol) for child in node.children))
    number = grammar.rule_numbers.get(name)  # type: ignore[arg-type]  # None is in no rule
    if number is None:
        below = " ".join(str(child.symbol) for child in node.children)
        raise EgparseError(f"expected rules of the grammar, got {node.symbol} -> {below}")
    ends, parts = [start], []
    for child in node.children:
        end, own = _anchored(grammar, child, ends[-1])
        ends.append(end)
        parts += own
    split = ends[1] if len(node.children) == 2 else NO_SPLIT
    return ends[-1], [(start, split, ends[-1], number), *parts]
