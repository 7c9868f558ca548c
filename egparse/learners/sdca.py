"""Stochastic dual coordinate ascent that remembers its dual variables (Shalev-Shwartz & Zhang 2013;
Lacoste-Julien et al. 2013; for CRFs Le Priol et al. 2018), for every loss of
``egparse.learners.losses``. Primal and dual are those of ``egparse.learners.dual``.
(The learner ``dca`` of Martins et al. 2010 adds a new dual variable at each visit instead, and has
no such optimum.)

**The entropy of a mixture.** A step mixes alpha_i with the Gibbs distribution q of the scores,

    alpha_i <- (1 - t) alpha_i + t q,       mu_i <- (1 - t) mu_i + t zbar,

and H of the mixture has no closed form in marginals: part vectors pool label bigrams, and arc
marginals of trees have no closed entropy. So each example keeps a number h_i <= H(alpha_i) beside
mu_i: the dual is then a concave quadratic over the hypographs {(mu, h): h <= H(mu)}, which are
convex, and the best point of such a set for a linear objective with slope s + gamma p in mu and
1 / beta in h is (zbar, H(q)): one call of inference. A step towards it is one of block-coordinate
Frank-Wolfe (Lacoste-Julien et al. 2013, Alg. 4), which converges to the optimum over any such sets;
for beta = inf it is their algorithm for structured SVMs. With d_i = h_i / beta + gamma (p'mu_i + q)
the part of an example of the duality gap is

    g_i = L_i(w) - d_i - s'(mu_i - z_i) >= 0,       sum_i g_i = primal - dual,

and the dual rises along t by at least t g_i - t^2 |F_i'(zbar - mu_i)|^2 / (2C). For mu_i = z_i and
h_i = 0, g_i is the loss and the best t is C times the step size of Martins et al. 2010, eq. 15.

**What mixing adds.** H(mixture) is (1 - t) H(alpha) + t H(q) plus the Jensen-Shannon divergence of
both, and that is at least the divergence of any function of the structure (the data-processing
inequality). We take the choice of one group of parts of which a structure has at most one, such as
the heads of a word, namely the group in which zbar and mu_i differ most. Where all groups choose
independently, their divergences add up, and h_i is H(alpha_i) itself: steps are then those of
Shalev-Shwartz & Zhang with an exact line search. With this term the rate is linear, without it
(beta = inf, or parts without groups) it is that of Frank-Wolfe.

**Line search.** The rise along t is concave; its maximum is found by Newton steps within a bracket,
or in closed form for beta = inf. |F_i'(zbar - mu_i)|^2 is known from the change of |v|^2 over a
trial step, as in ``egparse.learners.dca``: the first trial is with the t of the last visit, and
it stands if it makes nine tenths of the possible gain; a fall of the dual, for which only rounding
is left as a cause, is undone.

As in EG, mu_i is stored in float32, v is made of the stored mu_i, and alpha starts near the correct
structures (``OnlineEG.initialise``). With approximate inference there is no bound: g_i may come out
below zero, and such a visit is skipped and counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.errors import EgparseError
from egparse.learners.dual import DualLearner, DualState, require_positive_c
from egparse.learners.eg.step import DualVariables
from egparse.learners.learner import LearnerConfig, OnlineLearner
from egparse.learners.losses import Loss
from egparse.learners.problem import Problem
from egparse.types import Floats, Shorts, Singles

_ROUNDING = 1e-7
"""A rise or a gap is taken for 0 if it is below this fraction of the terms that it is made of:
marginals are stored in float32.
"""

_ENOUGH = 0.9
"""The part of the possible rise with which a trial step stands."""

_GROWTH = 8.0
"""The most by which t is multiplied after a trial, whose rounding would be multiplied too."""

_NO_GROUPS = np.empty(0, dtype=np.int16)


@dataclass(frozen=True, kw_only=True)
class SDCAConfig(LearnerConfig):
    """The loss, C and the seed.

    Raises:
        ConfigError: a value out of range.
    """

    def __post_init__(self) -> None:
        require_positive_c("sdca", self)
        _ = self.loss  # which raises for values out of range


@dataclass(kw_only=True)
class SDCAState(DualState):
    """``marginals`` mu, flat over all parts; ``value`` d_i and last ``share`` t of each example,
    (n,). ``skipped`` counts the visits of the last pass with a gap below zero.
    """

    value: Floats
    marginals: Singles
    share: Floats
    generator: np.random.Generator
    skipped: int = 0


class Direction(NamedTuple):
    """A step from ``start`` (parts,) towards the marginals ``end`` (parts,): along t the dual rises
    by ``gap`` t - ``bend`` t^2, and by ``temperature`` times what mixing adds.
    """

    start: Floats
    end: Floats
    gap: float
    temperature: float  # 1 / beta
    groups: Shorts
    independent: bool


class Visit(NamedTuple):
    """What a visit did: the rise of the dual, the value and the share of the example after it, the
    change of |w|^2, and whether the gap was below zero, so that no step was made.
    """

    rise: float
    value: float
    share: float
    norm_change: float
    negative: bool


class DualStep:
    """Steps on single examples of a problem that holds v, with w = ``scale`` v."""

    def __init__(self, problem: Problem, loss: Loss, c: float, scale: float) -> None:
        self.problem, self.loss, self.c, self.scale = problem, loss, c, scale
        longest = int(np.diff(problem.part_starts).max(initial=0))
        self._start, self._end, self._changes = np.empty((3, longest))
        self._room = np.empty(longest + 2)

    def visit(self, i: int, stored: Singles, value: float, share: float) -> Visit:
        """One step of example i, whose mu is ``stored`` (parts,) and is changed, and whose value is
        d; ``share`` is the t that is tried first.

        Raises:
            EgparseError: a loss that is not finite.
        """
        scores = self.problem.scores(i) * self.scale
        start, end = self._start[: len(scores)], self._end[: len(scores)]
        start[:] = stored
        loss = self.loss.value(self.problem, i, scores, end)
        if not math.isfinite(loss):
            raise EgparseError(f"sdca: expected a finite loss of example {i}, got {loss}")
        gold = self.problem.gold(i)
        linear = float(scores @ (start - gold))
        gap = loss - value - linear
        noise = _ROUNDING * (1.0 + abs(loss) + abs(linear))
        if gap <= noise:
            return Visit(0.0, value, share, 0.0, gap < -noise)
        # the value d of (zbar, H(q)), of which the loss is the maximum: L = d + s'(zbar - z)
        best = loss - float(scores @ (end - gold))
        temperature = 1.0 / self.loss.beta
        groups, independent = self._groups(i) if temperature else (_NO_GROUPS, False)
        direction = Direction(start, end, gap, temperature, groups, independent)
        share, norm_change = self._search(i, scores, direction, stored, share)
        # d <- (1 - t) d + t d(zbar) + what mixing adds to the entropy
        added = temperature * _added(start, end, groups, independent, share, self._room)
        mixed = (1.0 - share) * value + share * best + added
        rise = mixed - value - self.c / 2.0 * norm_change
        if rise < -noise:
            norm_change += self._move(i, start, end, 0.0, stored)
            return Visit(-self.c / 2.0 * norm_change, value, share / 2.0, norm_change, False)
        return Visit(rise, mixed, share, norm_change, False)

    def _search(
        self, i: int, scores: Floats, direction: Direction, stored: Singles, trial: float
    ) -> tuple[float, float]:
        """Make the step with the best t; returns t and the change of |w|^2."""
        start, end = direction.start, direction.end
        norm_change = self._move(i, start, end, trial, stored)
        changes = self._changes[: len(stored)]
        if not changes.any():
            trial = 1.0
            norm_change += self._move(i, start, end, trial, stored)
        # d = t F'(mu - zbar) / C,  |w + d|^2 - |w|^2 = 2 w.d + |d|^2,  w.d = s.(old - new mu) / C
        norm = max(0.0, norm_change - 2.0 / self.c * float(scores @ changes))
        bend = self.c * norm / (2.0 * trial * trial)
        share = min(1.0, _GROWTH * trial, _best_share(*direction, bend, self._room))
        possible = _rise(*direction, bend, share, self._room)
        if _rise(*direction, bend, trial, self._room) >= _ENOUGH * possible:
            return trial, norm_change
        return share, norm_change + self._move(i, start, end, share, stored)

    def _move(self, i: int, start: Floats, end: Floats, share: float, stored: Singles) -> float:
        """Store the mixture with this share and move w along; returns the change of |w|^2, and
        leaves old mu - new mu in the buffer of changes.
        """
        changes = self._changes[: len(stored)]
        changes[:] = stored
        _mix(start, end, share, stored)
        changes -= stored
        # w += F'(old mu - new mu) / C
        in_v = changes / (self.c * self.scale)
        return self.scale**2 * self.problem.add(i, in_v)

    def _groups(self, i: int) -> tuple[Shorts, bool]:
        return self.problem.division(i) if self.problem.offers("division") else (_NO_GROUPS, False)


class SDCA(DualLearner, OnlineLearner):
    """Dual coordinate ascent on a problem, which holds v."""

    name = "sdca"
    config_type = SDCAConfig

    def __init__(self, problem: Problem, config: SDCAConfig) -> None:
        super().__init__(problem)
        self.config, self.loss = config, config.loss
        self._steps = DualStep(problem, self.loss, config.c, 1.0 / config.c)

    def initialise(self, gold_theta: float | Floats = 3.0) -> SDCAState:
        """Distributions near the correct structures, as of EG (``OnlineEG.initialise``)."""
        theta, marginals = np.zeros((2, int(self.problem.part_starts[-1])), dtype=np.float32)
        value, rest = np.zeros((2, self.n))
        height = np.full(self.n, gold_theta, dtype=np.float64)
        self.problem.reset()
        norm = self.problem.start(
            height, self.loss, DualVariables(theta, marginals, value, rest, rest)
        )
        return SDCAState(
            marginals=marginals,
            value=value,
            share=np.ones(self.n),
            squared_norm=norm,
            c=self.config.c,
            generator=np.random.default_rng(self.config.seed),
        )

    def update(self, state: SDCAState, i: int) -> float:
        """One step on example i; returns the rise of the dual.

        Raises:
            EgparseError: a loss that is not finite.
        """
        stored = state.marginals[self._parts_of(i)]
        done = self._steps.visit(i, stored, float(state.value[i]), float(state.share[i]))
        state.evaluations += 1
        state.skipped += done.negative
        state.value[i], state.share[i] = done.value, done.share
        state.squared_norm += done.norm_change * state.c**2
        self._attend(state, i)
        return done.rise

    def iterate(self, state: SDCAState) -> None:
        """Visit every example once, in random order."""
        state.skipped = 0
        super().iterate(state)

    def sums(self, state: SDCAState, c: float) -> tuple[float, float]:
        """The sum of the losses at w = v / c; the dual needs no correction."""
        return self.sum_losses(c), 0.0

    def set_c_of(self, state: SDCAState, c: float) -> None:
        """Go on with another C: the dual variables are feasible for every C, and v is theirs."""
        state.c, self._steps.c, self._steps.scale = c, c, 1.0 / c

    def details(self, state: SDCAState) -> dict[str, float]:
        """``skipped``, the visits of the last pass with a gap below zero."""
        return {"skipped": float(state.skipped)}


@njit
def _mix(start: Floats, end: Floats, share: float, out: Singles) -> None:
    """Write (1 - t) start + t end, rounded to float32."""
    for r in range(start.shape[0]):
        out[r] = np.float32(start[r] + share * (end[r] - start[r]))


@njit
def _entropy(p: float) -> float:
    """-p log p; 0 for p <= 0."""
    return -p * np.log(p) if p > 0.0 else 0.0


@njit
def _most_different(start: Floats, end: Floats, groups: Shorts, room: Floats) -> int:
    """The group with the greatest sum of differences; -1 without groups."""
    for r in range(groups.shape[0]):
        if groups[r] >= 0:
            room[groups[r]] = 0.0
    best, most = -1, 0.0
    for r in range(groups.shape[0]):
        if groups[r] >= 0:
            room[groups[r]] += abs(end[r] - start[r])
            if room[groups[r]] > most:
                best, most = int(groups[r]), room[groups[r]]
    return best


@njit
def _divergence(
    start: Floats, end: Floats, groups: Shorts, group: int, share: float
) -> tuple[float, float, float]:
    """The Jensen-Shannon divergence with weights 1 - t and t of the choices of a ``group`` (-1: the
    sum over all of them), and its first and second derivatives by t.

    A group of which a structure may have no part has that as one more choice.
    """
    value, slope, curvature = 0.0, 0.0, 0.0
    none_start, none_end = 1.0, 1.0
    last = groups.shape[0]
    for r in range(last + 1):
        if r < last:
            if groups[r] < 0 or (group >= 0 and groups[r] != group):
                continue
            a, z = max(0.0, start[r]), max(0.0, end[r])
            none_start -= a
            none_end -= z
        else:  # no part of the group; 1e-5 is more than the rounding of float32
            if group < 0 or max(none_start, none_end) <= 1e-5:
                continue
            a, z = max(0.0, none_start), max(0.0, none_end)
        m = a + share * (z - a)
        # sum -m log m + (1 - t) a log a + t z log z
        value += _entropy(m) - (1.0 - share) * _entropy(a) - share * _entropy(z)
        if m > 0.0:
            slope += _entropy(a) - _entropy(z) - (z - a) * (np.log(m) + 1.0)
            curvature -= (z - a) * (z - a) / m
    return value, slope, curvature


@njit
def _group_of(start: Floats, end: Floats, groups: Shorts, independent: bool, room: Floats) -> int:
    """The group that counts: -1 for all of them, -2 for none."""
    if groups.shape[0] == 0:
        return -2
    if independent:
        return -1
    group = _most_different(start, end, groups, room)
    return group if group >= 0 else -2


@njit
def _added(
    start: Floats, end: Floats, groups: Shorts, independent: bool, share: float, room: Floats
) -> float:
    """What mixing adds to the entropy, at least."""
    group = _group_of(start, end, groups, independent, room)
    if group == -2:
        return 0.0
    return max(0.0, _divergence(start, end, groups, group, share)[0])


@njit
def _rise(
    start: Floats,
    end: Floats,
    gap: float,
    temperature: float,
    groups: Shorts,
    independent: bool,
    bend: float,
    share: float,
    room: Floats,
) -> float:
    """The rise of the dual at t = ``share``."""
    added = _added(start, end, groups, independent, share, room)
    return share * gap - share * share * bend + temperature * added


@njit
def _best_share(
    start: Floats,
    end: Floats,
    gap: float,
    temperature: float,
    groups: Shorts,
    independent: bool,
    bend: float,
    room: Floats,
) -> float:
    """The t in [0, 1] with the greatest rise."""
    low = min(1.0, gap / (2.0 * bend)) if bend > 0.0 else 1.0
    group = _group_of(start, end, groups, independent, room)
    if group == -2:
        return low
    high = 1.0
    # the best t without the divergence, which pulls it to where its own maximum is
    slope = gap - 2.0 * bend * low + temperature * _divergence(start, end, groups, group, low)[1]
    if slope < 0.0:
        low, high = 0.0, low
    elif low == 1.0:
        return 1.0
    share = 0.5 * (low + high)
    for _ in range(40):
        _, slope, curvature = _divergence(start, end, groups, group, share)
        slope = gap - 2.0 * bend * share + temperature * slope
        curvature = -2.0 * bend + temperature * curvature
        if slope > 0.0:
            low = share
        else:
            high = share
        proposed = share - slope / curvature if curvature < 0.0 else low
        if not low < proposed < high:
            proposed = 0.5 * (low + high)
        if abs(proposed - share) <= 1e-3 * share:
            return proposed
        share = proposed
    return share
