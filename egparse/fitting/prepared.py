"""A learner that is ready to train a predictor, and the predictor that it has come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from egparse.errors import NotFiniteError
from egparse.fitting.progress import Iteration
from egparse.learners.learner import Learner, State
from egparse.learners.problem import Problem
from egparse.storage.schema import LARGEST_WEIGHT
from egparse.types import Singles

Predictor = TypeVar("Predictor")
Finished = TypeVar("Finished")

INTERRUPTED = "interrupted"


class Weights(NamedTuple):
    """A copy of the arrays of v, and the factor of the model, w = ``scale`` v."""

    vectors: list[npt.NDArray[np.floating[Any]]]
    scale: float

    def put_into(self, problem: Problem) -> None:
        """Set the v of a problem."""
        for array, saved in zip(problem.vectors(), self.vectors, strict=True):
            array[...] = saved


class Prepared(NamedTuple, Generic[Predictor]):
    """A learner at its first point, and a function that copies the predictor out of its problem."""

    learner: Learner
    state: Any
    snapshot: Callable[[State], Predictor]

    def then(self, finish: Callable[[Predictor], Finished]) -> Prepared[Finished]:
        """The same learner, whose predictors are finished by a function."""
        snapshot = self.snapshot
        return Prepared(self.learner, self.state, lambda state: finish(snapshot(state)))

    def current(self) -> Predictor:
        """The predictor with the weights that the learner keeps (for some, their average)."""
        with self.learner.model_weights(self.state):
            return self.snapshot(self.state)

    def weights(self) -> Weights:
        """Those of the ``current`` predictor."""
        with self.learner.model_weights(self.state):
            vectors = [array.copy() for array in self.learner.problem.vectors()]
            return Weights(vectors, float(self.state.scale))

    def at(self, weights: Weights) -> Predictor:
        """The predictor with other weights, which the problem holds afterwards."""
        weights.put_into(self.learner.problem)
        return self.snapshot(weights)

    def after(self, passes: int) -> Predictor:
        """The predictor after some passes, without certificates: for predictors that are used once,
        as in jackknifing.
        """
        for _ in range(passes):
            self.learner.iterate(self.state)
        return self.current()


class Best(NamedTuple, Generic[Predictor]):
    """The best predictor, the record of its pass, and why training stopped."""

    predictor: Predictor
    record: Iteration
    reason: str

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.reason == INTERRUPTED


def require_finite(*tables: Singles) -> None:
    """Check weights before anything is decoded by them: NaN would become an index.

    Raises:
        NotFiniteError: some are infinite or NaN, or too large for a model file.
    """
    if not all((np.abs(table) <= LARGEST_WEIGHT).all() for table in tables):
        raise NotFiniteError(
            f"expected weights up to {LARGEST_WEIGHT:g}, got others; try a larger c"
        )


@contextmanager
def naming(task: str) -> Iterator[None]:
    """Let ``NotFiniteError`` name a task."""
    try:
        yield
    except NotFiniteError as error:
        raise NotFiniteError(f"{task}: {error}") from None
