"""A problem whose parts have fixed scores b_i in addition to the learned F_i v: those of a base
model w0 that training continues from. With w = w0 + v that is regularisation towards the base:

    min over v of  sum_i L_i(F_i v + b_i) + C/2 |v|^2
      = min over w of  sum_i L_i(F_i w) + C/2 |w - w0|^2

Learners need no support for offsets. With z the correct structure, they are folded

* for gamma > 0 into the cost, as losses add scores and costs before inference:

      L(s + b; beta, gamma, cost p, q)  =  L(s; beta, gamma, cost p + b / gamma, q - b'z / gamma);

* for gamma = 0 into a base measure that gives structure y the weight exp(b'y): marginals and log Z
  are those of the potentials + beta b, less beta b'z, so that log Z - s'z is the loss at s + b. For
  EG alpha = softmax(theta + b), and its entropy term becomes H(alpha) + b'(mu - z): the dual of the
  primal above. The same holds for beta = inf with the score of the best structure for log Z.

So primal, dual and gap are those of the problem with offsets, and as exact as without.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.learners.problem import Problem
from egparse.types import Floats, Shorts, Singles


def scores_of(problem: Problem) -> Singles:
    """The scores of all parts at the present v, flat over all parts."""
    starts = problem.part_starts
    scores = np.empty(int(starts[-1]), dtype=np.float32)
    for i in range(len(starts) - 1):
        scores[starts[i] : starts[i + 1]] = problem.scores(i)
    return scores


class OffsetProblem(Problem):
    """``problem`` with ``offsets`` b (parts of all examples,) added to the scores, for the loss of
    ``beta`` and ``gamma``; its v is the learned part alone.

    It goes over examples one by one, since a problem's compiled steps ignore offsets.

    Raises:
        ValueError: not one finite offset for each part.
    """

    def __init__(
        self,
        problem: Problem,
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
        self._correct = np.array(  # b'z of each example
            [float(self._offsets_of(i) @ problem.gold(i)) for i in range(len(self.part_starts) - 1)]
        )
        longest = int(np.diff(self.part_starts).max(initial=0))
        self._cost, self._potentials = np.empty((2, longest))

    def gold(self, i: int) -> Floats:
        """As without offsets."""
        return self.problem.gold(i)

    def set_target(self, i: int, target: Floats) -> float:
        """As without offsets; log Z moves by - beta b'(t' - t) where it includes b't.

        Raises:
            ConfigError: a problem whose targets cannot be replaced.
        """
        before = float(self._correct[i])
        self.problem.set_target(i, target)
        self._correct[i] = float(self._offsets_of(i) @ self.problem.gold(i))
        if self._gamma or math.isinf(self._beta):
            return 0.0
        return self._beta * (before - float(self._correct[i]))

    def cost(self, i: int) -> Floats:
        """p + b / gamma, or p for gamma = 0."""
        cost = self.problem.cost(i)
        if not self._gamma:
            return cost
        out = self._cost[: len(cost)]
        np.divide(self._offsets_of(i), self._gamma, out=out)
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
        """Of the potentials + beta b for gamma = 0 and a finite beta, with log Z - beta b'z."""
        if self._gamma or math.isinf(self._beta):
            return self.problem.marginals(i, potentials, out)
        log_z = self.problem.marginals(i, self._with_offsets(i, potentials, self._beta), out)
        return log_z - self._beta * float(self._correct[i])

    def argmax(self, i: int, potentials: Floats, out: Floats) -> float:
        """The best structure at the potentials + b for gamma = 0 and beta = inf, with its score -
        b'z.
        """
        if self._gamma or math.isfinite(self._beta):
            return self.problem.argmax(i, potentials, out)
        score = self.problem.argmax(i, self._with_offsets(i, potentials, 1.0), out)
        return score - float(self._correct[i])

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
        """The same examples and offsets with another v."""
        return type(self)(
            self.problem.with_own_weights(), self._offsets, beta=self._beta, gamma=self._gamma
        )

    def shard(self, first: int, end: int) -> OffsetProblem:
        """Some of the examples and their offsets.

        Raises:
            ConfigError: a problem that cannot be divided.
        """
        parts = slice(self.part_starts[first], self.part_starts[end])
        problem = self.problem.shard(first, end)
        return type(self)(problem, self._offsets[parts], beta=self._beta, gamma=self._gamma)

    def offers(self, method: str) -> bool:
        """Groups and k best structures, if the problem has them."""
        return method in ("groups", "k_best", "set_target") and self.problem.offers(method)

    def groups(self, i: int) -> Shorts:
        """As without offsets."""
        return self.problem.groups(i)

    def k_best(self, i: int, potentials: Floats, k: int) -> Floats:
        """As without offsets, which are in the cost: learners that use it need gamma > 0."""
        return self.problem.k_best(i, potentials, k)

    def _offsets_of(self, i: int) -> npt.NDArray[np.floating[Any]]:
        return self._offsets[self.part_starts[i] : self.part_starts[i + 1]]

    def _with_offsets(self, i: int, potentials: Floats, factor: float) -> Floats:
        """potentials + factor b"""
        out = self._potentials[: len(potentials)]
        np.multiply(self._offsets_of(i), factor, out=out)
        out += potentials
        return out
