"""Several learners on one problem, for a sequence of regularisation constants and seeds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from egparse.evaluation.significance import paired_differences
from egparse.experiments.data.problems import Setup
from egparse.experiments.report.curves import AtEnd, Budget, Run, trace
from egparse.experiments.report.record import Comparison, Curve, Paired
from egparse.experiments.report.request import Request
from egparse.learners.learner import LearnerConfig
from egparse.parsing.training import STEPS
from egparse.types import Longs

RATES_NOTE = (
    "SGD's first learning rate (in brackets) is the one with the best validation score "
    "after one pass; those passes do not count."
)

_ETA0 = (1.0, 0.1, 0.01, 0.001, 0.0001)


class Contender(NamedTuple):
    """A learner in a comparison. ``tuned`` is an option and its candidate values, of which the one
    with the best score after one pass is taken.

    ``only`` restricts it to some values of C (empty: all). ``budget`` and ``loss``, if there are
    any, take the place of those of the plan. A contender that is not ``random`` runs with the first
    seed alone, unless the seeds split the data.
    """

    label: str
    learner: str
    options: Mapping[str, Any] = MappingProxyType({})
    tuned: tuple[str, Sequence[Any]] | None = None
    only: Sequence[float] = ()
    budget: Budget | None = None
    random: bool = True
    loss: tuple[float, float] | None = None


EG = Contender("EG", "eg-online", {"published": True})
"""As published: Collins et al. 2008, Fig. 2; examples drawn with replacement, uniform start."""

EG_PERMUTED = Contender(
    "EG, permuted", "eg-online", {"published": True, "order": "random", "start": "gold"}
)
"""Departs from Fig. 2: every example once a pass, and the start near the correct structures."""

EG_2007 = Contender("EG 2007", "eg-2007", random=False)
"""As published: Globerson et al. 2007, Fig. 2 and section 7; cyclic, learning rates that start
again at each visit.
"""

EG_OWN = Contender("EG, egparse", "eg-online", {"search": "quadratic", **STEPS})
"""As this project trains parsers: learning rates from second derivatives for each group of parts,
and more visits to the examples that gain.
"""

SGD = Contender("SGD", "sgd", tuned=("eta0", _ETA0))
"""The first learning rate chosen as in Collins et al. 2008, section 7.1.3."""

LBFGS = Contender("L-BFGS", "lbfgs", random=False)
CG = Contender("CG", "cg", random=False)
DCA = Contender("DCA", "dca")


class Plan(NamedTuple):
    """A comparison to be made. ``setup`` is the problem, or a function of the seed where each seed
    has its own split of the data. With ``risks``, those of the last model of each run are among the
    details of its curve, where the problem can measure them.
    """

    experiment: str
    setup: Setup | Callable[[int], Setup]
    contenders: Sequence[Contender]
    constants: Sequence[float]
    budget: Budget
    loss: tuple[float, float] = (1.0, 0.0)
    risks: bool = False
    seeds: Sequence[int] = ()


class _Case(NamedTuple):
    """A run to be made on a problem."""

    plan: Plan
    setup: Setup
    contender: Contender
    c: float
    seed: int


_Counts = dict[tuple[str, float, int], Longs]
"""(label, C, seed) -> the counts of the last model."""


def compare(plan: Plan, request: Request) -> Comparison:
    """Run every contender at every C with every seed: those of the plan, or else that of the
    request.
    """
    seeds = tuple(plan.seeds) or (request.seed,)
    splits = callable(plan.setup) and not isinstance(plan.setup, Setup)
    setups = {seed: plan.setup(seed) for seed in seeds} if splits else {}  # type: ignore[operator]
    curves: list[Curve] = []
    counts: _Counts = {}
    notes = []
    for c in plan.constants:
        for contender in plan.contenders:
            if contender.only and c not in contender.only:
                continue
            for seed in seeds if contender.random or splits else seeds[:1]:
                setup = setups[seed] if splits else plan.setup
                assert isinstance(setup, Setup)
                case = _Case(plan, setup, contender, c, seed)
                if not curves:
                    _compile(case)
                curve = _traced(case, counts)
                curves.append(curve)
                request.tell(_progress_line(curve))
                if curve.stopped.startswith("failed"):
                    notes.append(
                        f"{curve.label} at C = {c:g}: {curve.stopped} after {len(curve.points)} "
                        "passes."
                    )
    task = (setups[seeds[0]] if splits else plan.setup).task  # type: ignore[union-attr]
    found = Comparison(task, tuple(curves), tuple(notes), (), splits)
    return found._replace(tests=tuple(_tests(found, counts)))


def _traced(case: _Case, counts: _Counts) -> Curve:
    """The curve, and the counts and risks of its last model. They are measured along with the test
    score, the only time at which the problem holds that model.
    """
    setup, measures = case.setup, list[AtEnd]()
    if case.plan.risks and setup.risks is not None:
        risks = setup.risks
        measures.append(lambda scale: risks(scale)._asdict())
    if setup.figures is not None:
        measures.append(setup.figures)
    if setup.outcomes is not None:
        outcomes = setup.outcomes

        def keep(scale: float) -> Mapping[str, float]:
            counts[case.contender.label, case.c, case.seed] = outcomes(scale)
            return {}

        measures.append(keep)
    return trace(setup, _run(case), case.contender.budget or case.plan.budget, measures)


def _tests(found: Comparison, counts: _Counts) -> list[Paired]:
    """Paired tests of all contenders at each C, of each at all C, and of their best values of C."""
    summed: dict[tuple[str, float], tuple[int, Longs]] = {}
    for (label, c, _), own in counts.items():
        number, total = summed.get((label, c), (0, np.zeros_like(own)))
        if total.shape == own.shape:
            summed[label, c] = number + 1, total + own
    best = {(label, found.best_c(label)) for label in found.labels}
    pairs = [
        (one, other)
        for one, other in itertools.combinations(summed, 2)
        if one[0] == other[0] or one[1] == other[1] or {one, other} <= best
    ]
    tests = []
    for (first, first_c), (second, second_c) in pairs:
        (n, own), (m, other) = summed[first, first_c], summed[second, second_c]
        if own.shape != other.shape:
            continue
        # the same weight for both, however many seeds they have
        paired = paired_differences({"score": own * m}, {"score": other * n})["score"]
        assert paired.p_value is not None
        tests.append(
            Paired(first, first_c, second, second_c, round(paired.difference, 4), paired.p_value)
        )
    return tests


def _compile(case: _Case) -> None:
    """One pass of every learner, so that no curve includes the time to load or compile kernels."""
    for contender in case.plan.contenders:
        run = _untuned(case._replace(contender=contender))
        if contender.tuned is not None:
            name, values = contender.tuned
            run = _with(run, name, values[-1])
        trace(_untested(case.setup), run, Budget(0.0))


def _run(case: _Case) -> Run:
    run = _untuned(case)
    if case.contender.tuned is None:
        return run
    name, values = case.contender.tuned
    setup = _untested(case.setup)
    trials = {value: trace(setup, _with(run, name, value), Budget(0.0)) for value in values}
    ended = {value: trial.points[-1] for value, trial in trials.items() if trial.points}

    def merit(value: Any) -> tuple[float, float]:
        return setup.sign * ended[value].score, -ended[value].primal

    return _with(run, name, max(ended, key=merit) if ended else values[-1])


def _untested(setup: Setup) -> Setup:
    """The same without the test part, which only models that are reported may see."""
    return setup._replace(test=None, outcomes=None, figures=None)


def _untuned(case: _Case) -> Run:
    beta, gamma = case.contender.loss or case.plan.loss
    config = LearnerConfig(beta=beta, gamma=gamma, c=case.c, seed=case.seed)
    contender = case.contender
    return Run(
        case.plan.experiment, contender.label, contender.learner, dict(contender.options), config
    )


def _with(run: Run, name: str, value: Any) -> Run:
    return run._replace(options={**run.options, name: value})


def _progress_line(curve: Curve) -> str:
    who = f"{curve.task}, {curve.label}, C = {curve.c:g}, seed {curve.seed}"
    if not curve.points:
        return f"{who}: {curve.stopped}"
    last = curve.points[-1]
    score = "" if math.isnan(last.score) else f"score {last.score:.2f}; "
    return (
        f"{who}: {last.effective_iterations:.1f} effective iterations, "
        f"{last.cpu_seconds:.1f} s, {score}{curve.stopped}"
    )
