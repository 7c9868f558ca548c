"""The second-order parser: a pruner, then arcs with their labels, siblings and grandparents over the arcs that are left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.features.arcs import score_arcs
from egparse.structures import chu_liu_edmonds as spanning_trees
from egparse.structures import loopy_trees
from egparse.structures.arc_graph import lay_out
from egparse.structures.dependency_trees import NO_HEAD
from egparse.structures.loopy_trees import Schedule, propagate
from egparse.structures.nonprojective import matrix_tree
from egparse.structures.projective import eisner
from egparse.structures.projective import inside_outside as arc_marginals
from egparse.structures.pruned_trees import inside_outside
from egparse.tasks.arc_constraints import FREE, NO_TREE, ArcLimits, constrain_arcs
from egparse.tasks.arc_filter import ArcFilter, candidate_arcs
from egparse.tasks.arc_label_dictionary import ArcLabelDictionary, candidate_labels, with_correct
from egparse.tasks.long_sentences import LONGEST, parse_in_pieces
from egparse.tasks.parser import HeadsWithProbabilities, Parser
from egparse.tasks.second_order_features import (
    Codes,
    Parts,
    Templates,
    compile_templates,
    encode,
    score_parts,
    sum_labels,
)
from egparse.tasks.stored_weights import pack_weights, unpack_weights
from egparse.tasks.tree_problem import Trees, scatter
from egparse.tasks.word_columns import Columns, Words

Arcs = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Singles = npt.NDArray[np.float32]

SCHEDULE = Schedule()
"""Of loopy inference, in training and parsing."""


class Pruning(NamedTuple):
    """A word keeps at most ``heads`` heads, those that the pruner finds at least ``share`` times as probable as its best."""

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
    """All that the compiled loop over sentences needs. ``pruner`` are the weights of the arc-factored parser."""

    arc_filter: ArcFilter
    pruner: Singles
    pruning: Pruning
    order: Order
    dictionary: ArcLabelDictionary
    templates: Templates
    weights: Singles
    sharpness: float
    temperature: float


class Scratch(NamedTuple):
    """Buffers for one sentence of up to a given length."""

    arcs: Arcs
    scores: Floats
    places: npt.NDArray[np.uint32]
    work: loopy_trees.Workspace
    search: spanning_trees.SearchWorkspace
    heads: Ints


@dataclass(frozen=True)
class SecondOrderParser:
    """Weights and what is needed to find candidate arcs, their labels and pairs, and their features; immutable."""

    pruner: Parser
    pruning: Pruning
    order: Order
    dictionary: ArcLabelDictionary
    texts: Mapping[str, tuple[str, ...]]
    templates: Templates
    weights: Singles
    sharpness: float
    temperature: float = 1.0

    @property
    def trees(self) -> Trees:
        """The kind of trees."""
        return self.pruner.trees

    @property
    def single_root(self) -> bool:
        """Whether trees have just one root."""
        return self.pruner.single_root

    def predict(self, words: Words, limits: ArcLimits | None = None) -> Ints:
        """The head of each word: its position in the sentence from 1 on, 0 for the root; see ``Parser.predict``.

        The tree with the most expected correct heads under the marginals of arcs (minimum Bayes risk). A sentence gets the tree of the
        pruner where the arcs that it leaves have none, or where ``limits`` leave none that is projective.
        """
        return self._predict(words, limits, self.kernel())[0]

    def predict_with_probabilities(
        self, words: Words, limits: ArcLimits | None = None
    ) -> HeadsWithProbabilities:
        """The heads, and the marginal probability of each chosen arc under scores divided by ``temperature``.

        Fixed heads have probability 1. In a sentence whose tree is the pruner's, probabilities are the pruner's.
        """
        heads, probabilities = self._predict(words, limits, self.kernel(with_probabilities=True))
        if limits is not None:
            probabilities[(limits.heads != FREE) & (heads == limits.heads)] = 1.0
        return HeadsWithProbabilities(heads, probabilities)

    def _predict(self, words: Words, limits: ArcLimits | None, kernel: Kernel) -> tuple[Ints, Floats]:
        values = self.pruner.columns.values(words)
        heads = np.full(len(words.form_ids), NO_HEAD, dtype=np.int32)
        probabilities = np.ones(len(heads))
        lengths = np.diff(words.starts)
        limited = np.zeros(len(lengths), dtype=np.bool_) if limits is None else limits.limited
        whole = (lengths <= LONGEST) & (lengths > 0)
        scratch = scratch_for(int(lengths[whole].max(initial=1)), self.order.projective)
        done = whole & ~limited
        _parse_all(values, words.starts, done, kernel, scratch, heads, probabilities)
        for i in np.flatnonzero(whole & limited):
            assert limits is not None
            first, end = words.starts[i], words.starts[i + 1]
            own = values[first + i : end + i + 1]
            count = candidate_arcs(own, kernel.arc_filter, scratch.arcs)
            count = constrain_arcs(
                scratch.arcs, count, *limits.arcs(int(i), first, end), self.single_root, scratch.arcs
            )
            if count != NO_TREE:
                done[i] = _parse_one(own, count, kernel, scratch, heads[first:end], probabilities[first:end])
        for i in np.flatnonzero(~whole & ~limited & (lengths > 0)):
            first, end = words.starts[i], words.starts[i + 1]
            pieces = _Pieces(values[first + i : end + i + 1], kernel)
            heads[first:end] = parse_in_pieces(int(end - first), pieces.heads, single_root=self.single_root)
            probabilities[first:end] = pieces.probabilities
            done[i] = pieces.all_parsed
        left = np.repeat(~done, lengths)
        if left.any():
            of_pruner = self.pruner.predict_with_probabilities(words, limits)
            heads[left], probabilities[left] = of_pruner[0][left], of_pruner[1][left]
        return heads, probabilities

    def kernel(self, with_probabilities: bool = False) -> Kernel:
        """What compiled loops take."""
        return Kernel(
            self.pruner.arc_filter, self.pruner.weights, self.pruning, self.order, self.dictionary, self.templates,
            self.weights, self.sharpness, self.temperature if with_probabilities else 0.0,
        )  # fmt: skip

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it."""
        return {
            "pruner": self.pruner.to_payload(),
            "pruning": dict(self.pruning._asdict()),
            "order": dict(self.order._asdict()),
            "dictionary": dict(self.dictionary._asdict()),
            "templates": {name: list(texts) for name, texts in self.texts.items()},
            "weights": pack_weights(self.weights),
            "sharpness": self.sharpness,
            "temperature": self.temperature,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], columns: Columns) -> SecondOrderParser:
        """The parser over the columns of its model."""
        pruner = Parser.from_payload(payload["pruner"], columns)
        texts = {name: tuple(own) for name, own in payload["templates"].items()}
        dictionary = payload["dictionary"]
        return cls(
            pruner, Pruning(**payload["pruning"]), Order(**payload["order"]),
            ArcLabelDictionary(
                dictionary["labels"].copy(), dictionary["starts"].copy(), dictionary["column"], dictionary["n_tags"]
            ),
            texts, compile_templates(pruner.templates, pruner.columns.names, **texts),
            unpack_weights(payload["weights"]), payload["sharpness"], payload["temperature"],
        )  # fmt: skip


class _Pieces:
    """Parses stretches of one long sentence; ``all_parsed`` unless a stretch has had no tree."""

    def __init__(self, values: Ints, kernel: Kernel) -> None:
        self._values, self._kernel = values, kernel
        self.all_parsed = True
        self.probabilities = np.ones(len(values) - 1)

    def heads(self, first: int, end: int) -> Ints:
        """The heads of the words from ``first`` to ``end - 1`` as if they were a sentence."""
        own = np.concatenate([self._values[:1], self._values[1 + first : 1 + end]])
        starts = np.array([0, end - first], dtype=np.int64)
        done = np.ones(1, dtype=np.bool_)
        heads = np.zeros(end - first, dtype=np.int32)
        scratch = scratch_for(end - first, self._kernel.order.projective)
        _parse_all(own, starts, done, self._kernel, scratch, heads, self.probabilities[first:end])
        self.all_parsed = self.all_parsed and bool(done[0])
        return heads


def scratch_for(longest: int, is_projective: bool) -> Scratch:
    """Buffers for sentences of up to ``longest`` words."""
    return Scratch(
        np.empty(((longest + 1) ** 2, 2), dtype=np.int16),
        np.empty((longest + 1) ** 2),
        np.empty(4096, dtype=np.uint32),
        loopy_trees.workspace(longest, is_projective=is_projective),
        spanning_trees.search_workspace(1 if is_projective else longest),
        np.empty(longest + 1, dtype=np.int32),
    )


@njit
def _parse_all(
    values: Ints,
    starts: npt.NDArray[np.int64],
    chosen: npt.NDArray[np.bool_],
    kernel: Kernel,
    scratch: Scratch,
    heads: Ints,
    probabilities: Floats,
) -> None:
    """Parse the chosen sentences; a sentence without a tree is chosen no more."""
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, end = starts[i], starts[i + 1]
            own = values[first + i : end + i + 1]
            count = candidate_arcs(own, kernel.arc_filter, scratch.arcs)
            chosen[i] = _parse_one(own, count, kernel, scratch, heads[first:end], probabilities[first:end])


@njit
def _parse_one(
    values: Ints, count: int, kernel: Kernel, scratch: Scratch, heads: Ints, probabilities: Floats
) -> bool:
    """Parse one sentence over the first ``count`` arcs of the scratch; False if these or those that are left of them have no tree."""
    size = values.shape[0]
    order, work = kernel.order, scratch.work
    codes = encode(values, kernel.templates)
    arcs = _prune(codes, count, kernel, scratch, size)
    if arcs.shape[0] == 0:
        return False
    graph = lay_out(arcs, size, order.siblings, order.grandparents)
    n, m = graph.pairs[graph.arcs.shape[0]], graph.arcs.shape[0]
    parts = Parts(graph, candidate_labels(values, graph.arcs, kernel.dictionary))
    scores = np.empty(n + parts.labels.labels.shape[0])
    score_parts(codes, kernel.templates, parts, kernel.weights, scratch.places, scores)
    marginals = np.empty(n)
    if not _arc_marginals(parts, scores, kernel.sharpness, order, marginals, work):
        return False
    square = work.square[: size * size].reshape((size, size))
    scatter(graph.arcs, marginals[:m], square)
    own = scratch.heads[:size]
    if order.projective:
        best = eisner(square, order.single_root, own, work.projective)
    else:
        best = spanning_trees.chu_liu_edmonds(square, order.single_root, own, scratch.search)
    if not best > -np.inf:
        return False
    for d in range(1, size):
        heads[d - 1] = own[d]
    if kernel.temperature > 0.0:
        if kernel.temperature * kernel.sharpness != 1.0:
            _arc_marginals(parts, scores, 1.0 / kernel.temperature, order, marginals, work)
        for a in range(m):
            if heads[graph.arcs[a, 1] - 1] == graph.arcs[a, 0]:
                probabilities[graph.arcs[a, 1] - 1] = min(1.0, marginals[a])
    return True


@njit
def _arc_marginals(
    parts: Parts, scores: Floats, factor: float, order: Order, marginals: Floats, work: loopy_trees.Workspace
) -> bool:
    """Marginals of the arcs under the scores times a factor; False if there is no tree."""
    pooled = np.empty(marginals.shape[0])
    shares = np.empty(parts.labels.labels.shape[0])
    if factor == 1.0:
        sum_labels(parts, scores, pooled, shares)
    else:
        sum_labels(parts, scores * factor, pooled, shares)
    if order.exact:
        return bool(inside_outside(parts.graph, pooled, order.single_root, marginals) > -np.inf)
    outcome = propagate(
        parts.graph, pooled, order.projective, order.single_root, SCHEDULE, False, marginals, work
    )
    return bool(outcome.log_partition > -np.inf)


@njit
def training_parts(
    values: Ints, heads: Ints, ranks: Ints, kernel: Kernel, scratch: Scratch
) -> tuple[Codes, Parts]:
    """Codes and parts of a training sentence: what would be parsed, the correct arcs and labels among it."""
    size = values.shape[0]
    codes = encode(values, kernel.templates)
    count = candidate_arcs(values, kernel.arc_filter, scratch.arcs)
    pruned = _prune(codes, count, kernel, scratch, size)
    arcs = np.empty((pruned.shape[0] + size - 1, 2), dtype=np.int16)
    arcs[: pruned.shape[0]] = pruned
    count = pruned.shape[0]
    is_there = np.zeros(size, dtype=np.bool_)
    for a in range(pruned.shape[0]):
        if heads[pruned[a, 1] - 1] == pruned[a, 0]:
            is_there[pruned[a, 1]] = True
    for d in range(1, size):
        if not is_there[d]:
            arcs[count, 0], arcs[count, 1] = heads[d - 1], d
            count += 1
    graph = lay_out(arcs[:count], size, kernel.order.siblings, kernel.order.grandparents)
    labels = with_correct(candidate_labels(values, graph.arcs, kernel.dictionary), graph.arcs, heads, ranks)
    return codes, Parts(graph, labels)


@njit
def _prune(codes: Codes, count: int, kernel: Kernel, scratch: Scratch, size: int) -> Arcs:
    """The arcs of the scratch that the pruner keeps; none if they have no tree."""
    arcs, work, order = scratch.arcs[:count], scratch.work, kernel.order
    square = work.square[: size * size].reshape((size, size))
    marginals = work.marginals[: size * size].reshape((size, size))
    score_arcs(codes.arcs, kernel.templates.arcs, arcs, kernel.pruner, scratch.places, scratch.scores)
    scatter(arcs, scratch.scores, square)
    if order.projective:
        log_z = arc_marginals(square, order.single_root, marginals, work.projective)
    else:
        log_z = matrix_tree(square, order.single_root, marginals, work.nonprojective)
    if not log_z > -np.inf:
        return np.empty((0, 2), dtype=np.int16)
    for a in range(count):
        scratch.scores[a] = marginals[arcs[a, 0], arcs[a, 1]]
    return _most_probable(arcs, scratch.scores, kernel.pruning, size)


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
