"""``egparse experiment`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import complaint, run, run_process

from egparse.cli.completion import EXPERIMENTS as NAMES
from egparse.experiments.store import Results, encoded


@pytest.mark.nightly
def test_a_quick_experiment_writes_numbers_page_and_figures(tmp_path: Path) -> None:
    done = run_process(
        "experiment", "multiclass", "--quick", "--iterations", 2, "--c", 10, "--output", tmp_path
    )
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"index.md", "multiclass.json", "globerson-2007-figure-3.png"}
    assert "EG, C = 10, seed 1:" in done.stderr
    assert "index.md" in done.stdout


def test_json_is_all_that_it_prints(tmp_path: Path) -> None:
    numbers = tmp_path / "old" / "losses.json"
    numbers.parent.mkdir()
    made = {"quick": True, "versions": {"egparse": "0"}}
    numbers.write_bytes(encoded("losses", Results(made, {}, {}, 1.5, finished=True)))
    done = run(f"experiment losses --from {numbers.parent} --output {tmp_path}/new --json --quiet")
    found = json.loads(done.stdout)
    assert found["claims"][0].keys() == {"claim", "verdict"}
    assert found["cpu_seconds"] == {"losses": 1.5}
    assert Path(found["page"]).is_file()
    assert (tmp_path / "new" / "losses.json").read_bytes() == numbers.read_bytes()
    assert done.stderr == ""


def test_help_names_every_experiment() -> None:
    text = " ".join(run("experiment", "--help").stdout.split()).replace("- ", "-")
    assert f"{', '.join(NAMES)}, or all" in text


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    assert "--data DIRECTORY" in complaint("experiment", "dca", "-o", tmp_path / "new")
    assert "constants > 0" in complaint(f"experiment dca --quick --c 0 -o {tmp_path}/new")
    assert not (tmp_path / "new").exists()
