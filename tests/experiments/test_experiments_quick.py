"""Every experiment, small: it runs, and the files that it writes can be read."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from egparse.experiments.comparisons.catalogue import EXPERIMENTS, Done, perform, report_again
from egparse.experiments.report.claims import VERDICTS
from egparse.experiments.report.record import Curve
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import read_results

from egparse.experiments.data import samples

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


FAST = "losses"
"""The experiment that the fast suite runs; the others run nightly."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name == FAST else pytest.mark.nightly)
        for name in EXPERIMENTS
    ],
)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """``egparse experiment NAME --quick --seed 3``, of one pass in the fast suite."""
    folder = tmp_path_factory.mktemp(request.param) / "new"
    shorter: dict[str, Any] = {"iterations": 1, "constants": (5.0,)}
    if request.param != FAST:
        shorter = {}
    return perform(request.param, Request(quick=True, seed=3, **shorter), folder)


def refused(constant: str) -> Any:
    raise AssertionError(f"JSON has no number {constant}")


def numbers_of(done: Done) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(done.written.numbers.read_text(), parse_constant=refused)
    return content


def curves_of(done: Done) -> list[Curve]:
    results, _ = read_results(done.written.numbers, done.name)
    return [curve for found in results.comparisons.values() for curve in found.curves]


def test_the_numbers_are_complete_and_finite(done: Done) -> None:
    content = numbers_of(done)
    assert content["experiment"] == done.name
    assert content["seed"] == 3
    assert {"egparse", "python", "numpy", "numba", "scipy", "matplotlib"} <= content[
        "versions"
    ].keys()
    for curve in curves_of(done):
        assert curve.points
        assert not curve.stopped.startswith("failed")
        efforts = [point.effective_iterations for point in curve.points]
        assert efforts == sorted(efforts)
        for point in curve.points:
            assert math.isfinite(point.primal)
            assert math.isnan(point.score) or 0 <= point.score <= 100
            assert point.cpu_seconds >= 0
            assert point.gap >= -1e-3 * abs(point.primal)


def test_claims_have_a_source_a_verdict_and_evidence(done: Done) -> None:
    for claim in done.outcome.claims:
        assert claim.verdict in VERDICTS
        assert all(map(str.strip, (claim.source, claim.text, claim.evidence)))
        assert "nan" not in claim.evidence.split()


def test_the_numbers_alone_make_the_same_report(done: Done, tmp_path: Path) -> None:
    again = report_again(done.name, done.written.numbers.parent, tmp_path / "again")
    for ours, theirs in zip(again.written, done.written, strict=True):
        assert ours.read_bytes() == theirs.read_bytes(), ours.name


def test_no_learner_gets_below_the_bound_of_another(done: Done) -> None:
    results, _ = read_results(done.written.numbers, done.name)
    for found in results.comparisons.values():
        for c in found.constants:
            runs = {(own.seed, own.beta, own.gamma) for own in found.at(c)}
            for seed, *loss in runs:
                points = [
                    point
                    for curve in found.at(c)
                    if [curve.beta, curve.gamma] == loss
                    and (curve.seed == seed or not found.split_by_seed)
                    for point in curve.points
                ]
                lowest = min(point.primal for point in points)
                assert max(point.dual for point in points) <= lowest + 1e-3 * abs(lowest)


def test_the_figure_is_a_png_and_an_svg(done: Done) -> None:
    png = done.written.png.read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    assert width > 500
    assert height > 300
    assert len(png) > 10_000
    root = ElementTree.fromstring(done.written.svg.read_text())
    assert root.tag.endswith("svg")


def test_every_panel_shows_lines_under_names(done: Done) -> None:
    for panel in done.outcome.panels:
        assert panel.lines, panel.title
        assert panel.x_label
        assert panel.y_label
        names = [line.label for line in panel.lines]
        assert len(set(names)) == len(names)
        looks = [(line.colour, line.dashed) for line in panel.lines]
        assert len(set(looks)) == len(looks), panel.title
        for line in panel.lines:
            assert len(line.x) == len(line.y) > 0
            assert all(map(math.isfinite, [*line.x, *line.y]))


def tables_of(page: str) -> Iterator[list[str]]:
    for is_table, lines in groupby(page.splitlines(), key=lambda line: line.startswith("|")):
        if is_table:
            yield list(lines)


def test_the_page_has_aligned_tables_and_shows_the_figure(done: Done) -> None:
    page = done.written.page.read_text()
    claims, tables = page.count("\n## Claims\n"), list(tables_of(page))
    assert claims == bool(done.outcome.claims)
    assert len(tables) - claims == len(done.outcome.tables) > 0
    tables = tables[claims:]  # claims are sentences, which do not line up
    for lines in tables:
        assert len({len(line) for line in lines}) == 1
        assert set(lines[1]) <= set("|-: ")
        cells = [line.replace("\\|", "").count("|") for line in lines]
        assert cells == [cells[0]] * len(lines)
    assert f"]({done.written.png.name})" in page
    assert "quick: yes" in page
    assert not list(done.written.page.parent.glob(".*"))


@pytest.mark.nightly
def test_a_seed_fixes_every_number_but_time() -> None:
    def numbers(seed: int) -> list[list[tuple[float, float]]]:
        request = Request(quick=True, seed=seed, iterations=3, constants=(5.0,))
        found = EXPERIMENTS["multiclass"].measure(request).comparisons
        return [
            [(point.primal, point.score) for point in curve.points]
            for comparison in found.values()
            for curve in comparison.curves
        ]

    assert numbers(1) == numbers(1) != numbers(2)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["parsing", "dca"])
def test_generated_sentences_do_where_there_is_no_corpus(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "CORPORA", tmp_path / "none")
    results = EXPERIMENTS[name].measure(Request(quick=True, iterations=2))
    assert "generated" in json.dumps(dict(results.facts))
    assert all(curve.points for found in results.comparisons.values() for curve in found.curves)


@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason="the development corpora are not here")
@pytest.mark.parametrize("name", ["multiclass", "parsing"])
def test_a_quick_run_takes_slices_of_the_data_that_it_is_given(name: str) -> None:
    results = EXPERIMENTS[name].measure(
        Request(quick=True, data=DATA, iterations=2, constants=(10.0,))
    )
    found = next(iter(results.comparisons.values()))
    assert any(known in found.task.facts["data"] for known in ("MNIST", "esp.train"))
    assert found.curves[0].c == 10.0
