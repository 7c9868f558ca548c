"""The packed forest of a sentence: every part that is in some parse, listed, and every item.

A part is an anchored rule: ``(i, k, j, A -> B C)``, ``(i, j, A -> B)`` or ``(i, A -> word)``. The
parts with the parent [A, i, j] are the ways to make that item (items are those of
``egparse.experiments.grammars.chart``); a parse chooses one way for each item that it uses,
beginning with the root.
Listing the parts costs O(n^3 R) time and O(n^2 N + parts) memory; then each part may have a score
of its own, and inference costs O(parts) (``egparse.experiments.grammars.forest_inference``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.experiments.grammars.rules import Rules
from egparse.types import Ints, Longs, Mask


class Forest(NamedTuple):
    """``items`` (items, 3) holds start, end and symbol, from the bottom up: an item comes after all
    that it can be made of, and the root is last. The parts that make item t are
    ``part_starts[t]:part_starts[t + 1]``.

    ``left`` and ``right`` (parts,) are the items below a part; where it has none, the number of
    items. ``rule`` (parts,) is the number of its rule in ``Rules``. Without any parse there are
    no items.
    """

    items: Ints
    part_starts: Longs
    left: Ints
    right: Ints
    rule: Ints

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.rule)


def parse_forest(rules: Rules, tags: npt.ArrayLike) -> Forest:
    """All parts of parses of n words that may have the ``tags`` (n, N).

    Raises:
        ValueError: another shape.
    """
    allowed = np.ascontiguousarray(tags, dtype=np.bool_)
    if allowed.ndim != 2 or allowed.shape[1] != rules.symbols or not len(allowed):
        raise ValueError(
            f"tags: expected shape (n, {rules.symbols}) with n > 0, got {allowed.shape}"
        )
    m = len(allowed) + 1
    derived, derived_t, used = np.zeros((3, rules.symbols, m, m), dtype=np.bool_)
    items, parts = _count(rules, allowed, derived, derived_t, used)
    forest = Forest(
        np.empty((items, 3), dtype=np.int32),
        np.zeros(items + 1, dtype=np.int64),
        *np.empty((3, parts), dtype=np.int32),
    )
    if items:
        numbers = np.empty((rules.symbols, m, m), dtype=np.int32)
        _list(rules, allowed, derived, derived_t, used, numbers, forest)
    return forest


@njit
def _count(
    rules: Rules, allowed: Mask, derived: Mask, derived_t: Mask, used: Mask
) -> tuple[int, int]:
    """Mark the items that can be derived from the words, and of them those that a parse can use;
    returns the numbers of used items and parts.
    """
    n, symbols = allowed.shape
    binary, pair_starts = rules.binary, rules.pair_starts
    unary, unary_starts = rules.unary, rules.unary_starts
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n + 1):
            for a in range(symbols):
                derived[a, i, j] = j == i + 1 and allowed[i, a]
            for p in range(pair_starts.size - 1):
                b, c = binary[pair_starts[p], 1], binary[pair_starts[p], 2]
                found = False
                for k in range(i + 1, j):
                    if derived[b, i, k] and derived_t[c, j, k]:
                        found = True
                        break
                if found:
                    for r in range(pair_starts[p], pair_starts[p + 1]):
                        derived[binary[r, 0], i, j] = True
            for a in range(symbols):
                for u in range(unary_starts[a], unary_starts[a + 1]):
                    if derived[unary[u, 1], i, j]:
                        derived[a, i, j] = True
                derived_t[a, j, i] = derived[a, i, j]
    used[symbols - 1, 0, n] = derived[symbols - 1, 0, n]
    items, parts = 0, 0
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            for a in range(symbols - 1, -1, -1):
                if not used[a, i, j]:
                    continue
                items += 1
                if length == 1 and allowed[i, a]:
                    parts += 1
                for u in range(unary_starts[a], unary_starts[a + 1]):
                    if derived[unary[u, 1], i, j]:
                        used[unary[u, 1], i, j] = True
                        parts += 1
                for place in range(rules.parent_starts[a], rules.parent_starts[a + 1]):
                    r = rules.by_parent[place]
                    b, c = binary[r, 1], binary[r, 2]
                    for k in range(i + 1, j):
                        if derived[b, i, k] and derived_t[c, j, k]:
                            used[b, i, k] = True
                            used[c, k, j] = True
                            parts += 1
    return items, parts


@njit
def _list(
    rules: Rules,
    allowed: Mask,
    derived: Mask,
    derived_t: Mask,
    used: Mask,
    numbers: Ints,
    forest: Forest,
) -> None:
    """Write the items and parts that ``_count`` has counted, items in order of length, start and
    symbol.
    """
    n, symbols = allowed.shape
    binary, unary = rules.binary, rules.unary
    none, item, part = forest.items.shape[0], 0, 0
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            for a in range(symbols):
                if not used[a, i, j]:
                    continue
                numbers[a, i, j] = item
                forest.items[item, 0], forest.items[item, 1] = i, j
                forest.items[item, 2] = a
                if length == 1 and allowed[i, a]:
                    forest.left[part], forest.right[part] = none, none
                    forest.rule[part] = binary.shape[0] + unary.shape[0] + a
                    part += 1
                for u in range(rules.unary_starts[a], rules.unary_starts[a + 1]):
                    if derived[unary[u, 1], i, j]:
                        forest.left[part], forest.right[part] = numbers[unary[u, 1], i, j], none
                        forest.rule[part] = binary.shape[0] + u
                        part += 1
                for place in range(rules.parent_starts[a], rules.parent_starts[a + 1]):
                    r = rules.by_parent[place]
                    b, c = binary[r, 1], binary[r, 2]
                    for k in range(i + 1, j):
                        if derived[b, i, k] and derived_t[c, j, k]:
                            forest.left[part] = numbers[b, i, k]
                            forest.right[part] = numbers[c, k, j]
                            forest.rule[part] = r
                            part += 1
                item += 1
                forest.part_starts[item] = part
