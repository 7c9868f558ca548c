"""Learners that sum over shards on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learners.small_problems import sequences

from egparse.config.sections import TaggerConfig
from egparse.fitting.choose_learner import build_learner
from egparse.fitting.jobs import Jobs, working_with
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build
from egparse.learners.sgd import copies

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
    _, found = trained("lbfgs", {}, 30, Jobs(2, crew, crew.gather))
    assert found.relative_gap < 1e-4
    assert abs(found.primal - primal) < 1e-4 * primal


def test_learners_that_cannot_be_divided_learn_here() -> None:
    def none(*arguments: Any) -> Any:
        raise AssertionError("no shards are made")

    trained("mira", {}, 1, Jobs(2, none, none))
