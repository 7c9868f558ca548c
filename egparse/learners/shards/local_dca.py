"""Online dual coordinate ascent (``egparse.learners.dca``) on the examples of a shard."""

from __future__ import annotations

from copy import copy
from dataclasses import asdict, dataclass, replace

import numpy as np

from egparse.learners.base import in_blocks
from egparse.learners.dca import DCA, DCAConfig, DCAState, Tally
from egparse.learners.problem import VectorProblem
from egparse.learners.shards.kept import Kept
from egparse.learners.shards.messages import Vector
from egparse.types import Floats, Longs


@dataclass
class LocalDCAState:
    """All that rounds change but for u: of the average of v the ``moments`` (parts,) and the
    ``count`` of visits (``egparse.learners.averaging``), the ``value`` of the dual, the ``tally``
    of the last pass.
    """

    moments: Vector
    count: int
    value: float
    tally: Tally
    generator: np.random.Generator


class LocalDCA:
    """The visits of a shard; the problem holds u.

    A visit linearises the loss of its example, and adds a dual variable a to the planes that the
    dual consists of: with the intercept b of the plane, the sum of all a b is the shard's value.
    """

    def __init__(self, problem: VectorProblem, config: DCAConfig) -> None:
        self.learner = DCA(problem, config)
        self._now: DCAState = self.learner.initialise()
        self._value = 0.0
        self._kept: tuple[Kept, LocalDCAState] | None = None

    @property
    def state(self) -> LocalDCAState:
        """Not a copy."""
        now, average = self._now, self._now.average
        moments = np.empty(0) if average is None else average.moments
        count = 0 if average is None else average.count
        return LocalDCAState(moments, count, self._value, now.tally, now.generator)

    @state.setter
    def state(self, state: LocalDCAState) -> None:
        now, average = self._now, self._now.average
        if average is not None:
            average.moments[:], average.count = state.moments, state.count
        self._value, now.tally, now.generator = state.value, state.tally, state.generator

    def start(self, height: Floats) -> None:
        """The start of the learner, which ignores ``height``; u becomes 0."""
        self._now = self.learner.initialise()

    def draw(self, by_gain: bool) -> Longs:
        """The next order of visits: all examples."""
        n, generator = self.learner.n, self._now.generator
        self._now.tally = Tally()
        return in_blocks(generator.permutation(n), n, generator)

    def visit(self, order: Longs, c: float) -> int:
        """Steps on the examples of ``order`` with C' = ``c``, which ``undo`` can take back; returns
        the number of inference calls.
        """
        now, learner, before = self._now, self.learner, self.state
        moments = () if now.average is None else (now.average.moments,)
        kept = Kept(order, learner.problem.part_starts, moments, ())
        self._kept = kept, replace(before, tally=copy(now.tally))
        now.visits, now.total_increase, now.squared_norm = 0, 0.0, 0.0
        learner.set_c(c)
        for i in order.tolist():
            learner.update(now, i)
        # a b = the increase of the dual of the shard + C' / 2 times that of |w|^2
        self._value += now.total_increase + c / 2 * now.squared_norm
        return now.visits

    def undo(self) -> None:
        """Take back the steps of the last visits; u is left as it is."""
        if self._kept is not None:
            kept, state = self._kept
            kept.restore()
            self.state = state

    def form_moments(self) -> int:
        """u becomes what the average of v over the visits is short of v, times their number, which
        is returned; 0 if there is no average.
        """
        average = self._now.average
        if average is None or not average.count:
            return 0
        average.form_moments()
        return average.count

    @property
    def value(self) -> float:
        """The sum of a b over all visits."""
        return self._value

    @property
    def gain(self) -> float:
        """0: all examples are visited alike."""
        return 0.0

    def sums(self, c: float) -> tuple[float, float]:
        """The sum of the losses at w = u / c; there are no corrections of the dual."""
        self.learner.set_c(c)
        return self.learner.sum_losses(), 0.0

    @property
    def counts(self) -> dict[str, float]:
        """The tally of the last pass."""
        return asdict(self._now.tally)
