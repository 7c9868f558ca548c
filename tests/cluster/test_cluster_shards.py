"""Shards on the nodes of a cluster: the same bits as in one process, whatever is lost meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cluster.nodes import Nodes
from learners.small_problems import sample_trees, sequences

from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.problem import VectorProblem
from egparse.learners.sdca import SDCAConfig
from egparse.learners.shards.learner import ShardedLearner, ShardsConfig
from egparse.learners.shards.transport import Connect, in_turn

PASSES = 3


def trained(
    make: Callable[[], VectorProblem],
    config: EGConfig | SDCAConfig,
    connect: Connect,
    disturb: Callable[[int, Any], None] = lambda number, transport: None,
    passes: int = PASSES,
) -> tuple[list[Any], list[tuple[float, float]]]:
    """v after some passes, and primal and dual after each; ``disturb`` is called before them."""
    problem = make()
    learner = ShardedLearner(problem, config, ShardsConfig(shards=2, rounds=4), connect)
    state, found = learner.initialise(3.0), []
    for number in range(passes):
        disturb(number, learner.transport)
        learner.iterate(state)
        certificate = learner.certificate(state)
        found.append((certificate.primal, certificate.dual))
    return [array.copy() for array in problem.vectors()], found


def same(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return one[1] == other[1] and all(map(np.array_equal, one[0], other[0]))


def test_a_worker_that_dies_is_replaced_and_nothing_changes(cluster: Nodes) -> None:
    import ray

    from egparse.cluster.shards import Crew

    def kill(number: int, transport: Any) -> None:
        if number:
            ray.kill(transport.workers[number % 2], no_restart=False)

    config = EGConfig(c=1.0)
    with Crew(snapshot_every=3) as crew:
        disturbed = trained(sample_trees, config, crew, kill)
        # the same workers, and another problem
        assert same(trained(sequences, config, crew), trained(sequences, config, in_turn))
    assert same(disturbed, trained(sample_trees, config, in_turn))


def test_a_node_that_dies_is_replaced_and_nothing_changes(cluster: Nodes) -> None:
    from egparse.cluster.shards import Crew

    def lose(number: int, transport: Any) -> None:
        if number == 1:
            cluster.lose()

    config = SDCAConfig(c=1.0)
    with Crew() as crew:
        disturbed = trained(sample_trees, config, crew, lose)
    assert same(disturbed, trained(sample_trees, config, in_turn))


def test_the_optimum_is_that_of_one_machine(cluster: Nodes) -> None:
    from egparse.cluster.shards import Crew

    config = EGConfig(c=1.0)
    with Crew() as crew:
        _, found = trained(sequences, config, crew, passes=40)
    problem = sequences()
    alone = OnlineEG(problem, config)
    state = alone.initialise(3.0)
    for _ in range(40):
        alone.iterate(state)
    optimum = alone.certificate(state)
    # both gaps are certified, and the optimum lies between primal and dual of each
    assert found[-1][0] - found[-1][1] <= 1e-4 * abs(optimum.dual)
    assert abs(found[-1][0] - optimum.primal) <= 1e-4 * abs(optimum.dual)


def test_a_shard_that_comes_back_with_other_numbers_is_refused() -> None:
    pytest.importorskip("ray")
    from egparse.cluster import shards
    from egparse.errors import EgparseError

    worker = shards._Worker()
    call = shards._Call("work", None, 1.5)

    class Other:
        value = 1.25

    worker._shard = type("Shard", (), {"work": lambda self: Other})()  # type: ignore[assignment]
    with pytest.raises(EgparseError, match=r"expected a node .* got 1.25 for 1.5"):
        worker._repeat(call, ())
