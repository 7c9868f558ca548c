"""Online exponentiated gradient in the dual (Collins et al. 2008, Fig. 2-3), for the losses of
``egparse.learners.losses`` (Martins et al. 2010).

Primal: min over w of sum_i L_i(w) + C/2 |w|^2. Dual, in the distributions alpha_i over structures
of example i:

    log-linear   max  sum_i H(alpha_i)            - |v|^2 / (2C)
    max-margin   max  sum_i E_alpha_i[cost]       - |v|^2 / (2C)

    v = sum_i F_i' (z_i - mu_i),    w = v / C,

where mu_i are the part marginals of alpha_i = softmax(theta_i), and z_i is the correct structure.
One step visits one example:

    log-linear   theta <- theta - eta (theta - s / C)        s = F_i v        (ibid., section 4)
    max-margin   theta <- theta + eta (cost + s / C)

These are the ends of one family. With the weight gamma of the cost and the inverse 1 / beta of the
temperature, a loss is the maximum of a function that is linear in w,

    L_i(w)  =  max over alpha of  H(alpha) / beta + gamma E_alpha[cost] - w . F_i' (z_i - mu),

so that minimising over w first, at w = v / C, gives the dual

    max  sum_i [ H(alpha_i) / beta + gamma E_alpha_i[cost] ] - |v|^2 / (2C),

whose gradient in the marginals is gamma cost + s / C - theta / beta. The step of exponentiated
gradient multiplies alpha by the exponential of eta times that:

    theta <- theta + eta (gamma cost + s / C - theta / beta).

beta = 1 and gamma = 0 is the log-linear step, beta = inf and gamma = 1 that of max-margin, beta =
gamma = 1 softmax-margin. The papers have the first two; the rest is ours. By Lemma 7 of ibid. a
step raises the dual for eta <= 1 / (1 / beta + |A|).

Where inference is approximate (``egparse.parsing.second_order`` for trees that may cross), H is the
Bethe entropy and mu are pseudo-marginals. Primal and dual are then those of the approximate loss,
with the Bethe log Z in place of log Z: the gap says how far that objective is from its optimum if
belief propagation has found the maximum in L_i, which it need not, as the Bethe entropy is not
concave. It bounds nothing of the exact loss, and may fall below zero.

Each example has a learning rate; a step that lowers the dual is undone and tried with a smaller
one (ibid., section 7). The change of the dual costs nothing extra: entropy or cost come with the
marginals, and |v|^2 is tracked while the weights change.

We differ from the paper, unless configured ``as_published``, in the following:

* the start is near the correct structures, where the paper's bounds assume the uniform one;
* a pass visits every example once, in random order, where the paper draws with replacement;
* examples that still gain are visited more often (``egparse.learners.eg.example_sampling``);
* learning rates start at ``eta`` and are not calibrated on a share of the data
  (``egparse.learners.eg.calibration``), they have an upper limit, and a visit tries 12 at most;
* groups of parts may have learning rates from the second derivatives of the dual
  (``egparse.learners.eg.step.propose_step_in_groups``).

In any case a fall of the dual below rounding counts as none. v is made of the stored marginals
(float32), so that it equals its dual expression whatever the rounding of theta.

At the fixed rate of ``search`` = *proven*, with draws with replacement, T steps close in on the
optimum Q* of the log-linear dual at the rate of ibid., Theorem 2, eq. 17 (with Q for minus the
dual, and D for the divergence of the optimum from the start):

    E Q_T - Q*  <=  exp(-eta T / n) (D / eta + Q_0 - Q*),        eta <= 1 / (1 + |A|)

and max-margin at that of eq. 16, n / T in place of the exponential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from egparse.errors import ConfigError
from egparse.learners.base import LearnerBase, in_blocks
from egparse.learners.certificate import Certificate
from egparse.learners.eg.calibration import calibrated_eta
from egparse.learners.eg.config import EGConfig, Loss
from egparse.learners.eg.example_sampling import sample_examples
from egparse.learners.eg.radii import largest_entry, squared_radii
from egparse.learners.eg.step import (
    GROUP_ATTEMPTS,
    PLAIN,
    DualVariables,
    StepBuffers,
    StepRule,
    accept_step,
    evaluate_step,
    propose_step,
    propose_step_in_groups,
    record_gain,
    store_step,
    without_rounding,
)
from egparse.learners.losses import HINGE, LOG_LINEAR
from egparse.learners.problem import (
    CompiledStepsProblem,
    CompiledSumsProblem,
    CompiledVisitsProblem,
    GroupedProblem,
    Problem,
)
from egparse.types import Floats, Longs, Mask, Shorts, Singles

__all__ = ["EGConfig", "EGState", "Loss", "OnlineEG"]

_CHUNK = 1000  # examples between two calls of the callback


@dataclass
class EGState:
    """Dual variables and bookkeeping. ``iteration`` counts calls of ``iterate``, ``evaluations``
    inference calls of steps; ``c`` is the C of the last step.

    ``single_rate`` (n,): examples for which a rate for each group did not raise the dual.
    ``first_eta`` is the learning rate that every example started with.
    """

    duals: DualVariables
    squared_norm: float  # |v|^2
    c: float
    iteration: int
    evaluations: int
    generator: np.random.Generator
    single_rate: Mask
    first_eta: float

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
        """The stored marginals, of which v is made, flat over all parts."""
        return self.duals.marginals

    @property
    def value(self) -> Floats:
        """H(alpha_i) / beta + gamma E[cost] of each example: entropy for the log-linear loss,
        expected cost for max-margin.
        """
        return self.duals.value

    @property
    def eta(self) -> Floats:
        """The learning rate of each example."""
        return self.duals.eta


class OnlineEG(LearnerBase[Problem]):
    """Online EG on a problem; the problem holds v."""

    def __init__(self, problem: Problem, config: EGConfig) -> None:
        super().__init__(problem)
        self.config = config
        sizes = np.diff(problem.part_starts).astype(np.float64)
        by_example = config.visit_cost == "examples"
        self._visit_costs = np.ones(len(sizes)) if by_example else np.maximum(1.0, sizes)
        self._trial = np.empty(self.longest)
        self._marginals = np.empty(self.longest)
        self._changes = np.empty(self.longest)
        self._open_mass = np.empty(self.longest + 2)
        self._member = config.member
        in_groups = config.curvature > 0 and self._member.differentiable
        self._groups = problem.groups if in_groups and isinstance(problem, GroupedProblem) else None

    def initialise(self, gold_theta: float | Floats = 3.0) -> EGState:
        """Distributions near the correct structures: theta is ``gold_theta`` (a number, or one for
        each example) on correct parts and 0 elsewhere. With ``start`` = *uniform* it is 0
        everywhere.

        The first learning rate is found here, if it is to be calibrated or proven.
        """
        uniform = self.config.start == "uniform"
        height = np.full(self.n, 0.0 if uniform else gold_theta, dtype=np.float64)
        state = self._blank()
        if self.config.calibrate:
            state.first_eta = calibrated_eta(self, state, height)
        elif self.config.search == "proven":
            state.first_eta = self._proven_eta()
        state.eta[:] = state.first_eta
        self.problem.reset()
        problem = self.problem
        if isinstance(problem, CompiledSumsProblem) and self._member == LOG_LINEAR:
            norm = problem.start_all(height, state.duals)
            if norm is not None:
                state.squared_norm = norm
                return state
        self._fill(state, height, range(self.n))
        return state

    def begin(self, height: Floats, examples: Longs) -> EGState:
        """A state of which only some examples are at the start, with theta ``height[i]`` on the
        correct parts of example i; v is made of those.
        """
        self.problem.reset()
        state = self._blank()
        self._fill(state, height, examples.tolist())
        return state

    def take_step(self, state: EGState, i: int, eta: float) -> bool:
        """One step on example i at a given rate, which is kept whatever it does; returns whether
        the dual did not fall.
        """
        rule = self.config.rule(state.c)
        buffers, constant = self._buffers(state.duals, i, rule), self._constant(i, rule)
        groups = None if self._groups is None else self._groups(i)
        state.evaluations += 1
        value, slope, norm_change = self._attempt(buffers, rule, i, constant, eta, groups)
        increase = value - float(state.duals.value[i]) - norm_change / (2 * rule.c)
        increase = without_rounding(buffers, rule, increase)
        rises, _ = accept_step(rule, eta, increase, slope, norm_change)
        state.squared_norm += norm_change
        store_step(buffers)
        record_gain(state.duals, i, value, increase)
        return bool(rises)

    def update(self, state: EGState, i: int) -> float:
        """One step on example i; returns the increase of the dual."""
        problem, duals, rule = self.problem, state.duals, self.config.rule(state.c)
        buffers, constant = self._buffers(duals, i, rule), self._constant(i, rule)
        eta = state.first_eta if self.config.restart_eta else float(duals.eta[i])
        groups = None if self._groups is None or state.single_rate[i] else self._groups(i)
        for attempt in range(rule.attempts):
            if groups is not None and attempt == GROUP_ATTEMPTS:
                # a step in groups may lower the dual at any rate; a step with one rate raises it,
                # if the rate is small enough
                groups, state.single_rate[i], eta = None, True, float(duals.eta[i])
            state.evaluations += 1
            value, slope, norm_change = self._attempt(buffers, rule, i, constant, eta, groups)
            # change of H(alpha_i) or E[cost], less that of |v|^2 / (2C)
            increase = value - float(duals.value[i]) - norm_change / (2 * rule.c)
            increase = without_rounding(buffers, rule, increase)
            accepted, eta = accept_step(rule, eta, increase, slope, norm_change)
            state.squared_norm += norm_change
            if accepted:
                store_step(buffers)
                record_gain(duals, i, value, increase)
                break
            np.negative(buffers.changes, out=buffers.changes)
            state.squared_norm += problem.add(i, buffers.changes)
        duals.eta[i] = eta
        self._attend(state, i)
        return increase if accepted else 0.0

    def retarget(self, state: EGState, targets: Mapping[int, Floats]) -> None:
        """Change targets t_i, and with them v = sum_i F_i' (t_i - mu_i), and the costs, which may
        depend on the targets; alpha stays.

        Raises:
            ConfigError: a loss with beta = inf, or a problem whose targets cannot be replaced.
        """
        member = self._member
        if not member.differentiable:
            raise ConfigError(
                "expected a loss with finite beta, such as log-linear, to learn from "
                f"distributions, got {self.config.loss}"
            )
        problem = self._problem_with_targets()
        for i, target in targets.items():
            changes = -problem.gold(i)
            marginals = state.marginals[self._parts_of(i)]
            cost = self._expected_cost(i, marginals) if member.gamma else 0.0
            moved = problem.set_target(i, target) / member.beta
            if member.gamma:
                moved += member.gamma * (self._expected_cost(i, marginals) - cost)
            state.duals.value[i] += moved
            changes += problem.gold(i)
            state.squared_norm += problem.add(i, changes)

    def run_steps(self, state: EGState, order: Longs) -> None:
        """One step on each example of ``order``, in this order."""
        if self.config.restart_eta:  # for every visit: there are no two visits to an example
            state.eta[order] = state.first_eta
        if isinstance(self.problem, CompiledStepsProblem) and self.attendant is None:
            rule = self.config.rule(state.c)
            evaluations, norm_change = self.problem.run_steps(order, rule, state.duals)
            state.evaluations += evaluations
            state.squared_norm += norm_change
            return
        rule = self.config.rule(state.c)
        fewer_calls = rule.form == PLAIN and self.attendant is None
        if fewer_calls and isinstance(self.problem, CompiledVisitsProblem):
            self._visit(self.problem, state, order, rule)
            return
        for i in order.tolist():
            self.update(state, i)

    def _visit(
        self, problem: CompiledVisitsProblem, state: EGState, order: Longs, rule: StepRule
    ) -> None:
        """``update`` by the problem."""
        if self._groups is not None:
            done = problem.visit_all(order, rule, state.duals, state.single_rate)
            if done is not None:
                state.evaluations += done[0]
                state.squared_norm += done[1]
                return
        for i in order.tolist():
            grouped = self._groups is not None and not state.single_rate[i]
            visit = problem.visit(i, rule, state.duals, grouped)
            state.evaluations += visit.evaluations
            for norm_change in visit.norm_changes:
                state.squared_norm += norm_change
            state.single_rate[i] |= grouped and not visit.grouped

    def iterate(self, state: EGState, callback: Callable[[int], None] | None = None) -> None:
        """The work of one pass over the examples, with the C of this iteration. ``callback`` gets
        the number of visits so far.
        """
        config, visits, done = self.config, 0, 0.0
        while done < 1.0 - config.round_fraction / 2:
            state.c = config.c_at(state.iteration + done)
            by_gain = self._prioritises(state)
            order = self.next_visits(state, by_gain)
            done = done + config.round_fraction if by_gain else 1.0
            for begin in range(0, len(order), _CHUNK):
                chunk = order[begin : begin + _CHUNK]
                self.run_steps(state, chunk)
                visits += len(chunk)
                if callback is not None:
                    callback(visits)
        state.iteration += 1

    def dual(self, state: EGState, c: float | None = None) -> float:
        """The dual value at the present alpha, for ``c`` or the C of the state: alpha is feasible
        for every C.
        """
        return float(state.value.sum()) - state.squared_norm / (2 * (c or state.c))

    def certificate(self, state: EGState) -> Certificate:
        """Primal, dual and effort, for the C of the configuration, to which annealing decays.

        v is made of marginals that are rounded to float32 and lag behind by small moves
        (``FLOOR``). The dual is corrected to that at the exact marginals of theta, by the scores
        that the primal needs anyway.
        """
        c = self.config.c
        loss, correction = self.sums(state, c)
        dual = self.dual(state, c) + correction
        return Certificate(
            loss + state.squared_norm / (2 * c), dual, state.evaluations / max(1, self.n), state.c
        )

    def sums(self, state: EGState, c: float) -> tuple[float, float]:
        """The sum of the losses at w = v / c, and that of what the rounding takes from the dual."""
        problem = self.problem
        if isinstance(problem, CompiledSumsProblem) and self._member == LOG_LINEAR:
            sums = problem.sum_losses(c, state.duals)
            if sums is not None:
                return sums
        loss, correction = 0.0, 0.0
        if isinstance(problem, CompiledVisitsProblem) and self._member == LOG_LINEAR:
            sums = problem.certify_all(c, state.duals)
            if sums is not None:
                return sums
            for i in range(self.n):
                own = problem.certify(i, c, state.duals)
                loss, correction = loss + own[0], correction + own[1]
            return loss, correction
        for i in range(self.n):
            scores = problem.scores(i)
            loss += self._loss(i, scores, c)
            correction += self._rounding(state, i, scores, c)
        return loss, correction

    def next_visits(self, state: EGState, by_gain: bool) -> Longs:
        """The examples to visit next, in order: those of a pass over all or, ``by_gain``, of a
        round of those that gain most.
        """
        config = self.config
        if not by_gain:
            return self._whole_pass(state.generator)
        sampled = sample_examples(
            state.duals.gain,
            self._visit_costs,
            config.round_fraction,
            state.generator,
            config.min_visit_probability,
        )
        return in_blocks(sampled, self.n, state.generator)

    def _prioritises(self, state: EGState) -> bool:
        """Whether some examples are visited more often than others: once the last gains add up to
        less than a fraction of the dual.
        """
        if self.config.round_fraction == 1.0 or state.iteration == 0:
            return False
        threshold = self.config.prioritise_below_gain * abs(self.dual(state, self.config.c))
        return float(state.duals.gain.sum()) < threshold

    def _whole_pass(self, generator: np.random.Generator) -> Longs:
        """The examples of a pass over all of them, (n,)."""
        if self.config.order == "cyclic":
            return np.arange(self.n)
        if self.config.order == "drawn":
            return generator.integers(self.n, size=self.n)
        return in_blocks(generator.permutation(self.n), self.n, generator)

    def _blank(self) -> EGState:
        """A state without distributions."""
        total = int(self.problem.part_starts[-1])
        duals = DualVariables(
            theta=np.zeros(total, dtype=np.float32),
            marginals=np.zeros(total, dtype=np.float32),
            value=np.zeros(self.n),
            eta=np.full(self.n, self.config.eta),
            gain=np.zeros(self.n),
        )
        return EGState(
            duals,
            0.0,
            self.config.c_at(0),
            0,
            0,
            np.random.default_rng(self.config.seed),
            np.zeros(self.n, dtype=bool),
            self.config.eta,
        )

    def _fill(self, state: EGState, height: Floats, examples: Iterable[int]) -> None:
        """Set theta of some examples, and what follows from it; v gets what they add to it."""
        problem, duals = self.problem, state.duals
        for i in examples:
            parts, gold = self._parts_of(i), problem.gold(i)
            theta, marginals, changes = self._scratch(len(gold))
            theta[:] = np.where(gold > 0, np.float32(height[i]), 0.0)
            log_z = problem.marginals(i, theta, marginals)
            duals.theta[parts], duals.marginals[parts] = theta, marginals
            marginals[:] = duals.marginals[parts]
            duals.value[i] = self._value(i, log_z, theta, marginals)
            changes[:] = gold - marginals
            state.squared_norm += problem.add(i, changes)

    def _proven_eta(self) -> float:
        """1 / (1 / beta + |A|) (Theorem 2), for the least C of the run."""
        bound = largest_entry(squared_radii(self.problem), self.config.c)
        smoothness = bound + 1.0 / self._member.beta
        return 1.0 / smoothness if smoothness > 0 else 1.0

    def _attempt(
        self,
        buffers: StepBuffers,
        rule: StepRule,
        i: int,
        constant: float,
        eta: float,
        groups: Shorts | None,
    ) -> tuple[float, float, float]:
        """Propose a step and move v along it; returns value and slope (``evaluate_step``) and the
        change of |v|^2.
        """
        if groups is None:
            propose_step(buffers, rule, eta)
        else:
            propose_step_in_groups(buffers, rule, eta, groups, self._open_mass)
        log_z = self.problem.marginals(i, buffers.trial, buffers.marginals)
        value, slope = evaluate_step(buffers, rule, log_z, constant)
        return value, slope, self.problem.add(i, buffers.changes)

    def _constant(self, i: int, rule: StepRule) -> float:
        """The constant of the cost, where the loss has one."""
        return 0.0 if rule.form == PLAIN else self.problem.cost_constant(i)

    def _buffers(self, duals: DualVariables, i: int, rule: StepRule) -> StepBuffers:
        parts = self._parts_of(i)
        theta = duals.theta[parts]
        scores = self.problem.scores(i)
        # the log-linear loss has no use for the cost
        cost = scores if rule.form == PLAIN else self.problem.cost(i)
        return StepBuffers(theta, duals.marginals[parts], scores, cost, *self._scratch(len(theta)))

    def _loss(self, i: int, scores: Floats, c: float) -> float:
        """L_i(w) at w = v / C: log Z or the best cost-augmented score, less the correct score; in
        general log Z(beta (s + gamma cost)) / beta + gamma q - s'z.
        """
        problem, member = self.problem, self._member
        potentials, out, _ = self._scratch(len(scores))
        np.multiply(scores, 1.0 / c, out=potentials)
        correct = float(potentials @ problem.gold(i))
        if member == LOG_LINEAR:
            return problem.marginals(i, potentials, out) - correct
        if member == HINGE:
            potentials += problem.cost(i)
            return problem.argmax(i, potentials, out) + problem.cost_constant(i) - correct
        return member.value(problem, i, potentials, out)

    def _rounding(self, state: EGState, i: int, scores: Floats, c: float) -> float:
        """The dual at the exact marginals of theta less that at the stored ones, up to the square
        of the rounding.
        """
        parts = self._parts_of(i)
        potentials, out, _ = self._scratch(len(scores))
        potentials[:] = state.theta[parts]
        self.problem.marginals(i, potentials, out)
        # d dual / d mu = s / C + gamma cost - theta / beta
        gradient = scores / c
        if self._member == HINGE:
            gradient += self.problem.cost(i)
        elif self._member == LOG_LINEAR:
            gradient -= potentials
        else:
            gradient += self._member.gamma * self.problem.cost(i) - potentials / self._member.beta
        return float(gradient @ (out - state.marginals[parts]))

    def _value(self, i: int, log_z: float, potentials: Floats, marginals: Floats) -> float:
        """H / beta + gamma E[cost] of the distribution of the potentials."""
        value = 0.0
        if self._member.differentiable:
            used = marginals > 0
            value = log_z - float(potentials[used] @ marginals[used])
            value /= self._member.beta
        if self._member.gamma:
            value += self._member.gamma * self._expected_cost(i, marginals)
        return value

    def _expected_cost(self, i: int, marginals: Floats | Singles) -> float:
        return float(self.problem.cost(i) @ marginals) + self.problem.cost_constant(i)

    def _scratch(self, size: int) -> tuple[Floats, Floats, Floats]:
        return self._trial[:size], self._marginals[:size], self._changes[:size]
