"""Trees of sentences under a second-order model: of minimum Bayes risk, of the highest score, and
the k most probable ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.parsing.candidates import ALL_CANDIDATES
from egparse.parsing.constraints import SentenceArcs, allowed_arcs
from egparse.parsing.parser import Decoder, HeadsWithProbabilities, ScoredTree
from egparse.parsing.second_order.parts import (
    Codes,
    KernelModel,
    Parts,
    Structure,
    Work,
    best_labels,
    build_parts,
    new_work,
    parts_of,
    score_parts,
    sum_labels,
)
from egparse.parsing.tree_inference import scatter
from egparse.storage.ragged import Ragged
from egparse.structures.logsumexp import log_sum
from egparse.structures.second_order import loopy
from egparse.structures.second_order.annealing import Annealing, find_tree
from egparse.structures.second_order.arc_graph import ArcGraph, mark_tree
from egparse.structures.second_order.projective import inside_outside, scaled_inside_outside
from egparse.structures.second_order.projective_log import LOG, k_best, log_inside_outside
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import SearchWorkspace, chu_liu_edmonds
from egparse.structures.trees.dependency_trees import BestTree
from egparse.types import Arcs, Floats, Ints, Longs, Mask, UInt8s, UInt32s

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


class SecondOrderDecoder(Decoder):
    """Parses with one model; a sentence without a tree gets that of the decoder that ``pruner``
    returns.
    """

    def __init__(
        self, model: KernelModel, longest: int, pruner: Callable[[], Decoder] | None = None
    ) -> None:
        self.single_root, self._pruner = model.structure.single_root, pruner
        self._model, self._work = model, new_work(longest, model.structure)

    def parse_batch(self, batch: Batch, candidates: Arcs = ALL_CANDIDATES) -> None:
        """Parse the waiting sentences, over the given ``candidates`` if there are any."""
        parse_batch(batch, candidates, self._model, self._work)
        out_of_range = batch.states == OUT_OF_RANGE
        if self._work.scaled and np.count_nonzero(out_of_range):
            batch.states[out_of_range] = WAITING
            parse_batch(batch, candidates, self._model, self._work._replace(scaled=False))

    def together(self, values: Ragged[Ints], chosen: Mask, out: HeadsWithProbabilities) -> Mask:
        states = np.where(chosen, np.uint8(WAITING), np.uint8(SKIPPED))
        starts = values.starts - np.arange(len(values.starts))
        self.parse_batch(Batch(values.flat, starts, states, *out))
        parsed: Mask = states == PARSED
        return parsed

    def whole(self, values: Ints, limits: SentenceArcs | None) -> HeadsWithProbabilities | None:
        """See ``Decoder``: over the candidate arcs that the constraints allow."""
        candidates = ALL_CANDIDATES
        if limits is not None:
            candidates = allowed_arcs(
                values,
                self._model.pruner.arc_filter,
                limits,
                self.single_root,
                self._work.buffers.arcs,
            )
            if not len(candidates):
                return None
        tree, states = HeadsWithProbabilities.none(len(values) - 1), np.full(1, WAITING, np.uint8)
        starts = np.array([0, len(values) - 1], dtype=np.int64)
        self.parse_batch(Batch(values, starts, states, *tree), candidates)
        return tree if states[0] == PARSED else None

    def without_tree(self, values: Ints, limits: SentenceArcs | None) -> HeadsWithProbabilities:
        if self._pruner is None:
            return super().without_tree(values, limits)
        return self._pruner().parse(values, limits)


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
    marginals, shares = np.empty(graph.pairs[-1]), np.empty(parts.labels.labels.shape[0])
    log_z = _infer(
        parts, scores, model.mbr_scale, structure, marginals, shares, work.scaled, work.loopy,
    )  # fmt: skip
    if not log_z > -np.inf:
        return OUT_OF_RANGE if math.isnan(log_z) else WITHOUT_TREE
    tree = work.buffers.heads[: values.shape[0]]
    if not _decode(
        parts, scores, marginals, shares, structure, model.mbr_scale, work.buffers.square, tree,
        work.projective, work.search, work.loopy,
    ):  # fmt: skip
        return WITHOUT_TREE
    if model.temperature > 0.0:
        scale = 1.0 / model.temperature
        if scale != model.mbr_scale:
            log_z = _infer(
                parts, scores, scale, structure, marginals, shares, work.scaled, work.loopy,
            )  # fmt: skip
            if not log_z > -np.inf:
                return OUT_OF_RANGE if math.isnan(log_z) else WITHOUT_TREE
        _write_probabilities(graph, tree, marginals, probabilities)
    copy_numbers(tree[1:], heads)
    return PARSED


@njit(inline=True)
def _score_parts(codes: Codes, parts: Parts, model: KernelModel, places: UInt32s) -> Floats:
    scores = np.empty(parts.graph.pairs[-1] + parts.labels.labels.shape[0])
    score_parts(codes, model.templates, parts, model.weights, places, scores)
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
    shares: Floats,
    scaled: bool | None,
    loopy_work: loopy.Workspace | None,
) -> float:
    """Write the marginals of the parts of the graph, labels summed out, and the probability of each
    label given its arc (``shares``), and return log Z; -inf if there is no tree, nan if the
    potentials are out of range.
    """
    graph, pooled = parts.graph, np.empty(marginals.shape[0])
    sum_labels(parts, scores * factor, pooled, shares)
    log_z = -np.inf
    if scaled is not None:
        if scaled:
            log_z = scaled_inside_outside(graph, pooled, structure.single_root, marginals)
        else:
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
    shares: Floats,
    structure: Structure,
    mbr_scale: float,
    square: Floats,
    heads: Ints,
    projective_work: projective.Workspace | None,
    search_work: SearchWorkspace | None,
    loopy_work: loopy.Workspace | None,
) -> bool:
    """Write the heads (n + 1,) of the tree with the most expected correct arcs by ``marginals``
    (parts,), each with its most probable label by ``shares`` (labels,), or for models without
    probabilities and loopy inference of a tree of high score; False if there is no tree.
    """
    graph, size = parts.graph, heads.shape[0]
    if loopy_work is not None and mbr_scale >= BEST_TREE_MBR_SCALE:
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
    scatter(graph.arcs, _with_best_labels(parts, marginals, shares), sums)
    score = -np.inf
    if projective_work is not None:
        score = projective.eisner(sums, structure.single_root, heads, projective_work)
    if search_work is not None:
        score = chu_liu_edmonds(sums, structure.single_root, heads, search_work)
    return score > -np.inf


@njit
def _with_best_labels(parts: Parts, marginals: Floats, shares: Floats) -> Floats:
    """The probability of each arc with the most probable of its labels; that of the arc where no
    labels are listed, as for arcs that every tree has.
    """
    best, starts = marginals[: parts.graph.arcs.shape[0]].copy(), parts.labels.starts
    for a in range(starts.shape[0] - 1):
        if starts[a] < starts[a + 1]:
            best[a] *= shares[starts[a] : starts[a + 1]].max()
    return best


@njit(inline=True)
def _write_probabilities(
    graph: ArcGraph, heads: Ints, marginals: Floats, probabilities: Floats
) -> None:
    for a in range(graph.arcs.shape[0]):
        dependent = graph.arcs[a, 1]
        if heads[dependent] == graph.arcs[a, 0]:
            probabilities[dependent - 1] = min(1.0, marginals[a])


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
    codes, parts = parts_of(values, ALL_CANDIDATES, model, work)
    if len(parts.graph.arcs) == 0:
        return []
    n_labels = len(parts.labels.labels)
    scores, places = np.empty(parts.graph.pairs[-1] + n_labels), work.buffers.places
    pooled, shares = np.empty(parts.graph.pairs[-1]), np.empty(n_labels)
    score_parts(codes, model.templates, parts, model.weights, places, scores)
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
