"""Numbers of a run as JSON, paired tests, and verdicts."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from egparse.experiments.comparisons.comparison import LBFGS, SGD, Plan, compare
from egparse.experiments.data.generated import classes_of_points
from egparse.experiments.data.problems import Setup, classifier
from egparse.experiments.report.claims import (
    Claim,
    compared,
    counted,
    figure,
    is_better,
    verdict_of,
)
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.markdown import claims_lines
from egparse.experiments.report.record import Comparison, Curve, Paired, Point, Task
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Facts, Results, encoded, read_results

from egparse.errors import EgparseError

FACTS = Facts(1, 2.5, {"egparse": "0"}, "a processor")


def points(seed: int) -> Setup:
    x, y = classes_of_points(90, seed)
    return classifier("points", (x[:60], y[:60]), (x[60:], y[60:]))


def curve(label: str, seed: int, primals: list[float], score: float, dual: float) -> Curve:
    own = tuple(
        Point(k, float(k), 0.5 * k, primal, dual, score) for k, primal in enumerate(primals, 1)
    )
    return Curve("e", "t", label, "sgd", {"eta0": math.inf}, math.inf, 1.0, 2.0, seed, own, "end")


TASK = Task("t", 4, "accuracy", 1, {"data": "x"}, False)


def test_numbers_come_back_as_they_were_written(tmp_path: Path) -> None:
    found = Comparison(
        TASK,
        (curve("A", 1, [3.0, 2.0], 80.0, -math.inf),),
        ("a note",),
        (Paired("A", 2.0, "B", 2.0, 0.5, 0.04),),
        True,
    )
    results = Results({"trees": found}, {"rates": [1.0, math.inf], "name": "x"}, ("note",), True)
    path = tmp_path / "a.json"
    path.write_bytes(encoded("a", results, FACTS))
    assert read_results(path, "a") == (results, FACTS)


def test_long_curves_are_thinned_but_keep_first_and_last(tmp_path: Path) -> None:
    long = curve("A", 1, [1000.0 - k for k in range(500)], 80.0, 1.0)
    path = tmp_path / "a.json"
    path.write_bytes(encoded("a", Results({"t": Comparison(TASK, (long,))}), FACTS))
    results, _ = read_results(path, "a")
    kept = results.comparisons["t"].curves[0].points
    assert kept[:25] == long.points[:25]
    assert kept[-1] == long.points[-1]
    assert len(kept) < 120
    assert all(
        b.effective_iterations <= 1.09 * a.effective_iterations
        for a, b in itertools.pairwise(kept[24:])
    )


@pytest.mark.parametrize("content", ["{", "{}", '{"experiment": "b"}', "[]"])
def test_other_files_are_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(EgparseError, match=r"a\.json: expected the numbers of a run of a"):
        read_results(path, "a")
    with pytest.raises(EgparseError, match=r"expected the numbers of a run, got none"):
        read_results(tmp_path / "b.json", "b")


def test_effort_and_score_are_means_over_seeds() -> None:
    found = Comparison(
        TASK,
        (
            curve("A", 1, [110.0, 100.0], 80.0, 100.0),
            curve("A", 2, [105.0, 104.0, 100.0], 82.0, 99.0),
        ),
    )
    assert found.effort("A", 2.0, 1.0) == 2.5
    assert found.effort("A", 2.0, 1.0, seconds=True) == 1.25
    assert found.score("A", 2.0) == 81.0
    assert found.spread("A", 2.0) == pytest.approx(math.sqrt(2))
    assert found.last_gap("A", 2.0) == pytest.approx(0.5)
    apart = found._replace(split_by_seed=True)
    assert apart.excess(apart.curves[1], apart.curves[1].points[-1]) == pytest.approx(100 / 99)
    assert found.effort("A", 2.0, -1.0) == math.inf
    assert math.isnan(found.score("B", 2.0))


def test_seeds_repeat_what_is_random_alone_unless_they_split_the_data() -> None:
    request = Request(quick=True)
    contenders = (SGD._replace(tuned=None, options={"eta0": 0.01}), LBFGS)
    plan = Plan("test", points(1), contenders, (5.0,), Budget(2.0), seeds=(1, 2))
    found = compare(plan, request)
    assert [(own.label, own.seed) for own in found.curves] == [
        ("SGD", 1),
        ("SGD", 2),
        ("L-BFGS", 1),
    ]
    assert found.first_seed.curves == (found.curves[0], found.curves[2])
    split = compare(plan._replace(setup=points), request)
    assert [own.seed for own in split.curves] == [1, 2, 1, 2]
    assert split.split_by_seed
    assert split.curves[2].points[-1].primal != split.curves[3].points[-1].primal


def test_a_learner_that_is_right_more_often_is_better_by_more_than_chance() -> None:
    right, wrong = np.ones((30, 3), dtype=np.int64), np.ones((30, 3), dtype=np.int64)
    wrong[:20, 0] = 0
    counts = iter([right, wrong, right])
    setup = points(1)._replace(outcomes=lambda scale: next(counts))
    contenders = (LBFGS, SGD._replace(tuned=None), LBFGS._replace(label="same"))
    plan = Plan("test", setup, contenders, (5.0,), Budget(1.0))
    found = compare(plan, Request(quick=True))
    assert is_better(found, "L-BFGS", 5.0, "SGD", 5.0) is True
    assert is_better(found, "SGD", 5.0, "L-BFGS", 5.0) is False
    assert is_better(found, "L-BFGS", 5.0, "same", 5.0) is None
    assert is_better(found, "L-BFGS", 5.0, "nobody", 5.0) is None
    paired = found.paired("SGD", 5.0, "L-BFGS", 5.0)
    assert paired is not None
    assert paired.difference == pytest.approx(-200 / 3, abs=1e-3)
    assert "against" in compared(found, "SGD", 5.0, "L-BFGS", 5.0)


def test_verdicts_follow_from_the_cases() -> None:
    assert verdict_of([True, True]) == "reproduced"
    assert verdict_of([True, False]) == "in part"
    assert verdict_of([False]) == "not reproduced"
    assert verdict_of([]) == "not possible"
    assert (figure(math.inf), figure(math.nan), figure(2.0)) == ("never", "-", "2")


def test_claims_are_rows_and_are_counted() -> None:
    claims = [
        Claim("S1, Fig. 1", "it falls", "reproduced", "it does: 3 of 3"),
        Claim("S1, Fig. 2", "it rises", "in part", "2 of 3"),
        Claim("S1, Fig. 3", "it falls", "reproduced", "|x| falls"),
    ]
    assert counted(claims) == "2 reproduced, 1 in part"
    lines = claims_lines(claims).splitlines()
    assert len(lines) == 5
    assert "Reproduced" in lines[2]
    assert "\\|x\\| falls" in lines[4]
