"""``egparse experiment`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import complaint, run, run_process

from egparse.cli.completion import EXPERIMENTS as NAMES

PAGES = Path(__file__).resolve().parents[2] / "docs" / "experiments"


@pytest.mark.nightly
def test_a_quick_experiment_writes_its_files_and_shows_its_tables(tmp_path: Path) -> None:
    done = run_process(
        "experiment", "multiclass", "--quick", "--iterations", 2, "--c", 5, "--output", tmp_path
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        f"multiclass.{it}" for it in ("md", "png", "svg", "json")
    }
    assert "Multi-class classification" in done.stdout
    assert "learner" in done.stdout
    assert "EG, C = 5, seed 1:" in done.stderr


def test_json_is_all_that_it_prints(tmp_path: Path) -> None:
    done = run(f"experiment losses --from {PAGES} --output {tmp_path}/new --json --quiet")
    (found,) = json.loads(done.stdout)
    assert found["experiment"] == "losses"
    assert Path(found["files"]["numbers"]).is_file()
    assert done.stderr == ""


def test_help_names_every_experiment() -> None:
    from egparse.experiments.comparisons.catalogue import EXPERIMENTS

    assert tuple(EXPERIMENTS) == NAMES
    assert f"{', '.join(NAMES)}, or all" in " ".join(run("experiment", "--help").stdout.split())


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    assert "--data DIRECTORY" in complaint("experiment", "dca", "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()
