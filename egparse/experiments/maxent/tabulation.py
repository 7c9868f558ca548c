"""The table of exponentials S_w(x, y) and their sums T_w(x), from which probabilities and
expectations are read.

Source: Huang et al. 2009, section 2.3: with S and T, a sub-problem only costs the non-zeros of its
feature. We differ for the sake of precision: S and T are relative to exp(highest score of the
context), so that they do not overflow; T is summed again where its update would cancel; and both
are computed anew after every pass, so that rounding errors do not add up and the objective is
exact. For a label that a context may not have, S = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.experiments.maxent.problem import Features, MaxentProblem
from egparse.types import Floats

_CANCELLED = 1e-8  # relative to T: a smaller difference has lost half its digits


class Table(NamedTuple):
    """``exponentials`` (L, m) is S(x, y), with a row for each label because an update changes one
    label; ``sums`` (m) is T(x).
    """

    exponentials: Floats
    sums: Floats


def empty_table(problem: MaxentProblem) -> Table:
    """A table of zeros for a problem, of 8 L m bytes."""
    shape = problem.label_count, problem.context_count
    return Table(np.zeros(shape), np.zeros(shape[1]))


@njit
def tabulate(features: Features, w: Floats, table: Table) -> float:
    """Fill the table at w; returns sum_x p~(x) log T(x), nats."""
    label_count = table.exponentials.shape[0]
    scores = np.empty(label_count)
    total = 0.0
    for k in range(table.sums.shape[0]):
        _score(features, w, k, scores)
        _forbid(features, k, scores, -np.inf)
        shift = scores.max()
        context_sum = 0.0
        for y in range(label_count):
            scores[y] = np.exp(scores[y] - shift)
            context_sum += scores[y]
            table.exponentials[y, k] = scores[y]
        table.sums[k] = context_sum
        total += features.counts[k] * (shift + np.log(context_sum))
    return total


@njit
def feature_totals(features: Features, totals: Floats) -> None:
    """Write f#(x, y) = sum_t f_t(x, y) (ibid., section 2.2) into ``totals`` (L, m)."""
    ones = np.ones(features.labels.shape[0])
    scores = np.empty(totals.shape[0])
    for k in range(totals.shape[1]):
        _score(features, ones, k, scores)
        _forbid(features, k, scores, 0.0)
        totals[:, k] = scores


@njit
def expectations(features: Features, table: Table, out: Floats) -> None:
    """Write sum_{x,y} p~(x) P(y | x) f_t(x, y) of every feature into ``out`` (n)."""
    for a in range(features.feature_starts.shape[0] - 1):
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            out[t] = expectation(features, table, a, t)


@njit
def expectation(features: Features, table: Table, a: int, t: int) -> float:
    """The expectation of feature t, which belongs to attribute a."""
    exponentials = table.exponentials[features.labels[t]]
    total = 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k = features.column_contexts[j]
        total += features.counts[k] * features.column_values[j] * exponentials[k] / table.sums[k]
    return total


@njit
def _score(features: Features, w: Floats, k: int, scores: Floats) -> None:
    scores[:] = 0.0
    for j in range(features.row_starts[k], features.row_starts[k + 1]):
        a = features.row_attributes[j]
        for t in range(features.feature_starts[a], features.feature_starts[a + 1]):
            scores[features.labels[t]] += w[t] * features.row_values[j]


@njit
def _forbid(features: Features, k: int, scores: Floats, value: float) -> None:
    """Set the scores of labels that context k may not have to ``value``."""
    if features.allowed.shape[0] == 0:
        return
    for y in range(scores.shape[0]):
        if not features.allowed[k, y]:
            scores[y] = value


@njit
def others(table: Table, label: int, k: int) -> float:
    """T(x) - S(x, label) of context k, by subtraction, or by a sum over the other labels where
    subtraction would cancel.
    """
    rest = float(table.sums[k] - table.exponentials[label, k])
    if rest > _CANCELLED * table.sums[k]:
        return rest
    rest = 0.0
    for y in range(table.exponentials.shape[0]):
        if y != label:
            rest += table.exponentials[y, k]
    return rest


@njit
def shift_weight(features: Features, table: Table, a: int, t: int, z: float) -> None:
    """Bring the table from w to w + z e_t (ibid., section 2.3: S <- S exp(z f), T <- T + S (exp(z
    f) - 1)).
    """
    label = features.labels[t]
    exponentials = table.exponentials[label]
    last, growth = 0.0, 1.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k, value = features.column_contexts[j], features.column_values[j]
        if value != last:  # values are often equal: reuse the exponential
            last, growth = value, np.exp(z * value)
        rest = others(table, label, k)
        exponentials[k] *= growth
        table.sums[k] = rest + exponentials[k]
