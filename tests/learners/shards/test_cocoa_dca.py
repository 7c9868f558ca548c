"""Dual coordinate ascent with new dual variables by shards: the steps of one learner where there is
one shard, a dual that never falls and bounds the optimum, and the average over all visits.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from learners.shards.test_cocoa import (
    DIGITS,
    PROBLEMS,
    C,
    hand_over,
    kind_of,
    optimum_of_one,
    piped,
    problems,
)
from learners.small_problems import FAMILY, sequences, trees

from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.problem import Problem, read
from egparse.learners.sdca import SDCAConfig
from egparse.learners.shards.cocoa import (
    LocalDCA,
    Round,
    ShardedDCA,
    ShardedState,
    ShardsConfig,
    in_turn,
)
from egparse.types import Floats

CONFIG = DCAConfig(c=C)


def begun(
    problem: Problem,
    config: DCAConfig = CONFIG,
    shards: int = 2,
    connect: Any = in_turn,
    **settings: Any,
) -> tuple[ShardedDCA, ShardedState]:
    learner = ShardedDCA(
        problem, kind_of(config), config, ShardsConfig(shards=shards, **settings), connect
    )
    return learner, learner.initialise()


def locals_of(learner: ShardedDCA) -> list[LocalDCA]:
    return [shard.local for shard in learner.transport.shards]  # type: ignore[attr-defined]


@problems
def test_one_shard_is_the_learner_itself(name: str) -> None:
    alone = DCA(PROBLEMS[name](), CONFIG)
    plain = alone.initialise()
    learner, state = begun(PROBLEMS[name](), CONFIG, 1, rounds=3)
    for one in locals_of(learner):  # whose seeds differ
        one._now.generator = np.random.default_rng(CONFIG.seed)
    for _ in range(3):
        alone.iterate(plain)
        learner.iterate(state)
    wanted, found = alone.certificate(plain), learner.certificate(state)
    # the scores of v / C are rounded elsewhere than those of w, and small steps amplify that
    assert found.primal == pytest.approx(wanted.primal, rel=1e-3)
    for detail in ("online_loss", "lower_bound"):
        assert found.details[detail] == pytest.approx(wanted.details[detail], rel=1e-3)
    with alone.model_weights(plain), learner.model_weights(state):
        size = float(np.abs(read(alone.problem)).max())
        assert read(learner.problem) / C == pytest.approx(read(alone.problem), abs=1e-2 * size)


@problems
@pytest.mark.parametrize("margin", [1.0, math.inf])
def test_the_dual_never_falls_and_bounds_the_optimum(name: str, margin: float) -> None:
    optimum = optimum_of_one(PROBLEMS[name](), SDCAConfig(c=C), 60)
    learner, state = begun(PROBLEMS[name](), shards=3, rounds=2, margin=margin)
    before = 0.0
    for _ in range(6):
        for begin in (0.0, 0.5):
            learner._round(state, begin, begin + 0.5, by_gain=False)
            assert learner.dual(state) >= before - DIGITS * (1 + abs(before))
            before = learner.dual(state)
        state.iteration += 1
        assert learner.dual(state) / state.iteration <= optimum * (1 + 1e-6)
    assert before > 0


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
def test_every_loss_of_the_family_bounds_its_optimum(beta: float, gamma: float) -> None:
    optimum = optimum_of_one(trees(), SDCAConfig(c=C, beta=beta, gamma=gamma), 300)
    learner, state = begun(trees(), DCAConfig(c=C, beta=beta, gamma=gamma))
    for _ in range(10):
        learner.iterate(state)
        found = learner.certificate(state)
        assert 0 < found.details["lower_bound"] <= optimum * (1 + 1e-6)
        assert found.primal >= found.details["lower_bound"]


@problems
@pytest.mark.parametrize("averaged", [True, False])
def test_how_shards_are_reached_changes_no_bit(name: str, averaged: bool) -> None:
    ends = []
    for connect in (in_turn, piped):
        problem = PROBLEMS[name]()
        learner, state = begun(problem, DCAConfig(c=C, averaged=averaged, seed=7), 3, connect)
        for _ in range(3):
            learner.iterate(state)
        found = learner.certificate(state)
        with learner.model_weights(state):
            of_model = read(problem).tobytes()
        ends.append((of_model, read(problem).tobytes(), found, state.bytes, state.rounds))
    assert ends[0] == ends[1]
    assert (ends[0][0] == ends[0][1]) != averaged


def test_the_average_is_that_of_all_visits() -> None:
    problem = sequences(bigrams=False, listed=False, lengths=[1] * 30)
    learner, state = begun(problem, shards=2, rounds=3)
    seen: list[list[Floats]] = [[], []]
    starts: list[tuple[float, Floats]] = []
    for own, one in zip(seen, locals_of(learner), strict=True):
        u = one.learner.problem
        one.learner.attendant = lambda _, i, u=u, own=own: own.append(read(u).copy())
    for _ in range(3):
        for number in range(3):
            starts.append((state.sigma, read(problem).copy()))
            learner._round(state, number / 3, (number + 1) / 3, by_gain=False)
        state.iteration += 1
    # before each visit v is that of the round's start, and what both shards have added: u - v / s'
    visits = [len(own) // len(starts) for own in seen]
    assert visits == [5, 5]
    wanted = np.zeros_like(starts[0][1])
    for turn, (sigma, v) in enumerate(starts):
        for t in range(turn * visits[0], (turn + 1) * visits[0]):
            wanted += v + sum(own[t] - v / sigma for own in seen)
    with learner.model_weights(state):
        average = read(problem).copy()
    assert average == pytest.approx(wanted / len(seen[0]), abs=1e-4)
    assert average != pytest.approx(read(problem), abs=1e-2)


def test_weights_are_averaged_once_and_set_back() -> None:
    learner, state = begun(trees())
    learner.iterate(state)
    before = read(learner.problem).tobytes()
    with learner.model_weights(state):
        inside = read(learner.problem).tobytes()
        with learner.model_weights(state):
            assert read(learner.problem).tobytes() == inside
        assert read(learner.problem).tobytes() == inside
    assert read(learner.problem).tobytes() == before != inside


def _variables(one: LocalDCA) -> bytes:
    state = one.state
    plain: Sequence[Any] = (state.moments.tolist(), state.count, state.value, state.tally)
    return pickle.dumps(plain)


def test_a_round_that_is_undone_leaves_nothing() -> None:
    learner, _ = begun(trees())
    shard = learner.transport.shards[0]  # type: ignore[attr-defined]
    order = Round(None, 2.0, C, 0.0, 1.0)
    shard.work(order)
    before = _variables(shard.local)
    first = shard.work(order._replace(begin=0.5))
    assert _variables(shard.local) != before
    again = shard.work(order._replace(begin=0.5, undo=True))
    assert pickle.dumps(again) == pickle.dumps(first)
    shard.local.undo()
    assert _variables(shard.local) == before


def test_a_shard_goes_on_from_its_state() -> None:
    first, second = PROBLEMS["chain"](), PROBLEMS["chain"]()
    learner, state = begun(first, connect=piped)
    other, _ = begun(second, connect=piped)
    learner.iterate(state)
    learner.certificate(state)
    hand_over(learner, other)
    copied = pickle.loads(pickle.dumps(state))
    ends = []
    for driver, own in ((learner, state), (other, copied)):
        driver.iterate(own)
        with driver.model_weights(own):
            ends.append(read(driver.problem).tobytes())
    assert ends[0] == ends[1]
