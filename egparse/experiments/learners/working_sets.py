"""The dual of the structured SVM over a few structures of each example, its working set, solved by
coordinate ascent.

    max over alpha   sum_iy alpha_iy cost_iy - |v|^2 / (2C),     v = sum_iy alpha_iy psi_iy
    s.t.             alpha >= 0,  sum_y alpha_iy = 1 for each i;    psi_iy = F_i'(z_i - y)

The derivative by alpha_iy is H_iy = cost_iy - v . psi_iy / C. A step moves weight from the
structure of example i that has some and the lowest H to the one with the highest, to the best
point:

    t = min(alpha_down, C (H_up - H_down) / |psi_up - psi_down|^2)

(the pairs of Platt 1998, Sequential minimal optimization, which suit a sum that is fixed). Vectors
psi are sparse and v is kept, so that a sweep takes time in proportion to their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Ints, Longs, Singles

_STEPS = 20
"""The most steps on one example in a sweep."""
_SWEEPS = 200
"""The most sweeps of a program; the next one goes on from there."""

_END = np.iinfo(np.int32).max  # behind all indices


class Structure(NamedTuple):
    """A structure of example ``owner`` with its weight alpha, and its psi: ``values`` at
    ``indices``, which ascend.
    """

    owner: int
    cost: float
    weight: float
    indices: Ints
    values: Singles


class Structures(NamedTuple):
    """m structures, each field (m,); psi of structure k has the ``values`` at ``indices`` from
    ``starts[k]`` to ``starts[k + 1]``. ``idle`` counts the last programs without weight.
    """

    owner: Longs
    idle: Longs
    cost: Floats
    weights: Floats
    starts: Longs
    indices: Ints
    values: Singles

    @classmethod
    def of(cls, new: Sequence[Structure]) -> Structures:
        """At least one structure."""
        owner, cost, weights, indices, values = zip(*new, strict=True)
        return cls(
            np.array(owner),
            np.zeros(len(new), dtype=np.int64),
            np.array(cost),
            np.array(weights),
            np.cumsum([0, *map(len, values)]),
            np.concatenate(indices),
            np.concatenate(values),
        )


@dataclass
class WorkingSets:
    """The working sets of ``n`` examples, and C."""

    n: int
    c: float
    v: Floats
    structures: Structures

    @classmethod
    def of(cls, features: int, c: float, first: Sequence[Structure]) -> WorkingSets:
        """One structure of weight 1 for each example, in order."""
        sets = cls(len(first), c, np.zeros(features), Structures.of(first))
        for one in first:
            sets.v[one.indices] += one.values
        return sets

    def add(self, new: Sequence[Structure]) -> None:
        """Add structures of weight 0."""
        if new:
            old, added = self.structures, Structures.of(new)
            added = added._replace(starts=added.starts[1:] + old.starts[-1])
            columns: Iterable[Any] = zip(old, added, strict=True)
            self.structures = Structures._make(np.concatenate(pair) for pair in columns)

    def solve(self, tolerance: float) -> bool:
        """Raise the dual until no example has a structure with weight whose H is lower than the
        highest by more than ``tolerance``; returns whether the sweeps were enough.
        """
        own = self.structures
        solved = solve(own, *self._in_order(), self.v, self.c, float(tolerance))
        own.idle[:] = np.where(own.weights > 0, 0, own.idle + 1)
        return bool(solved)

    def slacks(self) -> Floats:
        """(n,): the highest H of each example."""
        order, blocks = self._in_order()
        found = derivatives(self.structures, order, self.v, self.c)
        return np.asarray(np.maximum.reduceat(found, blocks[:-1]))

    def drop(self, patience: int) -> None:
        """Drop structures that had no weight in so many programs."""
        own, lengths = self.structures, np.diff(self.structures.starts)
        kept = own.idle < patience
        starts, numbers = np.append(0, np.cumsum(lengths[kept])), np.repeat(kept, lengths)
        columns = [column[kept] for column in own[:4]]
        self.structures = Structures._make(
            [*columns, starts, own.indices[numbers], own.values[numbers]]
        )

    def value(self) -> float:
        """The costs of the mixtures: the dual and |v|^2 / (2C)."""
        return float(self.structures.weights @ self.structures.cost)

    def _in_order(self) -> tuple[Longs, Longs]:
        """The structures in order of their examples (m,), and the place of the first of each
        example (n + 1,).
        """
        owner = self.structures.owner
        order = np.argsort(owner, kind="stable")
        return order, np.searchsorted(owner[order], np.arange(self.n + 1))


@njit
def derivatives(structures: Structures, order: Longs, v: Floats, c: float) -> Floats:
    """H = cost - v . psi / C of the structures ``order``."""
    starts, indices, values = structures.starts, structures.indices, structures.values
    out = np.empty(order.shape[0])
    for place in range(order.shape[0]):
        k, score = order[place], 0.0
        for p in range(starts[k], starts[k + 1]):
            score += v[indices[p]] * values[p]
        out[place] = structures.cost[k] - score / c
    return out


@njit
def squared_distance(structures: Structures, a: int, b: int) -> float:
    """|psi_a - psi_b|^2, of vectors whose indices ascend."""
    starts, indices, values = structures.starts, structures.indices, structures.values
    p, q, total = starts[a], starts[b], 0.0
    while p < starts[a + 1] or q < starts[b + 1]:
        left = indices[p] if p < starts[a + 1] else _END
        right = indices[q] if q < starts[b + 1] else _END
        if left == right:
            difference = values[p] - values[q]
        else:
            difference = values[p] if left < right else values[q]
        p += left <= right
        q += right <= left
        total += difference * difference
    return total


@njit
def move(structures: Structures, v: Floats, k: int, by: float) -> None:
    """alpha_k += by, and v with it."""
    starts, indices, values = structures.starts, structures.indices, structures.values
    structures.weights[k] += by
    for p in range(starts[k], starts[k + 1]):
        v[indices[p]] += by * values[p]


@njit
def solve_block(structures: Structures, own: Longs, v: Floats, c: float, tolerance: float) -> bool:
    """Steps on one example, whose structures are ``own``; whether any was needed."""
    weights = structures.weights
    for step in range(_STEPS):
        found = derivatives(structures, own, v, c)
        up, down = 0, -1
        for place in range(own.shape[0]):
            if found[place] > found[up]:
                up = place
            if weights[own[place]] > 0.0 and (down < 0 or found[place] < found[down]):
                down = place
        violation = found[up] - found[down]
        if violation <= tolerance:
            return step > 0
        # t = min(alpha_down, C (H_up - H_down) / |psi_up - psi_down|^2)
        distance = squared_distance(structures, own[up], own[down])
        t = weights[own[down]]
        if t * distance > c * violation:
            t = c * violation / distance
        move(structures, v, own[up], t)
        move(structures, v, own[down], -t)
    return True


@njit
def solve(
    structures: Structures, order: Longs, blocks: Longs, v: Floats, c: float, tolerance: float
) -> bool:
    """Sweeps over the examples until none needs a step; returns whether they were enough. The
    structures of example i are ``order[blocks[i] : blocks[i + 1]]``.

    A sweep leaves out the examples that needed no step at the last, until no other does.
    """
    n = blocks.shape[0] - 1
    rests = np.zeros(n, dtype=np.bool_)
    for _ in range(_SWEEPS):
        moved, complete = False, True
        for i in range(n):
            if blocks[i + 1] - blocks[i] < 2:
                continue
            if rests[i]:
                complete = False
                continue
            own = order[blocks[i] : blocks[i + 1]]
            rests[i] = not solve_block(structures, own, v, c, tolerance)
            moved = moved or not rests[i]
        if not moved:
            if complete:
                return True
            rests[:] = False
    return False
