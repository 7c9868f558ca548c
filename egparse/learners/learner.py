"""What every learner offers, so that tasks, experiments and the command line need not know which
one it is.

A learner trains the weights of a problem, which holds a vector v; the model is w = ``state.scale``
v. Typical use::

    learner = build("sgd", problem, LearnerConfig(c=10.0))
    state = learner.initialise(3.0)
    for _ in range(12):
        learner.iterate(state)
        certificate = learner.certificate(state)
        with learner.model_weights(state):
            model = copy_of(problem, state.scale)
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from egparse.learners.certificate import Certificate
from egparse.learners.problem import Problem
from egparse.types import Floats


class State(Protocol):
    """Where a learner stands. ``scale``: the model is w = scale v."""

    @property
    def scale(self) -> float:
        """What v is multiplied by."""


class Learner(Protocol):
    """A training algorithm on one problem."""

    def initialise(self, gold_theta: float | Floats = 3.0) -> Any:
        """The first state, with v as it belongs to it. ``gold_theta`` is for learners in the dual
        (see ``OnlineEG``).
        """

    def iterate(self, state: Any) -> None:
        """The work of one pass over the examples (for learners of all examples at once: about one
        step).
        """

    def certificate(self, state: Any) -> Certificate:
        """How far it is; ``dual`` is -inf where the learner has none."""

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """While it is open, the problem holds the v of the model to be kept (averaged, for learners
        that average; others do nothing).
        """


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """What all learners have in common. ``beta`` and ``gamma`` choose the loss
    (``egparse.losses``); ``c`` is the regularisation constant C of sum_i L_i(w) + C/2 |w|^2.
    """

    beta: float = 1.0
    gamma: float = 0.0
    c: float = 10.0
    seed: int = 1


class VectorProblem(Problem, Protocol):
    """A problem whose v can be read and written as a whole, and that can lend its examples to a
    second v.
    """

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """The arrays that hold v, not copies: together they are v, in an order that never
        changes.
        """

    def with_own_weights(self) -> VectorProblem:
        """The same examples with a v of their own, 0 at first. It shares the scratch arrays: use
        one at a time.
        """
