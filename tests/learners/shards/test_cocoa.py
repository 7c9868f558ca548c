"""Training by shards: the optimum of one learner on all examples, a dual that never falls, a gap
that an independent computation confirms, and messages that are all that driver and shards share.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from learners.enumerated import random_problem
from learners.small_problems import FAMILY, sample_trees, sequences, trees
from parsing.test_second_order_problem import made
from tolerances import SINGLE, rounding

from egparse.errors import ConfigError
from egparse.experiments.learners.published_eg import PublishedConfig, PublishedEG
from egparse.learners.dca import DCA
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import Learner, LearnerConfig, divide
from egparse.learners.losses import NAMED, Loss
from egparse.learners.offset_problem import OffsetProblem
from egparse.learners.problem import Problem, read, squared_norm
from egparse.learners.sdca import SDCA, SDCAConfig
from egparse.learners.shards.changes import Change, FlatVector
from egparse.learners.shards.cocoa import (
    Arguments,
    Round,
    Shard,
    ShardedLearner,
    ShardedState,
    ShardsConfig,
    in_turn,
    sharded,
)

C = 2.0
DIGITS = rounding(1000, eps=SINGLE)
"""Marginals and hashed weights are float32; sums have up to 1000 parts."""


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "chain": sequences,
    "words": lambda: sequences(bigrams=False),
    "projective": trees,
    "non-projective": lambda: trees(kind="non-projective", single_root=False),
    "second order": lambda: made(seed=2).problem,
}
problems = pytest.mark.parametrize("name", PROBLEMS)

LEARNERS: dict[str, LearnerConfig] = {
    "eg": EGConfig(c=C),
    "eg by groups": EGConfig(c=C, search="quadratic", curvature=3.0, round_fraction=0.4),
    "sdca": SDCAConfig(c=C),
}
learners = pytest.mark.parametrize("local", LEARNERS.values(), ids=LEARNERS)


def kind_of(config: LearnerConfig) -> type[Learner]:
    """The class of the learner with a configuration."""
    kinds: tuple[type[Learner], ...] = (OnlineEG, SDCA, DCA, PublishedEG)
    return next(kind for kind in kinds if kind.config_type is type(config))


class Piped:
    """Shards that share no memory with the driver: everything is pickled on its way."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards, self.sent = shards, list[int]()

    def call(self, method: str, arguments: Arguments) -> list[Any]:
        if isinstance(arguments, tuple):
            arguments = [arguments] * len(self.shards)
        asked = [pickle.dumps(own) for own in arguments]
        answers = [
            pickle.dumps(getattr(shard, method)(*pickle.loads(own)))
            for shard, own in zip(self.shards, asked, strict=True)
        ]
        if method == "work":
            self.sent.append(sum(map(len, asked)) + sum(map(len, answers)))
        return [pickle.loads(own) for own in answers]


def piped(
    problem: Problem, examples: Sequence[slice], kind: type[Learner], config: LearnerConfig
) -> Piped:
    copies = [pickle.loads(pickle.dumps(problem.shard(e.start, e.stop))) for e in examples]
    return Piped([Shard(own, kind, config, k) for k, own in enumerate(copies)])


def begun(
    problem: Problem,
    local: LearnerConfig,
    shards: int = 2,
    connect: Any = in_turn,
    **settings: Any,
) -> tuple[ShardedLearner, ShardedState]:
    learner = sharded(
        problem, kind_of(local), local, ShardsConfig(shards=shards, **settings), connect
    )
    return learner, learner.initialise(3.0)


def optimum_of_one(problem: Problem, local: LearnerConfig, passes: int) -> float:
    learner: Any = kind_of(local)(problem, local)  # type: ignore[call-arg]
    state = learner.initialise(3.0)
    for _ in range(passes):
        learner.iterate(state)
    return float(learner.certificate(state).primal)


@problems
@learners
def test_shards_reach_the_optimum_of_one_learner(name: str, local: LearnerConfig) -> None:
    passes = 60
    wanted = optimum_of_one(PROBLEMS[name](), local, passes)
    learner, state = begun(PROBLEMS[name](), local, 2)
    for _ in range(passes):
        learner.iterate(state)
    found = learner.certificate(state)
    assert found.primal == pytest.approx(wanted, rel=1e-4)
    assert abs(found.relative_gap) <= 1e-4


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
@pytest.mark.parametrize("name", ["chain", "projective"])
def test_every_loss_has_its_optimum(name: str, beta: float, gamma: float) -> None:
    local = SDCAConfig(c=C, beta=beta, gamma=gamma)
    wanted = optimum_of_one(PROBLEMS[name](), local, 200)
    learner, state = begun(PROBLEMS[name](), local)
    for _ in range(200):
        learner.iterate(state)
    # Frank-Wolfe on the hinge comes near its optimum slowly; both stay above it
    tolerance = 1e-4 if math.isfinite(beta) else 2e-2
    assert learner.certificate(state).primal == pytest.approx(wanted, rel=tolerance)


@problems
@learners
@pytest.mark.parametrize("margin", [1.0, math.inf])
def test_the_dual_never_falls(name: str, local: LearnerConfig, margin: float) -> None:
    learner, state = begun(PROBLEMS[name](), local, 3, rounds=2, margin=margin)
    before, state.iteration = learner.dual(state, C), 1
    for turn in range(24):
        learner._round(state, turn % 2 / 2, (turn % 2 + 1) / 2, by_gain=False)
        assert learner.dual(state, C) >= before - DIGITS * (1 + abs(before))
        before = learner.dual(state, C)
        assert 1.0 <= state.sigma <= 3.0
        if margin == math.inf:
            assert state.sigma == 3.0
            assert state.undone == 0


@problems
@learners
def test_the_certificate_is_that_of_all_examples(name: str, local: LearnerConfig) -> None:
    problem = PROBLEMS[name]()
    learner, state = begun(problem, local, 3)
    for _ in range(3):
        learner.iterate(state)
    found = learner.certificate(state)
    # the primal by another path: example by example, at the v that the driver's problem holds
    loss, out = Loss(1.0, 0.0), np.empty(int(np.diff(problem.part_starts).max()))
    primal = squared_norm(problem) / (2 * C)
    for i in range(learner.n):
        scores = problem.scores(i) / C
        primal += loss.value(problem, i, scores, out[: len(scores)])
    assert found.primal == pytest.approx(primal, rel=DIGITS)
    # v is what the dual variables of the shards say, so the dual is a value of theirs
    again = problem.with_own_weights()
    shards = learner.transport.shards  # type: ignore[attr-defined]
    for shard, examples in zip(shards, learner.examples, strict=True):
        marginals, starts = shard.local.state.marginals, problem.part_starts
        first = starts[examples.start]
        for i in range(examples.start, examples.stop):
            again.add(i, problem.gold(i) - marginals[starts[i] - first : starts[i + 1] - first])
    assert read(again) == pytest.approx(read(problem), abs=1e-4)
    values = sum(shard.local.value for shard in shards)
    dual = values - squared_norm(again) / (2 * C)
    assert learner.dual(state, C) == pytest.approx(dual, rel=1e-5)
    # EG corrects it for the rounding of marginals
    assert found.dual == pytest.approx(dual, rel=1e-3)
    assert found.gap >= -DIGITS * primal


@problems
def test_how_shards_are_reached_changes_no_bit(name: str) -> None:
    ends = []
    for connect in (in_turn, piped):
        problem = PROBLEMS[name]()
        learner, state = begun(problem, EGConfig(c=C, anneal_from=5.0, seed=7), 3, connect)
        for _ in range(4):
            learner.iterate(state)
        found = learner.certificate(state)
        v = b"".join(array.tobytes() for array in problem.vectors())
        ends.append((v, found.primal, found.dual, state.bytes, state.rounds))
    assert ends[0] == ends[1]


def test_seed_and_number_of_shards_choose_the_path() -> None:
    def weights(seed: int, shards: int) -> bytes:
        problem = sample_trees(12)
        learner, state = begun(problem, EGConfig(c=C, seed=seed), shards)
        learner.iterate(state)
        return problem.weights.tobytes()

    assert weights(1, 2) == weights(1, 2)
    assert len({weights(1, 2), weights(2, 2), weights(1, 3)}) == 3


@learners
def test_a_round_that_is_undone_leaves_nothing(local: LearnerConfig) -> None:
    problem = trees()
    learner, _ = begun(problem, local)
    shard = learner.transport.shards[0]  # type: ignore[attr-defined]
    order = Round(None, 2.0, C, 0.0, 1.0)
    before = pickle.dumps(_variables(shard))
    first = shard.work(order)
    assert pickle.dumps(_variables(shard)) != before
    again = shard.work(order._replace(undo=True))
    assert pickle.dumps(again) == pickle.dumps(first)
    shard.local.undo()
    assert pickle.dumps(_variables(shard)) == before


def _variables(shard: Shard) -> list[Any]:
    state = shard.local.state
    fields = ("theta", "marginals", "value", "eta", "share")
    return [getattr(state, name).tolist() for name in fields if hasattr(state, name)]


def hand_over(learner: ShardedLearner, other: ShardedLearner) -> None:
    """Give v and the states of all shards, pickled, to another learner."""
    v = FlatVector.of(learner.problem).at(None)
    for shard, copy in zip(learner.transport.shards, other.transport.shards, strict=True):  # type: ignore[attr-defined]
        copy.set_state(pickle.loads(pickle.dumps(shard.state())), v)
    FlatVector.of(other.problem).put(v)


@learners
def test_a_shard_goes_on_from_its_state(local: LearnerConfig) -> None:
    first, second = sequences(), sequences()
    learner, state = begun(first, local, 2, piped)
    other, copied = begun(second, local, 2, piped)
    learner.iterate(state)
    learner.certificate(state)
    hand_over(learner, other)
    copied = pickle.loads(pickle.dumps(state))
    for driver, own in ((learner, state), (other, copied)):
        driver.iterate(own)
    assert read(first).tobytes() == read(second).tobytes()


def test_messages_follow_the_touched_features_and_not_the_width() -> None:
    def sent(bits: int) -> tuple[float, int]:
        problem = made(seed=3, bits=bits).problem
        learner, state = begun(problem, EGConfig(c=C), 2, piped)
        transport: Any = learner.transport
        learner.iterate(state)
        # the first message tells the shards all of v
        return max(transport.sent[1:]), int(np.count_nonzero(problem.weights))

    narrow, wide = sent(14), sent(20)
    assert wide[1] <= 1.2 * narrow[1]
    assert wide[0] <= 1.2 * narrow[0]
    # places and values of both shards' changes, there and back
    assert wide[0] <= 4 * 8 * wide[1] + 4000


def test_a_run_of_the_corpus_is_the_same_problem() -> None:
    for make in PROBLEMS.values():
        whole = make()
        n = len(whole.part_starts) - 1
        assert [own.stop for own in divide(whole, 3)][-1] == n
        for own in divide(whole, 3):
            part = whole.shard(own.start, own.stop)
            assert [a.shape for a in part.vectors()] == [a.shape for a in whole.vectors()]
            for i in range(own.start, own.stop):
                gold = whole.gold(i).copy()
                changes = gold - 0.25
                assert (part.gold(i - own.start) == gold).all()
                assert (part.cost(i - own.start) == whole.cost(i)).all()
                assert part.add(i - own.start, changes) == whole.add(i, changes)
                assert (part.scores(i - own.start) == whole.scores(i)).all()
            whole.reset()


@pytest.mark.parametrize("name", ["chain", "words", "projective"])
@pytest.mark.parametrize("loss", ["log-linear", "max-margin"])
def test_sums_by_threads_are_those_of_one(name: str, loss: Any) -> None:
    config = EGConfig.under(NAMED[loss], c=C)
    found = []
    for threads in (0, 3):
        problem: Any = PROBLEMS[name]()
        learner = OnlineEG(problem, config)
        learner.threads = max(1, threads)
        state = learner.initialise(3.0)
        for _ in range(3):
            learner.iterate(state)
        found.append((learner.certificate(state), read(problem).tobytes()))
    (one, weights), (other, same) = found
    assert weights == same
    assert other.primal == pytest.approx(one.primal, rel=1e-12)
    assert other.dual == pytest.approx(one.dual, rel=1e-12)


def test_targets_and_offsets_go_along() -> None:
    problem = trees()
    target = np.full(len(problem.gold(3)), 0.2)
    problem.set_target(3, target)
    offsets = np.linspace(-1, 1, int(problem.part_starts[-1])).astype(np.float32)
    whole = OffsetProblem(problem, offsets, beta=1.0, gamma=0.0)
    part = whole.shard(2, 5)
    assert (part.gold(1) == 0.2).all()
    potentials = np.zeros(len(target))
    one, other = np.empty((2, len(target)))
    assert part.marginals(1, potentials, one) == whole.marginals(3, potentials, other)
    assert (one == other).all()


def test_shards_have_runs_of_about_as_many_parts() -> None:
    problem = sample_trees(30)
    for shards in (1, 2, 7, 30):
        examples = divide(problem, shards)
        assert len(examples) == shards
        assert all(own.start < own.stop for own in examples)
        assert all(one.stop == two.start for one, two in itertools.pairwise(examples))
    sizes = [
        int(problem.part_starts[e.stop] - problem.part_starts[e.start]) for e in divide(problem, 2)
    ]
    assert max(sizes) <= 0.7 * sum(sizes)
    assert len(divide(problem, 1000)) == 30  # no more than there are examples


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_flat_vectors_say_what_changed(dtype: type) -> None:
    random = np.random.default_rng(1)
    arrays = [random.normal(size=shape).astype(dtype) for shape in ((3, 4), (70000,), (5,))]
    start = FlatVector([array.copy() for array in arrays])
    vector = start.like()
    vector.assign(start, 1 / 3)
    nothing = vector.change_since(start, 1 / 3).change
    assert len(nothing.values) == 0
    moved = np.array([0, 11, 12, 69000, 70012, 70016])
    vector.add(Change(moved.astype(np.uint32), np.ones(6, dtype)))
    change, slope, square = vector.change_since(start, 1 / 3)
    assert change.places is not None
    assert change.places.tolist() == moved.tolist()
    assert change.values == pytest.approx(1.0, abs=1e-5)
    norm = float(np.sum(np.concatenate([a.reshape(-1) for a in start.arrays]).astype(float) ** 2))
    assert square == pytest.approx(float(change.values @ change.values), rel=1e-5)
    change.values.flags.writeable = change.places.flags.writeable = False  # as Ray delivers them
    grown, was = start.add(change)
    assert grown == pytest.approx(6 * slope + square, abs=1e-3)
    after = np.concatenate(start.arrays).astype(float)
    assert float(after @ after) - norm == pytest.approx(grown, abs=1e-6 * norm)
    start.put(was)
    vector.assign(start, 1 / 3)
    assert len(vector.change_since(start, 1 / 3).change.values) == 0
    vector.add(Change(moved.astype(np.uint32), np.ones(6, dtype)))
    assert all((a == b.reshape(-1)).all() for a, b in zip(start.arrays, arrays, strict=True))


def test_a_change_of_most_entries_is_sent_without_their_numbers() -> None:
    vector = FlatVector([np.zeros(100, dtype=np.float32)])
    start = vector.like()
    vector.arrays[0][:90] = 1.0
    change = vector.change_since(start, 1.0).change
    assert change.places is None
    assert change.bytes == 400
    assert start.add(change)[0] == 90.0


def test_what_shards_cannot_do_is_refused() -> None:
    with pytest.raises(ConfigError, match="divided among several jobs, got EnumeratedProblem"):
        begun(random_problem(1), EGConfig(c=C))
    with pytest.raises(
        ConfigError, match=r"several jobs \(eg-online, sdca, dca\), got PublishedEG"
    ):
        begun(trees(), PublishedConfig())
    for wrong in ({"shards": 0}, {"rounds": 0}, {"margin": 0.5}):
        with pytest.raises(ConfigError, match="at least 1"):
            replace(ShardsConfig(shards=2), **wrong)
