"""The support vector machine without slack, and the margins of weight vectors (McDonald 2009, "Max
Margin = Min Norm" and "Support Vector Machines").

The margin of w is the least w . (f(x_t, y_t) - f(x_t, y')) / |w| over all examples and wrong y'.
The lectures' quadratic program, min |w|^2 / 2 with all those products at least 1, has a constraint
for every wrong structure. Here it grows: solve it for the constraints so far, add the most
violated ones of each example, and stop where none is violated by more than a tolerance
(Tsochantaridis et al. 2004, Alg. 1). Each program has fewer constraints than the whole, so 1 / |w|
of its solution is at least the greatest margin, and the margin that its w has is at most that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from egparse.errors import EgparseError
from egparse.learners.problem import Problem, read, squared_norm, write
from egparse.types import Floats

_ROUNDS = 200
_AT_ONCE = 4  # constraints of an example that are added in one round
_SUPPORT = 1e-6  # of the greatest multiplier: interior points are never 0


class HardMargin(NamedTuple):
    """``margin`` is that of w, at most the greatest one, which is at most ``bound``; ``norm`` is
    |w|. ``supports`` are the examples with a multiplier above 0, of ``constraints`` in the program.
    """

    margin: float
    bound: float
    norm: float
    supports: tuple[int, ...]
    constraints: int


def hard_margin(
    problem: Problem, examples: Sequence[int] = (), *, tolerance: float = 1e-4
) -> HardMargin:
    """Set v to the w of least norm that separates the ``examples`` (all by default) with a margin
    of 1, less a ``tolerance``.

    Raises:
        EgparseError: the examples are not separable, or the program does not settle.
    """
    chosen = examples or range(len(problem.part_starts) - 1)
    second = problem.with_own_weights()
    problem.reset()
    rows: list[sparse.csr_array] = []
    owners: list[int] = []
    multipliers = np.zeros(0)
    for _ in range(_ROUNDS):
        before = len(rows)
        for i in chosen:
            for product, changes in _closest(problem, i, _AT_ONCE):
                if product < 1.0 - tolerance:
                    second.reset()
                    second.add(i, changes)
                    rows.append(sparse.csr_array(read(second).reshape(1, -1)))
                    owners.append(i)
        if len(rows) == before:
            break
        differences = sparse.vstack(rows, format="csr")
        multipliers = _solve(np.asarray((differences @ differences.T).todense()))
        write(problem, np.asarray(differences.T @ multipliers))
    else:
        raise EgparseError(f"hard margin: expected no violation after {_ROUNDS} rounds, got some")
    norm = math.sqrt(squared_norm(problem))
    # 1 / |w*| with |w*|^2 = 2 (sum alpha - |v|^2 / 2) at the optimum of the program
    bound = 1.0 / math.sqrt(max(1e-300, 2.0 * float(multipliers.sum()) - norm**2))
    least = min(_product(problem, i) for i in chosen)
    heavy = multipliers > _SUPPORT * multipliers.max()
    supports = tuple(sorted({owner for owner, own in zip(owners, heavy, strict=True) if own}))
    return HardMargin(least / norm, bound, norm, supports, len(rows))


def margin_of(problem: Problem) -> float:
    """The margin of v on all examples; below 0 where one of them is wrong."""
    norm = math.sqrt(squared_norm(problem))
    least = min(_product(problem, i) for i in range(len(problem.part_starts) - 1))
    return least / norm if norm else -math.inf


def _closest(problem: Problem, i: int, count: int) -> list[tuple[float, Floats]]:
    """The wrong structures y of greatest score, so many: v . F'(z_i - y), and z_i - y (parts,)."""
    scores = problem.scores(i).copy()
    gold = problem.gold(i).copy()
    differences = [gold - structure for structure in problem.k_best(i, scores, count + 1)]
    wrong = [changes for changes in differences if changes.any()]
    return [(float(scores @ changes), changes) for changes in wrong[:count]]


def _product(problem: Problem, i: int) -> float:
    """The least product of example i; inf without a wrong structure."""
    return min((product for product, _ in _closest(problem, i, 1)), default=math.inf)


def _solve(gram: Floats) -> Floats:
    """The multipliers: max sum alpha - alpha' G alpha / 2 with alpha >= 0."""
    size = len(gram)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(gram)),
        -np.ones(size),
        -sparse.identity(size, format="csc"),
        np.zeros(size),
        [clarabel.NonnegativeConeT(size)],
        settings,
    ).solve()
    if "Solved" not in str(solution.status):
        raise EgparseError(
            f"hard margin: expected separable examples, got a program that is {solution.status}"
        )
    multipliers: Floats = np.maximum(0.0, np.asarray(solution.x, dtype=np.float64))
    return multipliers
