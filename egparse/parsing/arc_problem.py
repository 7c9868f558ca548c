"""The training problem of the arc-factored parser: hashed arc features over the candidate arcs of
each sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from egparse.features.arcs import ArcCodes, ArcTemplates, add_arcs, score_arcs
from egparse.learners.completion import not_all, some_of
from egparse.learners.eg.step import PLAIN, DualVariables, StepBuffers, StepRule
from egparse.learners.losses import LOG_LINEAR, Loss
from egparse.learners.problem import NONE, Problem
from egparse.parsing.arc_eg import (
    ArcSentence,
    ArcWeights,
    TreeSpace,
    certify,
    visit,
)
from egparse.parsing.tree_inference import INFERENCE, Trees, gather, scatter
from egparse.structures.trees import nonprojective, projective
from egparse.types import Floats, Ints, Longs, Mask, Shorts, Singles


class TreeProblem(Problem):
    """Sentence ``i`` has the hashed codes ``codes[i]``, the candidate arcs ``arcs[i]`` (arcs, 2)
    and the correct ``heads[i]``.

    ``heads[i][d - 1]`` is the head of word d. A correct arc may be missing from the candidates, and
    a correct tree may be non-projective for projective inference: its features enter v, but its
    loss may fall below 0.

    ``known[i]`` (words,) marks the words of sentence i whose head is annotated (None: all are). The
    ``heads`` of the others are those of some completion, which is the target of the sentence until
    ``set_target``; a wrong head of such a word costs nothing.
    """

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
        self.weights = np.zeros(1 << bits, dtype=np.float32)
        self._codes, self._arcs, self._templates = codes, arcs, templates
        self._heads_of, self._known = heads, known
        self.partial = NONE if known is None else not_all(known)
        self._inference = INFERENCE[trees]
        self._single_root = single_root
        self.part_starts = np.cumsum([0] + [len(candidates) for candidates in arcs], dtype=np.int64)
        self._gold = np.empty(int(self.part_starts[-1]))
        for i, (candidates, correct) in enumerate(zip(arcs, heads, strict=True)):
            self.gold(i)[:] = _correct(candidates, correct)
        self._make_room()

    def _make_room(self) -> None:
        """Buffers for the largest sentence."""
        longest = max((len(candidates) for candidates in self._arcs), default=1)
        words = max((len(correct) for correct in self._heads_of), default=1)
        self._scores = np.empty(longest)
        self._cost = np.empty(longest)
        self._places = np.empty(4096, dtype=np.uint32)
        self._square, self._marginals = np.empty((2, (words + 1) ** 2))
        self._marginal_work = self._inference.marginal_workspace(words)
        self._best_work = self._inference.best_workspace(words)
        is_projective = self._inference is INFERENCE["projective"]
        self._trees = TreeSpace(
            is_projective,
            self._single_root,
            self._square,
            self._marginals,
            np.empty(longest, dtype=np.int16),
            np.empty(words + 2),
            self._marginal_work if is_projective else projective.workspace(1),
            nonprojective.workspace(1) if is_projective else self._marginal_work,
        )
        self._of_step = (self._scores, self._cost, *np.empty((3, longest)))
        self._heads = np.empty(words + 1, dtype=np.int32)

    def gold(self, i: int) -> Floats:
        """One on the correct arcs, or the probability of each arc in the target."""
        return self._gold[self.part_starts[i] : self.part_starts[i + 1]]

    def set_target(self, i: int, target: Floats) -> float:
        """Learn sentence i from the probabilities of arcs ``target`` from now on; returns 0."""
        self.gold(i)[:] = target
        return 0.0

    def allowed(self, i: int) -> Mask:
        """The arcs to words without a head, and those from the annotated heads."""
        if self._known is None:
            return self.gold(i) > 0
        arcs = self._arcs[i]
        heads, dependents = arcs[:, 0], arcs[:, 1] - 1
        agrees: Mask = ~self._known[i][dependents] | (self._heads_of[i][dependents] == heads)
        return agrees

    def groups(self, i: int) -> Shorts:
        """The dependent of each arc: a tree has one arc to each."""
        return np.ascontiguousarray(self._arcs[i][:, 1])

    def division(self, i: int) -> tuple[Shorts, bool]:
        """The dependent of each arc; the heads of words depend on each other."""
        return self.groups(i), False

    def cost(self, i: int) -> Floats:
        """Minus one on correct arcs: with the constant, each word with a wrong head costs one; in
        general minus the target, so that each word costs the probability that its head is wrong.
        """
        out = self._cost[: len(self._arcs[i])]
        np.negative(self.gold(i), out=out)
        if self._known is not None:
            out *= self._known[i][self._arcs[i][:, 1] - 1]
        return out

    def cost_constant(self, i: int) -> float:
        """The number of correct arcs among the candidates."""
        return float(self.gold(i).sum() if self._known is None else -self.cost(i).sum())

    def scores(self, i: int) -> Floats:
        """Scores of the candidate arcs."""
        out = self._scores[: len(self._arcs[i])]
        score_arcs(self._codes[i], self._templates, self._arcs[i], self.weights, self._places, out)
        return out

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Inside-outside, or the matrix-tree theorem."""
        square, marginals = self._squares(i)
        scatter(self._arcs[i], potentials, square)
        log_z = self._inference.marginals(square, self._single_root, marginals, self._marginal_work)
        gather(self._arcs[i], marginals, out)
        return float(log_z)

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """The best tree."""
        square, _ = self._squares(i)
        scatter(self._arcs[i], potentials, square)
        heads = self._heads[: len(square)]
        score = self._inference.best(square, self._single_root, heads, self._best_work)
        arcs = self._arcs[i]
        out[:] = heads[arcs[:, 1]] == arcs[:, 0]
        return float(score)

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Up to k best trees, (trees, arcs), best first."""
        square, _ = self._squares(i)
        scatter(self._arcs[i], potentials, square)
        arcs = self._arcs[i]
        trees = self._inference.k_best(square, k, self._single_root)
        rows = [tree.heads[arcs[:, 1]] == arcs[:, 0] for tree in trees]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(arcs))

    def add(self, i: int, changes: Floats) -> float:
        """Add changes, times the features of the arcs, to w; returns the change of |w|^2."""
        return float(
            add_arcs(
                self._codes[i], self._templates, self._arcs[i], changes, self.weights, self._places
            )
        )

    def vectors(self) -> tuple[Singles]:
        """The hashed table."""
        return (self.weights,)

    def with_own_weights(self) -> TreeProblem:
        """The same sentences with a separate table of weights."""
        other = copy(self)
        other.weights = np.zeros_like(self.weights)
        return other

    def sweep(
        self, order: Longs, rule: StepRule, duals: DualVariables, single_rate: Mask, norm: float
    ) -> tuple[int, float]:
        """Each step of the log-linear loss is compiled as a whole; ``tests/parsing/
        test_arc_problem`` holds it and ``step`` equal.
        """
        if rule.form != PLAIN:
            return super().sweep(order, rule, duals, single_rate, norm)
        evaluations, changes = 0, np.empty(2 * rule.attempts)
        for i in order.tolist():
            in_groups = rule.curvature > 0.0 and not single_rate[i]
            made, grouped = visit(
                i, *self._sentence(i), self._step_buffers(i, duals), duals, rule, in_groups, changes
            )
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
        for i in range(len(self._arcs)):
            found = certify(*self._sentence(i), self._step_buffers(i, duals), self.gold(i), c)
            total, correction = total + found[0], correction + found[1]
        return total, correction

    def _sentence(self, i: int) -> tuple[ArcSentence, ArcWeights, TreeSpace]:
        return ArcSentence(self._codes[i], self._arcs[i]), self._weights, self._trees

    def _step_buffers(self, i: int, duals: DualVariables) -> StepBuffers:
        parts = slice(self.part_starts[i], self.part_starts[i + 1])
        own = [buffer[: len(self._arcs[i])] for buffer in self._of_step]
        return StepBuffers(duals.theta[parts], duals.marginals[parts], *own)

    def shard(self, first: int, end: int) -> TreeProblem:
        """Some of the sentences, with weights and buffers of their own."""
        return self.view(first, end).with_own_weights()

    def view(self, first: int, end: int) -> TreeProblem:
        """Some of the sentences, with the weights of this problem and buffers of their own."""
        other, of_shard = copy(self), slice(first, end)
        other._codes, other._arcs = self._codes[of_shard], self._arcs[of_shard]
        other._heads_of = self._heads_of[of_shard]
        other._known = None if self._known is None else self._known[of_shard]
        starts = self.part_starts[first : end + 1]
        other._gold = self._gold[starts[0] : starts[-1]]
        other.part_starts = starts - starts[0]
        other.partial = some_of(self.partial, first, end)
        other._make_room()
        return other

    @property
    def _weights(self) -> ArcWeights:
        return ArcWeights(self._templates, self.weights, self._places)

    def _squares(self, i: int) -> tuple[Floats, Floats]:
        size = len(self._codes[i].tags)
        return (
            self._square[: size * size].reshape(size, size),
            self._marginals[: size * size].reshape(size, size),
        )


def _correct(arcs: Shorts, heads: Ints) -> Floats:
    """One on the correct arcs."""
    correct: Floats = (heads[arcs[:, 1] - 1] == arcs[:, 0]).astype(np.float64)
    return correct
