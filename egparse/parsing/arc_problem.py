"""The training problem of parsers over one hashed table of weights, and that of the arc-factored
parser: arcs over the candidates of each sentence, with the steps of online EG compiled as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import ArcCodes, ArcTemplates, add_arcs, score_arcs
from egparse.learners.completion import not_all, some_of
from egparse.learners.eg.step import (
    GROUP_ATTEMPTS,
    PLAIN,
    DualVariables,
    StepBuffers,
    StepRule,
    accept_step,
    evaluate_step,
    propose_step,
    propose_step_in_groups,
    record_gain,
    store_step,
    without_rounding,
)
from egparse.learners.losses import LOG_LINEAR, Loss
from egparse.learners.problem import NONE, Problem
from egparse.parsing.tree_inference import TreeInference, Trees, gather, scatter
from egparse.storage.arrays import Weights
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.nonprojective import matrix_tree
from egparse.structures.trees.projective import inside_outside
from egparse.types import Floats, Ints, Longs, Mask, Shorts, Singles, UInt32s


class HashedProblem(Problem):
    """Sentences with correct trees, over one hashed table of weights.

    Sentence ``i`` has the hashed ``codes[i]``, the ``parts[i]``, of which the first are the arcs
    ``arcs(i)`` (arcs, 2), and the correct ``heads[i]``: ``heads[i][d - 1]`` is the head of word d.
    A correct tree may be non-projective for projective inference: its features enter v, but its
    loss may fall below 0.

    ``known[i]`` (words,) marks the words of sentence i whose head is annotated (None: all are). The
    ``heads`` of the others are those of some completion, which is the target of the sentence until
    ``set_target``; a wrong head of such a word costs nothing.
    """

    def __init__(
        self,
        *,
        codes: Sequence[Any],
        parts: Sequence[Any],
        sizes: Sequence[int],
        heads: Sequence[Ints],
        bits: int,
        single_root: bool,
        known: Sequence[Mask] | None,
        precision: type[np.floating[Any]],
    ) -> None:
        self.weights = np.zeros(1 << bits, dtype=np.float32)
        self._codes, self._parts, self._heads_of, self._known = codes, parts, heads, known
        self.partial = NONE if known is None else not_all(known)
        self.part_starts = np.cumsum([0, *sizes], dtype=np.int64)
        self._gold = np.zeros(int(self.part_starts[-1]), dtype=precision)
        self._single_root = single_root
        self._make_room()

    def _make_room(self) -> None:
        """Buffers for the largest sentence."""
        most = int(np.diff(self.part_starts).max(initial=1))
        words = max((len(correct) for correct in self._heads_of), default=1)
        self._scores, self._cost = np.empty((2, most))
        self._places = np.empty(4096, dtype=np.uint32)
        self._heads = np.empty(words + 1, dtype=np.int32)

    def arcs(self, i: int) -> Shorts:
        """The candidate arcs of sentence i, (arcs, 2)."""
        raise NotImplementedError

    def _of(self, i: int) -> slice:
        return slice(self.part_starts[i], self.part_starts[i + 1])

    def _size(self, i: int) -> int:
        return int(self.part_starts[i + 1] - self.part_starts[i])

    def gold(self, i: int) -> Floats:
        """One on the parts of the correct tree, or the probability of each part in the target."""
        return np.asarray(self._gold[self._of(i)], dtype=np.float64)

    def set_target(self, i: int, target: Floats) -> float:
        """Learn sentence i from the probabilities of parts ``target`` from now on; returns 0."""
        self._gold[self._of(i)] = target
        return 0.0

    def allowed(self, i: int) -> Mask:
        """The arcs to words without a head, and those from the annotated heads."""
        allowed = np.ones(self._size(i), dtype=np.bool_)
        if self._known is not None:
            arcs = self.arcs(i)
            heads, words = arcs[:, 0], arcs[:, 1] - 1
            allowed[: len(arcs)] = ~self._known[i][words] | (self._heads_of[i][words] == heads)
        return allowed

    def division(self, i: int) -> tuple[Shorts, bool]:
        """The dependent of each arc, other parts are in no group; the heads of words depend on each
        other.
        """
        arcs, out = self.arcs(i), np.full(self._size(i), -1, dtype=np.int16)
        out[: len(arcs)] = arcs[:, 1]
        return out, False

    def cost(self, i: int) -> Floats:
        """Minus one on correct arcs, 0 elsewhere: with the constant, each word with a wrong head
        costs one. In general minus the target on arcs: each word with a head costs the probability
        that it is wrong.
        """
        arcs, out, first = self.arcs(i), self._cost[: self._size(i)], self.part_starts[i]
        out[len(arcs) :] = 0.0
        np.negative(self._gold[first : first + len(arcs)], out=out[: len(arcs)])
        if self._known is not None:
            out[: len(arcs)] *= self._known[i][arcs[:, 1] - 1]
        return out

    def cost_constant(self, i: int) -> float:
        """The number of correct arcs among the candidates."""
        return -float(self.cost(i).sum())

    def vectors(self) -> tuple[Singles]:
        """The hashed table."""
        return (self.weights,)

    def with_own_weights(self) -> Self:
        """The same sentences with a separate table of weights."""
        other = copy(self)
        other.weights = np.zeros_like(self.weights)
        return other

    def shard(self, first: int, end: int) -> Self:
        """Some of the sentences, with weights and buffers of their own."""
        return self.view(first, end).with_own_weights()

    def view(self, first: int, end: int) -> Self:
        """Some of the sentences, with the weights of this problem and buffers of their own."""
        other, chosen = copy(self), slice(first, end)
        other._codes, other._parts = self._codes[chosen], self._parts[chosen]
        other._heads_of = self._heads_of[chosen]
        other._known = None if self._known is None else self._known[chosen]
        starts = self.part_starts[first : end + 1]
        other._gold = self._gold[starts[0] : starts[-1]]
        other.part_starts = starts - starts[0]
        other.partial = some_of(self.partial, first, end)
        other._make_room()
        return other


class TreeProblem(HashedProblem):
    """The candidate arcs ``arcs[i]`` (arcs, 2) are the parts of sentence i; a correct arc may be
    missing from them.
    """

    _codes: Sequence[ArcCodes]
    _parts: Sequence[Shorts]

    def __init__(
        self,
        *,
        codes: Sequence[ArcCodes],
        arcs: Sequence[Shorts],
        heads: Sequence[Ints],
        templates: ArcTemplates,
        bits: int,
        trees: Trees,
        single_root: bool,
        known: Sequence[Mask] | None = None,
    ) -> None:
        self._templates, self._kind = templates, trees
        super().__init__(
            codes=codes,
            parts=arcs,
            sizes=[len(candidates) for candidates in arcs],
            heads=heads,
            bits=bits,
            single_root=single_root,
            known=known,
            precision=np.float64,
        )
        for i, (candidates, correct) in enumerate(zip(arcs, heads, strict=True)):
            self.gold(i)[:] = correct[candidates[:, 1] - 1] == candidates[:, 0]

    def _make_room(self) -> None:
        super()._make_room()
        most, words = len(self._scores), len(self._heads) - 1
        self._inference = TreeInference(self._kind, self._single_root, words)
        work, is_projective = self._inference.marginal_work, self._kind == "projective"
        square, marginals = np.empty((2, (words + 1) ** 2))
        self._trees = TreeSpace(
            is_projective,
            self._single_root,
            square,
            marginals,
            np.empty(most, dtype=np.int16),
            np.empty(words + 2),
            work if is_projective else projective.workspace(1),
            nonprojective.workspace(1) if is_projective else work,
        )
        self._of_step = (self._scores, self._cost, *np.empty((3, most)))

    def arcs(self, i: int) -> Shorts:
        return self._parts[i]

    def groups(self, i: int) -> Shorts:
        """The dependent of each arc: a tree has one arc to each."""
        return np.ascontiguousarray(self.arcs(i)[:, 1])

    def scores(self, i: int) -> Floats:
        """Scores of the candidate arcs."""
        codes, arcs, out = self._codes[i], self.arcs(i), self._scores[: self._size(i)]
        score_arcs(codes, self._templates, arcs, Weights(self.weights), self._places, out)
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Inside-outside, or the matrix-tree theorem."""
        return float(infer(self._trees, len(self._codes[i].tags), potentials, self.arcs(i), out))

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """The best tree."""
        square, arcs = self._square(i, potentials), self.arcs(i)
        heads = self._heads[: len(square)]
        score = self._inference.best(square, heads)
        out[:] = heads[arcs[:, 1]] == arcs[:, 0]
        return float(score)

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Up to k best trees, (trees, arcs), best first."""
        arcs, trees = self.arcs(i), self._inference.k_best(self._square(i, potentials), k)
        rows = [tree.heads[arcs[:, 1]] == arcs[:, 0] for tree in trees]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(arcs))

    def add(self, i: int, changes: Floats) -> float:
        """Add changes, times the features of the arcs, to w; returns the change of |w|^2."""
        codes, arcs = self._codes[i], self.arcs(i)
        return float(add_arcs(codes, self._templates, arcs, changes, self.weights, self._places))

    def sweep(
        self, order: Longs, rule: StepRule, duals: DualVariables, single_rate: Mask, norm: float
    ) -> tuple[int, float]:
        """A visit with the log-linear loss is compiled as a whole; ``tests/parsing/
        test_arc_problem`` holds it and ``step`` equal.
        """
        if rule.form != PLAIN:
            return super().sweep(order, rule, duals, single_rate, norm)
        evaluations, changes = 0, np.empty(2 * rule.attempts)
        for i in order.tolist():
            in_groups = rule.curvature > 0.0 and not single_rate[i]
            made, grouped = visit(i, *self._sentence(i, duals), duals, rule, in_groups, changes)
            single_rate[i] |= in_groups and not grouped
            evaluations += made
            for change in changes[: 2 * made].tolist():
                norm += change
        return evaluations, norm

    def sums(self, c: float, loss: Loss, duals: DualVariables) -> tuple[float, float]:
        """Compiled sentence by sentence for the log-linear loss."""
        if loss != LOG_LINEAR:
            return super().sums(c, loss, duals)
        total, correction = 0.0, 0.0
        for i in range(len(self._parts)):
            found = certify(*self._sentence(i, duals), self.gold(i), c)
            total, correction = total + found[0], correction + found[1]
        return total, correction

    def _sentence(
        self, i: int, duals: DualVariables
    ) -> tuple[ArcSentence, ArcWeights, TreeSpace, StepBuffers]:
        sentence, parts = ArcSentence(self._codes[i], self.arcs(i)), self._of(i)
        weights = ArcWeights(self._templates, self.weights, self._places)
        own = [buffer[: self._size(i)] for buffer in self._of_step]
        buffers = StepBuffers(duals.theta[parts], duals.marginals[parts], *own)
        return sentence, weights, self._trees, buffers

    def _square(self, i: int, potentials: Floats) -> Floats:
        size = len(self._codes[i].tags)
        square = self._trees.square[: size * size].reshape(size, size)
        scatter(self.arcs(i), potentials, square)
        return square


class ArcSentence(NamedTuple):
    """Codes of the words of a sentence, and its candidate arcs (arcs, 2)."""

    codes: ArcCodes
    arcs: Shorts


class ArcWeights(NamedTuple):
    """The hashed table, with the templates of its features and a buffer for those of one arc."""

    templates: ArcTemplates
    table: Singles
    places: UInt32s


class TreeSpace(NamedTuple):
    """The kind of trees, and buffers for inference: ``square`` and ``marginals`` have room for a
    score and a marginal of each pair of nodes, ``groups`` for each arc, ``open_mass`` for each
    node; ``chart`` and ``laplacian`` are the workspaces of the two kinds of trees.
    """

    projective: bool
    single_root: bool
    square: Floats
    marginals: Floats
    groups: Shorts
    open_mass: Floats
    chart: Any
    laplacian: Any


@njit
def infer(trees: TreeSpace, size: int, potentials: Floats, arcs: Shorts, out: Floats) -> float:
    """Write the marginals of the arcs of a sentence with ``size`` nodes to ``out``; returns
    log Z.
    """
    n = size * size
    square = trees.square[:n].reshape(size, size)
    marginals = trees.marginals[:n].reshape(size, size)
    scatter(arcs, potentials, square)
    if trees.projective:
        log_z = inside_outside(square, trees.single_root, marginals, trees.chart)
    else:
        log_z = matrix_tree(square, trees.single_root, marginals, trees.laplacian)
    gather(arcs, marginals, out)
    return log_z


@njit
def visit(
    i: int,
    sentence: ArcSentence,
    weights: ArcWeights,
    trees: TreeSpace,
    buffers: StepBuffers,
    duals: DualVariables,
    rule: StepRule,
    grouped: bool,
    changes_of_norm: Floats,
) -> tuple[int, bool]:
    """The step of ``OnlineEG.update`` for the log-linear loss. Writes the changes of |v|^2 one
    after the other; returns the number of attempts, and whether the arcs to each word had a
    learning rate of their own to the end.
    """
    codes, arcs, changes = sentence.codes, sentence.arcs, buffers.changes
    templates, table, places = weights.templates, weights.table, weights.places
    score_arcs(codes, templates, arcs, Weights(table, None), places, buffers.scores)
    eta, made = duals.eta[i], 0
    for attempt in range(rule.attempts):
        if grouped and attempt == GROUP_ATTEMPTS:
            grouped, eta = False, duals.eta[i]
        if grouped:
            for r in range(arcs.shape[0]):
                trees.groups[r] = arcs[r, 1]
            groups = trees.groups[: arcs.shape[0]]
            propose_step_in_groups(buffers, rule, eta, groups, trees.open_mass)
        else:
            propose_step(buffers, rule, eta)
        log_z = infer(trees, codes.tags.shape[0], buffers.trial, arcs, buffers.marginals)
        value, slope = evaluate_step(buffers, rule, log_z, 0.0)
        norm_change = add_arcs(codes, templates, arcs, changes, table, places)
        # change of H(alpha_i), less that of |v|^2 / (2C)
        increase = value - duals.value[i] - norm_change / (2 * rule.c)
        increase = without_rounding(buffers, rule, increase)
        accepted, eta = accept_step(rule, eta, increase, slope, norm_change)
        changes_of_norm[2 * attempt], changes_of_norm[2 * attempt + 1] = norm_change, 0.0
        made += 1
        if accepted:
            store_step(buffers)
            record_gain(duals, i, value, increase)
            break
        for r in range(changes.shape[0]):
            changes[r] = -changes[r]
        changes_of_norm[2 * attempt + 1] = add_arcs(codes, templates, arcs, changes, table, places)
    duals.eta[i] = eta
    return made, grouped


@njit
def certify(
    sentence: ArcSentence,
    weights: ArcWeights,
    trees: TreeSpace,
    buffers: StepBuffers,
    gold: Floats,
    c: float,
) -> tuple[float, float]:
    """The log-linear loss at w = v / c, and what the rounding of the marginals takes from the dual
    (``OnlineEG.sums``).
    """
    codes, arcs, scores, trial = sentence.codes, sentence.arcs, buffers.scores, buffers.trial
    score_arcs(codes, weights.templates, arcs, Weights(weights.table, None), weights.places, scores)
    loss, correction = 0.0, 0.0
    for r in range(arcs.shape[0]):
        scores[r] /= c
        loss -= scores[r] * gold[r]
    loss += infer(trees, codes.tags.shape[0], scores, arcs, buffers.marginals)
    for r in range(arcs.shape[0]):
        trial[r] = buffers.theta[r]
    infer(trees, codes.tags.shape[0], trial, arcs, buffers.marginals)
    for r in range(arcs.shape[0]):
        # d dual / d mu = s / C - theta
        correction += (scores[r] - trial[r]) * (buffers.marginals[r] - buffers.stored[r])
    return loss, correction
