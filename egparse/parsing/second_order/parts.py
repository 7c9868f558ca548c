"""The parts of a sentence that the second-order parser scores, over one table of weights: the arcs
that the pruner keeps, their labels, siblings and grandparents; with the model and the workspaces
that the kernels take.

The parts of a sentence are the parts of its graph (``structures.second_order.arc_graph``), followed
by one for each candidate label of each arc; an arc of a tree has one label. Labels are summed out
into their arcs before inference; their marginals are computed from those of the arcs after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.features.arcs import (
    ArcCodes,
    ArcLabels,
    ArcTemplates,
    add_arcs,
    add_labels,
    compile_arc_templates,
    encode_sentence,
    score_arcs,
    score_labels,
)
from egparse.features.pairs import (
    GRANDPARENT_PLACES,
    SIBLING_PLACES,
    PairCodes,
    PairTemplates,
    add_pairs,
    compile_pair_templates,
    encode_pairs,
    score_pairs,
)
from egparse.parsing.candidates import (
    ALL_CANDIDATES,
    ArcFilter,
    ArcLabelDictionary,
    candidate_labels,
    list_arcs,
    with_correct,
)
from egparse.parsing.columns import BETWEEN
from egparse.parsing.tree_inference import Buffers, scatter
from egparse.storage.arrays import Weights
from egparse.structures.second_order import loopy
from egparse.structures.second_order.arc_graph import ArcGraph, lay_out
from egparse.structures.second_order.projective_log import best_tree
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import SearchWorkspace, search_workspace
from egparse.types import Arcs, Floats, Ints, Singles, UInt32s


class Templates(NamedTuple):
    """Compiled templates of the four kinds."""

    arcs: ArcTemplates
    labels: ArcTemplates
    siblings: PairTemplates
    grandparents: PairTemplates


class Codes(NamedTuple):
    """The hashed templates of one sentence."""

    arcs: ArcCodes
    labels: ArcCodes
    siblings: PairCodes
    grandparents: PairCodes


class Parts(NamedTuple):
    """The parts of one sentence; the labels start at ``graph.pairs[-1]``."""

    graph: ArcGraph
    labels: ArcLabels


def compile_templates(
    columns: Sequence[str],
    *,
    arcs: Sequence[str],
    siblings: Sequence[str],
    grandparents: Sequence[str],
    labels: Sequence[str],
) -> Templates:
    """Compile all templates over the named columns.

    Raises:
        ConfigError: a template that cannot be read.
    """
    return Templates(
        compile_arc_templates(arcs, columns, BETWEEN),
        compile_arc_templates(labels, columns, BETWEEN),
        compile_pair_templates(siblings, SIBLING_PLACES, columns, 1),
        compile_pair_templates(grandparents, GRANDPARENT_PLACES, columns, 2),
    )


@njit(separate=True)
def encode(values: Ints, templates: Templates) -> Codes:
    """Hash the templates of a sentence: ``values`` is (n + 1, columns), row 0 the root."""
    return Codes(
        encode_sentence(values, templates.arcs),
        encode_sentence(values, templates.labels),
        encode_pairs(values, templates.siblings),
        encode_pairs(values, templates.grandparents),
    )


@njit(separate=True)
def score_parts(
    codes: Codes,
    templates: Templates,
    parts: Parts,
    weights: Weights,
    places: UInt32s,
    scores: Floats,
) -> None:
    """Write the scores of all parts."""
    graph = parts.graph
    of_labels = scores[graph.pairs[graph.arcs.shape[0]] :]
    of_labels[:] = 0.0
    score_arcs(codes.arcs, templates.arcs, graph.arcs, weights, places, scores)
    score_pairs(graph, codes.siblings, codes.grandparents, weights, scores)
    score_labels(codes.labels, templates.labels, graph.arcs, parts.labels, weights, of_labels)


@njit(separate=True)
def add_parts(
    codes: Codes,
    templates: Templates,
    parts: Parts,
    changes: Floats,
    weights: Singles,
    places: UInt32s,
) -> float:
    """Add ``changes`` times the features of all parts to the weights; returns as ``add_arcs``."""
    graph = parts.graph
    of_labels = changes[graph.pairs[graph.arcs.shape[0]] :]
    grown = add_arcs(codes.arcs, templates.arcs, graph.arcs, changes, weights, places)
    grown += add_pairs(graph, codes.siblings, codes.grandparents, changes, weights)
    grown += add_labels(
        codes.labels, templates.labels, graph.arcs, parts.labels, of_labels, weights
    )
    return float(grown)


@njit
def sum_labels(parts: Parts, potentials: Floats, pooled: Floats, shares: Floats) -> None:
    """Sum labels out: write the potentials of the graph's parts, in which an arc includes its
    labels, to ``pooled``, and the probability of each label given its arc to ``shares`` (labels,)::

        pooled[a] = potentials[a] + log sum over labels k of a: exp potentials[n + k]
    """
    starts, n = parts.labels.starts, parts.graph.pairs[-1]
    copy_numbers(potentials[:n], pooled)
    for a in range(starts.shape[0] - 1):
        first, end = starts[a], starts[a + 1]
        if first == end:
            continue
        highest, total = -np.inf, 0.0
        for k in range(first, end):
            highest = max(highest, potentials[n + k])
        if highest == -np.inf:
            pooled[a] = -np.inf
            shares[first:end] = 0.0
            continue
        for k in range(first, end):
            shares[k] = math.exp(potentials[n + k] - highest)
            total += shares[k]
        for k in range(first, end):
            shares[k] /= total
        pooled[a] += highest + math.log(total)


@njit
def best_labels(parts: Parts, potentials: Floats, pooled: Floats, shares: Floats) -> None:
    """As ``sum_labels`` with the maximum over labels in the place of the log-sum: the best label
    has the share 1.
    """
    starts, n = parts.labels.starts, parts.graph.pairs[-1]
    copy_numbers(potentials[:n], pooled)
    shares[:] = 0.0
    for a in range(starts.shape[0] - 1):
        if starts[a] == starts[a + 1]:
            continue
        best = starts[a]
        for k in range(starts[a], starts[a + 1]):
            if potentials[n + k] > potentials[n + best]:
                best = k
        shares[best] = 1.0
        pooled[a] += potentials[n + best]


@njit
def share_out(parts: Parts, shares: Floats, marginals: Floats) -> None:
    """Write the marginals of labels: ``marginals[n + k] = shares[k] * marginals[a]``."""
    starts, n = parts.labels.starts, parts.graph.pairs[-1]
    for a in range(starts.shape[0] - 1):
        for k in range(starts[a], starts[a + 1]):
            marginals[n + k] = shares[k] * marginals[a]


class Pruning(NamedTuple):
    """A word keeps the ``max_heads`` heads of highest marginal probability under the pruner,
    without those whose probability is less than ``min_relative_marginal`` times the highest.
    """

    max_heads: int
    min_relative_marginal: float


class KernelPruner(NamedTuple):
    """The arc-factored parser that prunes, as kernels take it."""

    arc_filter: ArcFilter
    templates: ArcTemplates
    weights: Weights


class Structure(NamedTuple):
    """Which pairs of arcs are scored, over which trees, and whether inference is exact or loopy."""

    siblings: bool
    grandparents: bool
    projective: bool
    single_root: bool
    exact: bool


class KernelModel(NamedTuple):
    """The parser as its kernels take it; with a ``temperature`` of 0 there are no probabilities."""

    pruner: KernelPruner
    pruning: Pruning
    structure: Structure
    dictionary: ArcLabelDictionary
    templates: Templates
    weights: Weights
    mbr_scale: float
    temperature: float


class Work(NamedTuple):
    """Buffers, and the workspaces of the algorithms that are to be used; None for all others.

    ``scaled`` says whether exact inference, which needs no workspace, takes scaled probabilities or
    logarithms; None for loopy inference.
    """

    buffers: Buffers
    projective: projective.Workspace | None
    nonprojective: nonprojective.Workspace | None
    search: SearchWorkspace | None
    loopy: loopy.Workspace | None
    scaled: bool | None


def new_work(longest: int, structure: Structure) -> Work:
    """Buffers and workspaces for sentences of up to ``longest`` words."""
    is_projective = structure.projective
    return Work(
        Buffers.of(longest),
        projective.workspace(longest) if is_projective else None,
        None if is_projective else nonprojective.workspace(longest),
        None if is_projective else search_workspace(longest),
        None if structure.exact else loopy.workspace(longest, is_projective=is_projective),
        True if structure.exact else None,
    )


def training_parts(
    values: Ints, heads: Ints, ranks: Ints, model: KernelModel, work: Work
) -> tuple[Codes, Parts]:
    """Codes and parts of a training sentence: the parts of parsing it, with the arcs of the correct
    tree and the labels at these. Where that tree crosses itself and the pruner leaves no other, the
    arcs to each word from the one before it are there too.
    """
    from egparse.parsing.gold_trees import crossing_arcs  # which parsing does without

    structure = model.structure
    arcs = prune(
        values, ALL_CANDIDATES, model.pruner, model.pruning, structure.single_root, work.buffers,
        work.projective, work.nonprojective,
    )  # fmt: skip
    arcs = with_correct_arcs(arcs, heads)
    graph = lay_out(arcs, len(values), structure.siblings, structure.grandparents)
    if structure.projective and crossing_arcs(heads) and not _has_tree(graph, model):
        arcs = with_correct_arcs(arcs, np.arange(len(heads), dtype=np.int32))
        graph = lay_out(arcs, len(values), structure.siblings, structure.grandparents)
    labels = candidate_labels(values, graph, model.dictionary, True)
    codes = encode(values, model.templates)
    return codes, Parts(graph, with_correct(labels, graph.arcs, heads, ranks))


def _has_tree(graph: ArcGraph, model: KernelModel) -> bool:
    """Whether some projective tree has arcs of the graph alone."""
    room = np.empty(len(graph.into) - 1, dtype=np.int32)
    return best_tree(graph, np.zeros(graph.pairs[-1]), model.structure.single_root, room) > -np.inf


def parts_of(values: Ints, candidates: Arcs, model: KernelModel, work: Work) -> tuple[Codes, Parts]:
    """Codes of a sentence, and its parts over the arcs that the pruner keeps of the ``candidates``;
    no parts if the candidates have no tree. Arcs that are in every tree have no labels.
    """
    structure = model.structure
    arcs = prune(
        values, candidates, model.pruner, model.pruning, structure.single_root, work.buffers,
        work.projective, work.nonprojective,
    )  # fmt: skip
    graph = lay_out(arcs, values.shape[0], structure.siblings, structure.grandparents)
    codes = encode(values, model.templates)
    return codes, Parts(graph, candidate_labels(values, graph, model.dictionary, False))


build_parts = njit(inline=True)(parts_of)
"""The same in kernels; called from Python, it would be compiled once more than its steps are."""


@njit(separate=True)
def prune(
    values: Ints,
    candidates: Arcs,
    pruner: KernelPruner,
    pruning: Pruning,
    single_root: bool,
    buffers: Buffers,
    projective_work: projective.Workspace | None,
    nonprojective_work: nonprojective.Workspace | None,
) -> Arcs:
    """Those of the ``candidates`` that the pruner keeps; none if the candidates have no tree."""
    size = values.shape[0]
    arcs = list_arcs(values, candidates, pruner.arc_filter, buffers.arcs)
    codes, scores = encode_sentence(values, pruner.templates), buffers.scores
    square = buffers.square[: size * size].reshape((size, size))
    marginals = buffers.marginals[: size * size].reshape((size, size))
    score_arcs(codes, pruner.templates, arcs, pruner.weights, buffers.places, scores)
    scatter(arcs, scores, square)
    log_z = _infer_arcs(square, single_root, marginals, projective_work, nonprojective_work)
    if not log_z > -np.inf:
        return np.empty((0, 2), dtype=np.int16)
    for a in range(arcs.shape[0]):
        scores[a] = marginals[arcs[a, 0], arcs[a, 1]]
    return _most_probable(arcs, scores, pruning, size)


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
