"""The pages of the experiments say what their numbers say."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from egparse.experiments.report import artefacts
from egparse.experiments.report.claims import VERDICTS
from house.package import ROOT

from egparse.cli.completion import EXPERIMENTS as NAMES


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "experiment_pages.py"))


def test_every_page_is_what_its_numbers_make(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artefacts, "draw", lambda *_: {"png": b"", "svg": b""})  # not compared
    assert script["stale"]() == [], "run python benchmarks/experiment_pages.py"


def test_every_experiment_has_the_numbers_of_a_full_run(script: dict[str, Any]) -> None:
    assert script["measured"]() == list(NAMES)
    overview = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    for name in NAMES:
        page = (ROOT / "docs" / "experiments" / f"{name}.md").read_text(encoding="utf-8")
        assert "- quick: no\n" in page
        assert f"experiments/{name}.md" in overview


def test_claims_are_grouped_by_paper_and_judged(script: dict[str, Any]) -> None:
    overview = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    for paper in script["PAPERS"]:
        assert f"\n## {paper}\n" in overview
    assert all(verdict.capitalize() in overview for verdict in VERDICTS)
