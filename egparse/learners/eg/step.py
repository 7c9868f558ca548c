"""One step of online EG on the parts of one example: propose_step, evaluate_step, accept_step, keep.

Source: Collins et al. 2008, sections 4 and 7; see ``egparse.learners.eg.online`` for the dual.
Problems whose examples are short call these kernels from a compiled loop of their own
(``CompiledStepsProblem``), all others through ``OnlineEG.update``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.types import Floats, Shorts, Singles

FLOOR = 1e-7
"""A marginal moved by less leaves the weights alone until the moves add up."""
_ROUNDING = 1e-9  # relative rounding of a change of the dual, from duals stored as float32
_SMALLEST = 1e-6  # learning rate below which a step changes nothing that float32 can hold
_REMEMBERED = 0.3  # of the increase at the last visit, where this visit gained less
_WIDEST_STEP = 2.0  # times the learning rate, from one visit to the next
_NARROWEST_STEP = 0.1


class StepRule(NamedTuple):
    """How to step: ``c`` now in force, the loss, and how learning rates move (see ``EGConfig``)."""

    c: float
    max_margin: bool
    quadratic: bool
    growth: float
    relaxation: float
    largest: float
    attempts: int
    curvature: float


class DualVariables(NamedTuple):
    """``theta`` and ``marginals`` over all parts; ``value`` (entropy or expected cost), ``eta`` and
    ``gain`` of each example.

    ``gain`` is the increase of the dual at the last visit, or what is remembered of larger ones
    before.
    """

    theta: Singles
    marginals: Singles
    value: Floats
    eta: Floats
    gain: Floats


class StepBuffers(NamedTuple):
    """The parts of the example visited: duals, then this visit's scores F_i v, costs, trial theta,
    its marginals, and changes.
    """

    theta: Singles
    stored: Singles
    scores: Floats
    cost: Floats
    trial: Floats
    marginals: Floats
    changes: Floats


@njit(fast=True)
def propose_step(parts: StepBuffers, rule: StepRule, eta: float) -> None:
    """trial = theta - eta (theta - s / C), or theta + eta (cost + s / C), rounded as it will be
    stored.
    """
    theta, scores, cost, trial = parts.theta, parts.scores, parts.cost, parts.trial
    scale = eta / rule.c
    if rule.max_margin:
        for r in range(theta.shape[0]):
            trial[r] = np.float32(theta[r] + eta * cost[r] + scale * scores[r])
    else:
        kept = 1.0 - eta
        for r in range(theta.shape[0]):
            trial[r] = np.float32(kept * theta[r] + scale * scores[r])


@njit(fast=True)
def propose_step_in_groups(
    parts: StepBuffers, rule: StepRule, eta: float, groups: Shorts, open_mass: Floats
) -> None:
    """As ``propose`` for the log-linear loss, with a rate for each group of parts: eta / (1 + K u /
    C), u = sum over it of m (1 - m).

    A part whose theta moves by d moves its marginal m by m (1 - m) d, and so its own score by
    -|phi|^2 m (1 - m) d: the point theta = s / C that it makes for recedes, and the step of
    Newton's method is 1 / (1 + |phi|^2 m (1 - m) / C) of the way. K, the ``curvature``, stands for
    |phi|^2, less what alternatives have in common. Where just one part of every group is in a
    structure (the heads of a word), theta may be shifted by a constant within a group, and the rate
    of a group does not depend on it. ``open_mass`` is room for as many numbers as there are groups.
    """
    theta, stored, scores, trial = parts.theta, parts.stored, parts.scores, parts.trial
    for r in range(theta.shape[0]):
        open_mass[groups[r]] = 0.0
    for r in range(theta.shape[0]):
        m = min(np.float32(1.0), max(np.float32(0.0), stored[r]))
        open_mass[groups[r]] += m * (1.0 - m)
    for r in range(theta.shape[0]):
        own = eta / (1.0 + rule.curvature / rule.c * open_mass[groups[r]])
        trial[r] = np.float32(theta[r] + own * (scores[r] / rule.c - theta[r]))


@njit(fast=True)
def evaluate_step(
    parts: StepBuffers, rule: StepRule, log_z: float, constant: float
) -> tuple[float, float]:
    """Write changes = stored - marginals as they will be stored; return (value of the trial,
    slope).

    The value is taken at the marginals stored, not at the exact ones: v moves when they move, and
    entropy and v must not be booked apart. (log Z - theta . z is the entropy but for a square of
    the rounding; ``OnlineEG.certificate`` has the exact value.) The slope is the derivative of the
    dual in the marginals, times their move: what the step would gain were the dual linear.
    """
    theta, stored, scores, cost = parts.theta, parts.stored, parts.scores, parts.cost
    trial, marginals, changes = parts.trial, parts.marginals, parts.changes
    scale = 1.0 / rule.c
    value, slope = 0.0, 0.0
    for r in range(stored.shape[0]):
        before = np.float64(stored[r])
        move = before - np.float64(np.float32(marginals[r]))
        change = move if abs(move) > FLOOR else 0.0
        changes[r] = change
        if rule.max_margin:
            value += cost[r] * (before - change)
            slope -= change * (cost[r] + scale * scores[r])
        else:
            value -= trial[r] * (before - change)
            slope += change * (theta[r] - scale * scores[r])
    return value + (constant if rule.max_margin else log_z), slope


@njit
def accept_step(
    rule: StepRule, eta: float, increase: float, slope: float, grown: float
) -> tuple[bool, float]:
    """Whether to keep a step that raised the dual by ``increase``, and the learning rate of the
    next attempt or visit.

    Halving is Collins et al. 2008, section 7. Quadratic: along the step the dual is about slope t -
    bend t^2, with t = 1 here, so the best rate is slope / (2 bend) of this one; ``relaxation`` goes
    further, towards 2, where the dual is level.
    """
    noise = _ROUNDING * (1.0 + abs(grown) / rule.c)
    accepted = increase >= -noise
    if (
        not rule.quadratic or abs(slope) <= noise
    ):  # slope and bend are lost in rounding: they say nothing
        return accepted, min(rule.largest, eta * rule.growth) if accepted else max(
            _SMALLEST, eta / 2
        )
    bend = slope - increase
    factor = _WIDEST_STEP
    if slope < 0.0:
        factor = 0.5
    elif bend > 0.0:
        factor = min(_WIDEST_STEP, max(_NARROWEST_STEP, rule.relaxation * slope / (2.0 * bend)))
    if not accepted:
        factor = min(0.5, factor)
    return accepted, min(rule.largest, max(_SMALLEST, eta * factor))


@njit(fast=True)
def store_step(parts: StepBuffers) -> None:
    """Store the trial."""
    theta, trial, stored, changes = parts.theta, parts.trial, parts.stored, parts.changes
    for r in range(theta.shape[0]):
        theta[r] = trial[r]
        stored[r] -= changes[r]


@njit
def record_gain(duals: DualVariables, i: int, value: float, increase: float) -> None:
    """Book a kept step of example i."""
    duals.value[i] = value
    duals.gain[i] = max(increase, _REMEMBERED * duals.gain[i])
