"""Online exponentiated gradient in the dual (Collins et al. 2008, Fig. 2-3), for the losses of
``egparse.learners.losses`` (Martins et al. 2010).

The primal is min over w of sum_i L_i(w) + C/2 |w|^2. With distributions alpha_i = softmax(theta_i)
over the structures of example i, their part marginals mu_i and the correct structure z_i, a loss is

    L_i(w)  =  max over alpha of  H(alpha) / beta + gamma E_alpha[cost] - w . F_i' (z_i - mu),

so that minimising over w first gives the dual, and its gradient in the marginals a step:

    max  sum_i [ H(alpha_i) / beta + gamma E_alpha_i[cost] ] - |v|^2 / (2C)
    v = sum_i F_i' (z_i - mu_i),    w = v / C
    theta <- theta + eta (gamma cost + s / C - theta / beta),    s = F_i v

beta = 1 and gamma = 0 is the log-linear step, beta = inf and gamma = 1 that of max-margin (both
ibid., section 4); the rest of the family is ours. By Lemma 7 of ibid. a step raises the dual for
eta <= 1 / (1 / beta + |A|). Each example has a learning rate; a step that lowers the dual is undone
and tried with a smaller one (ibid., section 7). The change of the dual costs nothing extra: entropy
or cost come with the marginals, and |v|^2 is tracked while the weights change. v is made of the
stored marginals (float32), so that it equals its dual expression whatever the rounding of theta.

We differ from the paper (``egparse.experiments.learners.published_eg`` does not): the start is near
the correct structures; a pass visits every example once, in random order, and later those that
still gain more often (``sample_examples``); rates start at ``eta``, have an
upper limit, may be those of groups of parts, and a visit tries 12 at most.

Where inference is approximate (``egparse.parsing.second_order`` for trees that may cross), H is the
Bethe entropy and mu are pseudo-marginals: the gap is that of the approximate loss, bounds nothing
of the exact one, and may fall below zero, as the Bethe entropy is not concave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Interval

from egparse.errors import ConfigError
from egparse.learners.eg.step import FLOOR, HINGED, PLAIN, WEIGHTED, DualVariables, StepRule
from egparse.learners.learner import (
    Certificate,
    LearnerConfig,
    OnlineLearner,
    in_blocks,
    over_views,
)
from egparse.learners.losses import HINGE, LOG_LINEAR, PERCEPTRON, Loss
from egparse.learners.problem import Problem
from egparse.types import Floats, Longs, Mask, Singles

Rate = Annotated[float, Interval(ge=1e-9, le=1e9)]

MIN_VISIT_PROBABILITY = 0.1
"""The probability that an example which gains nothing is visited in a round."""
_BISECTIONS = 40
_NEGLIGIBLE_GAIN = 1e-200  # the scale of smaller gains would overflow
_CHUNK = 1000  # examples between two calls of the callback
_FORMS = {LOG_LINEAR: PLAIN, HINGE: HINGED}

# The greatest K / C. Where C is small, the features that examples share limit the steps, and the
# line search adapts the rates to that.
_MAX_CURVATURE_PER_C = 4.0


def require_dual_loss(loss: Loss) -> None:
    """Raise ConfigError for the loss of the perceptron (beta = inf, gamma = 0)."""
    if loss == PERCEPTRON:
        raise ConfigError(
            "exponentiated gradient expects a loss whose optimum is not w = 0: beta < inf or "
            f"gamma > 0, got beta = {loss.beta:g}, gamma = {loss.gamma:g}"
        )


@dataclass(frozen=True, kw_only=True)
class EGConfig(LearnerConfig):
    """``anneal_from`` (>= c) starts C higher and lets it decay to ``c`` by ``anneal_decay`` an
    iteration after ``anneal_hold`` iterations (Collins et al. 2008, section 7.1.1); 0 means no
    annealing.

    ``search`` adapts the learning rate of an example, which starts at ``eta``: *halving* as in the
    paper (halve until the dual does not fall, then times ``growth``), or *quadratic*:
    ``relaxation`` times the best rate along the last step. At most ``max_halvings`` rates are tried
    at a visit, none above beta, the rate that leads to the fixed point of the step in one go, which
    is 1 for the log-linear loss and infinite for max-margin.

    ``curvature`` K gives each group of parts a learning rate, eta / (1 + beta K u / C), where u
    measures how undecided the group is (``propose_step_in_groups``). It is for losses with finite
    beta of problems with groups; 0 means one rate for each example, as in the paper.

    ``round_fraction`` < 1 splits a pass into rounds, each with this fraction of the work of a pass,
    and visits the examples that gained most at their last visit more often
    (``sample_examples``); 1 visits every example once in a pass, as in the
    paper. Every example is visited also while the last gains add up to the fraction
    ``prioritise_below_gain`` of the dual or more; inf prioritises from the second pass on, which
    pays where few examples matter (entities). ``visit_cost`` is the unit of work: with *parts*
    gains are compared per part, with *examples* per visit. Each example is visited in a round with
    a probability of at least ``min_visit_probability``.

    Raises:
        ConfigError: the loss of the perceptron.
    """

    eta: Annotated[Rate, "the first learning rate of an example"] = 0.5
    search: Annotated[Literal["halving", "quadratic"], "how rates adapt"] = "halving"
    relaxation: Annotated[float, Interval(ge=1e-3, lt=2), "quadratic search: of the best rate"] = (
        1.6
    )
    growth: Annotated[float, Interval(ge=1, le=1000), "halving: factor after a step"] = 1.05
    curvature: Annotated[float, Interval(ge=0, le=1e9), "K of the rates of groups of parts"] = 0.0
    max_halvings: Annotated[int, Interval(ge=1, le=1000), "most rates tried at a visit"] = 12
    round_fraction: Annotated[
        float, Interval(ge=1e-3, le=1), "the work of a round, of that of a pass"
    ] = 0.3
    prioritise_below_gain: Annotated[
        float, Ge(0), "gains, as a fraction of the dual, below which rounds begin"
    ] = 0.02
    visit_cost: Annotated[Literal["parts", "examples"], "the unit of work"] = "parts"
    min_visit_probability: Annotated[
        float, Interval(ge=0, le=1), "of an example that gains nothing, in a round"
    ] = MIN_VISIT_PROBABILITY
    # settings of every task, and no options of this learner
    anneal_from: Annotated[float, Ge(0)] = 0.0
    anneal_decay: Annotated[float, Interval(ge=1e-9, le=1)] = 0.7
    anneal_hold: Annotated[int, Interval(ge=0, le=1_000_000_000), "passes before C decays"] = 1

    def __post_init__(self) -> None:
        require_dual_loss(self.loss)

    def c_at(self, iteration: float) -> float:
        """The regularisation constant C after so many iterations (0 at the start, fractions within
        one).
        """
        steps = max(0.0, iteration - self.anneal_hold + 1)
        return self.c + max(0.0, self.anneal_from - self.c) * float(self.anneal_decay**steps)

    def rule(self, c: float) -> StepRule:
        """The settings of a step under a regularisation constant C."""
        loss = self.loss
        return StepRule(
            c=c,
            form=_FORMS.get(loss, WEIGHTED),
            entropy=1.0 / loss.beta,
            gamma=float(loss.gamma),
            quadratic=self.search == "quadratic",
            growth=self.growth,
            relaxation=self.relaxation,
            # beyond beta a step would overshoot its fixed point, theta = beta (gamma cost + s / C)
            largest=float(loss.beta),
            attempts=self.max_halvings,
            curvature=(
                min(self.curvature, _MAX_CURVATURE_PER_C * c / loss.beta)
                if loss.differentiable
                else 0.0
            ),
            floor=FLOOR,
        )


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


class OnlineEG(OnlineLearner):
    """Online EG on a problem; the problem holds v.

    With several ``threads`` the sums of the certificate are those of runs of examples, a thread
    each, where the problem has views: they only read v, so that the path is the same, and the last
    digits of the certificate depend on the number of threads.
    """

    config_type = EGConfig

    def __init__(self, problem: Problem, config: EGConfig) -> None:
        super().__init__(problem)
        self.config, self.loss = config, config.loss
        sizes = np.diff(problem.part_starts).astype(np.float64)
        by_example = config.visit_cost == "examples"
        self._visit_costs = np.ones(len(sizes)) if by_example else np.maximum(1.0, sizes)

    def initialise(self, gold_theta: float | Floats = 3.0) -> EGState:
        """Distributions near the correct structures: theta is ``gold_theta`` (a number, or one for
        each example) on correct parts and 0 elsewhere.
        """
        state = self.blank_state()
        height = np.full(self.n, gold_theta, dtype=np.float64)
        self.problem.reset()
        state.squared_norm = self.problem.start(height, self.loss, state.duals)
        return state

    def blank_state(self) -> EGState:
        """A state without distributions."""
        total, config = int(self.problem.part_starts[-1]), self.config
        duals = DualVariables(
            theta=np.zeros(total, dtype=np.float32),
            marginals=np.zeros(total, dtype=np.float32),
            value=np.zeros(self.n),
            eta=np.full(self.n, config.eta),
            gain=np.zeros(self.n),
        )
        generator = np.random.default_rng(config.seed)
        rates = np.zeros(self.n, dtype=bool)
        return EGState(duals, 0.0, config.c_at(0), 0, 0, generator, rates, config.eta)

    def update(self, state: EGState, i: int) -> float:
        """One step on example i; returns the increase of the dual."""
        step = self.problem.step(i, self.config.rule(state.c), state.duals, state.single_rate)
        state.evaluations += step.evaluations
        for norm_change in step.norm_changes:
            state.squared_norm += norm_change
        self._attend(state, i)
        return step.increase

    def retarget(self, state: EGState, targets: Mapping[int, Floats]) -> None:
        """Change targets t_i, and with them v = sum_i F_i' (t_i - mu_i), and the costs, which may
        depend on the targets; alpha stays.

        Raises:
            ConfigError: a loss with beta = inf, or a problem whose targets cannot be replaced.
        """
        loss, problem = self.loss, self.problem
        if not loss.differentiable:
            raise ConfigError(
                "expected a loss with finite beta, such as log-linear, to learn from "
                f"distributions, got beta = {loss.beta:g}"
            )
        for i, target in targets.items():
            changes = -problem.gold(i)
            marginals = state.marginals[self._parts_of(i)]
            cost = problem.expected_cost(i, marginals) if loss.gamma else 0.0
            moved = problem.set_target(i, target) / loss.beta
            if loss.gamma:
                moved += loss.gamma * (problem.expected_cost(i, marginals) - cost)
            state.duals.value[i] += moved
            changes += problem.gold(i)
            state.squared_norm += problem.add(i, changes)

    def set_c_of(self, state: EGState, c: float) -> None:
        """Go on with another C: the dual variables are feasible for every C."""
        state.c = c

    def run_steps(self, state: EGState, order: Longs) -> None:
        """One step on each example of ``order``, in this order."""
        if self.attendant is not None:
            super().run_steps(state, order)
            return
        rule = self.config.rule(state.c)
        evaluations, state.squared_norm = self.problem.sweep(
            order, rule, state.duals, state.single_rate, state.squared_norm
        )
        state.evaluations += evaluations

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

    def standing(self, state: EGState) -> Certificate:
        """The dual, for the C of the configuration, and the effort."""
        dual, effort = self.dual(state, self.config.c), state.evaluations / max(1, self.n)
        return Certificate(math.inf, dual, effort, state.c)

    def certificate(self, state: EGState) -> Certificate:
        """Primal, dual and effort, for the C of the configuration, to which annealing decays.

        v is made of marginals that are rounded to float32 and lag behind by small moves
        (``FLOOR``). The dual is corrected to that at the exact marginals of theta, by the scores
        that the primal needs anyway.
        """
        c = self.config.c
        loss, correction = self.sums(state, c)
        dual = self.dual(state, c) + correction
        primal = loss + state.squared_norm / (2 * c)
        return self.standing(state)._replace(primal=primal, dual=dual)

    def sums(self, state: EGState, c: float) -> tuple[float, float]:
        """The sum of the losses at w = v / c, and that of what the rounding takes from the dual."""

        def of(part: Problem, run: slice) -> tuple[float, float]:
            starts, duals = self.problem.part_starts, state.duals
            parts = slice(int(starts[run.start]), int(starts[run.stop]))
            shares = DualVariables(
                duals.theta[parts],
                duals.marginals[parts],
                duals.value[run],
                duals.eta[run],
                duals.gain[run],
            )
            return part.sums(c, self.loss, shares)

        sums = over_views(self.problem, self.threads, of)
        return sum(loss for loss, _ in sums), sum(correction for _, correction in sums)

    def next_visits(self, state: EGState, by_gain: bool) -> Longs:
        """The examples to visit next, in order: those of a pass over all or, ``by_gain``, of a
        round of those that gain most.
        """
        config = self.config
        if not by_gain:
            return super().next_visits(state, by_gain)
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


def sample_examples(
    gains: Floats,
    costs: Floats,
    fraction: float,
    generator: np.random.Generator,
    min_probability: float = MIN_VISIT_PROBABILITY,
) -> Longs:
    """Draw the examples of a round, in random order. ``gains`` and ``costs`` are (n,), and
    ``fraction`` is the part of the total cost to spend.

    Most examples of a trained tagger hardly change after a few passes. Compare the sampling by
    duality gap of Le Priol et al. 2018 (Adaptive stochastic dual coordinate ascent for CRFs,
    section 5): the gain is a by-product of the step, the gap needs inference at the primal weights.
    """
    probabilities = visit_probabilities(gains, costs, fraction, min_probability)
    visited = np.flatnonzero(generator.random(len(gains)) < probabilities)
    generator.shuffle(visited)
    return visited


def visit_probabilities(
    gains: Floats,
    costs: Floats,
    fraction: float,
    min_probability: float = MIN_VISIT_PROBABILITY,
) -> Floats:
    """Probabilities p (n,) with p . costs = fraction * sum(costs), proportional to gain / cost
    between ``min_probability`` and 1.

    If no scale spends the whole fraction (hardly any example gains), the rest goes to all examples
    alike.
    """
    rates = np.maximum(gains, 0.0) / costs
    weights = costs / costs.sum()
    top = float(rates.max(initial=0.0))
    if not _NEGLIGIBLE_GAIN < top < np.inf:
        return np.full(len(gains), fraction)
    min_probability = min(min_probability, fraction)
    # bisection for log a, the scale in p = clip(a rates, min_probability, 1)
    low, high = np.log(min_probability / top), np.log(1e12 / top)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if float(weights @ np.clip(np.exp(middle) * rates, min_probability, 1.0)) > fraction:
            high = middle
        else:
            low = middle
    probabilities: Floats = np.clip(np.exp(low) * rates, min_probability, 1.0)
    missing = fraction - float(weights @ probabilities)
    free = float(weights @ (1.0 - probabilities))
    if missing > 0.0 and free > 0.0:
        probabilities = np.minimum(1.0, probabilities + (1.0 - probabilities) * (missing / free))
    return probabilities
