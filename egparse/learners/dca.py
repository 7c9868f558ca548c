"""Online dual coordinate ascent (Martins et al. 2010, Alg. 1-2), for every loss L of the family in
``egparse.learners.losses``.

A visit to example i linearises its loss at the present weights, which v holds, and solves what is
left in closed form (ibid., eq. 14-15)::

    min over w' of  C/2 |w' - w|^2 + max(0, L + (w' - w) . g)      g = F_i' (zbar - z)
    w <- w - eta g,   eta = min(1/C, L / |g|^2)                    C = lambda m of the paper

It raises the dual (eq. 10), by convexity of L* and L*(0) <= 0, by at least C eta (L - eta |g|^2 /
2) >= 0. As in the paper every visit introduces a new dual variable: K passes ascend the dual of
C/2 |w|^2 + K sum_i L_i, so that w fits the data more closely with every pass and converges to no
optimum; the sum of the increases over K is a lower bound of that of C/2 |w|^2 + sum_i L_i. The
model is the average of the weights (Alg. 1, last line).

**A negative loss**, from approximate inference or because inference cannot produce the correct
structure, makes eta negative; the paper learns nothing then (its footnote 17). We take another
estimate of the loss: as beta L = -log P(y), and P(y) <= zbar_r / z_r for each part r of y by
Markov's inequality,

    L >= max over r of log(z_r / zbar_r) / beta

if the zbar are the marginals of a distribution; any lower bound of L keeps the step an ascent. With
the *pseudo-marginals* of loopy inference it is a heuristic (docs/decisions/loopy-inference.md). The
estimate is infinite (a step of 1/C) where inference excludes a correct part. It does not exist for
structures without parts, nor for beta = inf: such an example is skipped, and counted.

**|g|^2** does not need another visit to the features. We try the longest step, 1/C, of which
``add`` returns the change of |w|^2: the scores give its linear term, the rest is |g|^2 / C^2. If
eta is less, the step is shortened. Weights in float32 give eta to five or six digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.learners.averaging import WeightAverage
from egparse.learners.learner import (
    Certificate,
    LearnerConfig,
    OnlineLearner,
    UnscaledState,
    require_finite_objective,
    sum_of_losses,
)
from egparse.learners.losses import PERCEPTRON
from egparse.learners.problem import Problem
from egparse.types import Floats

_ROUNDING = 1e-9
"""A loss is counted as negative if it is below zero by more than this fraction of the score of the
correct structure.
"""


@dataclass(frozen=True, kw_only=True)
class DCAConfig(LearnerConfig):
    """``averaged``: the model is the average of the weights before each update (Alg. 1); otherwise
    it is the last weights.

    ``below_zero`` says what is done with a negative loss: *estimate* it from the marginals, or
    *skip* the example, as in the paper.

    Raises:
        ConfigError: a value out of range, or the loss of the perceptron.
    """

    averaged: Annotated[bool, "the model is the average of the weights"] = True
    below_zero: Annotated[Literal["estimate", "skip"], "what is done with a negative loss"] = (
        "estimate"
    )

    def __post_init__(self) -> None:
        if not 0 < self.c < math.inf:
            raise ConfigError(f"expected c > 0, got c = {self.c}")
        if self.loss == PERCEPTRON:
            raise ConfigError(
                "expected beta < inf or gamma > 0: the loss of the perceptron is 0 at w = 0, where "
                "dual coordinate ascent would stay"
            )


class Step(NamedTuple):
    """w <- w - eta g."""

    eta: float
    gradient_norm: float  # |g|^2, as far as it is needed: 0 if below rounding
    norm_change: float  # of |w|^2


@dataclass
class Tally:
    """Sums over the visits of a pass: how many there were, what they summed to, and how many were
    exceptional.
    """

    visits: int = 0
    loss: float = 0.0
    dual_increase: float = 0.0
    passive: int = 0  # loss 0: nothing to learn
    negative: int = 0  # loss estimated below 0
    skipped: int = 0  # no step although the loss is not 0
    unsolved: int = 0  # a quadratic program not solved to its tolerance (MIRA)


@dataclass
class DCAState(UnscaledState):
    """``squared_norm`` is |w|^2, ``tally`` is that of the last pass, ``total_increase`` is that of
    the dual over all ``iteration`` passes.

    ``lower_bound`` of the optimum is the greatest ``total_increase`` / ``iteration`` so far.
    """

    average: WeightAverage | None
    generator: np.random.Generator
    squared_norm: float = 0.0
    iteration: int = 0
    visits: int = 0
    total_increase: float = 0.0
    lower_bound: float = 0.0
    tally: Tally = field(default_factory=Tally)


class DCA(OnlineLearner):
    """Online dual coordinate ascent on a problem; the problem holds w.

    ``set_c`` lets it hold v = C w with another C, as shards of the examples do from round to round.
    """

    name = "dual coordinate ascent"
    config_type = DCAConfig

    def __init__(self, problem: Problem, config: DCAConfig) -> None:
        super().__init__(problem)
        self.config, self.loss = config, config.loss
        self._expected, self._gradient, self._changes = np.empty((3, self.longest))
        self.c, self.scale = config.c, 1.0  # w = scale v

    def initialise(self, gold_theta: float | Floats = 3.0) -> DCAState:
        """w = 0; ``gold_theta`` is ignored, as the paper starts with dual variables of 0."""
        self.problem.reset()
        average = WeightAverage(self.problem) if self.config.averaged else None
        return DCAState(average, np.random.default_rng(self.config.seed))

    def update(self, state: DCAState, i: int) -> float:
        """One step on example i; returns a lower bound of the increase of the dual.

        Raises:
            EgparseError: a loss or weights that are not finite.
        """
        self._attend(state, i)
        scores = self.problem.scores(i) * self.scale
        expected = self._expected[: len(scores)]
        loss = self.loss.value(self.problem, i, scores, expected)
        gold = self.problem.gold(i)
        self._record_visit(state, i, loss, float(scores @ gold))
        estimates = loss < 0 and self.config.below_zero == "estimate"
        estimate = self._estimate_from_marginals(gold, expected) if estimates else loss
        gradient = np.subtract(expected, gold, out=self._gradient[: len(scores)])
        if not estimate > 0 or not gradient.any():
            return self._skip(state, loss)
        changes = self._changes[: len(scores)]
        step = self._step(i, scores, gradient, estimate)
        if step.gradient_norm == 0.0 and step.norm_change == 0.0:  # nothing has moved
            return self._skip(state, loss)
        np.multiply(gradient, -step.eta / self.scale, out=changes)
        # C eta (L - eta |g|^2 / 2); where inference excludes the correct structure, the dual was
        # -inf before, and we count no increase
        gain = estimate - step.eta * step.gradient_norm / 2 if estimate < math.inf else 0.0
        increase = self.c * step.eta * gain
        self._record_step(state, i, changes, step.norm_change, increase)
        return increase

    def iterate(self, state: DCAState) -> None:
        """Visit every example once, in random order."""
        state.tally = Tally()
        super().iterate(state)
        state.iteration += 1
        state.lower_bound = max(state.lower_bound, state.total_increase / state.iteration)

    def certificate(self, state: DCAState) -> Certificate:
        """The primal at the weights of the model; there is no dual.

        Details of the last pass: ``online_loss``, the mean loss at each visit before its update;
        ``dual_increase``, of which a lower bound; the numbers of ``negative`` losses, of
        ``passive`` examples (loss 0) and of ``skipped`` examples (no step although the loss was not
        0). Of all passes: ``lower_bound`` of the optimum, which holds for exact inference that can
        produce all correct structures.
        """
        tally, c = state.tally, self.config.c
        with self.model_weights(state):
            primal = self.primal(state, c)
        require_finite_objective(self.name, primal)
        details = {
            "online_loss": tally.loss / max(1, tally.visits),
            "dual_increase": tally.dual_increase,
            "lower_bound": state.lower_bound,
            "passive": float(tally.passive),
            "negative": float(tally.negative),
            "skipped": float(tally.skipped),
        }
        return Certificate(primal, -math.inf, state.visits / max(1, self.n), c, details)

    def set_c(self, c: float) -> None:
        """Go on with another C, on a problem that holds v = ``c`` w."""
        self.c, self.scale = c, 1.0 / c

    def sum_losses(self) -> float:
        """The sum of the losses at the present weights."""
        return sum_of_losses(self.problem, self.loss, self.scale, self.threads)

    def _estimate_from_marginals(self, gold: Floats, expected: Floats) -> float:
        """max over correct parts of log(z_r / zbar_r) / beta, a lower bound of the loss at exact
        marginals.

        A part with an expected count t_r below 1 is in a structure with probability t_r at least
        where it occurs once at most, and bounds the cross entropy by t_r log(1 / zbar_r) / beta.
        """
        if not self.loss.differentiable:
            return 0.0
        correct = gold >= 1.0
        rarest = float(np.min(expected[correct] / gold[correct], initial=1.0))
        estimate = -math.log(rarest) / self.loss.beta if rarest > 0 else math.inf
        possible = (gold > 0) & ~correct
        if possible.any():
            with np.errstate(divide="ignore"):
                logs = -np.log(np.minimum(1.0, expected[possible])) * gold[possible]
            estimate = max(estimate, float(logs.max()) / self.loss.beta)
        return estimate

    def _step(self, i: int, scores: Floats, gradient: Floats, loss: float) -> Step:
        """w -= eta g for the best eta."""
        c, longest = self.c, 1.0 / self.c
        changes = self._changes[: len(gradient)]
        np.multiply(gradient, -longest / self.scale, out=changes)
        # |w - g / C|^2 - |w|^2 = -2 w.g / C + |g|^2 / C^2,  w.g = s.(zbar - z)
        norm_change = self.scale**2 * self.problem.add(i, changes)
        norm = max(0.0, c * (c * norm_change + 2.0 * float(scores @ gradient)))
        # eta = min(1/C, L / |g|^2)
        eta = min(longest, loss / norm) if norm > 0 else longest
        if eta < longest:
            np.multiply(gradient, (longest - eta) / self.scale, out=changes)
            norm_change += self.scale**2 * self.problem.add(i, changes)
        return Step(eta, norm, norm_change)

    def _record_visit(self, state: DCAState, i: int, loss: float, correct: float) -> None:
        """Count a visit, and average the weights before it; ``correct`` is the score of the correct
        structure.
        """
        if not math.isfinite(loss):
            raise EgparseError(f"{self.name}: expected a finite loss of example {i}, got {loss}")
        state.visits += 1
        state.tally.visits += 1
        state.tally.loss += loss
        state.tally.negative += loss < -_ROUNDING * (1.0 + abs(correct))
        if state.average is not None:
            state.average.include()

    def _skip(self, state: DCAState, loss: float) -> float:
        """Count a visit that leaves w as it is; returns the increase of the dual, 0."""
        state.tally.passive += loss == 0
        state.tally.skipped += loss != 0
        return 0.0

    def _record_step(
        self, state: DCAState, i: int, changes: Floats, norm_change: float, increase: float
    ) -> None:
        """Bookkeeping after v += F_i' changes; overwrites ``changes``."""
        state.squared_norm += norm_change
        state.tally.dual_increase += increase
        state.total_increase += increase
        if state.average is not None:
            state.average.record_change(i, changes)
        if not math.isfinite(state.squared_norm):
            raise EgparseError(
                f"{self.name}: expected finite weights, got |w|^2 = {state.squared_norm} after "
                f"example {i}"
            )
