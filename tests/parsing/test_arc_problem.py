"""Steps and sums over sentences in one call of a kernel: those of the generic learner."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from learners.small_problems import sample_trees
from learners.small_problems import trees as small_trees
from tolerances import SINGLE, rounding

from egparse.learners.eg.online import EGConfig, EGState, OnlineEG
from egparse.learners.problem import Problem
from egparse.parsing.arc_problem import TreeProblem

SETTINGS = {
    "halving": EGConfig(c=0.5, eta=8.0),
    "groups": EGConfig(c=0.5, eta=8.0, search="quadratic", curvature=3.0, round_fraction=0.4),
}
DIGITS = rounding(1000, eps=SINGLE)
settings = pytest.mark.parametrize("config", SETTINGS.values(), ids=SETTINGS)


def made(kind: Literal["projective", "non-projective"]) -> TreeProblem:
    return sample_trees(25) if kind == "projective" else small_trees(kind=kind)


def learned(problem: TreeProblem, config: EGConfig, *, one_call: bool) -> tuple[OnlineEG, EGState]:
    learner = OnlineEG(problem, config)
    if not one_call:
        learner.attendant = lambda state, i: None  # which only ``update`` calls
    state = learner.initialise(1.0)
    for _ in range(4):
        learner.iterate(state)
    return learner, state


@settings
@pytest.mark.parametrize("kind", ["projective", "non-projective"])
def test_a_visit_is_the_generic_step(
    kind: Literal["projective", "non-projective"], config: EGConfig
) -> None:
    first, second = made(kind), made(kind)
    assert first.offers("sweep")
    _, one = learned(first, config, one_call=True)
    _, other = learned(second, config, one_call=False)
    assert one.evaluations > 4 * len(first.part_starts[1:])  # some steps were tried again
    # compiled into one kernel, sums are taken in another order
    assert one.evaluations == other.evaluations
    assert one.squared_norm == pytest.approx(other.squared_norm, rel=DIGITS)
    assert first.weights == pytest.approx(second.weights, abs=1e-5)
    assert one.theta == pytest.approx(other.theta, abs=1e-5)
    assert one.eta == pytest.approx(other.eta, rel=1e-5)
    assert (one.single_rate == other.single_rate).all()


@settings
@pytest.mark.parametrize("kind", ["projective", "non-projective"])
def test_a_shard_makes_the_same_steps_in_one_call(
    kind: Literal["projective", "non-projective"], config: EGConfig
) -> None:
    whole = made(kind)
    n = len(whole.part_starts) - 1
    part = whole.shard(0, n)
    assert isinstance(part, TreeProblem)
    one, state = learned(part, config, one_call=True)
    other, generic = learned(whole, config, one_call=False)
    assert state.evaluations == generic.evaluations
    assert part.weights == pytest.approx(whole.weights, abs=1e-4)
    generic_sums = Problem.sums(whole, config.c, other.loss, generic.duals)
    size = abs(generic_sums[0])
    for sums in (one.sums(state, config.c), other.sums(generic, config.c)):
        assert sums == pytest.approx(generic_sums, rel=DIGITS, abs=DIGITS * size)


def test_other_losses_take_the_generic_step() -> None:
    config = replace(SETTINGS["halving"], beta=np.inf, gamma=1.0)
    problem = sample_trees(5)
    learner = OnlineEG(problem, config)
    state = learner.initialise(1.0)
    learner.iterate(state)
    assert np.isfinite(learner.certificate(state).gap)
