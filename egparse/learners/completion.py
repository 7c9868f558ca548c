"""Learning from examples that are annotated in part: what is not annotated is summed out.

With Y_i the structures that agree with the annotation of example i (its completions), the objective
is minus the log of the probability that the model gives to the annotation (Tsuboi et al. 2008 for
sequences; Li et al. 2014 for trees),

    sum_i  log Z(s_i) - log Z(s_i; Y_i)  +  C/2 |w|^2,        s_i = F_i w,

a difference of convex functions. The concave part is replaced by its tangent (Yuille and Rangarajan
2003), which is a step of expectation maximisation: the target t_i becomes the marginals over Y_i of
a distribution over structures (E), and the learner makes progress on sum_i log Z(s_i) - s_i't_i +
C/2 |w|^2 (M). Learners that visit one example after the other make its E step at the visit (Neal
and Hinton 1998), the others one for all before each step.

Learners in the primal take the distribution of the model, those in the dual alpha_i, which they
hold for the example. As w = v / C with v = sum_i F_i'(t_i - mu_i), targets from the weights would
move the weights before mu_i has followed, feed on themselves and grow without bound. Targets from
alpha_i move with mu_i, and the fixed points are the stationary points of the objective.

In general a target is the vector of expected part counts of a distribution q_i over structures, and
the loss the cross entropy of q_i and the model, log Z - s't_i: learners that use ``gold`` only as a
vector need not know the difference (docs/learning-from-distributions.md). The certificate is that
of the inner problem for its present targets. With gamma > 0 what is not annotated costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.learners.learner import Certificate, Learner, OnlineLearner
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs, Mask


class CompletingLearner(Learner):
    """A learner of the inner problem, and the E steps that go with its visits or passes.

    Learners in the dual take their first targets from their initial state. For the others, the
    targets of the first pass are those that the problem starts with; with ``offsets`` (parts of all
    examples,), the fixed scores of a base model, the model gives them from the start. ``beta`` is
    that of the loss. ``problem`` is without the offsets.
    """

    def __init__(
        self,
        learner: Learner,
        problem: Problem,
        beta: float,
        offsets: npt.NDArray[np.floating[Any]] | None = None,
    ) -> None:
        super().__init__(problem)
        self.learner = learner
        self._attended: Any = learner
        self._is_online = isinstance(learner, OnlineLearner)
        self._partial = frozenset(problem.partial.tolist())
        self._beta, self._offsets = beta, offsets
        self._begun = False

    def initialise(self, gold_theta: float | Floats = 3.0) -> Any:
        """The initial state of the learner of the inner problem."""
        self._begun = False
        if self._is_online:
            self._attended.attendant = None
        return self.learner.initialise(gold_theta)

    def iterate(self, state: Any) -> None:
        """A pass, with the E step of each example at its visit or of all before it."""
        from_state = hasattr(state, "theta") or self._offsets is not None
        if self._begun or from_state:
            if not self._is_online or not self._begun:
                self.complete(state)
            if self._is_online:
                self._attended.attendant = self.complete_one
        self._begun = True
        self.learner.iterate(state)

    def complete(self, state: Any) -> None:
        """The E step of all examples: one without any completion over its candidate parts keeps
        its target.
        """
        found = ((i, self._completion(state, i)) for i in self.problem.partial.tolist())
        targets = {i: target for i, target in found if target is not None}
        self._attended.retarget(state, targets)

    def complete_one(self, state: Any, i: int) -> None:
        """The E step of example i, if it is annotated in part."""
        if i in self._partial:
            target = self._completion(state, i)
            if target is not None:
                self._attended.retarget(state, {i: target})

    def _completion(self, state: Any, i: int) -> Floats | None:
        """The marginals of the model over the completions of example i; None without any."""
        problem, starts = self.problem, self.problem.part_starts
        parts = slice(starts[i], starts[i + 1])
        if hasattr(state, "theta"):
            potentials = state.theta[parts].astype(np.float64)
        else:
            potentials = problem.scores(i) * (self._beta * state.scale)
        if self._offsets is not None:
            potentials += self._beta * self._offsets[parts]
        out = np.empty(len(potentials))
        log_z = complete(problem, i, potentials, out)
        return out if math.isfinite(log_z) and np.isfinite(out).all() else None

    def saved(self) -> Any:
        """The present targets of the examples that are annotated in part, in the order of
        ``problem.partial``, whether there was a pass, and what the learner inside says.
        """
        targets = [self.problem.gold(i).copy() for i in self.problem.partial.tolist()]
        return {"targets": targets, "begun": self._begun, "inner": self.learner.saved()}

    def restore(self, saved: Any) -> None:
        """Set what ``saved`` returned, in a learner whose state is set already."""
        self._begun = bool(saved["begun"])
        self.learner.restore(saved["inner"])
        for i, target in zip(self.problem.partial.tolist(), saved["targets"], strict=True):
            if not np.array_equal(self.problem.gold(i), target):
                self._attended.problem.set_target(i, target)

    def certificate(self, state: Any) -> Certificate:
        """That of the inner problem."""
        return self.learner.certificate(state)

    def standing(self, state: Any) -> Certificate | None:
        """That of the inner problem."""
        return self.learner.standing(state)

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """Those of the learner."""
        return self.learner.model_weights(state)


def complete(problem: Problem, i: int, potentials: Floats, out: Floats) -> float:
    """Write the part marginals of the Gibbs distribution of the ``potentials`` (parts,) over the
    completions of example i, the structures without any part that is not allowed, into ``out``
    (parts,); return the log of their partition sum in nats, -inf if there is no completion.
    """
    restricted = np.where(problem.allowed(i), potentials, -np.inf)
    return problem.marginals(i, restricted, out)


def set_completion(problem: Problem, i: int, potentials: Floats) -> None:
    """Let the target of example i be the marginals of ``complete``; it stays as it is where there
    is no completion.
    """
    out = np.empty(len(potentials))
    if np.isfinite(complete(problem, i, potentials, out)) and np.isfinite(out).all():
        problem.set_target(i, out)


def not_all(known: Sequence[Mask]) -> Longs:
    """The numbers of the examples of which not all is ``known``."""
    return np.array([i for i, of_example in enumerate(known) if not of_example.all()], np.int64)


def some_of(partial: Longs, first: int, end: int) -> Longs:
    """The numbers in ``partial`` from ``first`` up to ``end``, counted from ``first``."""
    return partial[(partial >= first) & (partial < end)] - first
