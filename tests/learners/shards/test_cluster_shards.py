"""Shards on the nodes of a cluster: the same bits as in one process, whatever is lost meanwhile."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from learners.shards.nodes import Nodes
from learners.shards.test_cocoa import kind_of
from learners.small_problems import sample_trees, sequences

from egparse.learners.dca import DCAConfig
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.sdca import SDCAConfig
from egparse.learners.shards.changes import FlatVector
from egparse.learners.shards.cocoa import Connect, ShardedLearner, ShardsConfig, in_turn, sharded

if TYPE_CHECKING:
    from egparse.learners.shards.on_cluster import Crew

PASSES = 3


def trained(
    make: Callable[[], Problem],
    config: LearnerConfig,
    connect: Connect,
    disturb: Callable[[int, Any], None] = lambda number, transport: None,
    passes: int = PASSES,
) -> tuple[list[Any], list[tuple[float, float]]]:
    """v after some passes, and primal and dual after each; ``disturb`` is called before them."""
    problem = make()
    learner = sharded(problem, kind_of(config), config, ShardsConfig(shards=2, rounds=4), connect)
    state, found = learner.initialise(3.0), []
    for number in range(passes):
        disturb(number, learner.transport)
        learner.iterate(state)
        certificate = learner.certificate(state)
        found.append((certificate.primal, certificate.dual))
    return [array.copy() for array in problem.vectors()], found


def same(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return one[1] == other[1] and all(map(np.array_equal, one[0], other[0]))


@pytest.mark.parametrize("config", [EGConfig(c=1.0), DCAConfig(c=1.0)], ids=["eg", "dca"])
def test_a_worker_that_dies_is_replaced_and_nothing_changes(
    config: LearnerConfig, crew: Crew
) -> None:
    import ray

    def kill(number: int, transport: Any) -> None:
        if number:
            ray.kill(transport.workers[number % 2], no_restart=False)

    disturbed = trained(sample_trees, config, crew.connect, kill)
    assert same(disturbed, trained(sample_trees, config, in_turn))


def test_a_node_that_dies_is_replaced_and_nothing_changes(cluster: Nodes, crew: Crew) -> None:
    def lose(number: int, transport: Any) -> None:
        if number == 1:
            cluster.lose()

    config = SDCAConfig(c=1.0)
    disturbed = trained(sample_trees, config, crew.connect, lose)
    assert same(disturbed, trained(sample_trees, config, in_turn))


def test_a_shard_goes_on_from_a_state_that_was_gathered(crew: Crew) -> None:
    config, problem = EGConfig(c=1.0), sequences()
    learner = ShardedLearner(problem, OnlineEG, config, ShardsConfig(shards=2), crew.connect)
    state = learner.initialise(3.0)
    learner.iterate(state)
    gathered = learner.transport.call("state", [()] * 2)
    saved, v = copy.deepcopy(state), [array.copy() for array in problem.vectors()]
    learner.iterate(state)

    other = ShardedLearner(
        again := sequences(), OnlineEG, config, ShardsConfig(shards=2), crew.connect
    )
    other.initialise(3.0)
    for array, values in zip(again.vectors(), v, strict=True):
        array[...] = values
    whole = FlatVector.of(again).at(None)
    other.transport.call("set_state", [(own, whole) for own in gathered])
    other.iterate(saved)
    assert all(map(np.array_equal, again.vectors(), problem.vectors()))


def test_the_optimum_is_that_of_one_machine(crew: Crew) -> None:
    config = EGConfig(c=1.0)
    _, found = trained(sequences, config, crew.connect, passes=40)
    alone = OnlineEG(sequences(), config)
    state = alone.initialise(3.0)
    for _ in range(40):
        alone.iterate(state)
    optimum = alone.certificate(state)
    # the gap is certified, and the optimum lies between primal and dual
    assert found[-1][0] - found[-1][1] <= 1e-4 * abs(optimum.dual)
    assert abs(found[-1][0] - optimum.primal) <= 1e-4 * abs(optimum.dual)


def test_a_shard_that_comes_back_with_other_numbers_is_refused() -> None:
    pytest.importorskip("ray")
    from egparse.errors import EgparseError
    from egparse.learners.shards import on_cluster

    worker = on_cluster._Worker()
    call = on_cluster._Call("work", None, 1.5)

    class Other:
        value = 1.25

    worker._shard = type("Shard", (), {"work": lambda self: Other})()  # type: ignore[assignment]
    with pytest.raises(EgparseError, match=r"expected a node .* got 1.25 for 1.5"):
        worker._repeat(call, ())
