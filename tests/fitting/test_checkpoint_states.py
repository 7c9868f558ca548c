"""Saved states of learners: a learner that continues from one makes the same passes, bit by bit."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners.shards.test_cocoa import kind_of
from learners.small_problems import sequences, trees

from egparse.errors import EgparseError
from egparse.experiments.learners.sdca import SDCAConfig
from egparse.fitting.checkpoints.learners import CHECKPOINTED, pack_learner, restore_learner
from egparse.fitting.checkpoints.record_file import opened, write_record
from egparse.fitting.checkpoints.states import CannotBeSaved, Packer, Unpacker
from egparse.learners.dca import DCAConfig
from egparse.learners.eg.online import EGConfig
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.problem import Problem
from egparse.learners.registry import LEARNERS, build
from egparse.learners.shards.cocoa import ShardsConfig, in_turn, sharded

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


def problem_of(structure: str) -> Problem:
    """The problem; one attribute of sequences stands at every word, which some learners need."""
    if structure == "trees":
        return trees()
    return sequences(bigrams=structure == "sequences", constant=True)


def learner_of(name: str, number: int, problem: Problem) -> Learner:
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


@pytest.mark.parametrize(
    "config", [EGConfig(c=2.0), SDCAConfig(c=2.0), DCAConfig(c=2.0)], ids=["eg", "sdca", "dca"]
)
@pytest.mark.parametrize("structure", ["sequences", "trees"])
def test_shards_continue_too(structure: str, config: LearnerConfig, tmp_path: Path) -> None:
    first, second = (
        sharded(problem_of(structure), kind_of(config), config, ShardsConfig(shards=2), in_turn)
        for _ in range(2)
    )
    state = first.initialise(3.0)
    for _ in range(2):
        first.iterate(state)
    continued = moved(tmp_path / "state.zip", first, state, second)
    for _ in range(3):
        assert bits(second, continued) == bits(first, state)
        first.iterate(state)
        second.iterate(continued)


def test_what_cannot_be_saved_is_named() -> None:
    class Other:
        pass

    for value, name in [(Other(), "Other"), (print, "builtin"), (np.array([None]), "ndarray")]:
        with pytest.raises(CannotBeSaved, match=name):
            Packer().pack([1.5, {"a": (value,)}])


def test_values_keep_their_types_and_what_is_shared_stays_shared(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3)
    values = [True, 7, 1 << 100, -0.0, np.inf, "a", None, b"key", np.float32(0.1), np.int16(3)]
    values += [(1, [2]), {1: "b", b"c": array}, array, np.asfortranarray(array), array[:0]]
    packer = Packer()
    write_record(tmp_path / "values.zip", packer.pack(values), packer.arrays)
    with opened(tmp_path / "values.zip") as record:
        found = Unpacker(record).unpack(record.values)
    assert repr(found) == repr(values)
    assert [type(one) for one in found] == [type(one) for one in values]
    assert found[12] is found[11][b"c"]
    assert found[13].flags.f_contiguous


def test_arrays_that_were_one_at_the_start_may_become_two(tmp_path: Path) -> None:
    one = np.zeros(3)
    packer = Packer()
    write_record(tmp_path / "a.zip", packer.pack([np.full(3, 1.0), np.full(3, 2.0)]), packer.arrays)
    with opened(tmp_path / "a.zip") as record:
        first, second = Unpacker(record).unpack(record.values, [one, one])
    assert first is one
    assert (first.tolist(), second.tolist()) == ([1.0] * 3, [2.0] * 3)


FOREIGN = [
    {"object": ["subprocess.Popen", {"args": "true"}]},
    {"object": ["egparse.errors.EgparseError", {}]},
    {"object": ["egparse.not_loaded.Thing", {}]},
    {"object": ["egparse.learners.dca.DCAState", {"__class__": 1}]},
    {"object": ["egparse.learners.dca.np", {}]},
    {"named": ["egparse.learners.dca.DCAState", []]},
    {"number": ["object", 1]},
    {"generator": {"bit_generator": "PCG64"}},
    {"same": 5},
    {"array": 3},
    {"array": "../a"},
    {"bytes": "xy"},
    {"problem": []},
    {"unknown": 1},
    {},
    [1],
]


@pytest.mark.parametrize("packed", FOREIGN, ids=str)
def test_foreign_content_is_refused(packed: Any, tmp_path: Path) -> None:
    path = tmp_path / "foreign.zip"
    write_record(path, packed, [np.zeros(2)])
    refused = pytest.raises(EgparseError, match=r"foreign\.zip: expected a checkpoint of this run")
    with refused, opened(path) as record:
        Unpacker(record).unpack(record.values)


def test_arrays_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.zip"
    with pytest.raises(TypeError):
        write_record(path, None, [np.array([None])])
    for header in (
        {"descr": "|O", "fortran_order": False, "shape": (1,)},
        {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)},
        {"descr": "<f8", "fortran_order": False, "shape": (-1,)},
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("values.json", "null")
            with archive.open("0.npy", "w") as member:
                np.lib.format.write_array_header_1_0(member, header)
                member.write(bytes(8))
        with pytest.raises(EgparseError, match="expected a checkpoint"), opened(path) as record:
            record.array(0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("values.json", "0" * 10**6)
    with pytest.raises(EgparseError, match="no compression"), opened(path):
        pass
