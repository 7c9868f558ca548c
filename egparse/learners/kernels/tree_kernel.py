"""The convolution kernel of trees (Collins & Duffy 2002, section 3): the fragments that two trees share.

K(T1, T2) = sum over nodes n1, n2 of C(n1, n2); C is 0 where the productions differ, otherwise decay times the product over their
children of 1 + C(child of n1, child of n2), words counting as 1. So a fragment of s productions, each taken whole, weighs decay ^ s.
O(|T1| |T2|) a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.errors import ConfigError, EgparseError
from egparse.learners.kernels.normalisation import normalised

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Tree: TypeAlias = "tuple[str | Tree, ...]"
"""A node: its label, then its children, which are nodes or words: ("NP", ("D", "the"), ("N", "dog")). A dependency tree can be
written so with a node a word: (relation, word, child, child)."""

Productions: TypeAlias = "dict[tuple[object, ...], int]"


class Nodes(NamedTuple):
    """Trees one after another: tree i owns the nodes ``tree_starts[i]:tree_starts[i + 1]``, children before their parents.

    ``production[node]``; ``children[child_starts[node]:child_starts[node + 1]]`` are the nodes among its children.
    """

    tree_starts: Ints
    production: Ints
    child_starts: Ints
    children: Ints


@dataclass(frozen=True, kw_only=True)
class TreeKernel:
    """Examples are ``Tree``s. ``decay`` in (0, 1] keeps large fragments from outweighing all; ``normalise`` divides by the self-kernels.

    Raises:
        ConfigError: a decay outside (0, 1].
    """

    decay: float = 0.5
    normalise: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ConfigError(f"tree kernel: expected decay in (0, 1], got {self.decay}")

    def matrix(self, a: Sequence[Tree], b: Sequence[Tree]) -> Floats:
        """(a, b).

        Raises:
            EgparseError: a node without children.
        """
        productions: Productions = {}
        rows, columns = _nodes(a, productions), _nodes(b, productions)
        out = np.zeros((len(a), len(b)))
        _fragment_matrix(rows, columns, self.decay, out)
        if not self.normalise:
            return out
        own, other = np.zeros(len(a)), np.zeros(len(b))
        _self_kernels(rows, self.decay, own)
        _self_kernels(columns, self.decay, other)
        return normalised(out, own, other)


def _nodes(trees: Sequence[Tree], productions: Productions) -> Nodes:
    production: list[int] = []
    children: list[int] = []
    tree_starts, child_starts = [0], [0]
    for tree in trees:
        numbers: dict[int, int] = {}  # of a place in the post-order -> node
        order = _post_order(tree)
        for place, (node, below) in enumerate(order):
            own = _production(node)
            numbers[place] = len(production)
            production.append(productions.setdefault(own, len(productions)))
            children.extend(numbers[child] for child in below)
            child_starts.append(len(children))
        tree_starts.append(len(production))
    return Nodes(
        *(np.array(own, dtype=np.int64) for own in (tree_starts, production, child_starts, children))
    )


def _post_order(tree: Tree) -> list[tuple[Tree, list[int]]]:
    """The nodes, children first, each with the places of its children; without recursion, for trees as deep as sentences are long."""
    order: list[tuple[Tree, list[int]]] = []
    below: dict[int, list[int]] = {}
    stack: list[tuple[Tree, int, int, bool]] = [(tree, 0, -1, False)]
    serial = 0
    while stack:
        node, own, parent, seen = stack.pop()
        if seen:
            order.append((node, below.pop(own)))
            if parent >= 0:
                below[parent].append(len(order) - 1)
            continue
        below[own] = []
        stack.append((node, own, parent, True))
        for child in reversed(node[1:]):
            if not isinstance(child, str):
                serial += 1
                stack.append((child, serial, own, False))
    return order


def _production(node: Tree) -> tuple[object, ...]:
    """The label and what is below it; words are told from nodes of the same name."""
    if len(node) < 2:
        raise EgparseError(f"tree kernel: expected a node with a label and children, got {node!r}")
    return (node[0], *(("word", child) if isinstance(child, str) else child[0] for child in node[1:]))


@njit
def _fragment_matrix(rows: Nodes, columns: Nodes, decay: float, out: Floats) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = fragment_kernel(rows, i, columns, j, decay)


@njit
def _self_kernels(nodes: Nodes, decay: float, out: Floats) -> None:
    for i in range(out.shape[0]):
        out[i] = fragment_kernel(nodes, i, nodes, i, decay)


@njit
def fragment_kernel(a: Nodes, i: int, b: Nodes, j: int, decay: float) -> float:
    """K of tree i of ``a`` and tree j of ``b``."""
    first, second = a.tree_starts[i], b.tree_starts[j]
    common = np.zeros((a.tree_starts[i + 1] - first, b.tree_starts[j + 1] - second))
    total = 0.0
    for p in range(common.shape[0]):
        for q in range(common.shape[1]):
            if a.production[first + p] != b.production[second + q]:
                continue
            # C(n1, n2) = decay prod over children of (1 + C(child of n1, child of n2))
            weight = decay
            offset = b.child_starts[second + q] - a.child_starts[first + p]
            for c in range(a.child_starts[first + p], a.child_starts[first + p + 1]):
                weight *= 1.0 + common[a.children[c] - first, b.children[c + offset] - second]
            common[p, q] = weight
            total += weight
    return total
