"""Shards of the examples of a problem: example i is in shard i mod P."""

from __future__ import annotations

from mmap import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.errors import ConfigError
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem
from egparse.learners.sgd import Arrays
from egparse.types import Floats, Longs


def deal(n: int, shards: int) -> list[Longs]:
    """The indices of the examples of each shard.

    Raises:
        ConfigError: fewer than one shard, or more than there are examples.
    """
    if not 1 <= shards <= max(1, n):
        raise ConfigError(
            f"expected between 1 and {max(1, n)} shards for {n} examples, got {shards}"
        )
    return [np.arange(p, n, shards, dtype=np.int64) for p in range(shards)]


class Shard(Problem):
    """Some examples of a problem, as a problem: its example j is example ``examples[j]``. It shares
    v and the scratch arrays.
    """

    def __init__(self, problem: Problem, examples: Longs) -> None:
        self._problem, self._indices = problem, examples
        self._examples = examples.tolist()
        sizes = np.diff(problem.part_starts)[examples]
        self.part_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def gold(self, i: int) -> Floats:
        """The part vector of the correct structure."""
        return self._problem.gold(self._examples[i])

    def cost(self, i: int) -> Floats:
        """The cost of each part."""
        return self._problem.cost(self._examples[i])

    def cost_constant(self, i: int) -> float:
        """The constant of the cost."""
        return self._problem.cost_constant(self._examples[i])

    def scores(self, i: int) -> Floats:
        """The score of each part."""
        return self._problem.scores(self._examples[i])

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the part marginals; return log Z."""
        return self._problem.marginals(self._examples[i], potentials, out)

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """Write the best structure; return its score."""
        return self._problem.argmax(self._examples[i], potentials, out)

    def add(self, i: int, changes: Floats) -> float:
        """v += F_i' changes; return the change of |v|^2."""
        return self._problem.add(self._examples[i], changes)

    def reset(self) -> None:
        """v = 0."""
        self._problem.reset()

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """The arrays that hold v."""
        return self._problem.vectors()

    def with_own_weights(self) -> Problem:
        """The same examples with a v of their own."""
        return Shard(self._problem.with_own_weights(), self._indices)


def shared_like(problem: Problem) -> Arrays:
    """Arrays of zeros, shaped like those of v, in memory that is shared with processes forked
    later.
    """
    return [
        np.frombuffer(mmap(-1, max(1, array.nbytes)), array.dtype, array.size).reshape(array.shape)
        for array in problem.vectors()
    ]


def copy_weights(problem: Problem, out: Arrays) -> None:
    """Copy v into ``out``, array by array."""
    for array, weights in zip(out, problem.vectors(), strict=True):
        array[...] = weights


def compile_kernels(problem: Problem, loss: Loss) -> None:
    """Call every kernel once, so that it is compiled here and not again in each process; v does
    not change.
    """
    if len(problem.part_starts) > 1:
        scores = problem.scores(0)
        loss.value(problem, 0, scores, np.empty(len(scores)))
        problem.add(0, np.zeros(len(scores)))
