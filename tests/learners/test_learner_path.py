"""The path over C: every point of it is an optimum that independent solvers find, and the way along
it is the short one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from learners.enumerated import (
    PROVEN,
    EnumeratedProblem,
    log_linear_optimum,
    max_margin_optimum,
    random_problem,
)
from learners.passes import dual_of
from tolerances import rounding, stored_slack

from egparse.errors import ConfigError, EgparseError
from egparse.learners.eg.online import EGConfig, EGState, OnlineEG
from egparse.learners.eg.path import PathConfig, PathPoint, follow
from egparse.learners.losses import NAMED

losses = pytest.mark.parametrize("loss", ["log-linear", "max-margin"])
seeds = pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])


def optimum_at(problem: EnumeratedProblem, loss: str, c: float) -> float:
    """By solvers of other kinds. C |w|^2 is |w'|^2 for features and weights in another unit: all
    are asked for C = 2, which suits them.
    """
    features = [own * math.sqrt(2.0 / c) for own in problem.features]
    solver = log_linear_optimum if loss == "log-linear" else max_margin_optimum
    return solver(EnumeratedProblem(problem.structures, features), 2.0)


def begun(
    problem: EnumeratedProblem, loss: str = "log-linear", **settings: float
) -> tuple[OnlineEG, EGState]:
    """A learner whose own C and annealing are nowhere on the path."""
    config = EGConfig.under(NAMED[loss], c=123.0, anneal_from=456.0, search="quadratic", **settings)  # type: ignore[arg-type]
    learner = OnlineEG(problem, config)
    return learner, learner.initialise(3.0)


def gradient_of_log_linear(problem: EnumeratedProblem, w: np.ndarray, c: float) -> np.ndarray:
    """d/dw of sum_i L_i(w) + C/2 |w|^2, by the enumerated structures."""
    total = c * w
    for i in range(len(problem.structures)):
        differences, _ = problem.differences(i)
        chances = np.exp(differences @ w)
        total = total + chances / chances.sum() @ differences
    return total


@losses
@seeds
def test_every_point_is_within_the_tolerance_of_the_optimum(loss: str, seed: int) -> None:
    problem = random_problem(seed)
    path = PathConfig(c_from=20.0, c_to=1.0, decay=0.5, gap=1e-3, iterations=400)
    constants = []
    for point in follow(*begun(problem, loss), path):
        optimum = optimum_at(problem, loss, point.c)
        assert point.reached
        assert point.gap <= path.gap * point.dual
        slack = PROVEN * optimum + stored_slack(problem.features, point.c)
        assert point.dual - slack <= optimum <= point.primal + slack
        constants.append(point.c)
    assert constants == pytest.approx([20.0, 10.0, 5.0, 2.5, 1.25, 1.0])


@seeds
def test_the_problem_holds_the_weights_of_the_point(seed: int) -> None:
    problem = random_problem(seed)
    path = PathConfig(c_from=8.0, c_to=0.5, gap=1e-6, iterations=400)
    for point in follow(*begun(problem), path):
        w = point.scale * problem.v
        # A step against the gradient of an objective of curvature at most b lowers it by
        # |gradient|^2 / (2b), and no further than the gap; the loss of an example has at most the
        # curvature of the longest |F'(y - gold)|^2.
        bend = point.c + sum(
            float((problem.differences(i)[0] ** 2).sum(axis=1).max())
            for i in range(len(problem.structures))
        )
        gradient = gradient_of_log_linear(problem, w, point.c)
        gap = point.gap + stored_slack(problem.features, point.c)
        assert gradient @ gradient <= 2 * bend * gap


@losses
def test_books_are_kept_through_changes_of_c(loss: str) -> None:
    problem = random_problem(3)
    learner, state = begun(problem, loss)
    path = PathConfig(c_from=10.0, c_to=1.0, gap=2e-3, iterations=200)
    for point in follow(learner, state, path):
        assert state.c == point.c
        # kept as a sum over all attempts
        lost = rounding(2 * state.evaluations, state.squared_norm)
        assert state.squared_norm == pytest.approx(problem.v @ problem.v, abs=lost)
        dual, v, v_error, dual_error = dual_of(problem, state.theta, NAMED[loss], point.c)
        assert (np.abs(problem.v - v) <= v_error).all()
        assert point.dual == pytest.approx(dual, abs=lost * (1 + 1 / point.c) + dual_error)


@seeds
def test_a_warm_start_costs_less_than_runs_of_their_own(seed: int) -> None:
    problem = random_problem(seed, n=24)
    path = PathConfig(c_from=20.0, c_to=0.1, gap=1e-3, iterations=300)
    points = list(follow(*begun(problem), path))
    cold = {
        c: next(follow(*begun(problem), replace(path, c_from=c, c_to=c))).effective_iterations
        for c in path.constants
    }
    assert all(point.reached for point in points)
    assert points[-1].total_effective_iterations < 0.7 * sum(cold.values())
    later = points[1:]
    assert sum(point.effective_iterations < cold[point.c] for point in later) > 0.8 * len(later)


def test_effort_adds_up_and_every_pass_is_reported_or_yielded() -> None:
    reported: list[PathPoint] = []
    learner, state = begun(random_problem(4))
    path = PathConfig(c_from=5.0, c_to=0.5, iterations=200)
    points = list(follow(learner, state, path, reported.append))
    assert points[-1].total_effective_iterations == state.evaluations / learner.n
    for before, after in pairwise(points):
        grown = after.total_effective_iterations - before.total_effective_iterations
        assert after.effective_iterations == pytest.approx(grown)
    assert len(reported) + len(points) == sum(point.iterations for point in points)
    assert not any(point.reached for point in reported)
    assert all(point.cpu_seconds >= 0 for point in points)


def test_a_budget_of_passes_ends_a_c_and_is_recorded() -> None:
    path = PathConfig(c_from=1.0, c_to=0.1, gap=1e-9, iterations=2)
    points = list(follow(*begun(random_problem(5)), path))
    assert [point.c for point in points] == list(path.constants)
    assert all((point.iterations, point.reached) == (2, False) for point in points)


@pytest.mark.parametrize(("rates", "factor"), [("scaled", 0.5), ("kept", 1.0), ("restarted", None)])
def test_learning_rates_at_the_next_c(rates: Any, factor: float | None) -> None:
    learner, state = begun(random_problem(7))
    path = PathConfig(c_from=8.0, c_to=2.0, decay=0.25, rates=rates)
    points = follow(learner, state, path)
    next(points)
    before, seen = state.eta.copy(), []
    run = OnlineEG.run_steps

    def noted(self: OnlineEG, state: EGState, order: np.ndarray) -> None:
        seen.append(state.eta.copy())
        run(self, state, order)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnlineEG, "run_steps", noted)
        next(points)
    expected = np.full(learner.n, 0.5) if factor is None else factor * before
    np.testing.assert_array_equal(seen[0], expected)
    assert (before != 0.5).any()


@seeds
def test_the_gap_may_be_relative_to_the_primal(seed: int) -> None:
    path = PathConfig(c_from=8.0, c_to=1.0, gap=0.05, gap_of="primal")
    for point in follow(*begun(random_problem(seed)), path):
        assert point.gap <= 0.05 * point.primal


def test_points_come_as_they_are_solved() -> None:
    """So that what is interrupted keeps those that have come."""
    learner, state = begun(random_problem(7))
    points = list(islice(follow(learner, state, PathConfig(c_from=10.0)), 2))
    assert state.c == points[-1].c == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("c_from", "c_to", "decay", "constants"),
    [
        (1000.0, 700.0, 0.7, [1000, 700]),
        (8.0, 1.0, 0.5, [8, 4, 2, 1]),
        (8.0, 3.0, 0.5, [8, 4, 3]),
        (3.0, 3.0, 0.7, [3]),
        (1000.0, 1000 * 0.7**23, 0.7, [1000 * 0.7**k for k in range(24)]),
    ],
)
def test_the_constants_of_a_path(
    c_from: float, c_to: float, decay: float, constants: list[float]
) -> None:
    found = PathConfig(c_from=c_from, c_to=c_to, decay=decay).constants
    assert found == pytest.approx(constants)
    assert (found[0], found[-1]) == (c_from, c_to)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c_to": 0.0}, "0 < c_to <= c_from, got c_from = 1000, c_to = 0"),
        ({"c_to": 1001.0}, "0 < c_to <= c_from, got c_from = 1000, c_to = 1001"),
        ({"c_from": math.inf}, "0 < c_to <= c_from"),
        ({"c_from": math.nan}, "0 < c_to <= c_from"),
        ({"decay": 1.0}, r"decay of C in \(0, 1\), got 1"),
        ({"decay": 0.0}, r"decay of C in \(0, 1\), got 0"),
        ({"gap": 0.0}, "relative gap > 0"),
        ({"iterations": 0}, "at least one pass for each C, got 0"),
        ({"rates": "best"}, "rates among scaled, kept, restarted, got 'best'"),
        ({"gap_of": "both"}, "gap of the dual or the primal, got 'both'"),
    ],
)
def test_paths_that_lead_nowhere(change: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PathConfig(**change)  # type: ignore[arg-type]


def test_an_objective_that_is_not_finite_is_an_error() -> None:
    problem = random_problem(8)
    learner, state = begun(problem)
    problem.features[3][0, 0] = np.nan
    with pytest.raises(EgparseError, match="expected a finite objective at C = 2, got primal nan"):
        list(follow(learner, state, PathConfig(c_from=2.0)))


def test_a_dual_above_the_primal_is_an_error() -> None:
    learner, state = begun(random_problem(9))
    state.squared_norm = -1e3  # which no v has
    with pytest.raises(EgparseError, match="expected the dual below the primal at C = 2"):
        list(follow(learner, state, PathConfig(c_from=2.0)))
