"""The messages of belief propagation over dependency trees, stored as weights of candidate arcs.

The factors and the order of updates are described in ``loopy``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.types import Floats

MAX_LOG_ODDS = 20.0
"""Messages are clipped to +-20 nats of log odds; larger values do not change the decoded tree."""

MAX_ODDS, MIN_ODDS = math.exp(MAX_LOG_ODDS), math.exp(-MAX_LOG_ODDS)

MAX_LOG_WEIGHT = 600.0
"""Logarithms of weights are clipped to +-600 nats, so that the product of a weight with clipped
messages and odds neither overflows nor vanishes. Messages are clipped to far less, so that the
clipping of weights does not change them.
"""


class Messages(NamedTuple):
    """Weights (arcs,) of each arc: its score, the message of TREE, and the messages of the head
    factors of its head and of its dependent.

    ``belief`` is the product of all four; over the arcs into a word it sums to one after an update
    of TREE. ``log_score`` is the unclipped logarithm of ``score``.
    """

    log_score: Floats
    score: Floats
    tree: Floats
    head: Floats
    dependent: Floats
    belief: Floats


@njit
def new_messages(m: int) -> Messages:
    """Uniform messages for ``m`` arcs."""
    rows = np.ones((6, m))
    return Messages(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5])


@njit
def arc_weights(graph: ArcGraph, potentials: Floats, relative: Floats, weights: Floats) -> float:
    """Write the arcs' potentials minus the largest into the same word (``relative``) and their
    exponentials (``weights``), both (arcs,). Returns the sum of these largest potentials.
    """
    total = 0.0
    for d in range(1, graph.into.shape[0] - 1):
        highest = -np.inf
        for k in range(graph.into[d], graph.into[d + 1]):
            highest = max(highest, potentials[graph.incoming[k]])
        if highest == -np.inf:
            highest = 0.0
        total += highest
        for k in range(graph.into[d], graph.into[d + 1]):
            a = graph.incoming[k]
            relative[a] = potentials[a] - highest
            weights[a] = (
                math.exp(max(relative[a], -MAX_LOG_WEIGHT)) if relative[a] > -np.inf else 0.0
            )
    return total


@njit(inline=True)
def damped(old: float, new: float, damping: float) -> float:
    """The weighted geometric mean old^damping new^(1 - damping); ``new`` where either is 0."""
    if damping == 0.0 or old <= 0.0 or new <= 0.0:
        return new
    return math.exp(damping * math.log(old) + (1.0 - damping) * math.log(new))
