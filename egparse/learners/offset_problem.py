"""A problem whose parts have scores before anything is learned: those of a model that training goes
on from.

To be learned is v, with the scores b_i of a base model w0 held fixed. With w = w0 + v that is
regularisation towards the base:

    min over v of  sum_i L_i(F_i v + b_i) + C/2 |v|^2          =  min over w of  sum_i L_i(F_i w) +
    C/2 |w - w0|^2

Learners know of no offsets, and need not: offsets can be told as what they know already. Write z
for the correct structure.

* **gamma > 0: as costs.** In the family of ``egparse.losses`` scores and costs are added up before
  inference, so

      L(s + b; beta, gamma, cost p, q)  =  L(s; beta, gamma, cost p + b / gamma, q - b'z / gamma),

  where the cost of z is 0 as before. Learners that look at costs alone (cutting planes, MIRA, EG
  for max-margin) see them too.
* **gamma = 0: as a base measure.** Structures are not all alike before they are scored, but have
  exp(b'y): marginals and log Z are those of the potentials + beta b, and log Z is told less beta
  b'z, so that what a learner takes for log Z - s'z is the loss. For EG theta is then what is added
  to b, alpha = softmax(theta + b), its entropy becomes H(alpha) + b'(mu - z), and that is the dual
  of the primal above:

      max  sum_i H(alpha_i) + b_i'(mu_i - z_i) - |v|^2 / (2C),        v = sum_i F_i' (z_i - mu_i),

  with the gradient s / C - theta as ever. Of the perceptron (beta = inf) the same holds for the
  best structure in the place of log Z.

So primal, dual and gap are those of the problem with offsets, and alpha and v are as exact as
without. As C grows, v goes to 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.learners.problem import VectorProblem
from egparse.types import Floats, Singles


def scores_of(problem: VectorProblem) -> Singles:
    """The scores of all parts at v as it stands, flat over all parts."""
    starts = problem.part_starts
    scores = np.empty(int(starts[-1]), dtype=np.float32)
    for i in range(len(starts) - 1):
        scores[starts[i] : starts[i + 1]] = problem.scores(i)
    return scores


class OffsetProblem:
    """``problem`` with fixed ``offsets`` b added to the scores of its parts, flat over all parts,
    for the loss of ``beta`` and ``gamma``.

    Its v is that of ``problem``: what is learned beside the offsets. Groups of parts and k best
    structures are there where ``problem`` has them; the compiled sweeps of a problem, which do not
    know of offsets, are not.

    Raises:
        ValueError: not one finite offset for each part.
    """

    def __init__(
        self,
        problem: VectorProblem,
        offsets: npt.NDArray[np.floating[Any]],
        *,
        beta: float,
        gamma: float,
    ) -> None:
        self.problem, self.part_starts = problem, problem.part_starts
        total = int(self.part_starts[-1])
        if offsets.shape != (total,) or not np.isfinite(offsets).all():
            raise ValueError(
                f"expected {total} finite offsets, got an array of shape {offsets.shape}"
            )
        self._offsets, self._beta, self._gamma = offsets, beta, gamma
        self._correct = np.array(
            [float(self._of(i) @ problem.gold(i)) for i in range(len(self.part_starts) - 1)]
        )
        longest = int(np.diff(self.part_starts).max(initial=0))
        self._cost, self._potentials = np.empty((2, longest))
        for name in ("groups", "k_best"):  # learners ask whether a problem has them
            if hasattr(problem, name):
                setattr(self, name, getattr(problem, name))

    def gold(self, i: int) -> Floats:
        """As without offsets."""
        return self.problem.gold(i)

    def cost(self, i: int) -> Floats:
        """p + b / gamma, or p for gamma = 0."""
        cost = self.problem.cost(i)
        if not self._gamma:
            return cost
        out = self._cost[: len(cost)]
        np.divide(self._of(i), self._gamma, out=out)
        out += cost
        return out

    def cost_constant(self, i: int) -> float:
        """q - b'z / gamma, or q for gamma = 0."""
        constant = self.problem.cost_constant(i)
        return constant - float(self._correct[i]) / self._gamma if self._gamma else constant

    def scores(self, i: int) -> Floats:
        """F_i v, without the offsets."""
        return self.problem.scores(i)

    def marginals(self, i: int, potentials: Floats, out: Floats) -> float:
        """For gamma = 0 and a finite beta those of the potentials + beta b; log Z less beta b'z."""
        if self._gamma or math.isinf(self._beta):
            return self.problem.marginals(i, potentials, out)
        log_z = self.problem.marginals(i, self._moved(i, potentials, self._beta), out)
        return log_z - self._beta * float(self._correct[i])

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """For gamma = 0 and beta = inf the best structure at the potentials + b; its score less
        b'z.
        """
        if self._gamma or math.isfinite(self._beta):
            return self.problem.argmax(i, potentials, out)
        return self.problem.argmax(i, self._moved(i, potentials, 1.0), out) - float(
            self._correct[i]
        )

    def add(self, i: int, changes: Floats) -> float:
        """As without offsets."""
        return self.problem.add(i, changes)

    def reset(self) -> None:
        """v = 0: the base model."""
        self.problem.reset()

    def vectors(self) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """v."""
        return self.problem.vectors()

    def with_own_weights(self) -> OffsetProblem:
        """The same examples and offsets with a v of their own."""
        return OffsetProblem(
            self.problem.with_own_weights(), self._offsets, beta=self._beta, gamma=self._gamma
        )

    def _of(self, i: int) -> npt.NDArray[np.floating[Any]]:
        return self._offsets[self.part_starts[i] : self.part_starts[i + 1]]

    def _moved(self, i: int, potentials: Floats, factor: float) -> Floats:
        out = self._potentials[: len(potentials)]
        np.multiply(self._of(i), factor, out=out)
        out += potentials
        return out
