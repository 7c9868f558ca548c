"""What most learners have in common; ``egparse.learners.learner`` is the contract they fulfil."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

import numpy as np

from egparse.errors import ConfigError
from egparse.learners.problem import Problem
from egparse.learners.targets.contract import TargetProblem
from egparse.types import Floats, Longs

P = TypeVar("P", bound=Problem)

_BLOCK = 1 << 12
_WITHOUT_BLOCKS = 1 << 16
"""The most examples that are visited in an order without blocks."""


def in_blocks(order: Longs, n: int, generator: np.random.Generator) -> Longs:
    """An order of visits to some of ``n`` examples that goes from one block of neighbours to the
    next, blocks in random order, and within a block as before.

    With more examples than fit into memory, each visit in an order without blocks would wait for
    pages of files, and in memory for the processor's tables of pages. Corpora of up to 65,536
    examples are left as they are.
    """
    if n <= _WITHOUT_BLOCKS:
        return order
    rank = generator.permutation(-(-n // _BLOCK))
    ordered: Longs = order[np.argsort(rank[order // _BLOCK], kind="stable")]
    return ordered


class UnscaledState:
    """The state of a learner whose problem holds w itself."""

    @property
    def scale(self) -> float:
        """w = v."""
        return 1.0


class LearnerBase(Generic[P]):
    """A learner on ``problem``; ``longest`` is the number of parts of the largest example.

    An ``attendant``, if there is one, is called with the state and the number of an example at each
    visit of learners that go from one example to the next: by those in the primal before the step,
    by those in the dual after it.
    """

    def __init__(self, problem: P) -> None:
        self.problem = problem
        self.longest = int(np.diff(problem.part_starts).max(initial=0))
        self.attendant: Callable[[Any, int], None] | None = None

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """Changes nothing: the present v is that of the model."""
        return nullcontext()

    def retarget(self, state: Any, targets: Mapping[int, Floats]) -> None:
        """See ``TargetLearner``; here no variable of the state depends on the targets."""
        for i, target in targets.items():
            self._problem_with_targets().set_target(i, target)

    def _problem_with_targets(self) -> TargetProblem:
        """The problem, whose targets can be replaced.

        Raises:
            ConfigError: they cannot.
        """
        if not isinstance(self.problem, TargetProblem):
            raise ConfigError(
                f"expected a problem whose targets can be replaced, got "
                f"{type(self.problem).__name__}"
            )
        return self.problem

    def _attend(self, state: Any, i: int) -> None:
        if self.attendant is not None:
            self.attendant(state, i)

    def _parts_of(self, i: int) -> slice:
        """The parts of example i in a flat array over all parts."""
        starts = self.problem.part_starts
        return slice(starts[i], starts[i + 1])
