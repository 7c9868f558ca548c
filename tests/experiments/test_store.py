"""The numbers of an experiment as JSON: what is written comes back, other files are refused, and an
experiment that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from egparse.errors import EgparseError
from egparse.experiments import catalogue
from egparse.experiments.plans.contenders import EG, LBFGS, SGD
from egparse.experiments.problems.digits import classifier
from egparse.experiments.problems.generated import classes_of_points
from egparse.experiments.problems.setup import Setup
from egparse.experiments.record import Comparison, Curve, Point
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Contender, Experiment, Plan
from egparse.experiments.store import Results, encoded, read_results

MADE = {"quick": False, "versions": {"egparse": "0"}}


def long_curve(n: int) -> Curve:
    points = tuple(
        Point(float(k), 0.5 * k, 1000.0 - k, -math.inf if k == 1 else float(k), 80.0)
        for k in range(1, n + 1)
    )
    outcomes = np.array([[3, 4, 5], [0, 2, 0], [7, 7, 7]], dtype=np.int64)
    return Curve(
        "A", "sgd", {"eta0": math.inf}, math.inf, 1.0, 2.0, 1, points, "end", math.nan,
        {"optimum": 2.5}, outcomes,
    )  # fmt: skip


def written(path: Path, results: Results) -> Results:
    path.write_bytes(encoded("a", results))
    return read_results(path, "a")


def test_numbers_come_back_as_they_were_written(tmp_path: Path) -> None:
    own = long_curve(20)
    bare = own._replace(label="B", points=(), test=71.25, outcomes=None)
    comparison = Comparison(4, "accuracy", 1, {"data": "x|y"}, (own, bare), True)
    probes = {"rates": [1.0, math.inf], "name": "x", "deep": {"k": -math.inf}}
    results = Results(MADE, {"trees": comparison}, probes, 12.5, True)
    found = written(tmp_path / "a.json", results)
    first, second = found.comparisons["trees"].curves
    assert second == bare
    assert first.outcomes is not None
    assert own.outcomes is not None
    assert first.outcomes.tolist() == own.outcomes.tolist()
    assert first.outcomes.dtype == own.outcomes.dtype
    assert math.isnan(first.test or 0.0)
    assert first._replace(outcomes=None, test=None) == own._replace(outcomes=None, test=None)
    again = found.comparisons["trees"]._replace(curves=comparison.curves)
    assert found._replace(comparisons={"trees": again}) == results


def test_long_curves_are_thinned_but_keep_first_and_last(tmp_path: Path) -> None:
    own = long_curve(500)
    comparison = Comparison(4, "accuracy", 1, {}, (own,))
    found = written(tmp_path / "a.json", Results(MADE, {"t": comparison}, {}))
    kept = found.comparisons["t"].curves[0].points
    assert kept[:25] == own.points[:25]
    assert kept[-1] == own.points[-1]
    assert len(kept) < 120
    assert all(later.passes <= 1.09 * one.passes for one, later in itertools.pairwise(kept[24:]))


@pytest.mark.parametrize("content", ["{", "{}", '{"experiment": "b"}', "[]", "7"])
def test_other_files_are_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(EgparseError, match="got none"):
        read_results(path, "a")
    path.write_text(content)
    with pytest.raises(EgparseError, match="a run of a, got something else"):
        read_results(path, "a")


def points_of(request: Request, seed: int) -> Setup:
    x, y = classes_of_points(90, seed)
    return classifier("points", (x[:60], y[:60]), (x[60:], y[60:]))


class Interrupted(Exception):
    """A run that ends at once."""


def experiment() -> Experiment:
    contenders = (
        EG,
        LBFGS,
        SGD._replace(tuned=("eta0", (0.1, 0.01))),
        Contender("path", "eg-online", {"published": True, "start": "gold"}, warm=True),
    )
    plan = Plan(points_of, contenders, (10.0, 5.0), Budget(8, gap=1e-4), seeds=2)
    return Experiment(
        {"one": plan, "each": plan._replace(split_by_seed=True)},
        {"probe": lambda request: {"seed": request.seed}},
    )


def without_seconds(results: Results) -> bytes:
    comparisons = {}
    for key, own in results.comparisons.items():
        curves = [
            one._replace(points=[point._replace(seconds=0.0) for point in one.points])
            for one in own.curves
        ]
        comparisons[key] = own._replace(curves=curves)
    return encoded("small", results._replace(seconds=0.0, comparisons=comparisons))


@pytest.mark.parametrize("runs", [1, 7, 15, 16, 20])
def test_an_interrupted_experiment_goes_on(
    runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalogue.EXPERIMENTS, "small", experiment())
    whole = catalogue.perform("small", Request(), tmp_path / "whole")
    done: list[str] = []

    def tell(text: str) -> None:
        done.append(text)
        if sum("seed" in line for line in done) > runs:
            raise Interrupted

    with pytest.raises(Interrupted):
        catalogue.perform("small", Request(tell=tell), tmp_path / "part")
    left = read_results(tmp_path / "part" / "small.json", "small")
    assert not left.finished
    assert left.numbers == {}
    again: list[str] = []
    found = catalogue.perform("small", Request(tell=again.append), tmp_path / "part")
    assert whole.finished
    assert whole.numbers == {"probe": {"seed": 1}}
    assert without_seconds(found) == without_seconds(whole)
    kept = sum(len(own.curves) for own in left.comparisons.values())
    total = sum(len(own.curves) for own in whole.comparisons.values())
    assert sum("seed" in line for line in again) == total - kept


def test_comparisons_are_of_one_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole ones are kept on another processor, and only they."""
    monkeypatch.setitem(catalogue.EXPERIMENTS, "small", experiment())
    monkeypatch.setattr(catalogue, "machine", lambda: "old")
    lines: list[str] = []

    def tell(text: str) -> None:
        lines.append(text)
        if "small: each" in lines and "seed" in text and "seed" in lines[-2]:
            raise Interrupted

    with pytest.raises(Interrupted):
        catalogue.perform("small", Request(tell=tell), tmp_path)
    left = read_results(tmp_path / "small.json", "small").comparisons
    assert {key: own.machine for key, own in left.items()} == {"one": "old", "each": ""}
    monkeypatch.setattr(catalogue, "machine", lambda: "new")
    found = catalogue.perform("small", Request(), tmp_path)
    assert {key: own.machine for key, own in found.comparisons.items()} == {
        "one": "old",
        "each": "new",
    }
    seconds = [
        [[point.seconds for point in curve.points] for curve in of["one"].curves]
        for of in (left, found.comparisons)
    ]
    assert seconds[0] == seconds[1]
