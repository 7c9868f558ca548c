"""Online EG on the examples of a shard."""

from __future__ import annotations

from egparse.errors import ConfigError
from egparse.learners.eg.online import EGConfig, EGState, OnlineEG
from egparse.learners.problem import Problem
from egparse.learners.shards.kept import Kept
from egparse.types import Floats, Longs

_CHUNK = 1000  # examples in a call of compiled steps, as without shards


def check_eg(config: EGConfig) -> None:
    """Raise ConfigError for settings that shards cannot keep to."""
    if config.calibrate or config.search == "proven":
        raise ConfigError(
            "expected calibrate = 0 and search = 'halving' or 'quadratic' with several jobs: other "
            "learning rates hold for one C, and that of the shards' steps changes"
        )


class LocalEG:
    """The dual variables of a shard, which EG improves; the problem holds u."""

    def __init__(self, problem: Problem, config: EGConfig) -> None:
        check_eg(config)
        self.learner = OnlineEG(problem, config)
        self.state: EGState
        self._kept: Kept | None = None

    def start(self, height: Floats) -> None:
        """The start of the learner; u becomes the part of v that is made of the shard."""
        self.state = self.learner.initialise(height)

    def draw(self, by_gain: bool) -> Longs:
        """The next order of visits."""
        return self.learner.next_visits(self.state, by_gain)

    def visit(self, order: Longs, c: float) -> int:
        """Steps on the examples of ``order`` with C' = ``c``, which ``undo`` can take back; returns
        the number of inference calls.
        """
        state, duals = self.state, self.state.duals
        of_examples = (duals.value, duals.eta, duals.gain, state.single_rate)
        starts = self.learner.problem.part_starts
        self._kept = Kept(order, starts, (duals.theta, duals.marginals), of_examples)
        before, state.c = state.evaluations, c
        for begin in range(0, len(order), _CHUNK):
            self.learner.run_steps(state, order[begin : begin + _CHUNK])
        return state.evaluations - before

    def undo(self) -> None:
        """Take back the steps of the last visits; u is left as it is."""
        if self._kept is not None:
            self._kept.restore()

    @property
    def value(self) -> float:
        """The sum of H / beta + gamma E[cost]."""
        return float(self.state.value.sum())

    @property
    def gain(self) -> float:
        """The sum of what the last visits gained."""
        return float(self.state.duals.gain.sum())

    def sums(self, c: float) -> tuple[float, float]:
        """The sum of the losses at w = u / c, and that of the corrections of the dual."""
        return self.learner.sums(self.state, c)
