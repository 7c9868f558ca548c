"""One step of online EG on one example: propose it, evaluate it, accept or reject it, store it.

Source: Collins et al. 2008, sections 4 and 7; see ``egparse.learners.eg.online`` for the dual.
``Problem.step`` calls these kernels, and problems with short examples do so from a compiled loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Shorts, Singles

FLOOR = 1e-7
"""A marginal that moved by less leaves the weights as they are, until its moves add up to more."""
_HALF_PRECISION = 6e-8  # of float32
_ROUNDING = 1e-9  # relative rounding of a change of the dual, with dual variables in float32
_SMALLEST_ETA = 1e-6  # with a smaller learning rate a step changes nothing in float32
_GAIN_DECAY = 0.3  # least part of the last visit's gain that stays after this visit
_MAX_ETA_GROWTH = 2.0  # greatest and least factor of the learning rate between two visits
_MIN_ETA_GROWTH = 0.1


GROUP_ATTEMPTS = 2
"""Attempts with a rate for each group; if none raises the dual, the example has one rate for all
its parts from then on.
"""

PLAIN, HINGED, WEIGHTED = 0, 1, 2
"""Forms of the step: log-linear (beta = 1, gamma = 0), max-margin (beta = inf, gamma = 1), and any
other member of the family. The first two are cases of the third, whose arithmetic they save.
"""


class StepRule(NamedTuple):
    """The settings of a step, see ``EGConfig``: the present ``c``, the loss, and how learning rates
    change. ``form`` is one of ``PLAIN``, ``HINGED``, ``WEIGHTED``; ``entropy`` is 1 / beta and
    ``gamma`` the weight of the cost. ``largest`` is the greatest learning rate; ``attempts`` the
    most rates tried at a visit. Marginals that moved by no more than ``floor`` stay.
    """

    c: float
    form: int
    entropy: float
    gamma: float
    quadratic: bool
    growth: float
    relaxation: float
    largest: float
    attempts: int
    curvature: float
    floor: float


class DualVariables(NamedTuple):
    """``theta`` and ``marginals`` over all parts; ``value`` (H / beta + gamma E[cost]), learning
    rate ``eta`` and ``gain`` of each example, (n,).

    ``gain`` is the increase of the dual at the last visit, or a fraction of the larger gain before.
    """

    theta: Singles
    marginals: Singles
    value: Floats
    eta: Floats
    gain: Floats


class StepBuffers(NamedTuple):
    """Arrays over the parts of the visited example: its ``theta`` and ``stored`` marginals, scores
    F_i v and costs; then ``trial``, the proposed theta, its marginals, and the changes of
    marginals, stored - new.
    """

    theta: Singles
    stored: Singles
    scores: Floats
    cost: Floats
    trial: Floats
    marginals: Floats
    changes: Floats


class Step(NamedTuple):
    """What a step took: calls of inference, the changes of |v|^2 one after the other, and the
    increase of the dual.
    """

    evaluations: int
    norm_changes: Sequence[float]
    increase: float


@njit(fast=True)
def propose_step(buffers: StepBuffers, rule: StepRule, eta: float) -> None:
    """Write the trial theta, rounded to float32 as it will be stored."""
    theta, scores, cost, trial = buffers.theta, buffers.scores, buffers.cost, buffers.trial
    scale = eta / rule.c
    if rule.form == WEIGHTED:
        # theta + eta (gamma cost + s / C - theta / beta)
        kept, weight = 1.0 - eta * rule.entropy, eta * rule.gamma
        for r in range(theta.shape[0]):
            trial[r] = np.float32(kept * theta[r] + weight * cost[r] + scale * scores[r])
    elif rule.form == HINGED:
        # theta + eta (cost + s / C)
        for r in range(theta.shape[0]):
            trial[r] = np.float32(theta[r] + eta * cost[r] + scale * scores[r])
    else:
        # theta - eta (theta - s / C)
        kept = 1.0 - eta
        for r in range(theta.shape[0]):
            trial[r] = np.float32(kept * theta[r] + scale * scores[r])


@njit(fast=True)
def propose_step_in_groups(
    buffers: StepBuffers, rule: StepRule, eta: float, groups: Shorts, open_mass: Floats
) -> None:
    """As ``propose_step`` for a loss with finite beta, with a learning rate for each group of
    parts, eta / (1 + beta K u / C), where u is the sum of m (1 - m) over the marginals m of the
    group. In what follows beta = 1 and gamma = 0.

    If theta of a part moves by d, its marginal moves by m (1 - m) d, and its score by -|phi|^2 m (1
    - m) d. So the target theta = s / C recedes, and Newton's step goes 1 / (1 + |phi|^2 m (1 - m) /
    C) of the way. The ``curvature`` K stands for |phi|^2, less what the alternatives have in
    common. Every structure has exactly one part of each group (such as the heads of a word), so
    theta is determined up to a constant for each group; the rate of a group does not depend on it.
    ``open_mass`` is a buffer with one number for each group.
    """
    theta, stored, scores, trial = buffers.theta, buffers.stored, buffers.scores, buffers.trial
    for r in range(theta.shape[0]):
        open_mass[groups[r]] = 0.0
    # u = sum_r m_r (1 - m_r)
    for r in range(theta.shape[0]):
        m = min(np.float32(1.0), max(np.float32(0.0), stored[r]))
        open_mass[groups[r]] += m * (1.0 - m)
    if rule.form == WEIGHTED:
        # theta + eta / (1 + beta K u / C) (gamma cost + s / C - theta / beta)
        cost = buffers.cost
        for r in range(theta.shape[0]):
            bend = rule.curvature / (rule.c * rule.entropy) * open_mass[groups[r]]
            slope = rule.gamma * cost[r] + scores[r] / rule.c - rule.entropy * theta[r]
            trial[r] = np.float32(theta[r] + eta / (1.0 + bend) * slope)
        return
    # theta + eta / (1 + K u / C) (s / C - theta)
    for r in range(theta.shape[0]):
        rate = eta / (1.0 + rule.curvature / rule.c * open_mass[groups[r]])
        trial[r] = np.float32(theta[r] + rate * (scores[r] / rule.c - theta[r]))


@njit(fast=True)
def evaluate_step(
    buffers: StepBuffers, rule: StepRule, log_z: float, constant: float
) -> tuple[float, float]:
    """Write changes = stored - marginals, rounded as they will be stored; return (value of the
    trial, slope). ``constant`` is that of the cost.

    The value (H / beta + gamma E[cost]: entropy or expected cost) is that at the stored marginals
    and not at the exact ones, because v is made of the stored ones, and both terms of the dual must
    be at the same point. (log Z - theta . z is the entropy up to the square of the rounding;
    ``OnlineEG.certificate`` has the exact value.)

    The slope is the derivative of the dual by the marginals times their move: the gain of the step
    if the dual were linear.
    """
    if rule.form == WEIGHTED:
        return _evaluate_weighted(buffers, rule, log_z, constant)
    theta, stored, scores, cost = buffers.theta, buffers.stored, buffers.scores, buffers.cost
    trial, marginals, changes = buffers.trial, buffers.marginals, buffers.changes
    scale = 1.0 / rule.c
    value, slope = 0.0, 0.0
    for r in range(stored.shape[0]):
        before = np.float64(stored[r])
        move = before - np.float64(np.float32(marginals[r]))
        change = move if abs(move) > rule.floor else 0.0
        changes[r] = change
        if rule.form == HINGED:
            # E[cost] = p . mu + q;  d dual / d mu = cost + s / C
            value += cost[r] * (before - change)
            slope -= change * (cost[r] + scale * scores[r])
        else:
            # H = log Z - theta . mu;  d dual / d mu = s / C - theta
            value -= trial[r] * (before - change)
            slope += change * (theta[r] - scale * scores[r])
    return value + (constant if rule.form == HINGED else log_z), slope


@njit(fast=True)
def _evaluate_weighted(
    buffers: StepBuffers, rule: StepRule, log_z: float, constant: float
) -> tuple[float, float]:
    """``evaluate_step`` for any loss of the family."""
    stored, cost, changes = buffers.stored, buffers.cost, buffers.changes
    scale, entropy, gamma = 1.0 / rule.c, rule.entropy, rule.gamma
    value, slope = entropy * log_z + gamma * constant, 0.0
    for r in range(stored.shape[0]):
        before = np.float64(stored[r])
        move = before - np.float64(np.float32(buffers.marginals[r]))
        change = move if abs(move) > rule.floor else 0.0
        changes[r] = change
        # H / beta + gamma E[cost], with H = log Z - theta . mu and E[cost] = p . mu + q
        value += (gamma * cost[r] - entropy * buffers.trial[r]) * (before - change)
        # d dual / d mu = gamma cost + s / C - theta / beta
        slope -= change * (gamma * cost[r] + scale * buffers.scores[r] - entropy * buffers.theta[r])
    return value, slope


@njit(fast=True)
def without_rounding(buffers: StepBuffers, rule: StepRule, increase: float) -> float:
    """The increase of the dual, or 0 for a fall that is due to the rounding of the marginals; for
    rules with a floor of 0, where that rounding is known.

    log Z - theta . z is the entropy at the stored marginals z up to theta . (mu - z), at the old
    theta as at the new, and |mu - z| is at most half of the precision of z. Where theta is in the
    thousands, as it is soon after a uniform start, that is more than a step may gain: no rate would
    be small enough.
    """
    if rule.floor > 0.0 or increase >= 0.0:
        return increase
    theta, stored, trial, changes = buffers.theta, buffers.stored, buffers.trial, buffers.changes
    slack = 0.0
    for r in range(theta.shape[0]):
        slack += abs(theta[r]) * stored[r] + abs(trial[r]) * (stored[r] - changes[r])
    return 0.0 if increase >= -_HALF_PRECISION * slack * rule.entropy else increase


@njit
def accept_step(
    rule: StepRule, eta: float, increase: float, slope: float, norm_change: float
) -> tuple[bool, float]:
    """Whether to accept a step that raised the dual by ``increase`` and |v|^2 by ``norm_change``,
    and the learning rate of the next attempt (if not) or visit (if so).

    Halving is Collins et al. 2008, section 7. Quadratic: along the step the dual is about slope t -
    bend t^2, with t = 1 here, so the best rate is slope / (2 bend) of this one. ``relaxation``
    multiplies it; at 2 the dual would not rise at all.
    """
    noise = _ROUNDING * (1.0 + abs(norm_change) / rule.c)
    accepted = increase >= -noise
    if not rule.quadratic or abs(slope) <= noise:  # slope and bend would be rounding errors
        return accepted, min(rule.largest, eta * rule.growth) if accepted else max(
            _SMALLEST_ETA, eta / 2
        )
    bend = slope - increase
    factor = _MAX_ETA_GROWTH
    if slope < 0.0:
        factor = 0.5
    elif bend > 0.0:
        factor = min(_MAX_ETA_GROWTH, max(_MIN_ETA_GROWTH, rule.relaxation * slope / (2.0 * bend)))
    if not accepted:
        factor = min(0.5, factor)
    return accepted, min(rule.largest, max(_SMALLEST_ETA, eta * factor))


@njit(fast=True)
def store_step(buffers: StepBuffers) -> None:
    """Store the trial theta and its marginals."""
    theta, trial, stored, changes = buffers.theta, buffers.trial, buffers.stored, buffers.changes
    for r in range(theta.shape[0]):
        theta[r] = trial[r]
        stored[r] -= changes[r]


@njit
def record_gain(duals: DualVariables, i: int, value: float, increase: float) -> None:
    """Record the value and the gain of example i after an accepted step."""
    duals.value[i] = value
    duals.gain[i] = max(increase, _GAIN_DECAY * duals.gain[i])
