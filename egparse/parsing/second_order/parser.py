"""The second-order parser: a pruner, then arcs with their labels, siblings and grandparents over
the arcs that are left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import ArcCodes, score_arcs
from egparse.features.word_table import Columns, Words
from egparse.parsing.arc_parser import (
    HeadsWithProbabilities,
    Parser,
    ScoredTree,
    check_k_best,
    sentence_values,
)
from egparse.parsing.arc_problem import Trees, scatter
from egparse.parsing.candidates import ArcFilter, candidate_arcs
from egparse.parsing.constraints import FREE, NO_TREE, ArcConstraints, constrain_arcs
from egparse.parsing.label_candidates import ArcLabelDictionary, candidate_labels, with_correct
from egparse.parsing.long_sentences import LONGEST, parse_in_pieces
from egparse.parsing.second_order.features import (
    Codes,
    Parts,
    Templates,
    best_labels,
    compile_templates,
    encode,
    sum_labels,
    visit_parts,
)
from egparse.storage.quantised_weights import pack_weights, unpack_weights
from egparse.structures.logsumexp import log_sum
from egparse.structures.second_order import loopy as loopy_trees
from egparse.structures.second_order.annealing import Annealing, find_tree
from egparse.structures.second_order.arc_graph import ArcGraph, lay_out, mark_tree
from egparse.structures.second_order.loopy import Schedule, propagate
from egparse.structures.second_order.projective import inside_outside, scaled_inside_outside
from egparse.structures.second_order.projective_log import LOG, k_best, log_inside_outside
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import (
    SearchWorkspace,
    chu_liu_edmonds,
    search_workspace,
)
from egparse.structures.trees.dependency_trees import NO_HEAD, BestTree
from egparse.structures.trees.projective import eisner
from egparse.types import Arcs, Floats, Ints, Longs, Mask, Singles, UInt32s

SCHEDULE = Schedule()
"""Of loopy inference, in training and parsing."""


_CONSIDERED = 2
"""How many times as many trees as are asked for are ranked by score where arcs may cross."""

BEST_TREE_MBR_SCALE = 30.0
"""For learners that know of no probabilities: next to all of them goes to the tree of highest
score, which theirs are made for.

Belief propagation does not reach that far: loopy inference looks for that tree.
"""

_ANNEALING = Annealing()

_ANY_ARCS = np.empty((0, 2), dtype=np.int16)


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


@dataclass(frozen=True)
class SecondOrderParser:
    """Weights and what is needed to find candidate arcs, their labels and pairs, and their
    features; immutable.

    ``labels`` are those behind the ranks of the dictionary, for training to go on from.
    """

    pruner: Parser
    pruning: Pruning
    order: Order
    dictionary: ArcLabelDictionary
    texts: Mapping[str, tuple[str, ...]]
    templates: Templates
    weights: Singles
    mbr_scale: float
    temperature: float = 1.0
    labels: tuple[str, ...] = ()

    @property
    def trees(self) -> Trees:
        """The kind of trees."""
        return self.pruner.trees

    @property
    def single_root(self) -> bool:
        """Whether trees have just one root."""
        return self.pruner.single_root

    def predict(self, words: Words, constraints: ArcConstraints | None = None) -> Ints:
        """The head of each word: its position in the sentence from 1 on, 0 for the root; see
        ``Parser.predict``.

        The tree with the most expected correct heads under the marginals of arcs (minimum Bayes
        risk). A sentence gets the tree of the pruner where the arcs that it leaves have none, or
        where ``constraints`` leave none that is projective.
        """
        return self._predict(words, constraints, self.kernel())[0]

    def predict_with_probabilities(
        self, words: Words, constraints: ArcConstraints | None = None
    ) -> HeadsWithProbabilities:
        """The heads, and the marginal probability of each chosen arc under scores divided by
        ``temperature``.

        Fixed heads have probability 1. In a sentence whose tree is the pruner's, probabilities are
        the pruner's.
        """
        heads, probabilities = self._predict(
            words, constraints, self.kernel(with_probabilities=True)
        )
        if constraints is not None:
            probabilities[(constraints.heads != FREE) & (heads == constraints.heads)] = 1.0
        return HeadsWithProbabilities(heads, probabilities)

    def with_temperature(self, temperature: float) -> SecondOrderParser:
        """The same parser, whose probabilities are those of scores divided by a temperature."""
        return replace(self, temperature=temperature)

    def k_best(self, words: Words, k: int) -> list[list[ScoredTree]]:
        """For each sentence its ``k`` most probable trees over the arcs that the pruner leaves,
        best first; fewer where fewer exist.

        Their distribution is that of scores divided by ``temperature``, labels summed out.
        Projective trees and their probabilities are exact, however expectations are taken in
        parsing. Where arcs may cross, more than ``k`` trees are found by the product of their arcs'
        pseudo-marginals, and the ``k`` of highest score among them are listed. log Z is then the
        estimate of loopy belief propagation, but never less than the trees that have been found add
        up to, and just that where all have been found.

        See ``Parser.k_best`` for the rest. A sentence gets the trees of the pruner where the arcs
        that it leaves have none.

        Raises:
            ValueError: k < 1.
            EgparseError: a sentence of more than ``LONGEST`` words.
        """
        check_k_best(words, k)
        kernel = self.kernel(with_probabilities=True)
        values = sentence_values(self.pruner.columns.values(words), words)
        return [self._k_best_of(own, k, kernel) or self.pruner.k_best_of(own, k) for own in values]

    def _k_best_of(self, own: Ints, k: int, kernel: Kernel) -> list[ScoredTree]:
        """Of one sentence with the given column values; none where it is to be left to the
        pruner.
        """
        if len(own) == 1:
            return []
        scratch = scratch_for(len(own) - 1, self.order)
        codes, parts = _parts(own, kernel, scratch)
        graph = parts.graph
        if len(graph.arcs) == 0:
            return []
        n = graph.pairs[-1]
        scores = np.empty(n + len(parts.labels.labels))
        visit_parts(
            codes, kernel.templates, parts, scores, kernel.weights, scratch.buffers.places, False
        )
        pooled, shares = np.empty(n), np.empty(len(parts.labels.labels))
        sum_labels(parts, scores / kernel.temperature, pooled, shares)
        if self.order.projective:
            log_z = inside_outside(graph, pooled, self.single_root, np.empty(n))
            trees = k_best(graph, pooled, k, self.single_root)
        else:
            log_z, trees = _k_best_crossing(graph, pooled, k, self.single_root)
        return [ScoredTree(tree.heads[1:], min(0.0, tree.score - log_z)) for tree in trees]

    def _predict(
        self, words: Words, constraints: ArcConstraints | None, kernel: Kernel
    ) -> tuple[Ints, Floats]:
        values = self.pruner.columns.values(words)
        heads = np.full(len(words.form_ids), NO_HEAD, dtype=np.int32)
        probabilities = np.ones(len(heads))
        lengths = np.diff(words.starts)
        constrained = (
            np.zeros(len(lengths), dtype=np.bool_)
            if constraints is None
            else constraints.constrained
        )
        whole = (lengths <= LONGEST) & (lengths > 0)
        scratch = scratch_for(int(lengths[whole].max(initial=1)), self.order)
        done = whole & ~constrained
        _parse_sentences(
            values, words.starts, done, _ANY_ARCS, kernel, scratch, heads, probabilities
        )
        for i in np.flatnonzero(whole & constrained):
            assert constraints is not None
            first, end = words.starts[i], words.starts[i + 1]
            own = values[first + i : end + i + 1]
            count = candidate_arcs(own, kernel.arc_filter, scratch.buffers.arcs)
            count = constrain_arcs(
                scratch.buffers.arcs,
                count,
                *constraints.arcs(int(i), first, end),
                self.single_root,
                scratch.buffers.arcs,
            )
            if count != NO_TREE:
                arcs = scratch.buffers.arcs[:count].copy()
                done[i] = _parse_one(
                    own, arcs, kernel, scratch, heads[first:end], probabilities[first:end]
                )
        for i in np.flatnonzero(~whole & ~constrained & (lengths > 0)):
            first, end = words.starts[i], words.starts[i + 1]
            pieces = _Pieces(values[first + i : end + i + 1], kernel)
            heads[first:end] = parse_in_pieces(
                int(end - first), pieces.heads, single_root=self.single_root
            )
            probabilities[first:end] = pieces.probabilities
            done[i] = pieces.all_parsed
        left = np.repeat(~done, lengths)
        if left.any():
            of_pruner = self.pruner.predict_with_probabilities(words, constraints)
            heads[left], probabilities[left] = of_pruner[0][left], of_pruner[1][left]
        return heads, probabilities

    def kernel(self, with_probabilities: bool = False) -> Kernel:
        """What compiled loops take."""
        return Kernel(
            self.pruner.arc_filter,
            self.pruner.weights,
            self.pruning,
            self.order,
            self.dictionary,
            self.templates,
            self.weights,
            self.mbr_scale,
            self.temperature if with_probabilities else 0.0,
        )

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it."""
        return {
            "pruner": self.pruner.to_payload(),
            "pruning": dict(self.pruning._asdict()),
            "order": dict(self.order._asdict()),
            "dictionary": dict(self.dictionary._asdict()),
            "templates": {name: list(texts) for name, texts in self.texts.items()},
            "weights": pack_weights(self.weights),
            "sharpness": self.mbr_scale,
            "temperature": self.temperature,
            "labels": list(self.labels),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], columns: Columns) -> SecondOrderParser:
        """The parser over the columns of its model."""
        pruner = Parser.from_payload(payload["pruner"], columns)
        texts = {name: tuple(own) for name, own in payload["templates"].items()}
        dictionary = payload["dictionary"]
        return cls(
            pruner,
            Pruning(**payload["pruning"]),
            Order(**payload["order"]),
            ArcLabelDictionary(
                dictionary["labels"].copy(),
                dictionary["starts"].copy(),
                dictionary["column"],
                dictionary["n_tags"],
            ),
            texts,
            compile_templates(pruner.templates, pruner.columns.names, **texts),
            unpack_weights(payload["weights"]),
            payload["sharpness"],
            payload["temperature"],
            tuple(payload.get("labels", ())),  # none: egparse 0.1.0
        )


class _Pieces:
    """Parses stretches of one long sentence; ``all_parsed`` unless a stretch has had no tree."""

    def __init__(self, values: Ints, kernel: Kernel) -> None:
        self._values, self._kernel = values, kernel
        self.all_parsed = True
        self.probabilities = np.ones(len(values) - 1)

    def heads(self, first: int, end: int) -> Ints:
        """The heads of the words from ``first`` to ``end - 1`` as if they were a sentence."""
        own = np.concatenate([self._values[:1], self._values[1 + first : 1 + end]])
        heads = np.zeros(end - first, dtype=np.int32)
        scratch = scratch_for(end - first, self._kernel.order)
        parsed = _parse_one(
            own, _ANY_ARCS, self._kernel, scratch, heads, self.probabilities[first:end]
        )
        self.all_parsed = self.all_parsed and parsed
        return heads


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


def _parse_sentences(
    values: Ints,
    starts: Longs,
    chosen: Mask,
    given: Arcs,
    kernel: Kernel,
    scratch: Scratch,
    heads: Ints,
    probabilities: Floats,
) -> None:
    """Parse the chosen sentences, over the ``given`` arcs if there are any; a sentence without a
    tree is chosen no more.
    """
    out_of_range = np.zeros(len(chosen), dtype=np.bool_)

    def parse(own: Mask, by_logarithms: bool | None) -> None:
        _parse_all(
            values,
            starts,
            own,
            given,
            kernel,
            scratch.buffers,
            scratch.projective,
            scratch.nonprojective,
            scratch.search,
            scratch.loopy,
            True if scratch.loopy is None else None,
            by_logarithms,
            heads,
            probabilities,
            out_of_range,
        )

    parse(chosen, None)
    if out_of_range.any():
        again = out_of_range.copy()
        parse(again, True)
        chosen |= again


def _parse_one(
    values: Ints, given: Arcs, kernel: Kernel, scratch: Scratch, heads: Ints, probabilities: Floats
) -> bool:
    """Parse one sentence; False if it has no tree."""
    starts, chosen = np.array([0, len(heads)], dtype=np.int64), np.ones(1, dtype=np.bool_)
    _parse_sentences(values, starts, chosen, given, kernel, scratch, heads, probabilities)
    return bool(chosen[0])


# Kernels see when they are compiled which of their arguments are None, and leave out what is only
# done where they are not: the algorithms that the parser at hand does not need. It saves half of
# the time of the first run.


@njit
def _parse_all(
    values: Ints,
    starts: Longs,
    chosen: Mask,
    given: Arcs,
    kernel: Kernel,
    buffers: Buffers,
    projective_work: projective.Workspace | None,
    nonprojective_work: nonprojective.Workspace | None,
    search_work: SearchWorkspace | None,
    loopy_work: loopy_trees.Workspace | None,
    exact: bool | None,
    by_logarithms: bool | None,
    heads: Ints,
    probabilities: Floats,
    out_of_range: Mask,
) -> None:
    """See ``_parse_sentences``. Sentences that only logarithms have the range for are marked, and
    chosen no more.
    """
    order = kernel.order
    for i in range(chosen.shape[0]):
        if not chosen[i]:
            continue
        chosen[i] = False
        begin, end = starts[i], starts[i + 1]
        own = values[begin + i : end + i + 1]
        size = own.shape[0]
        codes = encode(own, kernel.templates)
        count = given.shape[0]
        buffers.arcs[:count] = given
        if count == 0:
            count = candidate_arcs(own, kernel.arc_filter, buffers.arcs)
        arcs = prune(codes.arcs, count, size, kernel, buffers, projective_work, nonprojective_work)
        if arcs.shape[0] == 0:
            continue
        graph = lay_out(arcs, size, order.siblings, order.grandparents)
        n, m = graph.pairs[graph.arcs.shape[0]], graph.arcs.shape[0]
        parts = Parts(graph, candidate_labels(own, graph.arcs, kernel.dictionary))
        scores = np.empty(n + parts.labels.labels.shape[0])
        is_change = m < 0  # no literal False: visit_parts would be compiled once more for it
        visit_parts(
            codes, kernel.templates, parts, scores, kernel.weights, buffers.places, is_change
        )
        pooled, marginals, shares = np.empty(n), np.empty(n), np.empty(parts.labels.labels.shape[0])
        square = buffers.square[: size * size].reshape((size, size))
        best_heads = buffers.heads[:size]
        # once to find the tree, once more for its probabilities where these are asked for at
        # another temperature
        for factor in (
            kernel.mbr_scale,
            1.0 / kernel.temperature if kernel.temperature > 0.0 else 0.0,
        ):
            if not chosen[i] or (factor > 0.0 and factor != kernel.mbr_scale):
                sum_labels(parts, scores * factor, pooled, shares)
                log_z = -np.inf
                if exact is not None:
                    log_z = scaled_inside_outside(graph, pooled, order.single_root, marginals)
                if loopy_work is not None:
                    log_z = propagate(
                        graph,
                        pooled,
                        order.projective,
                        order.single_root,
                        SCHEDULE,
                        False,
                        marginals,
                        loopy_work,
                    ).log_partition
                if by_logarithms is not None:
                    log_z = log_inside_outside(graph, pooled, order.single_root, LOG, marginals)
                out_of_range[i] = math.isnan(log_z)
                if not log_z > -np.inf:
                    chosen[i] = False
                    break
            if chosen[i]:
                continue
            if loopy_work is not None and kernel.mbr_scale >= BEST_TREE_MBR_SCALE:
                best_labels(parts, scores, pooled, shares)
                find_tree(
                    graph,
                    pooled,
                    order.projective,
                    order.single_root,
                    _ANNEALING,
                    best_heads,
                    loopy_work,
                )
                chosen[i] = True
                continue
            scatter(graph.arcs, marginals[:m], square)
            score = -np.inf
            if projective_work is not None:
                score = eisner(square, order.single_root, best_heads, projective_work)
            if search_work is not None:
                score = chu_liu_edmonds(square, order.single_root, best_heads, search_work)
            if not score > -np.inf:
                break
            chosen[i] = True
        if not chosen[i]:
            continue
        heads[begin:end] = best_heads[1:]
        if kernel.temperature > 0.0:
            for a in range(m):
                if best_heads[graph.arcs[a, 1]] == graph.arcs[a, 0]:
                    probabilities[begin + graph.arcs[a, 1] - 1] = min(1.0, marginals[a])


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


def _parts(values: Ints, kernel: Kernel, scratch: Scratch) -> tuple[Codes, Parts]:
    """Codes and parts of a sentence to parse."""
    codes, arcs = _pruned(values, kernel, scratch)
    graph = lay_out(arcs, len(values), kernel.order.siblings, kernel.order.grandparents)
    return codes, Parts(graph, candidate_labels(values, graph.arcs, kernel.dictionary))


def _k_best_crossing(
    graph: ArcGraph, potentials: Floats, k: int, single_root: bool
) -> tuple[float, list[BestTree]]:
    """log Z as told at ``SecondOrderParser.k_best``, and trees by their scores, best first; none if
    there is no tree.
    """
    size, m = len(graph.into) - 1, len(graph.arcs)
    marginals = np.empty(len(potentials))
    work = loopy_trees.workspace(size - 1, is_projective=False)
    log_z = propagate(
        graph, potentials, False, single_root, SCHEDULE, True, marginals, work
    ).log_partition
    square = np.full((size, size), -np.inf)
    with np.errstate(divide="ignore"):
        square[graph.arcs[:, 0], graph.arcs[:, 1]] = np.log(marginals[:m])
    found = nonprojective.k_best(square, _CONSIDERED * k, single_root)
    if not found:
        return -np.inf, []
    trees = sorted(
        (BestTree(own.heads, _score(graph, potentials, own.heads)) for own in found),
        key=lambda tree: -tree.score,
    )
    sum_of_found = float(log_sum(np.array([tree.score for tree in trees])))
    all_found = len(found) < _CONSIDERED * k
    return sum_of_found if all_found else max(log_z, sum_of_found), trees[:k]


def _score(graph: ArcGraph, potentials: Floats, heads: Ints) -> float:
    """The sum of the potentials of a tree's parts; its arcs are candidates."""
    parts = np.empty(len(potentials))
    mark_tree(graph, heads, parts)
    return float(potentials[parts > 0.0].sum())


def training_parts(
    values: Ints, heads: Ints, ranks: Ints, kernel: Kernel, scratch: Scratch
) -> tuple[Codes, Parts]:
    """Codes and parts of a training sentence: what would be parsed, the correct arcs and labels
    among it.
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
