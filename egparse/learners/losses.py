"""The loss family of Martins et al. 2010 (Fig. 1, eq. 8-9), from one inference call at scaled and
cost-augmented potentials.

    L(w; x, y) = max over z' in Z(x) of  w'F(z' - z) + H(z') / beta + gamma (p'z' + q)
               = log Z(beta (s + gamma p)) / beta - s'z + gamma q,       s = F'w the scores.

beta = 1, gamma = 0 is the CRF; beta = inf, gamma = 1 the structured SVM; beta = inf, gamma = 0 the
perceptron; beta = gamma = 1 softmax-margin. The gradient is F(zbar - z), with the marginals zbar
(or the best structure, for beta = inf, where the maximum takes the place of log Z) at the
potentials s + gamma p.

Differences of members, L_{beta, gamma} - L_{beta, 0}, rate a model, but do not train it: they are
not convex (ibid., footnote 1). For beta = 1 that is log E exp(gamma l), an upper bound of the
expected cost gamma E l; for beta = inf and gamma = 1 the structured ramp loss, an upper bound of
the cost of the best structure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from egparse.types import Floats


class Inference(Protocol):
    """What a loss needs of a ``egparse.learners.problem.Problem``."""

    def gold(self, i: int) -> Floats: ...
    def cost(self, i: int) -> Floats: ...
    def cost_constant(self, i: int) -> float: ...
    def marginals(self, i: int, potentials: Floats, out: Floats) -> float: ...
    def argmax(self, i: int, potentials: Floats, out: Floats) -> float: ...


@dataclass(frozen=True)
class Loss:
    """A member of the family.

    Raises:
        ValueError: not 0 < beta <= inf and 0 <= gamma < inf.
    """

    beta: float = 1.0
    gamma: float = 0.0

    def __post_init__(self) -> None:
        if not self.beta > 0 or not 0 <= self.gamma < math.inf:
            raise ValueError(
                f"expected beta > 0 and gamma >= 0, got beta = {self.beta}, gamma = {self.gamma}"
            )

    @property
    def differentiable(self) -> bool:
        """Whether the loss has a gradient everywhere."""
        return math.isfinite(self.beta)

    def value(self, problem: Inference, i: int, scores: Floats, expected: Floats) -> float:
        """L_i in the units of the scores (nats for beta = 1).

        ``scores`` (parts,) are s = F'w. ``expected`` (parts,) becomes zbar, so that F(zbar - z) is
        the (sub)gradient.
        """
        gold = problem.gold(i)
        correct = float(scores[gold > 0] @ gold[gold > 0])
        highest, constant = self._highest(problem, i, scores, expected)
        return highest - correct + constant

    def difference(self, problem: Inference, i: int, scores: Floats, expected: Floats) -> float:
        """delta L_i = L_i - L_i with gamma = 0; ``scores`` and ``expected`` as for ``value``.

        The score of the correct structure cancels out: it may be -inf, where ``value`` is infinite.
        """
        plain, _ = Loss(self.beta)._highest(problem, i, scores, expected)
        augmented, constant = self._highest(problem, i, scores, expected)
        return augmented - plain + constant

    def _highest(
        self, problem: Inference, i: int, scores: Floats, expected: Floats
    ) -> tuple[float, float]:
        """log Z(beta (s + gamma p)) / beta, or for beta = inf its limit, the maximum; and gamma
        q.
        """
        potentials, constant = scores, 0.0
        if self.gamma:
            potentials = scores + self.gamma * problem.cost(i)
            constant = self.gamma * problem.cost_constant(i)
        if not self.differentiable:
            return problem.argmax(i, potentials, expected), constant
        if self.beta != 1.0:
            potentials = self.beta * potentials
        return problem.marginals(i, potentials, expected) / self.beta, constant


def expected_cost(problem: Inference, i: int, scores: Floats, expected: Floats) -> float:
    """E l = p'zbar + q under the Gibbs distribution of the scores (parts,), whose marginals zbar
    are written into ``expected`` (parts,).
    """
    problem.marginals(i, scores, expected)
    return float(problem.cost(i) @ expected) + problem.cost_constant(i)


LOG_LINEAR = Loss(1.0, 0.0)
HINGE = Loss(math.inf, 1.0)
PERCEPTRON = Loss(math.inf, 0.0)
SOFTMAX_MARGIN = Loss(1.0, 1.0)

NAMED = {
    "log-linear": LOG_LINEAR,
    "max-margin": HINGE,
    "softmax-margin": SOFTMAX_MARGIN,
    "perceptron": PERCEPTRON,
}
