"""Second-order dependency trees: pseudo-marginals and an estimate of log Z by loopy belief
propagation.

**Model.** The variables are the heads of the words, and the values of a variable are the candidate
arcs into its word. One hard TREE factor connects all of them; its messages come from inside-outside
or from the matrix-tree theorem (Smith and Eisner 2008, "Dependency parsing by belief propagation";
Martins et al. 2010, appendix A). Each word h, and the root, has a *head factor*. It connects the
head g of h with the words whose head is h, and scores on each side the chain of modifiers of h from
the innermost outward, with their siblings, stops and grandparents (see ``arc_graph``). Its messages
are exact (``head_factor``).

The sources have a binary variable for each arc, and a factor for each pair of arcs. Larger factors
make fewer loops. With heads as variables, TREE is the only factor where no pair has a score, and
the result is exact. (With binary variables, TREE and each head factor would both contain the
constraint that a word has one head, and it would be counted twice.) Head factors over siblings are
those of Martins et al. 2013, "Turning on the Turbo".

**Sweeps.** After a first update of TREE, each sweep updates the head factors from 0 to n and then
TREE, always from the latest messages. Sweeps end when no arc's probability under TREE has changed
by more than ``residual``, or at the largest number.

**log Z.** The estimate is minus the Bethe free energy at the messages (Yedidia et al. 2001; Martins
et al. 2010, eq. 18)::

    log Z = sum over factors log Z_f - sum over factors and their variables log Z_fv
            + sum over variables log Z_v

Z_v is the sum over the values of v of the product of all messages to v. Z_fv is the sum of the
product of the message from f to v and the message from v to f. Where the messages have converged,
the estimate is stationary in them, and its gradient in the scores is the pseudo-marginals. It is
neither an upper nor a lower bound of log Z.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.second_order.head_factor import (
    HeadChart,
    PairWeights,
    infer_head_factor,
    new_head_chart,
    pair_marginals,
    pair_weights,
    send_head_messages,
)
from egparse.structures.second_order.messages import (
    MAX_LOG_WEIGHT,
    Messages,
    arc_weights,
    damped,
    new_messages,
)
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import SearchWorkspace, search_workspace
from egparse.structures.trees.nonprojective import matrix_tree
from egparse.structures.trees.projective import inside_outside
from egparse.types import Floats


class Schedule(NamedTuple):
    """When to stop, and how fast to change: at most ``sweeps`` sweeps, until no arc's probability
    changes by more than ``residual``.

    ``damping`` in [0, 1) is the share of the old log odds that every new message keeps.
    """

    sweeps: int = 12
    residual: float = 0.005
    damping: float = 0.0


class Outcome(NamedTuple):
    """The estimate ``log_partition`` in nats (``-inf`` where the candidates have no tree), the
    number of ``sweeps`` made, and the ``residual`` after the last of them.
    """

    log_partition: float
    sweeps: int
    residual: float


class Workspace(NamedTuple):
    """Buffers for sentences of up to n words; ``workspace`` makes those of one kind of tree, and
    leaves those of the other kind minimal.
    """

    square: Floats
    marginals: Floats
    projective: projective.Workspace
    nonprojective: nonprojective.Workspace
    search: SearchWorkspace


def workspace(n_max: int, *, is_projective: bool) -> Workspace:
    """Buffers for ``propagate`` and ``annealing.find_tree``, for sentences of up to ``n_max``
    words.
    """
    cells = (n_max + 1) ** 2
    return Workspace(
        np.empty(cells),
        np.empty(cells),
        projective.workspace(n_max if is_projective else 1),
        nonprojective.workspace(1 if is_projective else n_max),
        search_workspace(1 if is_projective else n_max),
    )


@njit(separate=True)
def propagate(
    graph: ArcGraph,
    potentials: Floats,
    is_projective: bool,
    single_root: bool,
    schedule: Schedule,
    with_pairs: bool,
    marginals: Floats,
    work: Workspace,
) -> Outcome:
    """Write the pseudo-marginals (parts,) for ``potentials`` (parts,) in nats; without
    ``with_pairs`` those of the arcs alone.

    The marginals of the arcs are those of TREE, so some distribution over trees has them. log Z is
    the estimate of the module only ``with_pairs``; otherwise it is log Z of TREE.
    """
    m = graph.arcs.shape[0]
    size: int = graph.into.shape[0] - 1
    messages = new_messages(m)
    offset = arc_weights(graph, potentials, messages.log_score, messages.score)
    log_z = update_tree_messages(graph, messages, is_projective, single_root, 0.0, marginals, work)
    if log_z == -np.inf:
        marginals[:] = 0.0
        return Outcome(-np.inf, 0, 0.0)
    sweeps, residual = 0, 0.0
    if not graph.siblings and not graph.grandparents:
        return Outcome(log_z + offset, sweeps, residual)
    pairs = pair_weights(graph, potentials)
    chart = new_head_chart(graph)
    before = np.zeros(m)
    while sweeps < schedule.sweeps:
        damping = schedule.damping if sweeps > 0 else 0.0
        copy_numbers(marginals[:m], before)
        update_head_messages(graph, pairs, messages, chart, damping)
        log_z = update_tree_messages(
            graph, messages, is_projective, single_root, damping, marginals, work
        )
        sweeps += 1
        residual = 0.0
        for a in range(m):
            residual = max(residual, abs(marginals[a] - before[a]))
        if residual <= schedule.residual:
            break
    if with_pairs:
        for h in range(size):
            log_z += infer_head_factor(graph, h, pairs, messages, chart)
            pair_marginals(graph, h, pairs, messages, chart, marginals)
    return Outcome(log_z + offset, sweeps, residual)


@njit
def update_head_messages(
    graph: ArcGraph, pairs: PairWeights, messages: Messages, chart: HeadChart, damping: float
) -> None:
    """Update the messages of all head factors, from 0 to n."""
    for h in range(graph.into.shape[0] - 1):
        infer_head_factor(graph, h, pairs, messages, chart)
        send_head_messages(graph, h, pairs, messages, chart, damping)


@njit
def update_tree_messages(
    graph: ArcGraph,
    messages: Messages,
    is_projective: bool,
    single_root: bool,
    damping: float,
    marginals: Floats,
    work: Workspace,
) -> float:
    """Update the messages of TREE and its marginals of the arcs; returns log Z of TREE.

    ``work.square`` afterwards holds the logarithms of the messages to TREE.
    """
    arcs, into_words = graph.arcs, graph.incoming
    size: int = graph.into.shape[0] - 1
    square = work.square[: size * size].reshape((size, size))
    inferred = work.marginals[: size * size].reshape((size, size))
    square[:, :] = -np.inf
    score, head, dependent = messages.score, messages.head, messages.dependent
    for a in range(arcs.shape[0]):
        # incoming[a] = score[a] head[a] dependent[a], by logarithms
        if messages.log_score[a] > -MAX_LOG_WEIGHT:
            incoming = math.log(score[a] * head[a] * dependent[a])
        else:
            incoming = messages.log_score[a] + math.log(head[a] * dependent[a])
        square[arcs[a, 0], arcs[a, 1]] = incoming
    if is_projective:
        log_z = inside_outside(square, single_root, inferred, work.projective)
    else:
        log_z = matrix_tree(square, single_root, inferred, work.nonprojective)
    for d in range(1, size):
        # tree[a] = marginal[a] / incoming[a], scaled so that the beliefs of a word sum to one
        total = 0.0
        for k in range(graph.into[d], graph.into[d + 1]):
            a = into_words[k]
            incoming = score[a] * head[a] * dependent[a]
            marginals[a] = inferred[arcs[a, 0], d]
            message = marginals[a] / incoming if incoming > 0.0 else 0.0
            messages.tree[a] = damped(messages.tree[a], message, damping)
            messages.belief[a] = messages.tree[a] * incoming
            total += messages.belief[a]
        if total > 0.0:
            for k in range(graph.into[d], graph.into[d + 1]):
                messages.tree[into_words[k]] /= total
                messages.belief[into_words[k]] /= total
    return float(log_z)
