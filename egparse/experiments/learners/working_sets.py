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

from typing import Any, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Ints, Longs, Singles

_STEPS = 20
"""The most steps on one example in a sweep."""
_SWEEPS = 200
"""The most sweeps of a program; the next one goes on from there."""

_END = np.iinfo(np.int32).max  # behind all indices
_VARIABLES = ("v", "_owner", "_idle", "_structures", "_new")


class Structures(NamedTuple):
    """m structures: of structure k ``cost`` (m,), ``weights`` alpha (m,), and psi, whose ``values``
    at ``indices`` are those from ``starts[k]`` to ``starts[k + 1]``.
    """

    cost: Floats
    weights: Floats
    starts: Longs
    indices: Ints
    values: Singles


class WorkingSets:
    """The working sets of ``n`` examples with ``features`` weights, and C. Each example has to get
    a structure, of weight 1, before anything is asked.
    """

    def __init__(self, n: int, features: int, c: float) -> None:
        self.v, self._c, self._n = np.zeros(features), c, n
        self._owner, self._idle = np.empty((2, 0), dtype=np.int64)
        numbers = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)
        starts = np.zeros(1, dtype=np.int64)
        self._structures = Structures(np.empty(0), np.empty(0), starts, *numbers)
        self._new: list[tuple[int, float, float, Ints, Singles]] = []

    def saved(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {name: getattr(self, name) for name in _VARIABLES}

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue from what ``saved`` returned."""
        vars(self).update({name: saved[name] for name in _VARIABLES})

    def include(
        self, i: int, cost: float, indices: Longs, values: Floats, weight: float = 0.0
    ) -> None:
        """Add a structure to the working set of example i. ``values`` are rounded to float32, which
        changes no counts.
        """
        stored = values.astype(np.float32)
        self._new.append((i, cost, weight, indices.astype(np.int32), stored))
        if weight:
            self.v[indices] += stored

    def solve(self, tolerance: float) -> bool:
        """Raise the dual until no example has a structure with weight whose H is lower than the
        highest by more than ``tolerance``; returns whether the sweeps were enough.
        """
        order, blocks = self._in_order()
        room, own = np.empty(int(np.diff(blocks).max(initial=1))), self._structures
        sweeps = solve(own, order, blocks, self.v, self._c, float(tolerance), _SWEEPS, room)
        self._idle = np.where(own.weights > 0, 0, self._idle + 1)
        return bool(sweeps <= _SWEEPS)

    def slacks(self) -> Floats:
        """(n,): the highest H of each example."""
        order, blocks = self._in_order()
        found = np.empty(len(order))
        derivatives(self._structures, order, self.v, self._c, found)
        highest: Floats = np.maximum.reduceat(found, blocks[:-1])
        return highest

    def drop(self, patience: int) -> None:
        """Drop structures that had no weight in so many programs."""
        self._take_in()
        kept, own = self._idle < patience, self._structures
        lengths = np.diff(own.starts)
        numbers = np.repeat(kept, lengths)
        starts = np.concatenate([[0], np.cumsum(lengths[kept])])
        self._structures = Structures(
            own.cost[kept], own.weights[kept], starts, own.indices[numbers], own.values[numbers]
        )
        self._owner, self._idle = self._owner[kept], self._idle[kept]

    def value(self) -> float:
        """The costs of the mixtures: the dual and |v|^2 / (2C)."""
        self._take_in()
        return float(self._structures.weights @ self._structures.cost)

    def _in_order(self) -> tuple[Longs, Longs]:
        """The structures in order of their examples (m,), and the place of the first of each
        example (n + 1,).
        """
        self._take_in()
        order = np.argsort(self._owner, kind="stable")
        return order, np.searchsorted(self._owner[order], np.arange(self._n + 1))

    def _take_in(self) -> None:
        """Put new structures behind the others."""
        if not self._new:
            return
        old = self._structures
        owner, cost, weights, indices, values = zip(*self._new, strict=True)
        starts = old.starts[-1] + np.cumsum([len(own) for own in values])
        self._structures = Structures(
            np.concatenate([old.cost, cost]),
            np.concatenate([old.weights, weights]),
            np.concatenate([old.starts, starts]),
            np.concatenate([old.indices, *indices]),
            np.concatenate([old.values, *values]),
        )
        self._owner = np.concatenate([self._owner, owner])
        self._idle = np.concatenate([self._idle, np.zeros(len(owner), dtype=np.int64)])
        self._new = []


@njit
def derivatives(structures: Structures, order: Longs, v: Floats, c: float, out: Floats) -> None:
    """Write H = cost - v . psi / C of the structures ``order`` into ``out``."""
    starts, indices, values = structures.starts, structures.indices, structures.values
    for place in range(order.shape[0]):
        k, score = order[place], 0.0
        for p in range(starts[k], starts[k + 1]):
            score += v[indices[p]] * values[p]
        out[place] = structures.cost[k] - score / c


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
def solve_block(
    structures: Structures, own: Longs, v: Floats, c: float, tolerance: float, room: Floats
) -> bool:
    """Steps on one example, whose structures are ``own``; whether any was needed."""
    weights = structures.weights
    for step in range(_STEPS):
        derivatives(structures, own, v, c, room)
        up, down = 0, -1
        for place in range(own.shape[0]):
            if room[place] > room[up]:
                up = place
            if weights[own[place]] > 0.0 and (down < 0 or room[place] < room[down]):
                down = place
        violation = room[up] - room[down]
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
    structures: Structures,
    order: Longs,
    blocks: Longs,
    v: Floats,
    c: float,
    tolerance: float,
    most: int,
    room: Floats,
) -> int:
    """Sweeps over the examples until none needs a step; returns how many, or ``most + 1`` where
    ``most`` were not enough. The structures of example i are ``order[blocks[i] : blocks[i + 1]]``;
    ``room`` has a place for each of an example.

    A sweep leaves out the examples that needed no step at the last, until no other does.
    """
    n = blocks.shape[0] - 1
    rests = np.zeros(n, dtype=np.bool_)
    for sweep in range(most):
        moved, complete = False, True
        for i in range(n):
            if blocks[i + 1] - blocks[i] < 2:
                continue
            if rests[i]:
                complete = False
                continue
            own = order[blocks[i] : blocks[i + 1]]
            rests[i] = not solve_block(structures, own, v, c, tolerance, room)
            moved = moved or not rests[i]
        if not moved:
            if complete:
                return sweep + 1
            for i in range(n):
                rests[i] = False
    return most + 1
