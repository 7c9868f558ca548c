"""Inference over the trees of a sentence with candidate arcs: the kernels of each kind of tree, and
the way from lists of arcs to tables and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import chu_liu_edmonds, search_workspace
from egparse.structures.trees.dependency_trees import BestTree
from egparse.types import Floats, Shorts

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


class Inference(NamedTuple):
    """The kernels of one kind of tree; see the structures for their contracts."""

    marginals: Callable[..., float]
    marginal_workspace: Callable[[int], Any]
    best: Callable[..., float]
    best_workspace: Callable[[int], Any]
    k_best: Callable[[Floats, int, bool], list[BestTree]]


INFERENCE = {
    "projective": Inference(
        projective.inside_outside,
        projective.workspace,
        projective.eisner,
        projective.workspace,
        projective.k_best,
    ),
    "non-projective": Inference(
        nonprojective.matrix_tree,
        nonprojective.workspace,
        chu_liu_edmonds,
        search_workspace,
        nonprojective.k_best,
    ),
}
