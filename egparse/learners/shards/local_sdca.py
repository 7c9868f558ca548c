"""Dual coordinate ascent on the examples of a shard."""

from __future__ import annotations

from egparse.learners.base import in_blocks
from egparse.learners.problem import VectorProblem
from egparse.learners.sdca import SDCA, SDCAConfig, SDCAState
from egparse.learners.shards.kept import Kept
from egparse.types import Floats, Longs


class LocalSDCA:
    """The dual variables of a shard, which coordinate ascent improves; the problem holds u."""

    def __init__(self, problem: VectorProblem, config: SDCAConfig) -> None:
        self.learner = SDCA(problem, config)
        self.state: SDCAState
        self._kept: Kept | None = None

    def start(self, height: Floats) -> None:
        """The start of the learner; u becomes the part of v that is made of the shard."""
        self.state = self.learner.initialise(height)

    def draw(self, by_gain: bool) -> Longs:
        """The next order of visits: all examples."""
        n, generator = self.learner.n, self.state.generator
        return in_blocks(generator.permutation(n), n, generator)

    def visit(self, order: Longs, c: float) -> int:
        """Steps on the examples of ``order`` with C' = ``c``, which ``undo`` can take back; returns
        the number of inference calls.
        """
        state, starts = self.state, self.learner.problem.part_starts
        self._kept = Kept(order, starts, (state.marginals,), (state.value, state.share))
        self.learner.set_c(state, c)
        for i in order.tolist():
            self.learner.update(state, i)
        return len(order)

    def undo(self) -> None:
        """Take back the steps of the last visits; u is left as it is."""
        if self._kept is not None:
            self._kept.restore()

    @property
    def value(self) -> float:
        """The sum of the values d_i."""
        return float(self.state.value.sum())

    @property
    def gain(self) -> float:
        """0: all examples are visited alike."""
        return 0.0

    def sums(self, c: float) -> tuple[float, float]:
        """The sum of the losses at w = u / c; there are no corrections of the dual."""
        return self.learner.sum_losses(c), 0.0
