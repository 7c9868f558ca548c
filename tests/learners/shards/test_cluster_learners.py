"""Learners that sum over shards on a cluster, or mix what was learned there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from learners.small_problems import sequences

from egparse.config.sections import TaggerConfig
from egparse.errors import ConfigError
from egparse.experiments.learners.mixing_once import mix
from egparse.fitting.choose_learner import build_learner
from egparse.fitting.jobs import Jobs, working_with
from egparse.learners.learner import LearnerConfig, divide
from egparse.learners.registry import build
from egparse.learners.sgd import copies, restore

if TYPE_CHECKING:
    from egparse.learners.shards.on_cluster import Crew


def trained(name: str, options: dict[str, Any], passes: int, jobs: Jobs) -> tuple[Any, Any]:
    """v and the certificate after some passes."""
    problem = sequences()
    with working_with(jobs):
        learner = build_learner(problem, TaggerConfig(learner=name, c=1.0, options=options), 1)
        state = learner.initialise(3.0)
        for _ in range(passes):
            learner.iterate(state)
        certificate = learner.certificate(state)
        with learner.model_weights(state):
            return copies(problem), certificate


def test_gradients_are_summed_over_the_workers(crew: Crew) -> None:
    optimum = build("eg-online", sequences(), LearnerConfig(c=1.0))
    state = optimum.initialise(3.0)
    for _ in range(60):
        optimum.iterate(state)
    primal = optimum.certificate(state).primal
    for name in ("lbfgs", "parallel-gradient"):
        _, found = trained(name, {}, 30, Jobs(2, crew, crew.gather))
        assert found.relative_gap < 1e-4
        assert abs(found.primal - primal) < 1e-4 * primal


@pytest.mark.parametrize("iterated", [True, False], ids=["iterated", "one-shot"])
def test_weights_are_mixed_as_one_machine_would(crew: Crew, iterated: bool) -> None:
    options = {"inner": "sgd", "eta0": 0.1, "iterated": iterated}
    found, _ = trained("parameter-mixing", options, 2, Jobs(2, crew, crew.gather))
    assert all(map(np.array_equal, found, _mixed_here(iterated)))


def _mixed_here(iterated: bool) -> Any:
    """Two passes of SGD over each of two shards, mixed after each pass or once."""
    problem = sequences()
    n = len(problem.part_starts) - 1
    own = [problem.shard(part.start, part.stop) for part in divide(problem, 2)]
    weights = [copies(shard) for shard in own]
    updates = [0, 0]
    for number in range(2):
        start = mix(weights)
        for p, shard in enumerate(own):
            restore(shard, start if iterated else weights[p])
            size = len(shard.part_starts) - 1
            learner: Any = build("sgd", shard, LearnerConfig(c=1.0 * size / n), eta0=0.1)
            state = learner.resume(np.random.default_rng([1, p, number]), updates[p], 0.1)
            learner.iterate(state)
            learner.fold(state)
            updates[p], weights[p] = state.updates, copies(shard)
    restore(problem, mix(weights))
    return copies(problem)


def test_learners_that_cannot_be_divided_learn_here_or_are_refused() -> None:
    def none(*arguments: Any) -> Any:
        raise AssertionError("no shards are made")

    trained("mira", {}, 1, Jobs(2, none, none))
    with pytest.raises(ConfigError, match="perceptron or sgd on a cluster, got 'eg-online'"):
        trained("parameter-mixing", {"inner": "eg-online"}, 1, Jobs(2, none, none))
