"""Online dual coordinate ascent (Martins et al. 2010, Alg. 1-2), for every loss L of the family in
``egparse.losses``.

A visit to example i linearises its loss at the present weights and solves what is left in closed
form (ibid., eq. 14-15)::

    min over w' of  C/2 |w' - w|^2 + max(0, L + (w' - w) . g)      g = F_i' (zbar - z)
    w <- w - eta g,   eta = min(1/C, L / |g|^2)                    C = lambda m of the paper

It raises the dual (eq. 10), by convexity of L* and L*(0) <= 0, by at least C eta (L - eta |g|^2 /
2) >= 0. The problem's v is w itself. As in the paper every visit has a dual variable of its own: K
passes ascend the dual of C/2 |w|^2 + K sum_i L_i, so that w fits the data more closely with every
pass, and does not go to the optimum of the learners' common objective, C/2 |w|^2 + sum_i L_i, but
of one with a K-th of C; the sum of the increases over K is a lower bound of both. The model is the
average of the weights (Alg. 1, last line).

**A loss that comes out below zero**, from approximate inference or because the correct structure is
none that inference knows of, makes eta negative; the paper truncates it and learns nothing (its
footnote 17). Any lower bound of L in the place of L keeps the step an ascent, and the marginals
hold one: beta L = -log P(y), and P(y) <= zbar_r / z_r for each part r of y (Markov's inequality),
so

    L >= max over r of log(z_r / zbar_r) / beta.

It never is below zero, and infinite (a step of 1/C) where inference excludes a correct part. It
says nothing of a structure without parts, nor for beta = inf, where the half-space holds already:
such an example is passed over, which the certificate counts. Other remedies, compared in
docs/decisions/loopy-inference.md, cost more and gain nothing.

The loss of the perceptron (beta = inf, gamma = 0) is 0 at w = 0, its minimum: no step would ever be
made, and it is refused.

**|g|^2** costs no visit to the features of its own. We try the longest step, 1/C: of what ``add``
returns, the change of |w|^2, the product w . F'(zbar - z) is known from the scores, and the rest is
|g|^2 / C^2. Where eta is less, the step is shortened. Cancellation leaves an error of about eps C
s.(zbar - z), which is small against C L, and |g|^2 is only used where it is above C L. Weights in
float32 thus give eta to five or six digits; steps below their resolution are lost with or without
this.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.learners.averaging import WeightAverage
from egparse.learners.certificate import Certificate
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import VectorProblem
from egparse.learners.vectors import squared_norm
from egparse.losses import Loss
from egparse.types import Floats

_ROUNDING = 1e-9
"""A loss is counted as negative if it is below zero by more than this fraction of the score of the
correct structure.
"""


@dataclass(frozen=True, kw_only=True)
class DCAConfig(LearnerConfig):
    """``averaged``: the model is the mean of the weights before each update (Alg. 1); otherwise the
    last weights.
    """

    averaged: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.c < math.inf:
            raise ConfigError(f"expected c > 0, got c = {self.c}")
        try:
            self.loss()
        except ValueError as error:
            raise ConfigError(str(error)) from error
        if self.beta == math.inf and self.gamma == 0:
            raise ConfigError(
                "expected beta < inf or gamma > 0: the loss of the perceptron is 0 at w = 0, and "
                "steps in proportion to it never start"
            )

    def loss(self) -> Loss:
        """The member of the family."""
        return Loss(self.beta, self.gamma)


class Step(NamedTuple):
    """w <- w - eta g. ``grown`` is the change of |w|^2."""

    eta: float
    gradient_norm: float  # |g|^2, measured where it is needed: 0 if below rounding
    grown: float


@dataclass
class Tally:
    """What happened since it was last cleared: sums over visits, and how many visits were not as
    usual.
    """

    visits: int = 0
    loss: float = 0.0
    dual_increase: float = 0.0
    passive: int = 0  # loss 0: nothing to learn
    negative: int = 0  # loss estimated below 0
    skipped: int = 0  # no step although the loss is not 0
    unsolved: int = 0  # a program not solved to its tolerance (MIRA)


@dataclass
class DCAState:
    """``squared_norm`` is |w|^2; ``tally`` is of the last pass; ``total_increase`` of the dual over
    all ``iteration`` passes.

    ``lower_bound`` of the optimum is the best that a number of passes gave, see the module.
    """

    average: WeightAverage | None
    generator: np.random.Generator
    squared_norm: float = 0.0
    iteration: int = 0
    visits: int = 0
    total_increase: float = 0.0
    lower_bound: float = 0.0
    tally: Tally = field(default_factory=Tally)

    @property
    def scale(self) -> float:
        """v is w."""
        return 1.0


class DCA:
    """Online dual coordinate ascent on a problem; the problem holds w."""

    name = "dual coordinate ascent"

    def __init__(self, problem: VectorProblem, config: DCAConfig) -> None:
        self.problem, self.config = problem, config
        self.loss = config.loss()
        longest = int(np.max(np.diff(problem.part_starts), initial=0))
        self._expected, self._gradient, self._changes = np.empty((3, longest))

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def initialise(self, gold_theta: float | Floats = 3.0) -> DCAState:
        """w = 0. ``gold_theta`` is not used: the paper starts from dual variables of 0."""
        self.problem.reset()
        average = WeightAverage(self.problem) if self.config.averaged else None
        return DCAState(average, np.random.default_rng(self.config.seed))

    def update(self, state: DCAState, i: int) -> float:
        """One step on example i; returns the increase of the dual that is certain.

        Raises:
            EgparseError: a loss or weights that are not finite.
        """
        scores = self.problem.scores(i)
        expected, changes = self._expected[: len(scores)], self._changes[: len(scores)]
        loss = self.loss.value(self.problem, i, scores, expected)
        gold = self.problem.gold(i)
        self._note(state, i, loss, float(scores @ gold))
        usable = self._lower_bound(gold, expected) if loss < 0 else loss
        gradient = np.subtract(expected, gold, out=self._gradient[: len(scores)])
        if not usable > 0 or not gradient.any():
            return self._pass_over(state, loss)
        step = self._step(i, scores, gradient, usable)
        if step.gradient_norm == 0.0 and step.grown == 0.0:  # nothing has moved
            return self._pass_over(state, loss)
        np.multiply(gradient, -step.eta, out=changes)
        # where inference excludes the correct structure, the dual was -inf before: there is no
        # increase to speak of
        gain = usable - step.eta * step.gradient_norm / 2 if usable < math.inf else 0.0
        self._finish(state, i, changes, step.grown, self.config.c * step.eta * gain)
        return self.config.c * step.eta * gain

    def iterate(self, state: DCAState) -> None:
        """Every example once, in random order."""
        state.tally = Tally()
        for i in state.generator.permutation(self.n):
            self.update(state, int(i))
        state.iteration += 1
        state.lower_bound = max(state.lower_bound, state.total_increase / state.iteration)

    def certificate(self, state: DCAState) -> Certificate:
        """The primal at the exposed weights.

        Details, of the last pass: ``online_loss``, the mean loss at each visit before its update;
        ``dual_increase``, as far as certain; how many losses were ``negative``, how many examples
        ``passive`` (loss 0) or ``skipped`` (no step though the loss was not 0). Of all passes:
        ``lower_bound`` of the optimum, see the module; for exact inference and correct structures
        that it knows of.
        """
        tally, c = state.tally, self.config.c
        with self.model_weights(state):
            loss = sum(self._loss(i) for i in range(self.n))
            primal = loss + c / 2 * squared_norm(self.problem)
        if not math.isfinite(primal):
            raise EgparseError(f"{self.name}: expected a finite objective, got {primal}")
        details = {
            "online_loss": tally.loss / max(1, tally.visits),
            "dual_increase": tally.dual_increase,
            "lower_bound": state.lower_bound,
            "passive": float(tally.passive),
            "negative": float(tally.negative),
            "skipped": float(tally.skipped),
        }
        return Certificate(primal, -math.inf, state.visits / max(1, self.n), c, details)

    def model_weights(self, state: DCAState) -> AbstractContextManager[None]:
        """The average of the weights, if configured."""
        return nullcontext() if state.average is None else state.average.mean_weights()

    def _loss(self, i: int) -> float:
        scores = self.problem.scores(i)
        return self.loss.value(self.problem, i, scores, self._expected[: len(scores)])

    def _lower_bound(self, gold: Floats, expected: Floats) -> float:
        """max over correct parts of log(z_r / zbar_r) / beta; see the module."""
        if not self.loss.differentiable:
            return 0.0
        correct = gold > 0
        rarest = float(np.min(expected[correct] / gold[correct], initial=1.0))
        return -math.log(rarest) / self.loss.beta if rarest > 0 else math.inf

    def _step(self, i: int, scores: Floats, gradient: Floats, loss: float) -> Step:
        """w -= eta g for the best eta; see the module for |g|^2."""
        c, longest = self.config.c, 1.0 / self.config.c
        changes = self._changes[: len(gradient)]
        np.multiply(gradient, -longest, out=changes)
        grown = self.problem.add(i, changes)
        norm = max(0.0, c * (c * grown + 2.0 * float(scores @ gradient)))
        eta = min(longest, loss / norm) if norm > 0 else longest
        if eta < longest:
            np.multiply(gradient, longest - eta, out=changes)
            grown += self.problem.add(i, changes)
        return Step(eta, norm, grown)

    def _note(self, state: DCAState, i: int, loss: float, correct: float) -> None:
        """Count the visit, whose weights are averaged as they are before it; ``correct`` is the
        score of the correct structure.
        """
        if not math.isfinite(loss):
            raise EgparseError(f"{self.name}: expected a finite loss of example {i}, got {loss}")
        state.visits += 1
        state.tally.visits += 1
        state.tally.loss += loss
        state.tally.negative += loss < -_ROUNDING * (1.0 + abs(correct))
        if state.average is not None:
            state.average.include()

    def _pass_over(self, state: DCAState, loss: float) -> float:
        """Count a visit that leaves w as it is; its increase of the dual, 0."""
        state.tally.passive += loss == 0
        state.tally.skipped += loss != 0
        return 0.0

    def _finish(
        self, state: DCAState, i: int, changes: Floats, grown: float, increase: float
    ) -> None:
        """Bookkeeping after w += F_i' changes, which are overwritten."""
        state.squared_norm += grown
        state.tally.dual_increase += increase
        state.total_increase += increase
        if state.average is not None:
            state.average.changed(i, changes)
        if not math.isfinite(state.squared_norm):
            raise EgparseError(f"{self.name}: the weights left the finite numbers at example {i}")
