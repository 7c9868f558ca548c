"""Saved states of learners: a learner that continues from one makes the same passes, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners.small_problems import sequences, trees

from egparse.fitting.checkpoints.learners import CHECKPOINTED, pack_learner, restore_learner
from egparse.fitting.checkpoints.record_file import opened, write_record
from egparse.fitting.checkpoints.states import Packer
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.problem import VectorProblem
from egparse.learners.registry import LEARNERS, build

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "eg-online": [{}, {"published": True}],
    "dca": [{}, {"averaged": False}],
    "mira": [{"k": 1}, {"k": 3}],
    "perceptron": [{}, {"averaged": False}],
    "sgd": [{}, {"averaged": True}],
    "sag": [{}, {"saga": True}],
    "adagrad": [{"averaged": True}],
    "frank-wolfe": [{}, {"steps": "pairwise"}, {"averaged": True}],
    "parallel-gradient": [{"processes": False}],
    "parameter-mixing": [
        {"processes": False},
        {"inner": "sgd", "processes": False},
        {"inner": "eg-online", "passes": 3, "processes": False},
    ],
}
CASES = [
    (name, number, structure)
    for name, entry in LEARNERS.items()
    if name in CHECKPOINTED
    for number in range(len(OPTIONS.get(name, [{}])))
    for structure in ("sequences", "choices", "trees")
    if structure in entry.fits
]


def problem_of(structure: str) -> VectorProblem:
    """The problem; one attribute of sequences stands at every word, which some learners need."""
    if structure == "trees":
        return trees()
    return sequences(bigrams=structure == "sequences", constant=True)


def learner_of(name: str, number: int, problem: VectorProblem) -> Learner:
    loss = LEARNERS[name].loss
    margin = loss == "max-margin"
    config = LearnerConfig(beta=np.inf if margin else 1.0, gamma=float(margin), c=0.5, seed=3)
    return build(name, problem, config, **OPTIONS.get(name, [{}])[number])


def moved(path: Path, first: Learner, state: Any, second: Learner) -> Any:
    """The state of the first learner, written, and read into that of the second."""
    packer = Packer()
    write_record(path, pack_learner(first, state, packer), packer.arrays)
    fresh = second.initialise(3.0)
    with opened(path) as record:
        restore_learner(record, record.values, second, fresh)
    return fresh


def bits(learner: Any, state: Any) -> list[bytes]:
    """All that a learner shows: the model, its objective, its work."""
    certificate = learner.certificate(state)
    with learner.model_weights(state):
        vectors = [array.tobytes() for array in learner.problem.vectors()]
    return [*vectors, repr((certificate, state.scale)).encode()]


@pytest.mark.parametrize(("name", "number", "structure"), CASES)
def test_continuing_from_a_saved_state_changes_nothing(
    name: str, number: int, structure: str, tmp_path: Path
) -> None:
    first = learner_of(name, number, problem_of(structure))
    second = learner_of(name, number, problem_of(structure))
    state = first.initialise(3.0)
    for _ in range(2):
        first.iterate(state)
        bits(first, state)
    continued = moved(tmp_path / "state.zip", first, state, second)
    assert bits(second, continued) == bits(first, state)
    for _ in range(3):
        first.iterate(state)
        second.iterate(continued)
        assert bits(second, continued) == bits(first, state)
