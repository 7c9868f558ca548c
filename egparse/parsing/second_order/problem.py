"""The training problem of the second-order parser: arcs, labels and pairs of arcs, over the arcs
that the pruner keeps.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import copy
from typing import Literal

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.learners.completion import not_all, some_of
from egparse.learners.problem import NONE, Problem
from egparse.parsing.label_candidates import NO_LABEL
from egparse.parsing.second_order.decode import ANNEALING
from egparse.parsing.second_order.features import (
    Codes,
    Parts,
    Templates,
    best_labels,
    share_out,
    sum_labels,
    visit_parts,
)
from egparse.parsing.tree_inference import Trees
from egparse.structures.second_order import loopy
from egparse.structures.second_order.annealing import find_tree
from egparse.structures.second_order.arc_graph import mark_tree
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import best_tree, k_best
from egparse.types import Floats, Ints, Mask, Shorts, Singles

Inference = Literal["exact", "loopy"]


class SecondOrderProblem(Problem):
    """Sentence ``i`` has the hashed ``codes[i]``, the ``parts[i]``, the correct ``heads[i]`` and
    label ranks ``ranks[i]``.

    A correct tree may be non-projective for projective inference: its features enter v, but its
    loss may fall below 0. With loopy inference, marginals are pseudo-marginals and log Z is an
    estimate (``structures.second_order.loopy``): any loss may be below 0. ``calls`` counts the
    calls of ``marginals``, ``unconverged`` those in which messages did not converge.

    ``known`` is as in ``arc_problem.TreeProblem``; a word without a head has no label either.
    """

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
        self._heads_of, self._ranks, self._known = heads, ranks, known
        self.partial = NONE if known is None else not_all(known)
        self.weights = np.zeros(1 << bits, dtype=np.float32)
        self._codes, self._parts, self._templates = codes, parts, templates
        self._is_projective, self._single_root = trees == "projective", single_root
        self._is_exact, self._schedule = inference == "exact", schedule
        sizes = [int(each.graph.pairs[-1]) + len(each.labels.labels) for each in parts]
        self.part_starts = np.cumsum([0, *sizes], dtype=np.int64)
        self._gold = np.zeros(self.part_starts[-1], dtype=np.float32)
        for i, (start, end) in enumerate(itertools.pairwise(self.part_starts)):
            _mark(parts[i], heads[i], ranks[i], self._gold[start:end])
        self._make_room()
        self.calls = 0
        self.unconverged = 0

    def _make_room(self) -> None:
        """Buffers for the largest sentence."""
        most = int(np.diff(self.part_starts).max(initial=1))
        words = max((len(correct) for correct in self._heads_of), default=1)
        self._scores, self._cost, self._correct, self._pooled, self._shares = np.empty((5, most))
        self._groups = np.empty(most, dtype=np.int16)
        self._places = np.empty(4096, dtype=np.uint32)
        # exact inference allocates its charts itself
        self._work = loopy.workspace(
            1 if self._is_exact else words, is_projective=self._is_projective
        )
        self._heads = np.empty(words + 1, dtype=np.int32)

    def gold(self, i: int) -> Floats:
        """One on the parts of the correct tree and its labels, or the probability of each part in
        the target, rounded to float32.
        """
        start, end = self.part_starts[i], self.part_starts[i + 1]
        out = self._correct[: end - start]
        out[:] = self._gold[start:end]
        return out

    def set_target(self, i: int, target: Floats) -> float:
        """Learn sentence i from the probabilities of parts ``target`` from now on; returns 0."""
        self._gold[self.part_starts[i] : self.part_starts[i + 1]] = target
        return 0.0

    def allowed(self, i: int) -> Mask:
        """The arcs to words without a head and those from the annotated heads; the annotated labels
        of these; and all pairs, which are ruled out where one of their arcs is.
        """
        out = np.ones(self.part_starts[i + 1] - self.part_starts[i], dtype=np.bool_)
        if self._known is not None:
            _allow(self._parts[i], self._heads_of[i], self._ranks[i], self._known[i], out)
        return out

    def groups(self, i: int) -> Shorts:
        """Arcs with their labels, siblings with START, stops and grandparents, by their dependent:
        a tree has at most one of each.
        """
        out = self._groups[: self.part_starts[i + 1] - self.part_starts[i]]
        _group(self._parts[i], out)
        return out

    def division(self, i: int) -> tuple[Shorts, bool]:
        """The dependent of each arc; labels and pairs of arcs are in no group."""
        arcs = self._parts[i].graph.arcs
        out = self._groups[: self.part_starts[i + 1] - self.part_starts[i]]
        out[: len(arcs)] = arcs[:, 1]
        out[len(arcs) :] = -1
        return out, False

    def cost(self, i: int) -> Floats:
        """Minus one on the correct arcs, 0 elsewhere: with the constant, each word with a wrong
        head costs one. In general minus the target on arcs: each word with a head costs the
        probability that it is wrong.
        """
        start, m = self.part_starts[i], len(self._parts[i].graph.arcs)
        out = self._cost[: self.part_starts[i + 1] - start]
        out[:] = 0.0
        out[:m] = -self._gold[start : start + m]
        if self._known is not None:
            out[:m] *= self._known[i][self._parts[i].graph.arcs[:, 1] - 1]
        return out

    def cost_constant(self, i: int) -> float:
        """The number of correct arcs among the candidates."""
        if self._known is not None:
            return -float(self.cost(i).sum())
        start = self.part_starts[i]
        return float(self._gold[start : start + len(self._parts[i].graph.arcs)].sum())

    def scores(self, i: int) -> Floats:
        """Scores of all parts."""
        out = self._scores[: self.part_starts[i + 1] - self.part_starts[i]]
        visit_parts(
            self._codes[i], self._templates, self._parts[i], out, self.weights, self._places, False
        )
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Exact or loopy, with labels summed out."""
        parts = self._parts[i]
        n = parts.graph.pairs[-1]
        pooled, shares = self._pooled[:n], self._shares[: len(out) - n]
        sum_labels(parts, potentials, pooled, shares)
        self.calls += 1
        if self._is_exact:
            log_z = inside_outside(parts.graph, pooled, self._single_root, out[:n])
        else:
            outcome = loopy.propagate(
                parts.graph,
                pooled,
                self._is_projective,
                self._single_root,
                self._schedule,
                True,
                out[:n],
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
        parts = self._parts[i]
        n = parts.graph.pairs[-1]
        pooled, shares = self._pooled[:n], self._shares[: len(out) - n]
        best_labels(parts, potentials, pooled, shares)
        heads = self._heads[: len(parts.graph.into) - 1]
        score = (
            best_tree(parts.graph, pooled, self._single_root, heads)
            if self._is_exact
            else find_tree(
                parts.graph,
                pooled,
                self._is_projective,
                self._single_root,
                ANNEALING,
                heads,
                self._work,
            )
        )
        mark_tree(parts.graph, heads, out[:n])
        share_out(parts, shares, out)
        return float(score)

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Up to k best trees, each with its best labels, (trees, parts), best first; one with loopy
        inference.
        """
        parts = self._parts[i]
        n = parts.graph.pairs[-1]
        best = np.zeros((1, len(potentials)))
        if not self._is_exact:
            self.argmax(i, potentials, best[0])
            return best
        pooled, shares = self._pooled[:n], self._shares[: len(potentials) - n]
        best_labels(parts, potentials, pooled, shares)
        trees = k_best(parts.graph, pooled, k, self._single_root)
        rows = np.zeros((len(trees), len(potentials)))
        for row, tree in zip(rows, trees, strict=True):
            mark_tree(parts.graph, tree.heads, row[:n])
            share_out(parts, shares, row)
        return rows

    def add(self, i: int, changes: Floats) -> float:
        """Add changes, times the features of the parts, to w; returns the change of |w|^2."""
        return float(
            visit_parts(
                self._codes[i],
                self._templates,
                self._parts[i],
                changes,
                self.weights,
                self._places,
                True,
            )
        )

    def vectors(self) -> tuple[Singles]:
        """The hashed table."""
        return (self.weights,)

    def with_own_weights(self) -> SecondOrderProblem:
        """The same sentences with a separate table of weights."""
        other = copy(self)
        other.weights = np.zeros_like(self.weights)
        return other

    def shard(self, first: int, end: int) -> SecondOrderProblem:
        """Some of the sentences, with weights and buffers of their own."""
        return self.view(first, end).with_own_weights()

    def view(self, first: int, end: int) -> SecondOrderProblem:
        """Some of the sentences, with the weights of this problem and buffers of their own."""
        other, of_shard = copy(self), slice(first, end)
        other._codes, other._parts = self._codes[of_shard], self._parts[of_shard]
        other._heads_of, other._ranks = self._heads_of[of_shard], self._ranks[of_shard]
        other._known = None if self._known is None else self._known[of_shard]
        starts = self.part_starts[first : end + 1]
        other._gold = self._gold[starts[0] : starts[-1]]
        other.part_starts = starts - starts[0]
        other.partial = some_of(self.partial, first, end)
        other._make_room()
        return other


@njit
def _mark(parts: Parts, heads: Ints, ranks: Ints, gold: Singles) -> None:
    """Write one on the parts of the correct tree and on its labels that are known, 0 elsewhere."""
    graph, labels = parts.graph, parts.labels
    n = graph.pairs[-1]
    whole = np.empty(heads.shape[0] + 1, dtype=np.int32)
    whole[0] = -1
    copy_numbers(heads, whole[1:])
    marked = np.zeros(n)
    mark_tree(graph, whole, marked)
    gold[:] = 0.0
    for r in range(n):
        gold[r] = marked[r]
    for a in range(graph.arcs.shape[0]):
        if gold[a] > 0.0:
            for k in range(labels.starts[a], labels.starts[a + 1]):
                rank = ranks[graph.arcs[a, 1] - 1]
                if rank != NO_LABEL and labels.labels[k] == rank:
                    gold[n + k] = 1.0


@njit
def _allow(parts: Parts, heads: Ints, ranks: Ints, known: Mask, allowed: Mask) -> None:
    """Write which parts may be in a tree with the known heads and, at these, the known labels."""
    graph, labels = parts.graph, parts.labels
    n = graph.pairs[-1]
    allowed[:] = True
    for a in range(graph.arcs.shape[0]):
        word = graph.arcs[a, 1] - 1
        if not known[word]:
            continue
        allowed[a] = heads[word] == graph.arcs[a, 0]
        for k in range(labels.starts[a], labels.starts[a + 1]):
            allowed[n + k] = ranks[word] == NO_LABEL or labels.labels[k] == ranks[word]


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
