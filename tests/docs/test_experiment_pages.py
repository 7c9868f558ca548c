"""The page of the experiments says what its numbers say, which are of full runs of one state."""

from __future__ import annotations

import pytest
from house.package import ROOT

from egparse.cli.completion import EXPERIMENTS as NAMES
from egparse.experiments.catalogue import EXPERIMENTS, PAGE, PAPERS, results_in
from egparse.experiments.page import page
from egparse.experiments.quantities import Found

FOLDER = ROOT / "docs" / "experiments"


@pytest.fixture(scope="module")
def found() -> Found:
    return results_in(FOLDER, list(EXPERIMENTS))


def test_the_page_is_what_its_numbers_make(found: Found) -> None:
    made = page(PAPERS, found)
    again = "run egparse experiment all --from docs/experiments --output docs/experiments --force"
    assert made.text == (FOLDER / PAGE).read_text(encoding="utf-8"), again
    assert {path.stem for path in FOLDER.glob("*.png")} == set(made.figures)


def test_the_numbers_are_of_full_runs_of_one_state(found: Found) -> None:
    assert list(EXPERIMENTS) == list(NAMES)
    assert all(results.finished and not results.made["quick"] for results in found.values())
    assert len({results.made["versions"]["egparse"] for results in found.values()}) == 1
