"""What problems and learners have that learn from a distribution over structures.

The target t_i of an example is the vector of expected part counts of a distribution q_i over
structures; a single correct structure is the case in which q_i is a point. The loss is the cross
entropy of q_i and the model, which depends on q_i through t_i alone because scores are linear in
the parts::

    E over y from q_i of (log Z - s'y)  =  log Z - s't_i

So learners that use a problem's ``gold`` only as a vector need not know the difference (see
docs/learning-from-distributions.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from egparse.learners.problem import VectorProblem
from egparse.types import Floats, Longs, Mask


@runtime_checkable
class TargetProblem(VectorProblem, Protocol):
    """A problem whose targets can be replaced: ``gold(i)`` returns the present one."""

    def set_target(self, i: int, target: Floats) -> float:
        """Learn example i from the part vector ``target`` (parts,) from now on; return by how much
        log Z of the example moves, which is 0 unless the problem has fixed scores
        (``egparse.learners.offset_problem``).
        """


@runtime_checkable
class PartialProblem(TargetProblem, Protocol):
    """A problem of which some examples are annotated in part.

    ``partial`` lists their numbers. The completions of such an example are the structures that
    agree with what is annotated: those without any part that is not allowed.
    """

    partial: Longs

    def allowed(self, i: int) -> Mask:
        """Which parts of example i, (parts,), a completion may have."""


@runtime_checkable
class TargetLearner(Protocol):
    """A learner whose targets may change between two passes."""

    def retarget(self, state: Any, targets: Mapping[int, Floats]) -> None:
        """Learn the examples of ``targets`` from these part vectors from now on. The state is
        afterwards as if its other variables had been reached with them.
        """


def complete(problem: PartialProblem, i: int, potentials: Floats, out: Floats) -> float:
    """Write the part marginals of the Gibbs distribution of the ``potentials`` (parts,) over the
    completions of example i into ``out`` (parts,); return the log of their partition sum in nats,
    -inf if there is no completion.
    """
    restricted = np.where(problem.allowed(i), potentials, -np.inf)
    return problem.marginals(i, restricted, out)


def set_completion(problem: PartialProblem, i: int, potentials: Floats) -> None:
    """Let the target of example i be the marginals of ``complete``; it stays as it is where there
    is no completion.
    """
    out = np.empty(len(potentials))
    if np.isfinite(complete(problem, i, potentials, out)) and np.isfinite(out).all():
        problem.set_target(i, out)
