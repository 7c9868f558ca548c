"""A model file may come from anyone: crafted ones are refused or annotate, and never do more.

``tests/soak --models 10000`` tries as many as one likes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from storage.hostile_models import AnnotatingProcess, Run, judged, try_mutants
from storage.mutations import Mutant, mutants
from storage.small_model import small_model


@pytest.mark.compiled_only
@pytest.mark.parametrize("runs", [80, pytest.param(300, marks=pytest.mark.nightly)])
def test_mutants_of_a_model_do_no_harm(tmp_path: Path, runs: int) -> None:
    counts, faults, _ = try_mutants(*small_model(), runs=runs, seed=1, folder=tmp_path)
    assert faults == []
    assert counts["accepted"] > runs // 6, "mutants within the declaration are to be tried too"
    assert counts["refused"] > runs // 6


def test_the_check_sees_what_it_forbids() -> None:
    run = Run("accepted", "", 0.1, 10**6)
    assert judged(run, 10) == judged(run._replace(outcome="refused"), 10) == ""
    assert judged(run._replace(bytes=10**9), 10) == "1,000,000,000 bytes for a file of 10"
    assert judged(run._replace(outcome="hang", text="late"), 10) == "hang: late"


@pytest.mark.compiled_only
def test_a_process_that_ends_is_seen_and_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Mutant("", *small_model()).write(tmp_path / "m")
    with AnnotatingProcess(sound) as process:
        monkeypatch.setattr("storage.hostile_models.SECONDS", 0.0)
        assert process.run(sound).outcome == "hang"
        monkeypatch.undo()
        assert process.run(sound).outcome == "accepted"
        assert process._process is not None
        process._process.kill()
        process._process.wait()
        assert process.run(sound).outcome == "crash"


def test_equal_seeds_give_equal_mutants() -> None:
    header, payload = small_model()

    def names(seed: int) -> list[str]:
        of_seed = mutants(header, payload, seed)
        return [next(of_seed).name for _ in range(30)]

    assert names(1) == names(1) != names(2)
