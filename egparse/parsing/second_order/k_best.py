"""The k most probable trees of a sentence under the second-order parser."""

from __future__ import annotations

import numpy as np

from egparse.parsing.parser import ScoredTree
from egparse.parsing.second_order.decode import SCHEDULE
from egparse.parsing.second_order.features import sum_labels, visit_parts
from egparse.parsing.second_order.parts import (
    ALL_CANDIDATES,
    KernelModel,
    build_parts,
    new_work,
)
from egparse.structures.logsumexp import log_sum
from egparse.structures.second_order import loopy
from egparse.structures.second_order.arc_graph import ArcGraph, mark_tree
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import k_best
from egparse.structures.trees import nonprojective
from egparse.structures.trees.dependency_trees import BestTree
from egparse.types import Floats, Ints

_CANDIDATE_FACTOR = 2
"""How many times ``k`` candidate trees are ranked by score where arcs may cross."""


def k_best_trees(values: Ints, k: int, model: KernelModel) -> list[ScoredTree]:
    """Up to ``k`` trees of a sentence with column values (n + 1, columns), best first; none if the
    arcs that the pruner keeps have no tree.

    See ``SecondOrderParser.k_best_of``.
    """
    if len(values) == 1:
        return []
    work = new_work(len(values) - 1, model.structure)
    codes, parts = build_parts(values, ALL_CANDIDATES, model, work)
    if len(parts.graph.arcs) == 0:
        return []
    n_labels = len(parts.labels.labels)
    scores, places = np.empty(parts.graph.pairs[-1] + n_labels), work.buffers.places
    pooled, shares = np.empty(parts.graph.pairs[-1]), np.empty(n_labels)
    visit_parts(codes, model.templates, parts, scores, model.weights, places, False)
    sum_labels(parts, scores / model.temperature, pooled, shares)
    graph, single_root = parts.graph, model.structure.single_root
    if model.structure.projective:
        log_z = inside_outside(graph, pooled, single_root, np.empty(len(pooled)))
        trees = k_best(graph, pooled, k, single_root)
    else:
        log_z, trees = _k_best_crossing(graph, pooled, k, single_root)
    return [ScoredTree(tree.heads[1:], min(0.0, tree.score - log_z)) for tree in trees]


def _k_best_crossing(
    graph: ArcGraph, potentials: Floats, k: int, single_root: bool
) -> tuple[float, list[BestTree]]:
    """The estimate of log Z that ``SecondOrderParser.k_best_of`` describes, and trees by descending
    score; none if there is no tree.
    """
    size, m = len(graph.into) - 1, len(graph.arcs)
    marginals = np.empty(len(potentials))
    work = loopy.workspace(size - 1, is_projective=False)
    log_z = loopy.propagate(
        graph, potentials, False, single_root, SCHEDULE, True, marginals, work
    ).log_partition
    log_marginals = np.full((size, size), -np.inf)
    with np.errstate(divide="ignore"):
        log_marginals[graph.arcs[:, 0], graph.arcs[:, 1]] = np.log(marginals[:m])
    candidates = nonprojective.k_best(log_marginals, _CANDIDATE_FACTOR * k, single_root)
    if not candidates:
        return -np.inf, []
    trees = sorted(
        (BestTree(tree.heads, _score(graph, potentials, tree.heads)) for tree in candidates),
        key=lambda tree: -tree.score,
    )
    log_sum_of_trees = float(log_sum(np.array([tree.score for tree in trees])))
    are_all = len(candidates) < _CANDIDATE_FACTOR * k
    return log_sum_of_trees if are_all else max(log_z, log_sum_of_trees), trees[:k]


def _score(graph: ArcGraph, potentials: Floats, heads: Ints) -> float:
    """The sum of the potentials of a tree's parts; its arcs are candidates."""
    parts = np.empty(len(potentials))
    mark_tree(graph, heads, parts)
    return float(potentials[parts > 0.0].sum())
