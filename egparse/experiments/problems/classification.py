"""The training problem of a multi-class linear classifier of dense vectors.

Example i is a vector x_i with one class y_i of K; its parts are the classes, and class r scores s_r
= v_r . x_i for the row v_r of v (K, d) (Collins et al. 2008, eq. 29: no bias, which a constant
component of x can stand for). A structure chooses one class. The cost is 0 for the correct class
and 1 for any other. A visit costs O(K d).
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.learners.eg.step import (
    DualVariables,
    StepBuffers,
    StepRule,
    accept_step,
    evaluate_step,
    propose_step,
    record_gain,
    store_step,
    without_rounding,
)
from egparse.learners.problem import DesignMatrix, Problem
from egparse.structures.chains import multiclass
from egparse.types import Floats, Ints, Longs, Mask, Shorts


class Examples(NamedTuple):
    """Vectors ``x`` (n, d), their squared lengths (n,), correct classes ``y`` (n,), and the costs
    (K, K) of the classes where each of them is correct.
    """

    x: Floats
    squares: Floats
    y: Ints
    costs: Floats


class ClassifierProblem(Problem):
    """``x`` (n, d) holds the vectors and ``y`` (n,) the correct classes, from 0 to ``n_classes`` -
    1.
    """

    def __init__(self, x: npt.ArrayLike, y: npt.ArrayLike, n_classes: int) -> None:
        vectors = np.ascontiguousarray(x, dtype=np.float64)
        classes = np.ascontiguousarray(y, dtype=np.int32)
        self.weights: Floats = np.zeros((n_classes, vectors.shape[1]))
        self.part_starts = np.arange(len(vectors) + 1, dtype=np.int64) * n_classes
        self._choices = np.eye(n_classes)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        self._examples = Examples(vectors, squares, classes, 1.0 - self._choices)
        self._room = np.empty((4, n_classes))
        self._block = np.array([0, n_classes], dtype=np.int32)

    def gold(self, i: int) -> Floats:
        """One on the correct class."""
        return np.asarray(self._choices[self._examples.y[i]])

    def division(self, i: int) -> tuple[Shorts, bool]:
        """All classes are one choice."""
        return np.zeros(len(self._choices), dtype=np.int16), True

    def cost(self, i: int) -> Floats:
        """One on every other class."""
        return np.asarray(self._examples.costs[self._examples.y[i]])

    def cost_constant(self, i: int) -> float:
        """0: the cost of the correct class is 0 as it stands."""
        return 0.0

    def scores(self, i: int) -> Floats:
        """v x_i."""
        _score(self.weights, self._examples.x[i], self._room[0])
        return np.asarray(self._room[0])

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Softmax."""
        return float(multiclass.softmax(potentials, self._block, out))

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """The class of the greatest potential, the first of equals."""
        out[:] = self._choices[np.argmax(potentials)]
        return float(potentials.max())

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """One on each of the k best classes in turn, (classes, parts), best first."""
        return np.asarray(self._choices[np.argsort(-potentials, kind="stable")[:k]])

    def add(self, i: int, changes: Floats) -> float:
        """v_r += changes_r x_i."""
        return float(_add(self.weights, self._examples.x[i], changes))

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """v (K, d)."""
        return (self.weights,)

    def with_own_weights(self) -> ClassifierProblem:
        """The same examples with weights of their own."""
        other = copy(self)
        other.weights = np.zeros_like(self.weights)
        return other

    def sweep(
        self, order: Longs, rule: StepRule, duals: DualVariables, single_rate: Mask, norm: float
    ) -> tuple[int, float]:
        """One EG step on each example of ``order``, compiled as a whole."""
        evaluations, grown = _run_steps(
            order, rule, duals, self._examples, self.weights, self._block, self._room
        )
        return int(evaluations), norm + float(grown)

    def predict(self, x: Floats) -> Ints:
        """The best class of each row of ``x`` (m, d) under v, whose scale does not matter."""
        return np.asarray(np.argmax(x @ self.weights.T, axis=1), dtype=np.int32)

    def design(self) -> DesignMatrix:
        """Components as attributes, each with a weight for every class."""
        x, y, (n_classes, d) = self._examples.x, self._examples.y, self.weights.shape
        rows, components = np.nonzero(x)
        return DesignMatrix(
            row_starts=np.searchsorted(rows, np.arange(len(x) + 1)).astype(np.int64),
            attributes=components.astype(np.int64),
            values=x[rows, components],
            labels=y.astype(np.int64),
            label_count=n_classes,
            candidates=None,
            pair_starts=np.arange(d + 1, dtype=np.int64) * n_classes,
            pair_labels=np.tile(np.arange(n_classes, dtype=np.int64), d),
            bigrams=False,
        )

    def set_weights(self, pairs: Floats, bigrams: Floats | None = None) -> None:
        """Set v from the order of the design; there are no bigrams."""
        self.weights[:] = pairs.reshape(self.weights.shape[::-1]).T


@njit(fast=True)
def _score(weights: Floats, x: Floats, scores: Floats) -> None:
    """s_r = v_r . x"""
    for r in range(weights.shape[0]):
        row, total = weights[r], 0.0
        for k in range(x.shape[0]):
            total += row[k] * x[k]
        scores[r] = total


@njit(fast=True)
def _add(weights: Floats, x: Floats, changes: Floats) -> float:
    """v_r += changes_r x; returns the change of |v|^2 from what is stored, not from what was asked
    for.
    """
    grown = 0.0
    for r in range(weights.shape[0]):
        change = changes[r]
        if change == 0.0:
            continue
        row = weights[r]
        for k in range(x.shape[0]):
            old = row[k]
            new = old + change * x[k]
            row[k] = new
            grown += (new - old) * (new + old)
    return grown


@njit
def _growth(scores: Floats, changes: Floats, square: float) -> float:
    """The change of |v|^2 that ``_add`` would make: sum_r 2 changes_r s_r + changes_r^2 |x|^2."""
    grown = 0.0
    for r in range(scores.shape[0]):
        grown += changes[r] * (2.0 * scores[r] + changes[r] * square)
    return grown


@njit
def _run_steps(
    order: Longs,
    rule: StepRule,
    duals: DualVariables,
    examples: Examples,
    weights: Floats,
    block: Ints,
    room: Floats,
) -> tuple[int, float]:
    """As ``OnlineEG.update``, but that v is left alone until a step is kept: with dense vectors,
    moving it is most of the work.
    """
    size, evaluations, grown = room.shape[1], 0, 0.0
    for i in order:
        x, own, cost = examples.x[i], slice(i * size, (i + 1) * size), examples.costs[examples.y[i]]
        parts = StepBuffers(
            duals.theta[own], duals.marginals[own], room[0], cost, room[1], room[2], room[3]
        )
        _score(weights, x, parts.scores)
        eta = duals.eta[i]
        for _ in range(rule.attempts):
            evaluations += 1
            propose_step(parts, rule, eta)
            log_z = multiclass.softmax(parts.trial, block, parts.marginals)
            value, slope = evaluate_step(parts, rule, log_z, 0.0)
            change = _growth(parts.scores, parts.changes, examples.squares[i])
            increase = value - duals.value[i] - change / (2.0 * rule.c)
            increase = without_rounding(parts, rule, increase)
            accepted, eta = accept_step(rule, eta, increase, slope, change)
            if accepted:
                grown += _add(weights, x, parts.changes)
                store_step(parts)
                record_gain(duals, i, value, increase)
                break
        duals.eta[i] = eta
    return evaluations, grown
