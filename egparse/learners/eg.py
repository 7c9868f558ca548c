"""Online exponentiated gradient in the dual (Collins et al. 2008, Fig. 2-3), for the log-linear and max-margin losses.

Primal: min over w of sum_i L_i(w) + C/2 |w|^2. Dual, in the distributions alpha_i over structures of example i:

    log-linear   max  sum_i H(alpha_i)            - |v|^2 / (2C)
    max-margin   max  sum_i E_alpha_i[cost]       - |v|^2 / (2C)          v = sum_i F_i' (z_i - mu_i),  w = v / C,

where mu_i are the part marginals of alpha_i = softmax(theta_i), and z_i is the correct structure. One step visits one example:

    log-linear   theta <- theta - eta (theta - s)        s = F_i w        (ibid., section 4)
    max-margin   theta <- theta + eta (cost + s)

Each example has its own learning rate, halved until the dual does not fall and multiplied by 1.05 after (ibid., section 7).
The change of the dual costs nothing extra: entropy or cost come with the marginals, and |v|^2 is tracked while the weights change.

We differ from the paper in this: the marginals that v was built from are stored (float32), so that v equals its dual
expression exactly, whatever the rounding of theta; and a step whose dual change is below the rounding of the stored weights counts as no fall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.learners.certificate import Certificate
from egparse.learners.problem import Floats, Problem

Loss = Literal["log-linear", "max-margin"]


@dataclass(frozen=True, kw_only=True)
class EGConfig:
    """Hyper-parameters of online EG.

    ``c`` is the regularisation constant C of the summed objective. ``anneal_from`` (>= c) starts C higher and lets it decay to
    ``c`` by ``anneal_decay`` an iteration after ``anneal_hold`` iterations (ibid., section 7.1.1); 0 means no annealing.
    ``gold_theta`` is the initial theta of correct parts (others start at 0): None means 3 + ln(parts per choice).
    """

    loss: Loss = "log-linear"
    c: float = 10.0
    eta: float = 0.5
    growth: float = 1.05
    max_halvings: int = 12
    anneal_from: float = 0.0
    anneal_decay: float = 0.7
    anneal_hold: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.c > 0 or not self.eta > 0:
            raise ConfigError(f"expected c > 0 and eta > 0, got c = {self.c}, eta = {self.eta}")

    def c_at(self, iteration: int) -> float:
        """The regularisation constant during a 0-based iteration."""
        steps = max(0, iteration - self.anneal_hold + 1)
        return self.c + max(0.0, self.anneal_from - self.c) * self.anneal_decay**steps


@dataclass
class EGState:
    """Duals and bookkeeping; ``theta`` and ``marginals`` are flat over all parts, the rest has one value an example."""

    theta: npt.NDArray[np.float32]
    marginals: npt.NDArray[np.float32]
    value: Floats  # entropy (log-linear) or expected cost (max-margin) of each example's alpha
    eta: Floats
    squared_norm: float  # |v|^2
    c: float
    iteration: int
    evaluations: int
    generator: np.random.Generator


@njit(fast=True)
def _step(theta: npt.NDArray[np.float32], scores: Floats, scale: float, eta: float, decay: float, trial: Floats) -> None:
    """trial = (1 - decay) theta + eta * scale * scores, rounded as it will be stored."""
    for r in range(theta.shape[0]):
        trial[r] = np.float32((1.0 - decay) * theta[r] + eta * scale * scores[r])


@njit(fast=True)
def _difference(old: npt.NDArray[np.float32], new: Floats, floor: float, changes: Floats) -> None:
    """changes = old - new, rounded as it will be stored; changes smaller than the floor wait until they have grown."""
    for r in range(old.shape[0]):
        change = np.float64(old[r]) - np.float64(np.float32(new[r]))
        changes[r] = change if abs(change) > floor else 0.0


@njit(fast=True)
def _keep(
    theta: npt.NDArray[np.float32], trial: Floats, stored: npt.NDArray[np.float32], changes: Floats
) -> None:
    for r in range(theta.shape[0]):
        theta[r] = trial[r]
        stored[r] -= changes[r]


@njit(fast=True)
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for r in range(a.shape[0]):
        if b[r] != 0.0:
            total += a[r] * b[r]
    return total


class OnlineEG:
    """Randomised online EG on a problem; the problem holds v."""

    def __init__(self, problem: Problem, config: EGConfig) -> None:
        self.problem = problem
        self.config = config
        longest = int(np.max(np.diff(problem.part_starts))) if len(problem.part_starts) > 1 else 0
        self._trial = np.empty(longest)
        self._marginals = np.empty(longest)
        self._changes = np.empty(longest)

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.problem.part_starts) - 1

    def initialise(self, gold_theta: float | Floats = 3.0) -> EGState:
        """Duals near the correct structures: theta = ``gold_theta`` (one, or one an example) on correct parts, 0 elsewhere."""
        problem, total = self.problem, int(self.problem.part_starts[-1])
        problem.reset()
        state = EGState(
            theta=np.zeros(total, dtype=np.float32), marginals=np.zeros(total, dtype=np.float32),
            value=np.zeros(self.n), eta=np.full(self.n, self.config.eta), squared_norm=0.0,
            c=self.config.c_at(0), iteration=0, evaluations=0, generator=np.random.default_rng(self.config.seed),
        )  # fmt: skip
        height = np.broadcast_to(np.asarray(gold_theta, dtype=np.float64), (self.n,))
        for i in range(self.n):
            own = self._places(i)
            gold = problem.gold(i)
            trial, new, changes = self._scratch(len(gold))
            trial[:] = height[i] * (gold > 0)
            log_z = problem.marginals(i, trial, new)
            state.theta[own], state.marginals[own] = trial, new
            state.value[i] = self._value(i, log_z, trial, new)
            changes[:] = gold - state.marginals[own]
            state.squared_norm += problem.add(i, changes)
        return state

    def update(self, state: EGState, i: int) -> float:
        """One step on example i; returns the increase of the dual."""
        own, problem, config = self._places(i), self.problem, self.config
        theta, stored = state.theta[own], state.marginals[own]
        trial, new, changes = self._scratch(len(theta))
        gradient = problem.scores(i)
        scale, decay = 1.0 / state.c, 1.0
        if config.loss == "max-margin":
            gradient, scale, decay = gradient / state.c + problem.cost(i), 1.0, 0.0
        for _ in range(config.max_halvings):
            eta = state.eta[i]
            state.evaluations += 1
            _step(theta, gradient, scale, eta, decay * eta, trial)
            log_z = problem.marginals(i, trial, new)
            value = self._value(i, log_z, trial, new)
            _difference(stored, new, _FLOOR, changes)
            grown = problem.add(i, changes)
            increase = value - state.value[i] - grown / (2 * state.c)
            if increase >= -_ROUNDING * (1.0 + abs(grown) / state.c):
                _keep(theta, trial, stored, changes)
                state.value[i] = value
                state.squared_norm += grown
                state.eta[i] = min(1.0 if decay else np.inf, eta * config.growth)
                return float(increase)
            changes *= -1.0
            state.squared_norm += grown + problem.add(i, changes)
            state.eta[i] = eta / 2
        return 0.0

    def iterate(self, state: EGState, callback: Callable[[int], None] | None = None) -> None:
        """One pass over the examples in random order, with the C of this iteration."""
        state.c = self.config.c_at(state.iteration)
        for count, i in enumerate(state.generator.permutation(self.n)):
            self.update(state, int(i))
            if callback is not None:
                callback(count)
        state.iteration += 1

    def dual(self, state: EGState, c: float | None = None) -> float:
        """The dual value at the present alpha, for the C of the state or another: alpha is feasible for every C."""
        return float(state.value.sum()) - state.squared_norm / (2 * (c or state.c))

    def primal(self, state: EGState, c: float | None = None) -> float:
        """The primal value at w = v / C: one pass of scores and inference over all examples."""
        c = c or state.c
        loss = 0.0
        for i in range(self.n):
            scores = self.problem.scores(i)
            gold = self.problem.gold(i)
            potentials, out, _ = self._scratch(len(scores))
            np.multiply(scores, 1.0 / c, out=potentials)
            loss -= _dot(potentials, gold)
            if self.config.loss == "log-linear":
                loss += self.problem.marginals(i, potentials, out)
            else:
                potentials += self.problem.cost(i)
                loss += self.problem.maximum(i, potentials, out) + self.problem.cost_constant(i)
        return loss + state.squared_norm / (2 * c)

    def certificate(self, state: EGState) -> Certificate:
        """Primal, dual and effort, for the target C of the configuration."""
        c = self.config.c
        return Certificate(self.primal(state, c), self.dual(state, c), state.evaluations / max(1, self.n))

    def run(self, state: EGState, iterations: int) -> Iterator[Certificate]:
        """Iterate, yielding the certificate after each pass."""
        for _ in range(iterations):
            self.iterate(state)
            yield self.certificate(state)

    def _value(self, i: int, log_z: float, potentials: Floats, marginals: Floats) -> float:
        if self.config.loss == "log-linear":
            return log_z - _dot(potentials, marginals)
        return _dot(self.problem.cost(i), marginals) + self.problem.cost_constant(i)

    def _places(self, i: int) -> slice:
        starts = self.problem.part_starts
        return slice(starts[i], starts[i + 1])

    def _scratch(self, size: int) -> tuple[Floats, Floats, Floats]:
        return self._trial[:size], self._marginals[:size], self._changes[:size]


_FLOOR = 1e-7  # a marginal moved by less leaves the weights alone until the moves add up
_ROUNDING = 1e-9  # relative rounding of a dual change, from weights stored as float32
