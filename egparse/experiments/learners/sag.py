"""The stochastic average gradient for every differentiable loss of the family, with a certified
dual (Schmidt et al. 2015, Non-uniform stochastic average gradient method for training conditional
random fields; SAGA: Defazio et al. 2014).

Primal: min over w of sum_i L_i(w) + C/2 |w|^2. Every example keeps the marginals mu_i of its last
visit, of which its gradient F_i' (mu_i - z_i) was made; their negated sum is v = sum_i F_i' (z_i -
mu_i), over m examples seen so far. A visit to example i computes its marginals zbar_i at w and
makes, with lambda = C / n and one of the two factors k,

    v' = v + F_i' (mu_i - zbar_i),      mu_i <- zbar_i
    w <- (1 - a lambda) w + a (k F_i' (mu_i - zbar_i) + v / m)
    SAG  k = 1 / m                      SAGA  k = 1 / (n p_i),  p_i the probability of the visit

(an example that was not seen has mu_i = z_i, a gradient of 0).

**Lazy updates.** All weights move at each visit, but a visit touches the features of one example
only. We keep w = p x + r v with two numbers p and r, x in the problem and v in a second one over
the same examples. Both vectors then change by multiples of F_i' (mu_i - zbar_i):

    p' = (1 - a lambda) p,    r' = (1 - a lambda) r + a / m,
    x' = x + ((a k - r') / p') F_i' (mu_i - zbar_i)

As visits go on p goes to 0 and r to 1 / C, so that w goes to v / C, its dual expression. After a
pass w is put into the problem.

**The dual.** The mu_i are the marginals of distributions, so they are a feasible point of the dual
(``egparse.experiments.learners.dual``), whenever each of them was made; and as mu_i maximised the
loss of its time at the scores s of that visit, d_i = H(mu_i) / beta + gamma (p'mu_i + q) = L_i +
s'(z_i - mu_i), which we keep. With loopy inference D is an estimate, as for all learners.

**Step sizes** come from L, an estimate of how fast the gradients change (ibid., section 3; the
line search of Schmidt, Le Roux and Bach 2017, section 4.6): L is doubled until

    L_i(w - g / L) <= L_i(w) - |g|^2 / (2L),          g = F_i' (zbar_i - z_i).

*Non-uniform* sampling has an estimate for each example, which is halved before each search. An
example is drawn with p_i = 1/2 (1/n + L_i / sum_j L_j), and a = 1/2 (1 / (L_max + lambda) + 1 /
(L_mean + lambda)), where L_max decays by 2^(-1/n) a visit. *Uniform* sampling has one L for all,
which decays likewise, and a = 1 / (L + lambda). SAGA takes a third of these steps.

An inference call for each attempt is what the search costs, so that an example is searched at its
first visit, and again after as many visits without a search as there were before, plus one, while L
stays as it is. All calls are counted.

We differ from Schmidt et al. in three things. The examples of a pass are drawn at its beginning,
and the first pass is a permutation. SAGA uses the same example for the step and for the memory, and
weighs it by 1 / (n p_i). The regulariser is no part of the L_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from egparse.errors import ConfigError
from egparse.experiments.learners.dual import require_positive_c
from egparse.learners.learner import Certificate, Learner, LearnerConfig, sum_of_losses
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem, squared_norm
from egparse.learners.sgd import Divergence
from egparse.types import Floats, Longs

_LEAST_SCALE = 1e-4  # of p; below it w is put into x
_LEAST_SLOPE = 1e-8  # of |g|^2: a smaller gradient says nothing of how fast it changes
_LONGEST_WAIT = 16  # visits without a search at most
_MAX_DOUBLINGS = 40  # of an L; where none is enough, the loss is too close to its rounding
_ROUNDING = 1e-12  # of a loss, as a fraction of the correct score
_SAGA_STEP = 1.0 / 3.0


@dataclass(frozen=True, kw_only=True)
class SAGConfig(LearnerConfig):
    """``sampling``: whether examples whose gradients change faster are visited more often;
    ``saga``: the unbiased step.

    Raises:
        ConfigError: a loss without a gradient, or a value out of range.
    """

    sampling: Annotated[Literal["uniform", "non-uniform"], "of visits"] = "non-uniform"
    saga: Annotated[bool, "the unbiased step"] = False

    def __post_init__(self) -> None:
        require_positive_c("sag", self)
        if not 0 < self.beta < math.inf or not 0 <= self.gamma < math.inf:
            raise ConfigError(
                "sag expects a differentiable loss (0 < beta < inf, gamma >= 0), "
                f"got beta = {self.beta:g}, gamma = {self.gamma:g}"
            )


@dataclass
class SAGState:
    """w = ``scale`` x + ``pull`` v; between passes ``scale`` is 1 and ``pull`` 0.

    ``marginals`` are the mu_i, flat over all parts, and ``value`` (n,) their terms of the dual.
    ``smoothness`` holds L_i of every example, (n,), or with uniform sampling the one L, (1,);
    ``waits`` (n,) counts the visits to come without a search, ``rest`` is how many there are after
    the next search. ``evaluations`` counts inference calls, ``search`` those of searches among
    them.
    """

    marginals: Floats
    value: Floats
    smoothness: Floats
    largest: float
    waits: Longs
    rest: Longs
    generator: np.random.Generator
    scale: float = 1.0
    pull: float = 0.0
    seen: int = 0
    total: float = 0.0  # of the L_i of the examples seen
    iteration: int = 0
    evaluations: int = 0
    search: int = 0


class SAG(Learner):
    """SAG or SAGA on a problem, which holds x during a pass and w after it; ``memory`` holds v."""

    config_type = SAGConfig

    def __init__(self, problem: Problem, config: SAGConfig) -> None:
        super().__init__(problem)
        self.config = config
        self._loss = Loss(config.beta, config.gamma)
        self._by_example = config.sampling == "non-uniform"
        self.memory = problem.with_own_weights()
        self._buffers = np.empty((6, self.longest))

    def saved(self) -> Any:
        """The sum of the gradients, in v of another problem."""
        return list(self.memory.vectors())

    def restore(self, saved: Any) -> None:
        """Continue from what ``saved`` returned."""
        for array, values in zip(self.memory.vectors(), saved, strict=True):
            array[...] = values

    def initialise(self, gold_theta: float | Floats = 3.0) -> SAGState:
        """w = v = 0; ``gold_theta`` is ignored."""
        self.problem.reset()
        self.memory.reset()
        marginals = np.empty(int(self.problem.part_starts[-1]))
        for i in range(self.n):
            marginals[self._parts_of(i)] = self.problem.gold(i)
        waits, rest = np.zeros((2, self.n), dtype=np.int64)
        return SAGState(
            marginals,
            np.zeros(self.n),
            np.zeros(self.n) if self._by_example else np.ones(1),
            0.0,
            waits,
            rest,
            np.random.default_rng(self.config.seed),
        )

    def iterate(self, state: SAGState) -> None:
        """As many visits as there are examples, after which the problem holds w.

        Raises:
            EgparseError: a loss that is not finite.
        """
        first = state.iteration == 0
        if first or not self._by_example:
            chances = np.full(self.n, 1.0 / self.n)
        else:
            chances = 0.5 / self.n + 0.5 * state.smoothness / state.smoothness.sum()
        if first:
            order = state.generator.permutation(self.n)
        else:
            order = state.generator.choice(self.n, size=self.n, p=chances)
        for i in order.tolist():
            self.update(state, i, float(chances[i]))
        self.fold(state)
        state.iteration += 1

    def update(self, state: SAGState, i: int, chance: float) -> None:
        """Visit example i, which was drawn with this probability.

        Raises:
            EgparseError: its loss is not finite.
        """
        problem, config = self.problem, self.config
        is_new = state.iteration == 0  # the first pass visits each example once
        scores, expected, gradient, changes, _, _ = self._views(i)
        held = problem.scores(i)
        np.multiply(held, state.scale, out=scores)
        if state.pull:
            scores += state.pull * self.memory.scores(i)
        loss = self._loss.value(problem, i, scores, expected)
        state.evaluations += 1
        if not math.isfinite(loss):
            raise Divergence(f"sag: expected a finite loss of example {i}, got {loss}")
        np.subtract(expected, problem.gold(i), out=gradient)
        state.seen += is_new
        self._estimate_smoothness(state, i, loss, is_new)
        # H(mu) / beta + gamma (p'mu + q) = L + s'(z - mu)
        state.value[i] = loss - float(scores @ gradient)
        stored = state.marginals[self._parts_of(i)]
        np.subtract(stored, expected, out=changes)
        stored[:] = expected
        # w <- (1 - a lambda) w + a (k F'(mu - zbar) + v / m)
        step, share = self.step_size(state), config.c / self.n
        factor = 1.0 / (self.n * chance) if config.saga else 1.0 / state.seen
        kept = 1.0 - step * share
        state.scale *= kept
        state.pull = kept * state.pull + step / state.seen
        if changes.any():
            self.memory.add(i, changes)
            changes *= (step * factor - state.pull) / state.scale
            problem.add(i, changes)
        if state.scale < _LEAST_SCALE:
            self.fold(state)

    def fold(self, state: SAGState) -> None:
        """x <- w, which leaves w as it is."""
        for x, v in zip(self.problem.vectors(), self.memory.vectors(), strict=True):
            x *= state.scale
            x += state.pull * v
        state.scale, state.pull = 1.0, 0.0

    def certificate(self, state: SAGState) -> Certificate:
        """The primal at w and the dual at the stored marginals. Details: ``search``, the effective
        iterations that searches took, and ``smoothness``, the L of the step.
        """
        c, n = self.config.c, max(1, self.n)
        loss = sum_of_losses(self.problem, self._loss, 1.0)
        primal = loss + c / 2 * squared_norm(self.problem)
        # sum of H(mu) / beta + gamma (p'mu + q), less |v|^2 / (2C)
        dual = float(state.value.sum()) - squared_norm(self.memory) / (2 * c)
        details = {"search": state.search / n, "smoothness": state.largest}
        return Certificate(primal, dual, state.evaluations / n, c, details)

    def _views(self, i: int) -> list[Floats]:
        """Over the parts of example i: scores, marginals, gradient, changes, and two more."""
        parts = self._parts_of(i)
        return [buffer[: int(parts.stop - parts.start)] for buffer in self._buffers]

    def step_size(self, state: SAGState) -> float:
        """The step size a."""
        share = self.config.c / self.n
        step = 1.0 / (state.largest + share)
        if self._by_example:
            mean = state.total / state.seen
            covered = state.seen / self.n
            step = (1.0 - covered / 2) * step + covered / 2 / (mean + share)
        return step * _SAGA_STEP if self.config.saga else step

    def _estimate_smoothness(self, state: SAGState, i: int, loss: float, is_new: bool) -> None:
        """Search for L, if it is time, at the scores, marginals and gradient of the visit."""
        place = i if self._by_example else 0
        known = float(state.smoothness[place])
        decay = 2.0 ** (-1.0 / self.n)
        if self._by_example:
            state.largest *= decay
            if is_new:  # the mean of the others
                known = state.total / (state.seen - 1) if state.seen > 1 else 1.0
        found = known
        if state.waits[i]:
            state.waits[i] -= 1
        else:
            start = known if is_new else known * (0.5 if self._by_example else decay)
            found = self._search(state, i, loss, start)
            state.rest[i] = 0 if found > known else min(_LONGEST_WAIT, 2 * state.rest[i] + 1)
            state.waits[i] = state.rest[i]
        state.smoothness[place] = found
        state.total += found if is_new else found - known
        state.largest = max(state.largest, found) if self._by_example else found

    def _search(self, state: SAGState, i: int, loss: float, start: float) -> float:
        """The least L among ``start`` times the powers of two at which a step of 1 / L keeps its
        promise.
        """
        problem = self.problem
        scores, _, gradient, changes, slopes, trial = self._views(i)
        # a probe of x gives |g|^2 and F g, from which every L follows; it is so long that the
        # rounding of x is small beside it
        largest = float(np.abs(gradient).max(initial=0.0)) * state.scale
        if largest == 0.0:
            return start
        probe = 1.0 / largest
        slopes[:] = problem.scores(i)
        np.multiply(gradient, -probe, out=changes)
        grown = problem.add(i, changes) + 2.0 * probe * float(slopes @ gradient)
        slopes -= problem.scores(i)
        np.negative(changes, out=changes)
        problem.add(i, changes)
        squared = grown / probe**2
        if not squared > _LEAST_SLOPE:
            return start
        slopes /= probe
        slack = _ROUNDING * (1.0 + abs(float(scores @ problem.gold(i))))
        smoothness = start
        for _ in range(_MAX_DOUBLINGS):
            # L_i(w - g / L) <= L_i(w) - |g|^2 / (2L)
            np.multiply(slopes, -1.0 / smoothness, out=trial)
            trial += scores
            value = self._loss.value(problem, i, trial, changes)
            state.evaluations += 1
            state.search += 1
            if value <= loss - squared / (2.0 * smoothness) + slack:
                return smoothness
            smoothness *= 2.0
        return start
