"""From a sentence to the parts that are scored: the arcs that the pruner leaves, their pairs and
labels; with the settings and buffers of the kernels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import ArcCodes, score_arcs
from egparse.parsing.arc_problem import scatter
from egparse.parsing.candidates import ArcFilter, candidate_arcs
from egparse.parsing.label_candidates import ArcLabelDictionary, candidate_labels, with_correct
from egparse.parsing.second_order.features import Codes, Parts, Templates, encode
from egparse.structures.second_order import loopy as loopy_trees
from egparse.structures.second_order.arc_graph import lay_out
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import SearchWorkspace, search_workspace
from egparse.types import Arcs, Floats, Ints, Singles, UInt32s


class Pruning(NamedTuple):
    """A word keeps at most ``heads`` heads, those that the pruner finds at least ``share`` times as
    probable as its best.
    """

    heads: int
    share: float


class Order(NamedTuple):
    """Which pairs of arcs are scored, over which trees, and how expectations are taken."""

    siblings: bool
    grandparents: bool
    projective: bool
    single_root: bool
    exact: bool


class Kernel(NamedTuple):
    """All that the compiled loop over sentences needs. ``pruner`` are the weights of the
    arc-factored parser.
    """

    arc_filter: ArcFilter
    pruner: Singles
    pruning: Pruning
    order: Order
    dictionary: ArcLabelDictionary
    templates: Templates
    weights: Singles
    mbr_scale: float
    temperature: float


class Buffers(NamedTuple):
    """Room for one sentence of up to a given length; ``square`` and ``marginals`` are flat, [head,
    dependent].
    """

    arcs: Arcs
    scores: Floats
    places: UInt32s
    square: Floats
    marginals: Floats
    heads: Ints


class Scratch(NamedTuple):
    """Buffers, and the workspaces of the algorithms that the parser's order needs, None for
    others.
    """

    buffers: Buffers
    projective: projective.Workspace | None
    nonprojective: nonprojective.Workspace | None
    search: SearchWorkspace | None
    loopy: loopy_trees.Workspace | None


def scratch_for(longest: int, order: Order) -> Scratch:
    """Buffers for sentences of up to ``longest`` words."""
    cells = (longest + 1) ** 2
    buffers = Buffers(
        np.empty((cells, 2), dtype=np.int16),
        np.empty(cells),
        np.empty(4096, dtype=np.uint32),
        np.empty(cells),
        np.empty(cells),
        np.empty(longest + 1, dtype=np.int32),
    )
    return Scratch(
        buffers,
        projective.workspace(longest) if order.projective else None,
        None if order.projective else nonprojective.workspace(longest),
        None if order.projective else search_workspace(longest),
        None if order.exact else loopy_trees.workspace(longest, is_projective=order.projective),
    )


def parts_of(values: Ints, kernel: Kernel, scratch: Scratch) -> tuple[Codes, Parts]:
    """Codes and parts of a sentence to parse."""
    codes, arcs = _pruned(values, kernel, scratch)
    graph = lay_out(arcs, len(values), kernel.order.siblings, kernel.order.grandparents)
    return codes, Parts(graph, candidate_labels(values, graph.arcs, kernel.dictionary))


def training_parts(
    values: Ints, heads: Ints, ranks: Ints, kernel: Kernel, scratch: Scratch
) -> tuple[Codes, Parts]:
    """Codes and parts of a training sentence: those of a sentence to parse, and the correct arcs
    and labels if they are not among them.
    """
    codes, arcs = _pruned(values, kernel, scratch)
    graph = lay_out(
        with_correct_arcs(arcs, heads),
        len(values),
        kernel.order.siblings,
        kernel.order.grandparents,
    )
    labels = with_correct(
        candidate_labels(values, graph.arcs, kernel.dictionary), graph.arcs, heads, ranks
    )
    return codes, Parts(graph, labels)


@njit
def with_correct_arcs(arcs: Arcs, heads: Ints) -> Arcs:
    """The arcs, and behind them the correct ones that are not among them; ``heads[d - 1]`` is the
    head of word d.
    """
    n = heads.shape[0]
    out = np.empty((arcs.shape[0] + n, 2), dtype=np.int16)
    out[: arcs.shape[0]] = arcs
    count = arcs.shape[0]
    is_there = np.zeros(n, dtype=np.bool_)
    for a in range(arcs.shape[0]):
        if heads[arcs[a, 1] - 1] == arcs[a, 0]:
            is_there[arcs[a, 1] - 1] = True
    for d in range(1, n + 1):
        if not is_there[d - 1]:
            out[count, 0], out[count, 1] = heads[d - 1], d
            count += 1
    return out[:count]


def _pruned(values: Ints, kernel: Kernel, scratch: Scratch) -> tuple[Codes, Arcs]:
    """Codes of a sentence and the arcs that the pruner leaves; no arcs if the candidates have no
    tree.
    """
    codes = encode(values, kernel.templates)
    count = candidate_arcs(values, kernel.arc_filter, scratch.buffers.arcs)
    return codes, prune(
        codes.arcs,
        count,
        len(values),
        kernel,
        scratch.buffers,
        scratch.projective,
        scratch.nonprojective,
    )


@njit
def prune(
    codes: ArcCodes,
    count: int,
    size: int,
    kernel: Kernel,
    buffers: Buffers,
    projective_work: projective.Workspace | None,
    nonprojective_work: nonprojective.Workspace | None,
) -> Arcs:
    """Those of the first ``count`` arcs of the buffers that the pruner keeps; none if they have no
    tree.
    """
    arcs = buffers.arcs[:count]
    square = buffers.square[: size * size].reshape((size, size))
    marginals = buffers.marginals[: size * size].reshape((size, size))
    score_arcs(codes, kernel.templates.arcs, arcs, kernel.pruner, buffers.places, buffers.scores)
    scatter(arcs, buffers.scores, square)
    log_z = -np.inf
    if projective_work is not None:
        log_z = projective.inside_outside(
            square, kernel.order.single_root, marginals, projective_work
        )
    if nonprojective_work is not None:
        log_z = nonprojective.matrix_tree(
            square, kernel.order.single_root, marginals, nonprojective_work
        )
    if not log_z > -np.inf:
        return np.empty((0, 2), dtype=np.int16)
    for a in range(count):
        buffers.scores[a] = marginals[arcs[a, 0], arcs[a, 1]]
    return _most_probable(arcs, buffers.scores, kernel.pruning, size)


@njit
def _most_probable(arcs: Arcs, marginals: Floats, pruning: Pruning, size: int) -> Arcs:
    """The arcs that pruning leaves; those into a word come one after the other."""
    kept = np.empty((pruning.heads * size, 2), dtype=np.int16)
    own = np.empty(size, dtype=np.int32)
    n_kept, first, count = 0, 0, arcs.shape[0]
    while first < count:
        end, highest = first, 0.0
        while end < count and arcs[end, 1] == arcs[first, 1]:
            highest = max(highest, marginals[end])
            end += 1
        n_own = 0
        for a in range(first, end):
            if marginals[a] < pruning.share * highest or marginals[a] <= 0.0:
                continue
            place = min(n_own, pruning.heads)
            while place > 0 and marginals[own[place - 1]] < marginals[a]:
                if place < pruning.heads:
                    own[place] = own[place - 1]
                place -= 1
            if place < pruning.heads:
                own[place] = a
                n_own = min(n_own + 1, pruning.heads)
        for k in range(n_own):
            kept[n_kept, 0] = arcs[own[k], 0]
            kept[n_kept, 1] = arcs[own[k], 1]
            n_kept += 1
        first = end
    return kept[:n_kept]
