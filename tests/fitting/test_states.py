"""Saved states: shards that continue from one make the same passes, and what is foreign is refused.
``tests/learners/test_learner_laws.py`` continues all learners.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from learners.shards.test_cocoa import kind_of
from learners.small_problems import sequences, trees

from egparse.errors import EgparseError
from egparse.fitting.states import (
    CannotBeSaved,
    opened,
    plain,
    restore_learner,
    saved_learner,
    write_record,
)
from egparse.learners.dca import DCAConfig
from egparse.learners.eg.online import EGConfig
from egparse.learners.learner import LearnerConfig
from egparse.learners.sdca import SDCAConfig
from egparse.learners.shards.cocoa import ShardsConfig, in_turn, sharded


@pytest.mark.parametrize(
    "config", [EGConfig(c=2.0), SDCAConfig(c=2.0), DCAConfig(c=2.0)], ids=["eg", "sdca", "dca"]
)
@pytest.mark.parametrize("problem", [sequences, trees])
def test_shards_continue_as_they_would_have(
    problem: Any, config: LearnerConfig, tmp_path: Path
) -> None:
    first, second = (
        sharded(problem(), kind_of(config), config, ShardsConfig(shards=2), in_turn)
        for _ in range(2)
    )
    state, fresh = (learner.initialise(3.0) for learner in (first, second))
    for _ in range(2):
        first.iterate(state)
    arrays: list[Any] = []
    saved = saved_learner(first, state, arrays)
    write_record(tmp_path / "state.zip", saved, arrays)
    with opened(tmp_path / "state.zip") as record:
        restore_learner(record, record.values, second, fresh)
    for _ in range(3):
        assert first.certificate(state) == second.certificate(fresh)
        first.iterate(state)
        second.iterate(fresh)
        for one, other in zip(first.problem.vectors(), second.problem.vectors(), strict=True):
            assert one.tobytes() == other.tobytes()


class Pair(NamedTuple):
    """Two arrays."""

    first: Any
    second: Any


@dataclass
class Variables:
    """Some of each kind."""

    number: float
    pair: Pair
    names: list[str]
    table: dict[str, Any]
    generator: np.random.Generator
    grown: Any = None


def variables(seed: int, value: float) -> Variables:
    arrays = np.full((2, 3), value), np.asfortranarray(np.full((2, 2), value, dtype=np.float32))
    generator = np.random.default_rng(seed)
    return Variables(value, Pair(*arrays), ["a"], {"x": None, "y": arrays[0] + 1}, generator)


def test_a_state_is_read_into_another_one(tmp_path: Path) -> None:
    arrays: list[Any] = []
    one, other = variables(1, -np.inf), variables(2, 0.5)
    one.grown = [np.arange(3), (1, True, "b")]
    pair, generator = other.pair, other.generator
    write_record(tmp_path / "a.zip", plain(one, arrays), arrays)
    with opened(tmp_path / "a.zip") as record:
        assert record.restored(record.values, other) is other
    assert other.generator is generator
    assert generator.random() == one.generator.random()
    assert [mine is yours for mine, yours in zip(other.pair, pair, strict=True)] == [True, True]
    assert other.grown[0].tolist() == [0, 1, 2]
    assert other.grown[1] == [1, True, "b"]
    assert repr((other.number, other.pair, other.names, other.table)) == repr(
        (one.number, one.pair, one.names, one.table)
    )


def test_arrays_that_were_one_at_the_start_may_become_two(tmp_path: Path) -> None:
    same, arrays = np.zeros(3), list[Any]()
    saved = plain([np.full(3, 1.0), np.full(3, 2.0)], arrays)
    write_record(tmp_path / "a.zip", saved, arrays)
    with opened(tmp_path / "a.zip") as record:
        first, second = record.restored(record.values, [same, same])
    assert first is same
    assert (first.tolist(), second.tolist()) == ([1.0] * 3, [2.0] * 3)


def test_what_cannot_be_saved_is_named() -> None:
    for value, name in [(object(), "object"), (print, "builtin"), (np.array([None]), "ndarray")]:
        with pytest.raises(CannotBeSaved, match=name):
            plain([1.5, {"a": (value,)}], [])


FOREIGN = [
    {"object": ["subprocess.Popen", {"args": "true"}]},
    {"fields": {"number": 1.0}},
    {"fields": 3},
    {"generator": {"bit_generator": "PCG64"}},
    {"array": 3},
    {"array": "../a"},
    {},
    {"array": 0, "fields": {}},
]


@pytest.mark.parametrize("packed", FOREIGN, ids=str)
def test_foreign_content_is_refused(packed: Any, tmp_path: Path) -> None:
    path = tmp_path / "foreign.zip"
    write_record(path, packed, [np.zeros(2)])
    refused = pytest.raises(EgparseError, match=r"foreign\.zip: expected a checkpoint of this run")
    with refused, opened(path) as record:
        record.restored(record.values, variables(1, 0.0))


def test_arrays_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.zip"
    for header in (
        {"descr": "|O", "fortran_order": False, "shape": (1,)},
        {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)},
        {"descr": "<f8", "fortran_order": False, "shape": (-1,)},
    ):
        write_record(path, None, [])
        with zipfile.ZipFile(path, "a") as archive, archive.open("0.npy", "w") as member:
            np.lib.format.write_array_header_1_0(member, header)
            member.write(bytes(8))
        with pytest.raises(EgparseError, match="expected a checkpoint"), opened(path) as record:
            record.array(0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("values.json", "0" * 10**6)
    with pytest.raises(EgparseError, match="no compression"), opened(path):
        pass
