"""The parts of a sentence that are scored: the arcs that the pruner keeps, their labels and pairs;
with the model and the workspaces that the kernels take.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import score_arcs
from egparse.parsing.candidates import ArcFilter, candidate_arcs
from egparse.parsing.label_candidates import ArcLabelDictionary, candidate_labels, with_correct
from egparse.parsing.second_order.features import Codes, Parts, Templates, encode
from egparse.parsing.tree_inference import scatter
from egparse.structures.second_order import loopy
from egparse.structures.second_order.arc_graph import lay_out
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import SearchWorkspace, search_workspace
from egparse.types import Arcs, Floats, Ints, Singles, UInt32s

ALL_CANDIDATES = np.empty((0, 2), dtype=np.int16)
"""In the place of given candidate arcs: those of the arc filter."""


class Pruning(NamedTuple):
    """A word keeps the ``max_heads`` heads of highest marginal probability under the pruner,
    without those whose probability is less than ``min_relative_marginal`` times the highest.
    """

    max_heads: int
    min_relative_marginal: float


class Structure(NamedTuple):
    """Which pairs of arcs are scored, over which trees, and whether inference is exact or loopy."""

    siblings: bool
    grandparents: bool
    projective: bool
    single_root: bool
    exact: bool


class KernelModel(NamedTuple):
    """The parser as its kernels take it. ``pruner`` holds the weights of the arc-factored parser,
    ``weights`` (2^k,) the weights of the parser itself; with a
    ``temperature`` of 0 no probabilities are computed.
    """

    arc_filter: ArcFilter
    pruner: Singles
    pruning: Pruning
    structure: Structure
    dictionary: ArcLabelDictionary
    templates: Templates
    weights: Singles
    mbr_scale: float
    temperature: float


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


class Work(NamedTuple):
    """Buffers, and the workspaces of the algorithms that are to be used; None for all others.

    ``scaled`` and ``logarithms`` are True for exact inference with scaled probabilities or with
    logarithms, which need no workspace, and None otherwise.
    """

    buffers: Buffers
    projective: projective.Workspace | None
    nonprojective: nonprojective.Workspace | None
    search: SearchWorkspace | None
    loopy: loopy.Workspace | None
    scaled: bool | None
    logarithms: bool | None


def new_work(longest: int, structure: Structure) -> Work:
    """Buffers and workspaces for sentences of up to ``longest`` words."""
    cells = (longest + 1) ** 2
    buffers = Buffers(
        np.empty((cells, 2), dtype=np.int16),
        np.empty(cells),
        np.empty(4096, dtype=np.uint32),
        np.empty(cells),
        np.empty(cells),
        np.empty(longest + 1, dtype=np.int32),
    )
    is_projective = structure.projective
    return Work(
        buffers,
        projective.workspace(longest) if is_projective else None,
        None if is_projective else nonprojective.workspace(longest),
        None if is_projective else search_workspace(longest),
        None if structure.exact else loopy.workspace(longest, is_projective=is_projective),
        True if structure.exact else None,
        None,
    )


def training_parts(
    values: Ints, heads: Ints, ranks: Ints, model: KernelModel, work: Work
) -> tuple[Codes, Parts]:
    """Codes and parts of a training sentence: the parts of parsing it, with the arcs of the correct
    tree and the labels at these.
    """
    structure = model.structure
    codes, arcs = prune(values, ALL_CANDIDATES, model, work)
    arcs = with_correct_arcs(arcs, heads)
    graph = lay_out(arcs, len(values), structure.siblings, structure.grandparents)
    labels = candidate_labels(values, graph.arcs, model.dictionary)
    return codes, Parts(graph, with_correct(labels, graph.arcs, heads, ranks))


# Inlined for the reason given in ``decode``.


@njit(inline=True)
def build_parts(
    values: Ints, candidates: Arcs, model: KernelModel, work: Work
) -> tuple[Codes, Parts]:
    """Codes of a sentence, and its parts over the arcs that the pruner keeps of the ``candidates``;
    no parts if the candidates have no tree.
    """
    structure = model.structure
    codes, arcs = prune(values, candidates, model, work)
    graph = lay_out(arcs, values.shape[0], structure.siblings, structure.grandparents)
    return codes, Parts(graph, candidate_labels(values, graph.arcs, model.dictionary))


@njit(separate=True)
def prune(values: Ints, candidates: Arcs, model: KernelModel, work: Work) -> tuple[Codes, Arcs]:
    """Codes of a sentence, and those of the ``candidates`` that the pruner keeps; no arcs if the
    candidates have no tree.
    """
    codes, buffers, size = encode(values, model.templates), work.buffers, values.shape[0]
    count = candidates.shape[0]
    for a in range(count):
        buffers.arcs[a, 0], buffers.arcs[a, 1] = candidates[a, 0], candidates[a, 1]
    if count == 0:
        count = candidate_arcs(values, model.arc_filter, buffers.arcs)
    arcs, scores = buffers.arcs[:count], buffers.scores
    square = buffers.square[: size * size].reshape((size, size))
    marginals = buffers.marginals[: size * size].reshape((size, size))
    score_arcs(codes.arcs, model.templates.arcs, arcs, model.pruner, buffers.places, scores)
    scatter(arcs, scores, square)
    log_z = _infer_arcs(
        square, model.structure.single_root, marginals, work.projective, work.nonprojective
    )
    if not log_z > -np.inf:
        return codes, np.empty((0, 2), dtype=np.int16)
    for a in range(count):
        scores[a] = marginals[arcs[a, 0], arcs[a, 1]]
    return codes, _most_probable(arcs, scores, model.pruning, size)


@njit
def _most_probable(arcs: Arcs, marginals: Floats, pruning: Pruning, size: int) -> Arcs:
    """The arcs that pruning keeps of those sorted by dependent; those into one word by descending
    probability.
    """
    max_heads = pruning.max_heads
    kept = np.empty((max_heads * size, 2), dtype=np.int16)
    best = np.empty(size, dtype=np.int32)  # the arcs into one word to be kept
    n_kept, first, count = 0, 0, arcs.shape[0]
    while first < count:
        end, highest = first, 0.0
        while end < count and arcs[end, 1] == arcs[first, 1]:
            highest = max(highest, marginals[end])
            end += 1
        n_best = 0
        for a in range(first, end):
            if marginals[a] < pruning.min_relative_marginal * highest or marginals[a] <= 0.0:
                continue
            place = min(n_best, max_heads)
            while place > 0 and marginals[best[place - 1]] < marginals[a]:
                if place < max_heads:
                    best[place] = best[place - 1]
                place -= 1
            if place < max_heads:
                best[place] = a
                n_best = min(n_best + 1, max_heads)
        for k in range(n_best):
            kept[n_kept, 0] = arcs[best[k], 0]
            kept[n_kept, 1] = arcs[best[k], 1]
            n_kept += 1
        first = end
    return kept[:n_kept]


@njit
def with_correct_arcs(arcs: Arcs, heads: Ints) -> Arcs:
    """The arcs, followed by the correct ones that are missing; ``heads[d - 1]`` is the head of word
    d.
    """
    n = heads.shape[0]
    out = np.empty((arcs.shape[0] + n, 2), dtype=np.int16)
    count = arcs.shape[0]
    is_there = np.zeros(n, dtype=np.bool_)
    for a in range(count):
        out[a, 0], out[a, 1] = arcs[a, 0], arcs[a, 1]
        if heads[arcs[a, 1] - 1] == arcs[a, 0]:
            is_there[arcs[a, 1] - 1] = True
    for d in range(1, n + 1):
        if not is_there[d - 1]:
            out[count, 0], out[count, 1] = heads[d - 1], d
            count += 1
    return out[:count]


# As in ``decode``, the argument that is None selects what is compiled.


@njit
def _infer_arcs(
    scores: Floats,
    single_root: bool,
    marginals: Floats,
    projective_work: projective.Workspace | None,
    nonprojective_work: nonprojective.Workspace | None,
) -> float:
    """Write the marginals of arcs under the pruner and return log Z."""
    log_z = -np.inf
    if projective_work is not None:
        log_z = projective.inside_outside(scores, single_root, marginals, projective_work)
    if nonprojective_work is not None:
        log_z = nonprojective.matrix_tree(scores, single_root, marginals, nonprojective_work)
    return log_z
