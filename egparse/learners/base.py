"""What most learners have in common; ``egparse.learners.learner`` is the contract they fulfil."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

import numpy as np

from egparse.learners.problem import Problem

P = TypeVar("P", bound=Problem)


class UnscaledState:
    """The state of a learner whose problem holds w itself."""

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


class LearnerBase(Generic[P]):
    """A learner on ``problem``; ``longest`` is the number of parts of the largest example."""

    def __init__(self, problem: P) -> None:
        self.problem = problem
        self.longest = int(np.diff(problem.part_starts).max(initial=0))

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """Changes nothing: the present v is that of the model."""
        return nullcontext()

    def _parts_of(self, i: int) -> slice:
        """The parts of example i in a flat array over all parts."""
        starts = self.problem.part_starts
        return slice(starts[i], starts[i + 1])
