"""Runs of a plan: when they stop, what is recorded, how options are tuned, and what each contender
is run for. Most learners here are scripts: lists of what each pass brings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from egparse.errors import ConfigError, EgparseError
from egparse.experiments import running
from egparse.experiments.plans.contenders import EG
from egparse.experiments.problems.digits import classifier
from egparse.experiments.problems.generated import classes_of_points
from egparse.experiments.problems.setup import Setup
from egparse.experiments.record import Comparison, Curve
from egparse.experiments.request import Request
from egparse.experiments.running import HINGE, Budget, Contender, Plan, compare, trace
from egparse.learners.eg.path import PathConfig, follow
from egparse.learners.learner import Certificate, LearnerConfig
from egparse.learners.registry import build

Script = Callable[[int], tuple[float, float, float]]
"""Pass -> primal, dual, passes counted."""


class Scripted:
    """A learner that does what a function says; its passes take a second each."""

    def __init__(self, script: Script, clock: list[float]) -> None:
        self._script, self._clock = script, clock

    def initialise(self, _: Any) -> Any:
        return SimpleNamespace(calls=0, scale=1.0)

    def iterate(self, state: Any) -> None:
        state.calls += 1
        self._clock[0] += 1.0
        self._script(state.calls)

    def certificate(self, state: Any) -> Certificate:
        primal, dual, passes = self._script(state.calls)
        return Certificate(primal, dual, passes, 1.0, {"calls": state.calls})

    def model_weights(self, _: Any) -> AbstractContextManager[None]:
        return nullcontext()


def points_of(request: Request, seed: int) -> Setup:
    x, y = classes_of_points(90, seed)
    return classifier("points", (x[:60], y[:60]), (x[60:], y[60:]))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts scripts, by learner, in the place of the registry."""

    def use(**scripts: Script) -> None:
        clock = [0.0]

        monkeypatch.setattr(running, "build", lambda name, *_: Scripted(scripts[name], clock))
        monkeypatch.setattr(time, "process_time", lambda: clock[0])

    return use


def halving(k: int) -> tuple[float, float, float]:
    return 100.0 + 64.0 / 2**k, 100.0 - 64.0 / 2**k, float(k)


def without_dual(k: int) -> tuple[float, float, float]:
    return halving(k)[0], -math.inf, float(k)


def run(name: str, budget: Budget, bound: float = -math.inf) -> Curve:
    contender = Contender(name, name)
    return trace(points_of(Request(quick=True), 1), contender, LearnerConfig(), budget, bound)


@pytest.mark.parametrize(
    ("name", "budget", "bound", "passes", "stopped"),
    [
        ("halving", Budget(5), -math.inf, 5, "5 passes"),
        ("halving", Budget(50, seconds=7.0), -math.inf, 7, "7 CPU seconds"),
        ("halving", Budget(50, gap=0.0101), -math.inf, 7, "within 0.0101 of the best lower bound"),
        ("halving", Budget(50, gap=0.0101), 100.0, 6, "within 0.0101 of the best lower bound"),
        ("without_dual", Budget(50, gap=0.0101), 100.0, 6, "within 0.0101 of the best lower bound"),
        ("without_dual", Budget(20, gap=0.0101), -math.inf, 20, "20 passes"),
        ("still", Budget(50), -math.inf, 4, "converged: no more work to do"),
        ("slow", Budget(4), -math.inf, 3, "12 calls"),
        ("failing", Budget(50), -math.inf, 3, "failed: no step was possible"),
        ("diverging", Budget(50), -math.inf, 2, "failed: the objective is not finite"),
    ],
)
def test_a_run_stops(
    name: str, budget: Budget, bound: float, passes: float, stopped: str, scripted: Any
) -> None:
    def failing(k: int) -> tuple[float, float, float]:
        if k == 4:
            raise EgparseError("no step was possible")
        return halving(k)

    scripted(
        halving=halving,
        without_dual=without_dual,
        still=lambda k: (200.0, 0.0, float(min(k, 4))),
        slow=lambda k: (200.0, 0.0, 0.25 * k),
        failing=failing,
        diverging=lambda k: (10.0**k if k < 3 else math.inf, 0.0, float(k)),
    )
    curve = run(name, budget, bound)
    assert (curve.points[-1].passes, curve.stopped) == (passes, stopped)


def test_points_are_spaced_and_hold_what_was_measured(scripted: Any) -> None:
    scripted(halving=halving)
    every, some = run("halving", Budget(12)), run("halving", Budget(12, spacing=1.5))
    assert [point.passes for point in every.points] == list(range(1, 13))
    assert [point.passes for point in some.points] == [1, 2, 3, 5, 8, 12]
    assert [point.seconds for point in some.points] == [1, 2, 3, 5, 8, 12]
    assert set(some.points) <= set(every.points)
    assert every.details == {"calls": 12}
    assert every.outcomes is not None
    right = every.outcomes[:, 0].mean()
    assert every.points[-1].score == pytest.approx(100.0 * (1.0 - right))


def test_a_learner_that_does_not_fit_is_an_error() -> None:
    plan = Plan(points_of, (Contender("n", "n-slack"),), (1.0,), Budget(2))
    with pytest.raises(ConfigError):
        made(plan)


def made(plan: Plan, request: Request | None = None) -> Comparison:
    *_, whole = compare(plan, request or Request())
    return whole


def test_the_bound_is_that_of_the_learners_before(scripted: Any) -> None:
    scripted(halving=halving, without_dual=without_dual)
    first, second = Contender("A", "halving"), Contender("B", "without_dual")
    plan = Plan(points_of, (first, second), (2.0, 1.0), Budget(30, gap=0.0101))
    assert [curve.points[-1].passes for curve in made(plan).curves] == [7, 7, 7, 7]
    swapped = made(plan._replace(contenders=(second, first)))
    assert [curve.points[-1].passes for curve in swapped.curves] == [30, 7, 30, 7]
    other = first._replace(loss=HINGE)
    apart = made(plan._replace(contenders=(other, second)))
    assert [curve.points[-1].passes for curve in apart.curves] == [7, 30, 7, 30]


def test_the_option_with_the_best_first_pass_is_taken() -> None:
    values = (1e3, 1e-2, 1e-9)

    def with_options(**fields: Any) -> Curve:
        plan = Plan(points_of, (Contender("S", "sgd", **fields),), (1.0,), Budget(1))
        return made(plan).curves[0]

    after_one_pass = {eta0: with_options(options={"eta0": eta0}).points[-1] for eta0 in values}
    best = min(values, key=lambda eta0: (after_one_pass[eta0].score, after_one_pass[eta0].primal))
    for order in (values, values[::-1]):
        curve = with_options(tuned=("eta0", order))
        assert curve.options == {"eta0": best}
        assert curve.points[-1].primal == after_one_pass[best].primal


def test_each_contender_has_its_constants_seeds_and_budget(scripted: Any) -> None:
    scripted(halving=halving)
    contenders = (
        Contender("all", "halving"),
        Contender("some", "halving", only=(1.0,), budget=Budget(3)),
        Contender("once", "halving", random=False),
    )
    plan = Plan(points_of, contenders, (2.0, 1.0), Budget(4), seeds=2)
    cells = [(one.label, one.c, one.seed) for one in made(plan, Request(seed=5)).curves]
    first = [("all", 2, 5), ("once", 2, 5), ("all", 1, 5), ("some", 1, 5), ("once", 1, 5)]
    assert cells == [*first, ("all", 2, 6), ("all", 1, 6), ("some", 1, 6)]
    divided = made(plan._replace(split_by_seed=True))
    assert sum(one.label == "once" for one in divided.curves) == 4
    passes = {one.label: one.points[-1].passes for one in made(plan).curves}
    assert passes == {"all": 4, "some": 3, "once": 4}
    asked = made(plan, Request(iterations=6, constants=(1.0,), seeds=1)).curves
    assert {one.label: one.points[-1].passes for one in asked} == {"all": 6, "some": 3, "once": 6}
    assert {(one.c, one.seed) for one in asked} == {(1.0, 1)}


def test_a_warm_path_is_that_of_the_learner() -> None:
    constants: Sequence[float] = (20.0, 10.0, 5.0)
    plan = Plan(
        points_of, (EG._replace(label="path", warm=True), EG), constants, Budget(30, gap=1e-3)
    )
    found = made(plan)
    setup = points_of(Request(), 1)
    learner: Any = build(EG.learner, setup.problem, LearnerConfig(c=20.0, seed=1), **EG.options)
    setup.problem.reset()
    path = PathConfig(
        c_from=20.0, c_to=5.0, decay=0.5, gap=1e-3, iterations=30, rates="kept", gap_of="primal"
    )
    for solved in follow(learner, learner.initialise(setup.gold_theta), path):
        (curve,) = found.runs("path", solved.c)
        (point,) = curve.points
        assert point.passes == solved.effective_iterations
        assert (point.primal, point.dual) == (solved.primal, solved.dual)
        assert point.score == setup.score(solved.scale)
        assert curve.stopped == "a gap of 0.001 of the primal"
        assert point.gap <= 1e-3 * point.primal
    cold = sum(own.points[-1].passes for c in constants for own in found.runs("EG", c))
    assert sum(own.points[-1].passes for c in constants for own in found.runs("path", c)) < cold
