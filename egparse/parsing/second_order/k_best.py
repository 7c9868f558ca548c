"""The most probable trees of a sentence where arcs may cross."""

from __future__ import annotations

import numpy as np

from egparse.parsing.second_order.decode import SCHEDULE
from egparse.structures.logsumexp import log_sum
from egparse.structures.second_order import loopy as loopy_trees
from egparse.structures.second_order.arc_graph import ArcGraph, mark_tree
from egparse.structures.second_order.loopy import propagate
from egparse.structures.trees import nonprojective
from egparse.structures.trees.dependency_trees import BestTree
from egparse.types import Floats, Ints

_CONSIDERED = 2
"""How many times as many trees as are asked for are ranked by score."""


def k_best_crossing(
    graph: ArcGraph, potentials: Floats, k: int, single_root: bool
) -> tuple[float, list[BestTree]]:
    """log Z as described at ``SecondOrderParser.k_best``, and trees by their scores, best first;
    none if there is no tree.
    """
    size, m = len(graph.into) - 1, len(graph.arcs)
    marginals = np.empty(len(potentials))
    work = loopy_trees.workspace(size - 1, is_projective=False)
    log_z = propagate(
        graph, potentials, False, single_root, SCHEDULE, True, marginals, work
    ).log_partition
    square = np.full((size, size), -np.inf)
    with np.errstate(divide="ignore"):
        square[graph.arcs[:, 0], graph.arcs[:, 1]] = np.log(marginals[:m])
    found = nonprojective.k_best(square, _CONSIDERED * k, single_root)
    if not found:
        return -np.inf, []
    trees = sorted(
        (BestTree(own.heads, _score(graph, potentials, own.heads)) for own in found),
        key=lambda tree: -tree.score,
    )
    sum_of_found = float(log_sum(np.array([tree.score for tree in trees])))
    all_found = len(found) < _CONSIDERED * k
    return sum_of_found if all_found else max(log_z, sum_of_found), trees[:k]


def _score(graph: ArcGraph, potentials: Floats, heads: Ints) -> float:
    """The sum of the potentials of a tree's parts; its arcs are candidates."""
    parts = np.empty(len(potentials))
    mark_tree(graph, heads, parts)
    return float(potentials[parts > 0.0].sum())
