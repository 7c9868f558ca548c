"""Online exponentiated gradient in the dual (Collins et al. 2008, Fig. 2-3), for the log-linear and
max-margin losses.

Primal: min over w of sum_i L_i(w) + C/2 |w|^2. Dual, in the distributions alpha_i over structures
of example i:

    log-linear   max  sum_i H(alpha_i)            - |v|^2 / (2C) max-margin   max  sum_i
    E_alpha_i[cost]       - |v|^2 / (2C)          v = sum_i F_i' (z_i - mu_i),  w = v / C,

where mu_i are the part marginals of alpha_i = softmax(theta_i), and z_i is the correct structure.
One step visits one example:

    log-linear   theta <- theta - eta (theta - s / C)        s = F_i v        (ibid., section 4)
    max-margin   theta <- theta + eta (cost + s / C)

Each example has its own learning rate; a step that lowers the dual is taken back and tried with a
smaller one (ibid., section 7). The change of the dual costs nothing extra: entropy or cost come
with the marginals, and |v|^2 is tracked while the weights change.

We differ from the paper in this, unless configured ``as_published``: examples that still gain are
visited more often (``egparse.learners.eg.example_sampling``), and groups of parts may have rates of
their own, from the second derivatives of the dual (``egparse.learners.eg.step.propose_step_in_groups``;
configured by the task). In any case the marginals that v was built from are stored (float32), so
that v equals its dual expression whatever the rounding of theta, and a fall of the dual below
rounding counts as none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from egparse.learners.certificate import Certificate
from egparse.learners.eg.config import EGConfig, Loss
from egparse.learners.eg.example_sampling import sample_examples
from egparse.learners.eg.step import (
    DualVariables,
    StepBuffers,
    StepRule,
    accept_step,
    evaluate_step,
    propose_step,
    propose_step_in_groups,
    record_gain,
    store_step,
)
from egparse.learners.problem import CompiledStepsProblem, GroupedProblem, Problem
from egparse.types import Floats, Longs, Mask, Singles

__all__ = ["EGConfig", "EGState", "Loss", "OnlineEG"]

_CHUNK = 1000  # examples between two calls of the callback

_SECOND_ORDER = 2
"""Attempts with a rate for each group; where none raises the dual, the example goes on with one
rate for all its parts.
"""


@dataclass
class EGState:
    """Duals and bookkeeping. ``iteration`` counts calls of ``iterate``; ``c`` is the constant last
    in force.

    ``first_order`` (n): examples for which groups had no use for rates of their own.
    """

    duals: DualVariables
    squared_norm: float  # |v|^2
    c: float
    iteration: int
    evaluations: int
    generator: np.random.Generator
    first_order: Mask

    @property
    def scale(self) -> float:
        """w = v / C."""
        return 1.0 / self.c

    @property
    def theta(self) -> Singles:
        """Dual parameters, flat over all parts."""
        return self.duals.theta

    @property
    def marginals(self) -> Singles:
        """The marginals that v is made of, flat over all parts."""
        return self.duals.marginals

    @property
    def value(self) -> Floats:
        """Entropy (log-linear) or expected cost (max-margin) of each example's alpha."""
        return self.duals.value

    @property
    def eta(self) -> Floats:
        """The learning rate of each example."""
        return self.duals.eta


class OnlineEG:
    """Randomised online EG on a problem; the problem holds v."""

    def __init__(self, problem: Problem, config: EGConfig) -> None:
        self.problem = problem
        self.config = config
        sizes = np.diff(problem.part_starts)
        longest = int(np.max(sizes, initial=0))
        self._work = (
            np.ones(len(sizes))
            if config.visit_cost == "examples"
            else np.maximum(1.0, sizes.astype(np.float64))
        )
        self._trial = np.empty(longest)
        self._marginals = np.empty(longest)
        self._changes = np.empty(longest)
        self._open_mass = np.empty(longest + 2)
        second_order = config.curvature > 0 and config.loss == "log-linear"
        self._groups = (
            problem.groups if second_order and isinstance(problem, GroupedProblem) else None
        )

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def initialise(self, gold_theta: float | Floats = 3.0) -> EGState:
        """Duals near the correct structures: theta = ``gold_theta`` (one, or one an example) on
        correct parts, 0 elsewhere.
        """
        problem, total = self.problem, int(self.problem.part_starts[-1])
        problem.reset()
        duals = DualVariables(
            theta=np.zeros(total, dtype=np.float32),
            marginals=np.zeros(total, dtype=np.float32),
            value=np.zeros(self.n),
            eta=np.full(self.n, self.config.eta),
            gain=np.zeros(self.n),
        )
        state = EGState(
            duals,
            0.0,
            self.config.c_at(0),
            0,
            0,
            np.random.default_rng(self.config.seed),
            np.zeros(self.n, dtype=bool),
        )
        height = np.broadcast_to(np.asarray(gold_theta, dtype=np.float64), (self.n,))
        for i in range(self.n):
            own, gold = self._places(i), problem.gold(i)
            trial, new, changes = self._scratch(len(gold))
            trial[:] = np.where(gold > 0, np.float32(height[i]), 0.0)
            log_z = problem.marginals(i, trial, new)
            duals.theta[own], duals.marginals[own] = trial, new
            new[:] = duals.marginals[own]
            duals.value[i] = self._value(i, log_z, trial, new)
            changes[:] = gold - new
            state.squared_norm += problem.add(i, changes)
        return state

    def update(self, state: EGState, i: int) -> float:
        """One step on example i; returns the increase of the dual."""
        problem, duals, rule = self.problem, state.duals, self.config.rule(state.c)
        parts = self._visit(duals, i, rule)
        constant = problem.cost_constant(i) if rule.max_margin else 0.0
        eta = float(duals.eta[i])
        groups = None if self._groups is None or state.first_order[i] else self._groups(i)
        for attempt in range(rule.attempts):
            if groups is not None and attempt == _SECOND_ORDER:
                # rates of their own led downhill; one rate does not, if it is small enough
                groups, state.first_order[i], eta = None, True, float(duals.eta[i])
            state.evaluations += 1
            if groups is None:
                propose_step(parts, rule, eta)
            else:
                propose_step_in_groups(parts, rule, eta, groups, self._open_mass)
            log_z = problem.marginals(i, parts.trial, parts.marginals)
            value, slope = evaluate_step(parts, rule, log_z, constant)
            grown = problem.add(i, parts.changes)
            increase = value - float(duals.value[i]) - grown / (2 * rule.c)
            accepted, eta = accept_step(rule, eta, increase, slope, grown)
            state.squared_norm += grown
            if accepted:
                store_step(parts)
                record_gain(duals, i, value, increase)
                break
            np.negative(parts.changes, out=parts.changes)
            state.squared_norm += problem.add(i, parts.changes)
        duals.eta[i] = eta
        return increase if accepted else 0.0

    def run_steps(self, state: EGState, order: Longs) -> None:
        """One step on each example of ``order``."""
        if isinstance(self.problem, CompiledStepsProblem):
            evaluations, grown = self.problem.run_steps(
                order, self.config.rule(state.c), state.duals
            )
            state.evaluations += evaluations
            state.squared_norm += grown
            return
        for i in order:
            self.update(state, int(i))

    def iterate(self, state: EGState, callback: Callable[[int], None] | None = None) -> None:
        """The work of one pass over the examples, with the C of this iteration; ``callback`` hears
        of the visits so far.
        """
        visits, done, share = 0, 0.0, self.config.round_fraction
        while done < 1.0 - share / 2:
            state.c = self.config.c_at(state.iteration + done)
            if not self._settles(state):
                cyclic = self.config.order == "cyclic"
                order = np.arange(self.n) if cyclic else state.generator.permutation(self.n)
                done = 1.0
            else:
                order = sample_examples(
                    state.duals.gain,
                    self._work,
                    share,
                    state.generator,
                    self.config.min_visit_probability,
                )
                done += share
            for begin in range(0, len(order), _CHUNK):
                own = order[begin : begin + _CHUNK]
                self.run_steps(state, own)
                visits += len(own)
                if callback is not None:
                    callback(visits)
        state.iteration += 1

    def dual(self, state: EGState, c: float | None = None) -> float:
        """The dual value at the present alpha, for the C of the state or another: alpha is feasible
        for every C.
        """
        return float(state.value.sum()) - state.squared_norm / (2 * (c or state.c))

    def primal(self, state: EGState, c: float | None = None) -> float:
        """The primal value at w = v / C: one pass of scores and inference over all examples."""
        c = c or state.c
        loss = sum(self._loss(i, self.problem.scores(i), c) for i in range(self.n))
        return loss + state.squared_norm / (2 * c)

    def certificate(self, state: EGState) -> Certificate:
        """Primal, dual and effort, for the target C of the configuration.

        v is made of marginals rounded to float32, of which moves too small to matter wait
        (``FLOOR``): here the dual is corrected to that of the exact marginals of theta, by the
        scores that the primal needs anyway.
        """
        c = self.config.c
        loss, correction = 0.0, 0.0
        for i in range(self.n):
            scores = self.problem.scores(i)
            loss += self._loss(i, scores, c)
            correction += self._rounding(state, i, scores)
        dual = self.dual(state, c) + correction
        return Certificate(
            loss + state.squared_norm / (2 * c), dual, state.evaluations / max(1, self.n), state.c
        )

    def run(self, state: EGState, iterations: int) -> Iterator[Certificate]:
        """Iterate, yielding the certificate after each pass."""
        for _ in range(iterations):
            self.iterate(state)
            yield self.certificate(state)

    def model_weights(self, state: EGState) -> AbstractContextManager[None]:
        """v is the model's as it stands."""
        return nullcontext()

    def _settles(self, state: EGState) -> bool:
        """Whether most examples have found their place, so that visiting some more often than
        others pays.
        """
        if self.config.round_fraction == 1.0 or state.iteration == 0:
            return False
        return float(state.duals.gain.sum()) < self.config.prioritise_below_gain * abs(
            self.dual(state, self.config.c)
        )

    def _visit(self, duals: DualVariables, i: int, rule: StepRule) -> StepBuffers:
        own = self._places(i)
        theta = duals.theta[own]
        scores = self.problem.scores(i)
        cost = (
            self.problem.cost(i) if rule.max_margin else scores
        )  # costs are not looked at otherwise
        return StepBuffers(theta, duals.marginals[own], scores, cost, *self._scratch(len(theta)))

    def _loss(self, i: int, scores: Floats, c: float) -> float:
        """L_i(w) at w = v / C: log Z or the best cost-augmented score, minus the correct score."""
        potentials, out, _ = self._scratch(len(scores))
        np.multiply(scores, 1.0 / c, out=potentials)
        correct = float(potentials @ self.problem.gold(i))
        if self.config.loss == "log-linear":
            return self.problem.marginals(i, potentials, out) - correct
        potentials += self.problem.cost(i)
        return self.problem.argmax(i, potentials, out) + self.problem.cost_constant(i) - correct

    def _rounding(self, state: EGState, i: int, scores: Floats) -> float:
        """The dual at the exact marginals of theta minus that at the stored ones, but for a square
        of roundings.
        """
        own = self._places(i)
        potentials, out, _ = self._scratch(len(scores))
        potentials[:] = state.theta[own]
        self.problem.marginals(i, potentials, out)
        pull = scores / self.config.c
        pull += self.problem.cost(i) if self.config.loss == "max-margin" else -potentials
        return float(pull @ (out - state.marginals[own]))

    def _value(self, i: int, log_z: float, potentials: Floats, marginals: Floats) -> float:
        if self.config.loss == "log-linear":
            used = marginals > 0
            return log_z - float(potentials[used] @ marginals[used])
        return float(self.problem.cost(i) @ marginals) + self.problem.cost_constant(i)

    def _places(self, i: int) -> slice:
        starts = self.problem.part_starts
        return slice(starts[i], starts[i + 1])

    def _scratch(self, size: int) -> tuple[Floats, Floats, Floats]:
        return self._trial[:size], self._marginals[:size], self._changes[:size]
