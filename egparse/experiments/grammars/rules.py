"""The rules of a context-free grammar in binarised form, as arrays.

Symbols are numbers from 0 to N - 1, and the last one is the root of every parse. A rule is binary,
``A -> B C``, unary, ``A -> B``, or lexical, ``A -> word``. Any symbol may have rules of any kind. A
cycle of unary rules would give a sentence infinitely many parses; symbols are therefore numbered
from the bottom up, with B < A for every rule ``A -> B``, which no cycle permits.

A rule is named by one number: the binary rules come first, then the unary ones, then ``A -> word``
for each symbol A in order (the word is that at the place where the rule is used).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.types import Ints, Longs


class Rules(NamedTuple):
    """A grammar; made by ``checked_rules``.

    ``binary`` (R, 3) holds parent, left and right child, in order of left, right and parent:
    rules ``pair_starts[p]:pair_starts[p + 1]`` have the same two children. ``by_parent`` (R,) are
    the numbers of the binary rules in order of the parent: those of A are
    ``by_parent[parent_starts[A]:parent_starts[A + 1]]``. ``unary`` (U, 2) holds parent and child,
    in order; those of A are ``unary_starts[A]:unary_starts[A + 1]``.
    """

    binary: Ints
    pair_starts: Longs
    by_parent: Longs
    parent_starts: Longs
    unary: Ints
    unary_starts: Longs

    @property
    def symbols(self) -> int:
        """N, the number of symbols."""
        return len(self.parent_starts) - 1

    @property
    def rule_count(self) -> int:
        """The number of all rules, R + U + N."""
        return len(self.binary) + len(self.unary) + self.symbols


def checked_rules(symbols: int, binary: npt.ArrayLike, unary: npt.ArrayLike) -> Rules:
    """The grammar of ``symbols`` symbols with rules ``binary`` (R, 3) and ``unary`` (U, 2), each a
    parent and its children. Rules are numbered in the order of ``Rules``, not in that given.

    Raises:
        ValueError: a symbol out of range, a rule given twice, or a unary rule whose child is not
            numbered below its parent.
    """
    pairs = _checked(symbols, binary, 3)
    chains = _checked(symbols, unary, 2)
    pairs = pairs[np.lexsort((pairs[:, 0], pairs[:, 2], pairs[:, 1]))]
    chains = chains[np.lexsort((chains[:, 1], chains[:, 0]))]
    for parent, child in chains[chains[:, 1] >= chains[:, 0]]:
        raise ValueError(
            f"unary rule {parent} -> {child}: expected a child numbered below its parent (symbols "
            "in a cycle of unary rules cannot be numbered so)"
        )
    changes = np.flatnonzero((np.diff(pairs[:, 1:], axis=0) != 0).any(axis=1)) + 1
    ends = [len(pairs)] if len(pairs) else []
    by_parent = np.argsort(pairs[:, 0], kind="stable")
    numbers = np.arange(symbols + 1)
    return Rules(
        binary=np.ascontiguousarray(pairs),
        pair_starts=np.array([0, *changes, *ends], dtype=np.int64),
        by_parent=by_parent.astype(np.int64),
        parent_starts=np.searchsorted(pairs[by_parent, 0], numbers).astype(np.int64),
        unary=np.ascontiguousarray(chains),
        unary_starts=np.searchsorted(chains[:, 0], numbers).astype(np.int64),
    )


def _checked(symbols: int, rules: npt.ArrayLike, width: int) -> Ints:
    array = np.asarray(rules, dtype=np.int32).reshape(-1, width)
    if symbols < 1 or (array.size and (array.min() < 0 or array.max() >= symbols)):
        raise ValueError(
            f"rules: expected symbols from 0 to {symbols - 1}, at least one, got "
            f"{array.min(initial=0)} to {array.max(initial=0)}"
        )
    if len(np.unique(array, axis=0)) < len(array):
        raise ValueError("rules: expected each rule once, got one twice")
    return array
