"""``egparse experiment`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import complaint, run, run_process

from egparse.cli.completion import EXPERIMENTS as NAMES

PAGES = Path(__file__).resolve().parents[2] / "docs" / "experiments"


@pytest.mark.nightly
def test_a_quick_experiment_writes_numbers_page_and_figures(tmp_path: Path) -> None:
    done = run_process(
        "experiment", "multiclass", "--quick", "--iterations", 2, "--c", 10, "--output", tmp_path
    )
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"index.md", "multiclass.json", "collins-2008-figure-11.png"}
    assert "EG, C = 10, seed 1:" in done.stderr
    assert "index.md" in done.stdout


def test_json_is_all_that_it_prints(tmp_path: Path) -> None:
    done = run(f"experiment losses --from {PAGES} --output {tmp_path}/new --json --quiet")
    found = json.loads(done.stdout)
    assert found["claims"][0].keys() == {"claim", "verdict"}
    assert list(found["cpu_seconds"]) == ["losses"]
    assert Path(found["page"]).is_file()
    assert (tmp_path / "new" / "losses.json").is_file()
    assert done.stderr == ""


def test_help_names_every_experiment() -> None:
    text = " ".join(run("experiment", "--help").stdout.split()).replace("- ", "-")
    assert f"{', '.join(NAMES)}, or all" in text


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    assert "--data DIRECTORY" in complaint("experiment", "dca", "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()
