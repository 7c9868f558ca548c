"""Second-order dependency trees: a tree of high score by annealed belief propagation.

The potentials are multiplied by a growing s: as s grows, sums approach maxima and the messages of
``loopy`` those of max-product. (True max-product would need max-marginals of TREE, a search for
each arc.) After each sweep the best tree under the messages to TREE is scored with the potentials,
and the best of these trees is returned. The first s makes the root mean square of the potentials 1,
so that the result does not depend on their scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.structures.second_order.arc_graph import ArcGraph, mark_tree
from egparse.structures.second_order.head_factor import new_head_chart, pair_weights
from egparse.structures.second_order.loopy import (
    Workspace,
    update_head_messages,
    update_tree_messages,
)
from egparse.structures.second_order.messages import (
    MAX_ODDS,
    MIN_ODDS,
    Messages,
    arc_weights,
    new_messages,
)
from egparse.structures.trees.chu_liu_edmonds import chu_liu_edmonds
from egparse.structures.trees.dependency_trees import NO_HEAD
from egparse.structures.trees.projective import eisner
from egparse.types import Floats, Ints

ANNEALED_PROBABILITY, ANNEALED_CHANGE = 0.95, 0.02
"""Annealing stops once every arc of the tree has at least this probability and no marginal has
changed by more than this: further sweeps would only raise the probabilities.
"""


class Annealing(NamedTuple):
    """At most ``sweeps`` sweeps; potentials are multiplied by ``growth`` after every ``wait``
    sweeps.
    """

    sweeps: int = 20
    wait: int = 2
    growth: float = 1.5


@njit(separate=True)
def find_tree(
    graph: ArcGraph,
    potentials: Floats,
    is_projective: bool,
    single_root: bool,
    annealing: Annealing,
    heads: Ints,
    work: Workspace,
) -> float:
    """Write ``heads`` (n + 1,) of a tree of high score for ``potentials`` (parts,) and return its
    score; if no pairs are scored, the tree is a best one.

    Where the candidates have no tree the score is ``-inf`` and every head ``NO_HEAD``.
    """
    m = graph.arcs.shape[0]
    size: int = graph.into.shape[0] - 1
    messages, chart = new_messages(m), new_head_chart(graph)
    scaled = potentials / _root_mean_square(potentials)
    marginals, before, parts = (
        np.zeros(potentials.shape[0]),
        np.zeros(m),
        np.empty(potentials.shape[0]),
    )
    candidate = np.empty(size, dtype=np.int32)
    heads[:] = NO_HEAD
    highest = -np.inf
    arc_weights(graph, scaled, messages.log_score, messages.score)
    pairs = pair_weights(graph, scaled)
    for sweep in range(annealing.sweeps + 1):
        if sweep > 0:
            update_head_messages(graph, pairs, messages, chart, 0.0)
            if sweep % annealing.wait == 0:
                scaled *= annealing.growth
                arc_weights(graph, scaled, messages.log_score, messages.score)
                pairs = pair_weights(graph, scaled)
                _raise_to_power(messages, annealing.growth)
        copy_numbers(marginals[:m], before)
        log_z = update_tree_messages(
            graph, messages, is_projective, single_root, 0.0, marginals, work
        )
        if log_z == -np.inf:
            break
        incoming = work.square[: size * size].reshape((size, size))
        if is_projective:
            eisner(incoming, single_root, candidate, work.projective)
        else:
            chu_liu_edmonds(incoming, single_root, candidate, work.search)
        mark_tree(graph, candidate, parts)
        score = 0.0
        for r in range(parts.shape[0]):
            if parts[r] > 0.0:
                score += potentials[r]
        if score > highest or sweep == 0:
            highest = score
            copy_numbers(candidate, heads)
        if not graph.siblings and not graph.grandparents:
            break
        change, least = 0.0, 1.0
        for a in range(m):
            change = max(change, abs(marginals[a] - before[a]))
            if parts[a] > 0.0:
                least = min(least, marginals[a])
        if least >= ANNEALED_PROBABILITY and change <= ANNEALED_CHANGE:
            break
    return highest


@njit
def _root_mean_square(potentials: Floats) -> float:
    """The root mean square of the potentials above ``-inf``; 1 where all of them are 0."""
    total, count = 0.0, 0
    for r in range(potentials.shape[0]):
        if potentials[r] > -np.inf:
            total += potentials[r] ** 2
            count += 1
    return math.sqrt(total / count) if total > 0.0 else 1.0


@njit
def _raise_to_power(messages: Messages, growth: float) -> None:
    """Raise the messages of the head factors to the power ``growth``, as the potentials are; TREE
    is updated next, so its messages need not be.
    """
    head, dependent = messages.head, messages.dependent
    for a in range(head.shape[0]):
        head[a] = min(MAX_ODDS, max(MIN_ODDS, head[a] ** growth))
        dependent[a] = max(MIN_ODDS * MIN_ODDS, dependent[a] ** growth)
