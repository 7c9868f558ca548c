"""The data of the experiments fit together: claims, panels and tables are about runs that the plans
make, and every plan runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from egparse.experiments.catalogue import EXPERIMENTS, PAGE, PAPERS, perform, report
from egparse.experiments.page import figure_name, values_in
from egparse.experiments.quantities import BEST, Number, Runs
from egparse.experiments.request import Request
from egparse.experiments.sections import Section


def sections() -> Iterator[Section]:
    for paper in PAPERS:
        yield from paper.sections
        yield Section("further", paper.further)


def test_all_that_is_shown_is_run() -> None:
    missing = []
    for section in sections():
        for value in values_in(section):
            if not (planned(value) if isinstance(value, Runs) else probed(value)):
                missing.append((section.place, value))
    assert missing == []


def probed(number: Number) -> bool:
    return number.keys[0] in EXPERIMENTS[number.experiment].probes


def planned(runs: Runs) -> bool:
    plan = EXPERIMENTS[runs.experiment].plans.get(runs.comparison)
    if plan is None:
        return False
    for one in plan.contenders:
        if one.label == runs.label:
            constants = one.only or plan.constants
            if runs.c == BEST or any(math.isclose(runs.c, c, rel_tol=1e-3) for c in constants):
                return True
    return False


def test_labels_places_and_names_are_unique() -> None:
    for experiment in EXPERIMENTS.values():
        for plan in experiment.plans.values():
            labels = [(one.label, c) for one in plan.contenders for c in one.only or plan.constants]
            assert len(labels) == len(set(labels))
    names = [figure_name(paper, section) for paper in PAPERS for section in paper.sections]
    assert len(names) == len(set(names))
    assert all(claim.place for paper in PAPERS for claim in paper.further)
    assert all(claim.rules for one in sections() for claim in one.claims)


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_plan_runs(name: str, tmp_path: Path) -> None:
    results = perform(name, Request(quick=True), tmp_path)
    assert results.finished
    assert set(results.comparisons) == set(EXPERIMENTS[name].plans)
    for key, comparison in results.comparisons.items():
        failed = [one.stopped for one in comparison.curves if one.stopped.startswith("failed")]
        assert comparison.curves, key
        assert len(failed) < len(comparison.curves), failed
    assert report({name: results}, tmp_path)
    assert (tmp_path / PAGE).is_file()
