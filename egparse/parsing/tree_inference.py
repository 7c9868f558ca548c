"""Inference over the trees of a sentence with candidate arcs: the algorithms for each kind of tree,
and the way from lists of arcs to tables and back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import chu_liu_edmonds, search_workspace
from egparse.structures.trees.dependency_trees import BestTree
from egparse.types import Arcs, Floats, Ints, Shorts, UInt32s

Trees = Literal["projective", "non-projective"]


@njit
def scatter(arcs: Shorts, values: Floats, square: Floats) -> None:
    """square[head, dependent] = values[r] for the arcs, -inf elsewhere."""
    square[:, :] = -np.inf
    for r in range(arcs.shape[0]):
        square[arcs[r, 0], arcs[r, 1]] = values[r]


@njit
def gather(arcs: Shorts, square: Floats, values: Floats) -> None:
    """values[r] = square[head, dependent]."""
    for r in range(arcs.shape[0]):
        values[r] = square[arcs[r, 0], arcs[r, 1]]


class Buffers(NamedTuple):
    """Room for one sentence of up to a given length; ``square`` and ``marginals`` are flat matrices
    [head, dependent].
    """

    arcs: Arcs
    scores: Floats
    places: UInt32s
    square: Floats
    marginals: Floats
    heads: Ints

    @classmethod
    def of(cls, longest: int) -> Buffers:
        """For sentences of up to ``longest`` words."""
        cells = (longest + 1) ** 2
        return cls(
            np.empty((cells, 2), dtype=np.int16),
            np.empty(cells),
            np.empty(4096, dtype=np.uint32),
            np.empty(cells),
            np.empty(cells),
            np.empty(longest + 1, dtype=np.int32),
        )


class _Algorithms(NamedTuple):
    """The algorithms for one kind of tree; see the structures for their contracts."""

    marginals: Callable[..., float]
    marginal_workspace: Callable[[int], Any]
    best: Callable[..., float]
    best_workspace: Callable[[int], Any]
    k_best: Callable[[Floats, int, bool], list[BestTree]]


_ALGORITHMS = {
    "projective": _Algorithms(
        projective.inside_outside,
        projective.workspace,
        projective.eisner,
        projective.workspace,
        projective.k_best,
    ),
    "non-projective": _Algorithms(
        nonprojective.matrix_tree,
        nonprojective.workspace,
        chu_liu_edmonds,
        search_workspace,
        nonprojective.k_best,
    ),
}


class TreeInference:
    """The algorithms for one kind of tree, with workspaces for sentences of up to ``longest``
    words; ``scores`` are [head, dependent].
    """

    def __init__(self, trees: Trees, single_root: bool, longest: int) -> None:
        self._algorithms, self.single_root, self._longest = _ALGORITHMS[trees], single_root, longest

    @cached_property
    def marginal_work(self) -> Any:
        """The workspace of ``marginals``."""
        return self._algorithms.marginal_workspace(self._longest)

    @cached_property
    def _best_work(self) -> Any:
        return self._algorithms.best_workspace(self._longest)

    def marginals(self, scores: Floats, out: Floats) -> float:
        """Write the marginals [head, dependent] and return log Z."""
        return self._algorithms.marginals(scores, self.single_root, out, self.marginal_work)

    def best(self, scores: Floats, heads: Ints) -> float:
        """Write the ``heads`` (n + 1,) of the best tree and return its score, -inf if there is
        none.
        """
        return self._algorithms.best(scores, self.single_root, heads, self._best_work)

    def k_best(self, scores: Floats, k: int) -> list[BestTree]:
        """The ``k`` best trees, best first."""
        return self._algorithms.k_best(scores, k, self.single_root)
