"""Trees of sentences under a second-order model: of minimum Bayes risk, or of the highest score."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.parsing.second_order.features import (
    Codes,
    Parts,
    best_labels,
    sum_labels,
    visit_parts,
)
from egparse.parsing.second_order.parts import (
    ALL_CANDIDATES,
    KernelModel,
    Structure,
    Work,
    build_parts,
    new_work,
)
from egparse.parsing.tree_inference import scatter
from egparse.structures.second_order import loopy
from egparse.structures.second_order.annealing import Annealing, find_tree
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.structures.second_order.projective import scaled_inside_outside
from egparse.structures.second_order.projective_log import LOG, log_inside_outside
from egparse.structures.trees import projective
from egparse.structures.trees.chu_liu_edmonds import SearchWorkspace, chu_liu_edmonds
from egparse.types import Arcs, Floats, Ints, Longs, UInt8s, UInt32s

SCHEDULE = loopy.Schedule()
"""The schedule of loopy belief propagation, in training and parsing."""

ANNEALING = Annealing()
"""How loopy inference searches for the tree of highest score."""

BEST_TREE_MBR_SCALE = 30.0
"""The ``mbr_scale`` of models without probabilities (max-margin, perceptron): with scores
multiplied by 30, nearly all mass lies on the highest-scoring tree.

Belief propagation does not converge at such scores: loopy inference searches for that tree by
annealing instead.
"""

SKIPPED, WAITING, PARSED, WITHOUT_TREE, OUT_OF_RANGE = range(5)
"""States of a sentence. Only sentences that wait are parsed; one is out of range where the scaled
probabilities of exact inference underflow.
"""


class Batch(NamedTuple):
    """Sentences and their trees. Sentence i has the words ``starts[i]:starts[i + 1]``; its column
    values are the rows of ``values`` (words + sentences, columns) from ``starts[i] + i`` on, the
    root first.

    Parsing writes ``states`` (sentences,), ``heads`` and ``probabilities`` (words,).
    """

    values: Ints
    starts: Longs
    states: UInt8s
    heads: Ints
    probabilities: Floats


class Decoder:
    """Parses with one model, and holds the buffers and workspaces for sentences of up to
    ``longest`` words.
    """

    def __init__(self, model: KernelModel, longest: int) -> None:
        self.model = model
        self.work = new_work(longest, model.structure)

    def parse(self, batch: Batch, candidates: Arcs = ALL_CANDIDATES) -> None:
        """Parse the waiting sentences, over the given ``candidates`` if there are any."""
        parse_batch(batch, candidates, self.model, self.work)
        out_of_range = batch.states == OUT_OF_RANGE
        if np.count_nonzero(out_of_range):
            batch.states[out_of_range] = WAITING
            work = self.work._replace(scaled=None, logarithms=True)
            parse_batch(batch, candidates, self.model, work)

    def parse_sentence(
        self, values: Ints, heads: Ints, probabilities: Floats, candidates: Arcs = ALL_CANDIDATES
    ) -> bool:
        """Parse one sentence with column values (n + 1, columns), and write its heads and their
        probabilities (n,); False if it has no tree.
        """
        starts = np.array([0, len(heads)], dtype=np.int64)
        states = np.full(1, WAITING, dtype=np.uint8)
        self.parse(Batch(values, starts, states, heads, probabilities), candidates)
        return bool(states[0] == PARSED)


@njit
def parse_batch(batch: Batch, candidates: Arcs, model: KernelModel, work: Work) -> None:
    """Parse the waiting sentences, over the given ``candidates`` if there are any."""
    for i in range(batch.states.shape[0]):
        if batch.states[i] == WAITING:
            begin, end = batch.starts[i], batch.starts[i + 1]
            batch.states[i] = _parse(
                batch.values[begin + i : end + i + 1],
                candidates,
                model,
                work,
                batch.heads[begin:end],
                batch.probabilities[begin:end],
            )


# numba optimises a kernel together with all kernels that it calls, so each level of calls optimises
# the same code once more. The steps below that contain much code are therefore inlined.


@njit(inline=True)
def _parse(
    values: Ints,
    candidates: Arcs,
    model: KernelModel,
    work: Work,
    heads: Ints,
    probabilities: Floats,
) -> int:
    """Parse one sentence; returns its new state. Nothing is written unless it is parsed."""
    codes, parts = build_parts(values, candidates, model, work)
    graph, structure = parts.graph, model.structure
    if graph.arcs.shape[0] == 0:
        return WITHOUT_TREE
    scores = _score_parts(codes, parts, model, work.buffers.places)
    marginals = np.empty(graph.pairs[-1])
    log_z = _infer(
        parts, scores, model.mbr_scale, structure, marginals, work.scaled, work.loopy,
        work.logarithms,
    )  # fmt: skip
    if not log_z > -np.inf:
        return OUT_OF_RANGE if math.isnan(log_z) else WITHOUT_TREE
    tree = work.buffers.heads[: values.shape[0]]
    if not _decode(
        parts, scores, marginals, model, work.buffers.square, tree, work.projective, work.search,
        work.loopy,
    ):  # fmt: skip
        return WITHOUT_TREE
    if model.temperature > 0.0:
        scale = 1.0 / model.temperature
        if scale != model.mbr_scale:
            log_z = _infer(
                parts, scores, scale, structure, marginals, work.scaled, work.loopy,
                work.logarithms,
            )  # fmt: skip
            if not log_z > -np.inf:
                return OUT_OF_RANGE if math.isnan(log_z) else WITHOUT_TREE
        _write_probabilities(graph, tree, marginals, probabilities)
    copy_numbers(tree[1:], heads)
    return PARSED


@njit(inline=True)
def _score_parts(codes: Codes, parts: Parts, model: KernelModel, places: UInt32s) -> Floats:
    scores = np.empty(parts.graph.pairs[-1] + parts.labels.labels.shape[0])
    # a literal False would be another type to numba, and visit_parts would be compiled for it anew
    is_change = scores.shape[0] < 0
    visit_parts(codes, model.templates, parts, scores, model.weights, places, is_change)
    return scores


# Which algorithms these two kernels contain is selected by arguments that are None: numba knows the
# type of None and removes the branches of ``is not None`` before it compiles (for arguments, not
# for fields of a tuple). This halves the time of a first run.


@njit
def _infer(
    parts: Parts,
    scores: Floats,
    factor: float,
    structure: Structure,
    marginals: Floats,
    scaled: bool | None,
    loopy_work: loopy.Workspace | None,
    logarithms: bool | None,
) -> float:
    """Write the marginals of the parts of the graph, labels summed out, and return log Z; -inf if
    there is no tree, nan if the potentials are out of range.
    """
    graph = parts.graph
    pooled, shares = np.empty(marginals.shape[0]), np.empty(parts.labels.labels.shape[0])
    sum_labels(parts, scores * factor, pooled, shares)
    log_z = -np.inf
    if scaled is not None:
        log_z = scaled_inside_outside(graph, pooled, structure.single_root, marginals)
    if logarithms is not None:
        log_z = log_inside_outside(graph, pooled, structure.single_root, LOG, marginals)
    if loopy_work is not None:
        log_z = loopy.propagate(
            graph,
            pooled,
            structure.projective,
            structure.single_root,
            SCHEDULE,
            False,
            marginals,
            loopy_work,
        ).log_partition
    return log_z


@njit
def _decode(
    parts: Parts,
    scores: Floats,
    marginals: Floats,
    model: KernelModel,
    square: Floats,
    heads: Ints,
    projective_work: projective.Workspace | None,
    search_work: SearchWorkspace | None,
    loopy_work: loopy.Workspace | None,
) -> bool:
    """Write the heads (n + 1,) of the tree with the highest sum of ``marginals`` (arcs,), or for
    models without probabilities and loopy inference of a tree of high score; False if there is no
    tree.
    """
    graph, structure, size = parts.graph, model.structure, heads.shape[0]
    if loopy_work is not None and model.mbr_scale >= BEST_TREE_MBR_SCALE:
        pooled = np.empty(graph.pairs[-1])
        best_labels(parts, scores, pooled, np.empty(parts.labels.labels.shape[0]))
        find_tree(
            graph,
            pooled,
            structure.projective,
            structure.single_root,
            ANNEALING,
            heads,
            loopy_work,
        )
        return True
    sums = square[: size * size].reshape((size, size))
    scatter(graph.arcs, marginals, sums)
    score = -np.inf
    if projective_work is not None:
        score = projective.eisner(sums, structure.single_root, heads, projective_work)
    if search_work is not None:
        score = chu_liu_edmonds(sums, structure.single_root, heads, search_work)
    return score > -np.inf


@njit(inline=True)
def _write_probabilities(
    graph: ArcGraph, heads: Ints, marginals: Floats, probabilities: Floats
) -> None:
    for a in range(graph.arcs.shape[0]):
        dependent = graph.arcs[a, 1]
        if heads[dependent] == graph.arcs[a, 0]:
            probabilities[dependent - 1] = min(1.0, marginals[a])
