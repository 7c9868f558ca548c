"""What a learner sees of a training problem: examples made of parts, and nothing of chains, trees
or features.

Example ``i`` has parts. A structure is a set of parts, or more generally a vector of part counts.
Its score is linear in the weights: the part scores are ``F_i v`` for the sparse part features
``F_i``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.errors import ConfigError
from egparse.learners.eg.step import (
    GROUP_ATTEMPTS,
    PLAIN,
    DualVariables,
    Step,
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
from egparse.learners.losses import HINGE, LOG_LINEAR, Loss
from egparse.types import Floats, Longs, Mask, Shorts

NONE = np.zeros(0, dtype=np.int64)
"""The ``partial`` of a problem whose examples are all annotated in full."""


class DesignMatrix(NamedTuple):
    """The weights behind the scores of N choices among L labels, with A attributes, for learners
    that solve for one weight at a time.

    Choice k has the attributes ``attributes[row_starts[k]:row_starts[k + 1]]`` with their
    ``values``, the correct label ``labels[k]``, and the candidate labels where ``candidates[k]``
    (N, L) is true (None: all). Attribute a has weights for the labels
    ``pair_labels[pair_starts[a]:pair_starts[a + 1]]``, ascending; a score is the sum of values
    times weights.

    ``bigrams`` says whether label bigrams have weights too, so that choices are not made one by
    one.
    """

    row_starts: Longs
    attributes: Longs
    values: Floats
    labels: Longs
    label_count: int
    candidates: Mask | None
    pair_starts: Longs
    pair_labels: Longs
    bigrams: bool

    @property
    def attribute_count(self) -> int:
        """A."""
        return len(self.pair_starts) - 1

    def pair_attributes(self) -> Longs:
        """The attribute of every weight, (pairs,)."""
        return np.repeat(np.arange(self.attribute_count), np.diff(self.pair_starts))


class Problem:
    """The contract between learners and what they train.

    Arrays that a method returns are buffers of the problem, valid until its next call.
    ``part_starts`` (n + 1,): in a flat array over all parts, the parts of example i are
    ``part_starts[i]:part_starts[i + 1]``. ``partial`` has the numbers of the examples that are
    annotated in part.

    Every problem has the methods down to ``with_own_weights``. The others are what some learners
    can use or need: ``offers`` says whether a problem has them. ``start``, ``sweep`` and ``sums``
    go over many examples; here they call the methods above for one example after the other, and a
    problem with short examples does the same in one compiled call.
    """

    part_starts: Longs
    partial: Longs = NONE

    def gold(self, i: int) -> Floats:
        """The part vector z_i of the correct structure, (parts,)."""
        raise NotImplementedError

    def cost(self, i: int) -> Floats:
        """The cost p of each part, (parts,): a structure y costs p'y + q."""
        raise NotImplementedError

    def cost_constant(self, i: int) -> float:
        """The constant q of the cost, which makes the cost of z_i 0 (Martins et al. 2010, section
        2).
        """
        raise NotImplementedError

    def scores(self, i: int) -> Floats:
        """F_i v, (parts,): the score of each part under the present weight vector."""
        raise NotImplementedError

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part marginals of the Gibbs distribution of the potentials into ``out``
        (parts,); return log Z in nats.
        """
        raise NotImplementedError

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part vector of the best structure into ``out`` (parts,); return its score."""
        raise NotImplementedError

    def add(self, i: int, changes: Floats) -> float:
        """v += F_i' changes; return the change of |v|^2, exact for v as stored."""
        raise NotImplementedError

    def reset(self) -> None:
        """v = 0."""
        for array in self.vectors():
            array[...] = 0.0

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """The arrays that hold v, not copies, in an order that never changes."""
        raise NotImplementedError

    def with_own_weights(self) -> Problem:
        """The same examples with another v, 0 at first.

        Both problems share their buffers, so an array that one returned is valid until the next
        call of either.
        """
        raise NotImplementedError

    def offers(self, method: str) -> bool:
        """Whether this problem has one of the methods that not every problem has."""
        return getattr(type(self), method) is not getattr(Problem, method)

    def groups(self, i: int) -> Shorts:
        """The group of each part of example i, (parts,), where every structure has exactly one part
        of each group, such as the possible heads of a word; less than the number of parts plus two.
        """
        raise NotImplementedError

    def division(self, i: int) -> tuple[Shorts, bool]:
        """The group of each part of example i, (parts,), -1 for parts in none; a structure has at
        most one part of a group. Then whether the structures are all combinations of one part of
        each group, so that the groups are independent at any potentials. Groups are less than the
        number of parts plus two.
        """
        raise NotImplementedError

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """Part vectors (k, parts) of the k best structures, best first. There are fewer rows where
        there are fewer structures, but at least one.
        """
        raise NotImplementedError

    def design(self) -> DesignMatrix:
        """The weights behind the scores; the order of pairs never changes."""
        raise NotImplementedError

    def set_weights(self, pairs: Floats, bigrams: Floats | None = None) -> None:
        """Set v to ``pairs`` (pairs,), in the order of the design matrix, and ``bigrams`` (L, L)
        where it has any (None: 0). All other weights become 0.
        """
        raise NotImplementedError

    def set_target(self, i: int, target: Floats) -> float:
        """Learn example i from the part vector ``target`` (parts,) from now on: ``gold(i)`` returns
        it; return by how much log Z of the example moves, which is 0 unless the problem has fixed
        scores (``egparse.learners.offset_problem``).

        Raises:
            ConfigError: a problem whose targets cannot be replaced.
        """
        raise ConfigError(
            f"expected a problem whose targets can be replaced, got {type(self).__name__}"
        )

    def allowed(self, i: int) -> Mask:
        """Which parts of example i, (parts,), a structure may have that agrees with what is
        annotated.
        """
        raise NotImplementedError

    def view(self, first: int, end: int) -> Problem:
        """The examples from ``first`` up to ``end``, numbered from 0, with the v of this problem
        and buffers of their own, so that several threads can read some each.
        """
        raise NotImplementedError

    def shard(self, first: int, end: int) -> Problem:
        """The examples from ``first`` up to ``end`` as a problem, numbered from 0.

        Its v, of the same arrays in the same order, is its own and 0 at first, and so are its
        buffers: it can be used in another thread. Features are shared with this problem, not
        copied; where it is pickled, only the features of its examples go along. The shard copies
        the current targets. It need not implement ``design``.

        Raises:
            ConfigError: a problem that cannot be divided.
        """
        raise ConfigError(
            f"expected a problem that can be divided among several jobs, got {type(self).__name__}"
        )

    def start(self, height: Floats, loss: Loss, duals: DualVariables) -> float:
        """Fill the dual variables of online EG, with theta ``height[i]`` on the correct parts of
        example i and 0 elsewhere, and add the examples to v, which is 0 before; returns |v|^2.
        """
        norm = 0.0
        for i in range(len(height)):
            norm += self.begin(i, float(height[i]), loss, duals)
        return norm

    def begin(self, i: int, height: float, loss: Loss, duals: DualVariables) -> float:
        """``start`` for example i; returns the change of |v|^2."""
        parts, gold = slice(self.part_starts[i], self.part_starts[i + 1]), self.gold(i)
        theta, marginals = np.empty((2, len(gold)))
        theta[:] = np.where(gold > 0, np.float32(height), 0.0)
        log_z = self.marginals(i, theta, marginals)
        duals.theta[parts], duals.marginals[parts] = theta, marginals
        marginals[:] = duals.marginals[parts]
        duals.value[i] = self.value_of(i, log_z, theta, marginals, loss)
        return self.add(i, self.gold(i) - marginals)

    def value_of(self, i: int, log_z: float, theta: Floats, marginals: Floats, loss: Loss) -> float:
        """H / beta + gamma E[cost] of the distribution of example i with these potentials."""
        value = 0.0
        if loss.differentiable:
            used = marginals > 0
            value = (log_z - float(theta[used] @ marginals[used])) / loss.beta
        if loss.gamma:
            value += loss.gamma * self.expected_cost(i, marginals)
        return value

    def sweep(
        self, order: Longs, rule: StepRule, duals: DualVariables, single_rate: Mask, norm: float
    ) -> tuple[int, float]:
        """One step of online EG on each example of ``order``. Those that ``single_rate`` marks, now
        or by a step, have one rate for all their parts. Returns the number of inference calls, and
        |v|^2, which was ``norm``.
        """
        evaluations = 0
        for i in order.tolist():
            step = self.step(i, rule, duals, single_rate)
            evaluations += step.evaluations
            for change in step.norm_changes:
                norm += change
        return evaluations, norm

    def step(self, i: int, rule: StepRule, duals: DualVariables, single_rate: Mask) -> Step:
        """One step of online EG on example i (Collins et al. 2008, section 7): rates are tried
        until one does not lower the dual.
        """
        buffers, norm_changes, increase = self.step_buffers(i, rule, duals), list[float](), 0.0
        eta = float(duals.eta[i])
        in_groups = rule.curvature > 0.0 and self.offers("groups") and not single_rate[i]
        for attempt in range(rule.attempts):
            if in_groups and attempt == GROUP_ATTEMPTS:
                # a step in groups may lower the dual at any rate; a step with one rate raises it,
                # if the rate is small enough
                in_groups, single_rate[i], eta = False, True, float(duals.eta[i])
            value, slope, norm_change = self.attempt(i, buffers, rule, eta, in_groups)
            norm_changes.append(norm_change)
            # change of H(alpha_i) or E[cost], less that of |v|^2 / (2C)
            rise = value - float(duals.value[i]) - norm_change / (2 * rule.c)
            rise = without_rounding(buffers, rule, rise)
            accepted, eta = accept_step(rule, eta, rise, slope, norm_change)
            if accepted:
                store_step(buffers)
                record_gain(duals, i, value, rise)
                increase = rise
                break
            np.negative(buffers.changes, out=buffers.changes)
            norm_changes.append(self.add(i, buffers.changes))
        duals.eta[i] = eta
        return Step(attempt + 1, norm_changes, increase)

    def attempt(
        self, i: int, buffers: StepBuffers, rule: StepRule, eta: float, in_groups: bool
    ) -> tuple[float, float, float]:
        """Propose a step and move v along it; returns value and slope (``evaluate_step``) and the
        change of |v|^2.
        """
        if in_groups:
            room = np.empty(len(buffers.theta) + 2)
            propose_step_in_groups(buffers, rule, eta, self.groups(i), room)
        else:
            propose_step(buffers, rule, eta)
        log_z = self.marginals(i, buffers.trial, buffers.marginals)
        constant = 0.0 if rule.form == PLAIN else self.cost_constant(i)
        value, slope = evaluate_step(buffers, rule, log_z, constant)
        return value, slope, self.add(i, buffers.changes)

    def step_buffers(self, i: int, rule: StepRule, duals: DualVariables) -> StepBuffers:
        """The arrays of a step on example i, with its scores; the log-linear loss has no use for
        the cost.
        """
        parts, scores = slice(self.part_starts[i], self.part_starts[i + 1]), self.scores(i)
        cost = scores if rule.form == PLAIN else self.cost(i)
        room = np.empty((3, len(scores)))
        return StepBuffers(duals.theta[parts], duals.marginals[parts], scores, cost, *room)

    def sums(self, c: float, loss: Loss, duals: DualVariables) -> tuple[float, float]:
        """The sum of the losses at w = v / c, and what the rounding of marginals to float32 takes
        from the dual of online EG.
        """
        total, correction = 0.0, 0.0
        for i in range(len(self.part_starts) - 1):
            scores = self.scores(i)
            total += self._loss_at(i, scores, c, loss)
            correction += self._rounding(i, scores, c, loss, duals)
        return total, correction

    def expected_cost(self, i: int, marginals: npt.NDArray[np.floating[Any]]) -> float:
        """E[cost] of a distribution with these marginals."""
        return float(self.cost(i) @ marginals) + self.cost_constant(i)

    def _loss_at(self, i: int, scores: Floats, c: float, loss: Loss) -> float:
        """L_i(w) at w = v / C: log Z or the best cost-augmented score, less the correct score; in
        general log Z(beta (s + gamma cost)) / beta + gamma q - s'z.
        """
        potentials = scores * (1.0 / c)
        out = np.empty_like(potentials)
        correct = float(potentials @ self.gold(i))
        if loss == LOG_LINEAR:
            return self.marginals(i, potentials, out) - correct
        if loss == HINGE:
            potentials += self.cost(i)
            return self.argmax(i, potentials, out) + self.cost_constant(i) - correct
        return loss.value(self, i, potentials, out)

    def _rounding(
        self, i: int, scores: Floats, c: float, loss: Loss, duals: DualVariables
    ) -> float:
        """The dual at the exact marginals of theta less that at the stored ones, up to the square
        of the rounding.
        """
        parts = slice(self.part_starts[i], self.part_starts[i + 1])
        potentials = duals.theta[parts].astype(np.float64)
        out = np.empty_like(potentials)
        self.marginals(i, potentials, out)
        # d dual / d mu = s / C + gamma cost - theta / beta
        gradient = scores / c
        if loss == HINGE:
            gradient += self.cost(i)
        elif loss == LOG_LINEAR:
            gradient -= potentials
        else:
            gradient += loss.gamma * self.cost(i) - potentials / loss.beta
        return float(gradient @ (out - duals.marginals[parts]))


def size(problem: Problem) -> int:
    """The length of v."""
    return sum(array.size for array in problem.vectors())


def read(problem: Problem) -> Floats:
    """A copy of v."""
    return np.concatenate([array.reshape(-1).astype(np.float64) for array in problem.vectors()])


def write(problem: Problem, v: Floats) -> None:
    """Set v, rounded to the precision in which the problem holds it."""
    begin = 0
    for array in problem.vectors():
        array[...] = v[begin : begin + array.size].reshape(array.shape)
        begin += array.size


def squared_norm(problem: Problem) -> float:
    """|v|^2, summed in float64."""
    return sum(
        float(np.vdot(array, array))
        for array in (array.astype(np.float64) for array in problem.vectors())
    )
