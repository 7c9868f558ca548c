"""The error on new data against R^2 / (gamma^2 |T|), over all pairs of digits (McDonald 2009,
"Maximizing Margin").
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.classification import ClassifierProblem, error_rate
from egparse.experiments.lectures.hard_margin import hard_margin
from egparse.experiments.lectures.tasks import Digits


def measure_pairs(digits: Digits, sizes: Sequence[int]) -> dict[str, Any]:
    """For each pair of classes and each number of training examples: R^2 / (gamma^2 |T|) of the
    support vector machine without slack, and its error in per cent on the other examples. Pairs
    that are not separable, or that have too few examples, are left out.
    """
    x = np.concatenate([digits.train[0], digits.dev[0], digits.test[0]])
    y = np.concatenate([digits.train[1], digits.dev[1], digits.test[1]])
    rows = []
    for first, second in itertools.combinations(range(int(y.max()) + 1), 2):
        own = np.flatnonzero((y == first) | (y == second))
        for n in sizes:
            if len(own) < 2 * n:
                continue
            train, new = own[:n], own[n:]
            problem = ClassifierProblem(x[train], (y[train] == second).astype(np.int32), 2)
            try:
                found = hard_margin(problem)
            except EgparseError:
                continue
            # |f(x, y) - f(x, y')|^2 = 2 |x|^2
            radius = 2.0 * float((x[train] ** 2).sum(axis=1).max())
            error = error_rate(problem, x[new], (y[new] == second).astype(np.int32))
            rows.append([first, second, n, radius / (found.margin**2 * n), error])
    return {"columns": ["class", "class", "examples", "R^2 / (gamma^2 |T|)", "error"], "rows": rows}


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's correlation of ranks, with mean ranks for ties; 0 where one is constant."""
    ranks = [_ranks(np.asarray(values, dtype=np.float64)) for values in (a, b)]
    if min(float(np.ptp(own)) for own in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Any) -> Any:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2.0)[place]
