"""The average of weights: either convention against the plain mean, against a second vector of
weights, and what it costs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from learners.enumerated import random_problem
from learners.small_problems import sequences, trees

from egparse.learners.averaging import WeightAverage
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.problem import Problem, read, write
from egparse.types import Floats

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "enumerated": lambda: random_problem(1),
    "chain": sequences,
    "projective": trees,
}
problems = pytest.mark.parametrize("name", PROBLEMS)
VISITS = 60


def digits(name: str) -> float:
    return 2e-6 if name == "projective" else 1e-12  # trees have weights in float32


def visits(problem: Problem) -> list[tuple[int, Floats | None]]:
    """Examples with changes of their parts; None for visits that change nothing."""
    random = np.random.default_rng(2)
    sizes = np.diff(problem.part_starts)
    drawn: list[tuple[int, Floats | None]] = []
    for i in random.integers(len(sizes), size=VISITS).tolist():
        drawn.append((i, random.normal(size=sizes[i]) if random.random() < 0.7 else None))
    return drawn


def changes_of(problem: Problem, average: WeightAverage, i: int, changes: Floats | None) -> None:
    if changes is not None:
        problem.add(i, changes)
        average.record_change(i, changes.copy())


def counted(problem: Problem) -> list[int]:
    """The examples whose features are visited from now on."""
    seen: list[int] = []
    before = problem.add

    def add(i: int, changes: Floats) -> float:
        seen.append(i)
        return before(i, changes)

    problem.add = add  # type: ignore[method-assign]
    return seen


@problems
@pytest.mark.parametrize("first", ["include", "change"])
def test_mean_of_the_weights_before_or_after_each_change(name: str, first: str) -> None:
    problem = PROBLEMS[name]()
    start = np.random.default_rng(1).normal(size=len(read(problem)))
    write(problem, start * (read_support(problem) > 0))
    average, seen = WeightAverage(problem), []
    for i, changes in visits(problem):
        if first == "include":
            average.include()
            seen.append(read(problem))
        changes_of(problem, average, i, changes)
        if first == "change":
            average.include()
            seen.append(read(problem))
    kept = [array.tobytes() for array in problem.vectors()]
    with average.average_weights():
        close = digits(name)
        np.testing.assert_allclose(
            read(problem), np.mean(seen, axis=0), rtol=close, atol=10 * close
        )
    assert [array.tobytes() for array in problem.vectors()] == kept


def read_support(problem: Problem) -> Floats:
    """Where features may have weights: cells without support must stay 0."""
    twin = problem.with_own_weights()
    for i, size in enumerate(np.diff(problem.part_starts)):
        twin.add(i, np.random.default_rng(i).random(size))
    return np.abs(read(twin))


@problems
def test_moments_of_parts_are_a_second_vector_of_weights(name: str) -> None:
    """w - u / T, with every change added to u as well, t times: what the sources keep."""
    problem = PROBLEMS[name]()
    average, late = WeightAverage(problem), problem.with_own_weights()
    for t, (i, changes) in enumerate(visits(problem), start=1):
        average.include()
        changes_of(problem, average, i, changes)
        if changes is not None:
            late.add(i, t * changes)
    expected = read(problem) - read(late) / VISITS
    with average.average_weights():
        np.testing.assert_allclose(
            read(problem), expected, rtol=digits(name), atol=10 * digits(name)
        )


def test_the_features_are_visited_once_a_mean() -> None:
    problem = random_problem(3)
    average = WeightAverage(problem)
    for i in (2, 5, 2):
        average.include()
        changes_of(problem, average, i, np.ones(len(problem.gold(i))))
    added = counted(problem)
    for _ in range(2):
        with average.average_weights(), average.average_weights():
            assert added == [2, 5]
    average.include()
    with average.average_weights():
        assert added == [2, 5, 2, 5]


def test_bits_come_back_when_the_mean_cannot_be_had() -> None:
    problem = random_problem(3)
    average = WeightAverage(problem)
    average.include()
    changes_of(problem, average, 1, np.ones(len(problem.gold(1))))
    own, add = problem.v.tobytes(), problem.add

    def interrupted(i: int, changes: Floats) -> float:
        raise KeyboardInterrupt

    problem.add = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), average.average_weights():
        pass
    assert problem.v.tobytes() == own
    problem.add = add  # type: ignore[method-assign]
    with average.average_weights():
        assert not problem.v.any()  # the mean of what was before the only change: 0
    assert problem.v.tobytes() == own


def test_before_anything_is_included_the_weights_stay() -> None:
    problem = random_problem(3)
    problem.v[:] = 1.0
    average = WeightAverage(problem)
    with average.average_weights():
        assert (problem.v == 1.0).all()


@pytest.mark.parametrize("averaged", [True, False])
def test_a_visit_of_dual_coordinate_ascent_adds_at_most_twice(averaged: bool) -> None:
    """The longest step, and its correction; the average makes no third."""
    problem = random_problem(1)
    learner = DCA(problem, DCAConfig(c=1.0, averaged=averaged))
    state = learner.initialise()
    added = counted(problem)
    most = 0
    for turn in range(5 * learner.n):
        added.clear()
        learner.update(state, turn % learner.n)
        most = max(most, len(added))
    assert most == 2
