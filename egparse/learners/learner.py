"""The contract of all learners; training, experiments and the command line use no more than this.

A learner trains the weights of a problem. The problem holds a vector v; the model is w =
``state.scale`` v. Typical use::

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
from typing import TYPE_CHECKING, Any, Protocol

from egparse.learners.certificate import Certificate

if TYPE_CHECKING:
    from egparse.types import Floats


class State(Protocol):
    """The variables of a training run, other than v."""

    @property
    def scale(self) -> float:
        """The factor of the model, w = scale v."""


class Learner(Protocol):
    """A training algorithm on one problem."""

    def initialise(self, gold_theta: float | Floats = 3.0) -> Any:
        """The initial state; v is set accordingly. ``gold_theta`` sets the initial dual variables
        of learners in the dual (see ``OnlineEG.initialise``); others ignore it.
        """

    def iterate(self, state: Any) -> None:
        """One pass over the examples, or about one step for learners that use all examples in each
        step.
        """

    def certificate(self, state: Any) -> Certificate:
        """The objective at the model's weights and the work so far. ``dual`` is -inf for learners
        without a dual.
        """

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """Context manager: inside it the problem holds the v of the weights to save, which is the
        average for averaging learners and the present v for all others.
        """


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """What all learners have in common. ``beta`` and ``gamma`` choose the loss
    (``egparse.learners.losses``); ``c`` is the regularisation constant C of sum_i L_i(w) + C/2
    |w|^2.
    """

    beta: float = 1.0
    gamma: float = 0.0
    c: float = 10.0
    seed: int = 1
