"""The pages of the experiments say what their numbers say."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from house.package import ROOT

from egparse.cli.commands.experiment import NAMES
from egparse.experiments.report.claims import VERDICTS


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "experiment_pages.py"))


def test_every_page_is_what_its_numbers_make(script: dict[str, Any]) -> None:
    assert script["stale"]() == [], "run python benchmarks/experiment_pages.py"


def test_numbers_are_of_full_runs_and_what_is_missing_is_said(script: dict[str, Any]) -> None:
    measured = script["measured"]()
    for name in measured:
        page = (ROOT / "docs" / "experiments" / f"{name}.md").read_text(encoding="utf-8")
        assert "- quick: no\n" in page
    overview = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    missing = [name for name in NAMES if name not in measured]
    assert all(f"experiments/{name}.md" in overview for name in measured)
    assert ("Not run in full yet" in overview) == bool(missing)


def test_claims_are_grouped_by_paper_and_judged(script: dict[str, Any]) -> None:
    overview = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    for paper in ("Globerson et al. 2007", "Collins et al. 2008", "Martins et al. 2010"):
        assert f"\n## {paper}\n" in overview
    assert all(verdict.capitalize() in overview for verdict in VERDICTS)
