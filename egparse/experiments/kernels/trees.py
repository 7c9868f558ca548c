"""The kernel of all tree fragments (Collins & Duffy 2002, "New ranking algorithms for parsing and
tagging: Kernels over discrete structures, and the voted perceptron", section 3; McDonald 2009,
"Popular Kernels").

A tree is a label with its children in order; nodes without children are terminals. A fragment is a
connected part of a tree in which each node has all of its children or none. Its feature is how
often it occurs, and

    K(a, b) = sum over nodes n of a and m of b of  C(n, m)
    C(n, m) = 0                                    if the productions at n and m differ
            = lambda prod_j (1 + C(n_j, m_j))      over the children, where they are the same

where C is 0 for terminals. A fragment of s productions counts lambda^s. There are exponentially
many, and the kernel takes O(|a| |b|) steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.experiments.kernels.normal import normalised
from egparse.types import Floats, Longs


class Tree(NamedTuple):
    """A label with its children in order."""

    label: str
    children: tuple[Tree, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fragments:
    """K(a, b) / sqrt(K(a, a) K(b, b)) with lambda = ``decay``; 0 for a tree without a production.

    The smaller ``decay`` is, the less large fragments count; near 0 the kernel compares how often
    each production occurs.

    Raises:
        ConfigError: a decay outside (0, 1].
    """

    kind: ClassVar[str] = "trees"
    decay: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ConfigError(f"tree kernel: expected 0 < decay <= 1, got {self.decay}")

    def matrix(self, a: Sequence[Tree], b: Sequence[Tree]) -> Floats:
        """The normalised values for all pairs of trees."""
        numbers: dict[tuple[str, ...], int] = {}
        packed_a, packed_b = _packed(a, numbers), _packed(b, numbers)
        values = np.empty((len(a), len(b)))
        squares_a, squares_b = np.empty(len(a)), np.empty(len(b))
        sizes = [int(np.diff(packed.starts).max(initial=0)) for packed in (packed_a, packed_b)]
        _fill(packed_a, packed_b, self.decay, np.empty((sizes[0], sizes[1])), values)
        _fill_squares(packed_a, self.decay, np.empty((sizes[0], sizes[0])), squares_a)
        _fill_squares(packed_b, self.decay, np.empty((sizes[1], sizes[1])), squares_b)
        return normalised(values, squares_a, squares_b)


class Packed(NamedTuple):
    """The nodes of all trees, children before parents. ``production`` (nodes,) is the number of a
    node's production, -1 for terminals.

    Node k has the children ``children[child_starts[k]:child_starts[k + 1]]``, counted from the
    first node of its tree; tree i has the nodes ``starts[i]:starts[i + 1]``.
    """

    production: Longs
    child_starts: Longs
    children: Longs
    starts: Longs


def _packed(trees: Sequence[Tree], numbers: dict[tuple[str, ...], int]) -> Packed:
    """The nodes of the trees; ``numbers`` gets the productions that it does not have."""
    productions: list[int] = []
    child_lists: list[list[int]] = []
    starts = [0]
    for tree in trees:
        for node, children in _children_first(tree):
            key = (node.label, *(child.label for child in node.children))
            productions.append(numbers.setdefault(key, len(numbers)) if children else -1)
            child_lists.append(children)
        starts.append(len(productions))
    sizes = [len(children) for children in child_lists]
    return Packed(
        np.array(productions, dtype=np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([child for children in child_lists for child in children], dtype=np.int64),
        np.array(starts, dtype=np.int64),
    )


def _children_first(tree: Tree) -> list[tuple[Tree, list[int]]]:
    """The nodes of a tree, children before parents, each with the places of its children. Trees may
    be deeper than Python's stack.
    """
    found: list[tuple[Tree, list[int]]] = []
    roots: list[int] = []  # places of the nodes whose parent is not reached yet
    waiting = [(tree, False)]
    while waiting:
        node, has_children_done = waiting.pop()
        if not has_children_done:
            waiting.append((node, True))
            waiting += [(child, False) for child in reversed(node.children)]
            continue
        first = len(roots) - len(node.children)
        found.append((node, roots[first:]))
        del roots[first:]
        roots.append(len(found) - 1)
    return found


@njit
def _fill(a: Packed, b: Packed, decay: float, table: Floats, out: Floats) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = _value(a, i, b, j, decay, table)


@njit
def _fill_squares(a: Packed, decay: float, table: Floats, out: Floats) -> None:
    for i in range(out.shape[0]):
        out[i] = _value(a, i, a, i, decay, table)


@njit
def _value(a: Packed, i: int, b: Packed, j: int, decay: float, table: Floats) -> float:
    """The sum of C over all pairs of nodes of tree i of ``a`` and tree j of ``b``; C(n, m) is kept
    in ``table[n, m]``.
    """
    total = 0.0
    for n in range(a.starts[i + 1] - a.starts[i]):
        node = a.starts[i] + n
        for m in range(b.starts[j + 1] - b.starts[j]):
            other = b.starts[j] + m
            common = 0.0
            if a.production[node] == b.production[other] and a.production[node] >= 0:
                # C(n, m) = lambda prod_j (1 + C(n_j, m_j)): equal productions have as many children
                common = decay
                offset = b.child_starts[other] - a.child_starts[node]
                for place in range(a.child_starts[node], a.child_starts[node + 1]):
                    common *= 1.0 + table[a.children[place], b.children[place + offset]]
            table[n, m] = common
            total += common
    return total
