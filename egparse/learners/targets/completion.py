"""Learning from examples that are annotated in part: what is not annotated is summed out.

With Y_i the structures that agree with the annotation of example i (its completions), the objective
is

    sum_i  log Z(s_i) - log Z(s_i; Y_i)  +  C/2 |w|^2,        s_i = F_i w,

where log Z(s; Y) sums over the structures in Y alone: minus the log of the probability that the
model gives to the annotation (Tsuboi et al. 2008, eq. 6, for sequences; Li et al. 2014, eq. 4, for
trees). It is a difference of convex functions. The concave part is replaced by its tangent (the
concave-convex procedure, Yuille and Rangarajan 2003), which is a step of expectation maximisation
(Neal and Hinton 1998)::

    E   t_i = marginals of the model over Y_i
    M   some progress on  sum_i log Z(s_i) - s_i't_i + C/2 |w|^2,  which is convex

We make one E step before each pass of a learner and one pass as M step: generalised EM. A learner
in the dual may be far from the primal of the present targets, which then lead nowhere: after a
certificate with a relative gap above ``FAR`` the next pass keeps its targets. The
certificate is that of the inner problem, for its present targets: primal, dual and gap say how well
*that* is solved, not how far the weights are from a global optimum of the objective, which is not
convex. With a loss with costs (gamma > 0) words that are not annotated cost nothing.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.errors import ConfigError
from egparse.learners.certificate import Certificate
from egparse.learners.learner import Learner
from egparse.learners.targets.contract import PartialProblem, TargetLearner, complete
from egparse.types import Floats


FAR = 0.5
"""The relative gap of the inner problem above which its targets stay for another pass."""


class CompletingLearner:
    """A learner of the inner problem, and the E step before each of its passes.

    Before the first pass the targets are those that the problem starts with; with ``offsets``
    (parts of all examples,), the fixed scores of a base model, the model gives them from the start.
    ``beta`` is that of the loss. ``problem`` is without the offsets.

    Raises:
        ConfigError: a learner whose targets may not change.
    """

    def __init__(
        self,
        learner: Learner,
        problem: PartialProblem,
        beta: float,
        offsets: npt.NDArray[np.floating[Any]] | None = None,
    ) -> None:
        if not isinstance(learner, TargetLearner):
            raise ConfigError(
                f"expected a learner that can learn from distributions, got "
                f"{type(learner).__name__}"
            )
        self.learner, self.problem = learner, problem
        self._targets, self._beta, self._offsets = learner, beta, offsets
        self._begun = self._is_far = False

    def initialise(self, gold_theta: float | Floats = 3.0) -> Any:
        """The initial state of the learner of the inner problem."""
        self._begun = self._is_far = False
        return self.learner.initialise(gold_theta)

    def iterate(self, state: Any) -> None:
        """An E step, unless the last certificate says that it is too early, then a pass."""
        if (self._begun or self._offsets is not None) and not self._is_far:
            self.complete(state)
        self._begun = True
        self.learner.iterate(state)

    def complete(self, state: Any) -> None:
        """The E step: an example without any completion over its candidate parts keeps its
        target.
        """
        problem, starts = self.problem, self.problem.part_starts
        targets: dict[int, Floats] = {}
        for i in problem.partial.tolist():
            potentials = problem.scores(i) * (self._beta * state.scale)
            if self._offsets is not None:
                potentials += self._beta * self._offsets[starts[i] : starts[i + 1]]
            out = np.empty(len(potentials))
            log_z = complete(problem, i, potentials, out)
            if math.isfinite(log_z) and np.isfinite(out).all():
                targets[i] = out
        self._targets.retarget(state, targets)

    def certificate(self, state: Any) -> Certificate:
        """That of the inner problem."""
        certificate = self.learner.certificate(state)
        gap = certificate.relative_gap
        self._is_far = math.isfinite(gap) and gap > FAR
        return certificate

    def model_weights(self, state: Any) -> AbstractContextManager[None]:
        """Those of the learner."""
        return self.learner.model_weights(state)
