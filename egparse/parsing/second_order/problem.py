"""The training problem of the second-order parser: arcs, labels and pairs of arcs, over the arcs
that the pruner keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np

from egparse.compilation import njit
from egparse.parsing.arc_problem import HashedProblem
from egparse.parsing.candidates import NO_LABEL
from egparse.parsing.second_order.decode import ANNEALING
from egparse.parsing.second_order.parts import (
    Codes,
    Parts,
    Templates,
    add_parts,
    best_labels,
    score_parts,
    share_out,
    sum_labels,
)
from egparse.parsing.tree_inference import Trees
from egparse.storage.arrays import Weights
from egparse.structures.second_order import loopy
from egparse.structures.second_order.annealing import find_tree
from egparse.structures.second_order.arc_graph import mark_tree
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import best_tree, k_best
from egparse.types import Floats, Ints, Longs, Mask, Shorts

Inference = Literal["exact", "loopy"]


class SecondOrderProblem(HashedProblem):
    """Sentence ``i`` has the correct label ranks ``ranks[i]`` beside its heads; a word without a
    head has no label either. The correct structure is held in float32.

    With loopy inference, marginals are pseudo-marginals and log Z is an estimate
    (``structures.second_order.loopy``): any loss may be below 0. ``calls`` counts the calls of
    ``marginals``, ``unconverged`` those in which messages did not converge.
    """

    _codes: Sequence[Codes]
    _parts: Sequence[Parts]

    def __init__(
        self,
        *,
        codes: Sequence[Codes],
        parts: Sequence[Parts],
        heads: Sequence[Ints],
        ranks: Sequence[Ints],
        templates: Templates,
        bits: int,
        trees: Trees,
        single_root: bool,
        inference: Inference,
        schedule: loopy.Schedule,
        known: Sequence[Mask] | None = None,
    ) -> None:
        self._ranks, self._templates, self._is_projective = ranks, templates, trees == "projective"
        self._is_exact, self._schedule = inference == "exact", schedule
        self.calls = 0
        self.unconverged = 0
        super().__init__(
            codes=codes,
            parts=parts,
            sizes=[int(each.graph.pairs[-1]) + len(each.labels.labels) for each in parts],
            heads=heads,
            bits=bits,
            single_root=single_root,
            known=known,
            precision=np.float32,
        )
        for i, (graph, candidates) in enumerate(parts):
            gold, n = np.zeros(self._size(i)), graph.pairs[-1]
            mark_tree(graph, np.concatenate([[-1], heads[i]]).astype(np.int32), gold[:n])
            arc_of, correct = self._labelled(i)
            is_correct = (correct != NO_LABEL) & (candidates.labels == correct)
            gold[n:] = (gold[arc_of] > 0) & is_correct
            self.set_target(i, gold)

    def _make_room(self) -> None:
        super()._make_room()
        self._pooled, self._shares = np.empty((2, len(self._scores)))
        self._groups = np.empty(len(self._scores), dtype=np.int16)
        # exact inference allocates its charts itself
        words = 1 if self._is_exact else len(self._heads) - 1
        self._work = loopy.workspace(words, is_projective=self._is_projective)

    def arcs(self, i: int) -> Shorts:
        return self._parts[i].graph.arcs

    def _labelled(self, i: int) -> tuple[Longs, Ints]:
        """The arc of each candidate label, and the correct label rank of the word that it is to."""
        arcs, labels = self.arcs(i), self._parts[i].labels
        arc_of = np.repeat(np.arange(len(arcs)), np.diff(labels.starts))
        return arc_of, self._ranks[i][arcs[arc_of, 1] - 1]

    def allowed(self, i: int) -> Mask:
        """The arcs to words without a head and those from the annotated heads; the annotated labels
        of these; and all pairs, which are ruled out where one of their arcs is.
        """
        allowed = super().allowed(i)
        if self._known is not None:
            parts, (arc_of, ranks) = self._parts[i], self._labelled(i)
            is_free = (ranks == NO_LABEL) | ~self._known[i][self.arcs(i)[arc_of, 1] - 1]
            allowed[parts.graph.pairs[-1] :] = is_free | (parts.labels.labels == ranks)
        return allowed

    def groups(self, i: int) -> Shorts:
        """Arcs with their labels, siblings with START, stops and grandparents, by their dependent:
        a tree has at most one of each.
        """
        out = self._groups[: self._size(i)]
        _group(self._parts[i], out)
        return out

    def scores(self, i: int) -> Floats:
        """Scores of all parts."""
        codes, parts, out = self._codes[i], self._parts[i], self._scores[: self._size(i)]
        score_parts(codes, self._templates, parts, Weights(self.weights), self._places, out)
        return out

    def add(self, i: int, changes: Floats) -> float:
        """Add changes, times the features of the parts, to w; returns the change of |w|^2."""
        codes, parts, weights = self._codes[i], self._parts[i], self.weights
        return float(add_parts(codes, self._templates, parts, changes, weights, self._places))

    def _room(self, i: int) -> tuple[Floats, Floats]:
        """Buffers for the parts of the graph and for labels."""
        n = int(self._parts[i].graph.pairs[-1])
        return self._pooled[:n], self._shares[: self._size(i) - n]

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Exact or loopy, with labels summed out."""
        parts, (pooled, shares) = self._parts[i], self._room(i)
        sum_labels(parts, potentials, pooled, shares)
        self.calls += 1
        if self._is_exact:
            log_z = inside_outside(parts.graph, pooled, self._single_root, out[: len(pooled)])
        else:
            outcome = loopy.propagate(
                parts.graph,
                pooled,
                self._is_projective,
                self._single_root,
                self._schedule,
                True,
                out[: len(pooled)],
                self._work,
            )
            self.unconverged += outcome.residual > self._schedule.residual
            log_z = outcome.log_partition
        share_out(parts, shares, out)
        return float(log_z)

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """The best tree; with loopy inference a tree of high score, the best one that annealing
        meets.
        """
        parts, (pooled, shares), single_root = self._parts[i], self._room(i), self._single_root
        best_labels(parts, potentials, pooled, shares)
        heads = self._heads[: len(parts.graph.into) - 1]
        if self._is_exact:
            score = best_tree(parts.graph, pooled, single_root, heads)
        else:
            score = find_tree(
                parts.graph,
                pooled,
                self._is_projective,
                single_root,
                ANNEALING,
                heads,
                self._work,
            )
        mark_tree(parts.graph, heads, out[: len(pooled)])
        share_out(parts, shares, out)
        return float(score)

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Up to k best trees, each with its best labels, (trees, parts), best first; one with loopy
        inference.
        """
        if not self._is_exact:
            best = np.zeros((1, len(potentials)))
            self.argmax(i, potentials, best[0])
            return best
        parts, (pooled, shares) = self._parts[i], self._room(i)
        best_labels(parts, potentials, pooled, shares)
        trees = k_best(parts.graph, pooled, k, self._single_root)
        rows = np.zeros((len(trees), len(potentials)))
        for row, tree in zip(rows, trees, strict=True):
            mark_tree(parts.graph, tree.heads, row[: len(pooled)])
            share_out(parts, shares, row)
        return rows

    def view(self, first: int, end: int) -> Self:
        other = super().view(first, end)
        other._ranks = self._ranks[first:end]
        return other


@njit
def _group(parts: Parts, groups: Shorts) -> None:
    """Write a group number, less than the number of parts, for each part."""
    graph, labels = parts.graph, parts.labels
    n_words, n = graph.into.shape[0] - 2, graph.pairs[-1]
    # grandparents are numbered in the order they are met: numbers by words could exceed the number
    # of parts
    of_grandparents = np.full(n_words, -1, dtype=np.int16)
    count = (3 if graph.siblings else 1) * n_words
    for b in range(graph.blocks.shape[0] - 1):
        for a in range(graph.blocks[b], graph.blocks[b + 1]):
            dependent = graph.arcs[a, 1] - 1
            groups[a] = dependent
            groups[n + labels.starts[a] : n + labels.starts[a + 1]] = dependent
            place, end = graph.pairs[a], graph.pairs[a + 1]
            if graph.siblings:
                stop = place + a - graph.blocks[b] + 1
                groups[place:stop] = n_words + dependent
                groups[stop] = 2 * n_words + dependent
                place = stop + 1
            if place < end and of_grandparents[dependent] < 0:
                of_grandparents[dependent] = count
                count += 1
            groups[place:end] = of_grandparents[dependent]
