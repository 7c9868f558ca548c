"""The table of exponentials S_w(x, y) and their sums T_w(x), from which sequential learners read
probabilities and expectations.

Source: Huang et al. 2009, section 2.3: with S and T, a sub-problem costs only the non-zeros of its
feature. We differ for the sake of precision: S and T are relative to exp(``shifts``), the highest
score of the context when the table was filled, so that they do not overflow; T is summed again
where its update would cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.experiments.learners.maxent.features import Features, forbid, score_context
from egparse.types import Floats

_CANCELLED = 1e-8  # relative to T: a smaller difference has lost half its digits
_ROWS = 16  # contexts whose scores are written at once: labels are rows, far apart in memory


class Table(NamedTuple):
    """``exponentials`` (L, m) is S(x, y), with a row for each label because an update changes one
    label; ``sums`` (m) is T(x); both are relative to exp(``shifts``) (m).
    """

    exponentials: Floats
    sums: Floats
    shifts: Floats


def empty_table(features: Features) -> Table:
    """A table of zeros, of 8 L m bytes."""
    m = len(features.correct)
    return Table(np.zeros((features.label_count, m)), np.zeros(m), np.zeros(m))


NO_TABLE = Table(np.empty((0, 0)), np.empty(0), np.empty(0))
"""Of a learner that goes through all contexts for every step."""


@njit
def tabulate(features: Features, w: Floats, table: Table) -> float:
    """Fill the table at w; returns sum_x log T(x), nats."""
    label_count, context_count = table.exponentials.shape
    rows = np.empty((_ROWS, label_count))
    for first in range(0, context_count, _ROWS):
        size = min(_ROWS, context_count - first)
        for i in range(size):
            k, scores = first + i, rows[i]
            score_context(features, w, k, scores)
            forbid(features, k, scores, -np.inf)
            table.shifts[k] = scores.max()
            table.sums[k] = 0.0
            for y in range(label_count):
                scores[y] = np.exp(scores[y] - table.shifts[k])
                table.sums[k] += scores[y]
        for y in range(label_count):
            for i in range(size):
                table.exponentials[y, first + i] = rows[i, y]
    return log_sums(table)


@njit
def log_sums(table: Table) -> float:
    """sum_x log T(x) of the table, nats."""
    total = 0.0
    for k in range(table.sums.shape[0]):
        total += table.shifts[k] + np.log(table.sums[k])
    return total


@njit
def expectation(features: Features, table: Table, a: int, t: int) -> float:
    """sum_{x,y} P(y | x) f_t(x, y) of feature t, which belongs to attribute a."""
    exponentials = table.exponentials[features.labels[t]]
    total = 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        k = features.column_contexts[j]
        total += features.column_values[j] * exponentials[k] / table.sums[k]
    return total


@njit
def greatest_value(features: Features, a: int) -> float:
    """f#_t = max_{x,y} f_t(x, y) of the features of attribute a."""
    most = 0.0
    for j in range(features.column_starts[a], features.column_starts[a + 1]):
        most = max(most, features.column_values[j])
    return most


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
