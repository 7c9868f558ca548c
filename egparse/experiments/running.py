"""Run the contenders of a plan on its problem, for a sequence of regularisation constants and
seeds, and record objective and score after each pass.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.experiments.problems.setup import Setup
from egparse.experiments.record import Comparison, Curve, Point
from egparse.experiments.request import Request
from egparse.learners.eg.path import PathConfig, PathPoint, follow
from egparse.learners.learner import Certificate, LearnerConfig
from egparse.learners.registry import build

LOG_LINEAR, HINGE = (1.0, 0.0), (math.inf, 1.0)
"""The pairs (beta, gamma) of the log-linear and the max-margin loss."""

_CALLS = 3
"""At most so many calls of ``iterate`` for each pass, so that a learner whose passes do no work
comes to an end.
"""
_QUICK_PASSES, _QUICK_SECONDS = 12, 0.2


class Budget(NamedTuple):
    """The limits of a run. It ends earlier at a relative duality gap of ``gap``, and a learner
    without a dual where its primal is as near to the greatest dual that any learner before it
    reached.

    A point is recorded after each pass, or with a ``spacing`` above 1 after so many times the
    passes of the last point, since certificates and scores may take as long as passes do.
    """

    passes: float
    seconds: float = math.inf
    gap: float = 1e-5
    spacing: float = 1.0

    def at_most(self, passes: float, seconds: float) -> Budget:
        """The same with no more passes and CPU seconds than these."""
        return self._replace(passes=min(self.passes, passes), seconds=min(self.seconds, seconds))


class Contender(NamedTuple):
    """A learner in a comparison. ``tuned`` is an option and its candidate values, of which the one
    with the best score after ``trial`` passes is taken; those passes do not count.

    ``only`` restricts it to some values of C (empty: all). ``budget`` and ``loss``, if there are
    any, take the place of those of the plan. A contender that is not ``random`` runs with the first
    seed alone, unless the seeds split the data. A ``warm`` contender starts at each C but the first
    from its solution for the one before (Collins et al. 2008, section 7.1.2); its points count the
    passes of this C alone.
    """

    label: str
    learner: str
    options: Mapping[str, Any] = MappingProxyType({})
    tuned: tuple[str, Sequence[Any]] | None = None
    only: Sequence[float] = ()
    budget: Budget | None = None
    random: bool = True
    loss: tuple[float, float] | None = None
    warm: bool = False
    trial: float = 1.0


class Plan(NamedTuple):
    """A comparison to be made, as data. ``problem`` gives the problem of a request and a seed. With
    ``seeds_at_best`` every seed but the first is run at one C alone for each contender: that of its
    best validation score with the first seed.
    """

    problem: Callable[[Request, int], Setup]
    contenders: Sequence[Contender]
    constants: Sequence[float]
    budget: Budget
    loss: tuple[float, float] = LOG_LINEAR
    seeds: int = 1
    split_by_seed: bool = False
    seeds_at_best: bool = False

    def under(self, request: Request) -> Plan:
        """The plan with what the request asks for in its place; a quick one has few values of C,
        few passes and one seed. A plan takes the budget that is asked for, its contenders with
        budgets of their own no more than that.
        """
        constants, seeds = self.constants, self.seeds
        limits = request.iterations or math.inf, request.seconds or math.inf
        budget = self.budget._replace(
            passes=request.iterations or self.budget.passes,
            seconds=request.seconds or self.budget.seconds,
        )
        if request.quick:
            constants, seeds = tuple(dict.fromkeys((constants[0], constants[-1]))), 1
            limits = min(limits[0], _QUICK_PASSES), min(limits[1], _QUICK_SECONDS)
        is_cut = min(limits) < math.inf
        contenders = [
            one._replace(
                budget=one.budget and one.budget.at_most(*limits),
                trial=1.0 if is_cut else one.trial,
            )
            for one in self.contenders
        ]
        return self._replace(
            contenders=contenders,
            constants=request.constants or constants,
            seeds=request.seeds or seeds,
            budget=budget.at_most(*limits),
        )


class Experiment(NamedTuple):
    """Comparisons and probes by name; a probe measures something else, as plain numbers. ``needs``
    are the files of the data directory that a full run reads.
    """

    plans: Mapping[str, Plan]
    probes: Mapping[str, Callable[[Request], Mapping[str, Any]]] = MappingProxyType({})
    needs: Sequence[str] = ()


def compare(plan: Plan, request: Request, done: Comparison | None = None) -> Iterator[Comparison]:
    """Run every contender at every C with every seed; what there is after each run. ``done`` has
    curves of the same plan, which are not run again.
    """
    plan = plan.under(request)
    setup: Setup | None = None
    if done is None:
        setup = plan.problem(request, request.seed)
        facts = setup.n, setup.score_name, setup.sign, setup.facts
        done = Comparison(*facts, split_by_seed=plan.split_by_seed)
    known = {(one.label, one.c, one.seed): one for one in done.curves}
    found, compiled = done._replace(curves=()), False
    for seed in range(request.seed, request.seed + plan.seeds):
        is_first = seed == request.seed
        if plan.split_by_seed and not is_first:
            setup = None  # one problem in memory at a time
        for contender, constants in _chains(plan, is_first):
            at_best = is_first or constants[0] == found.best_c(contender.label)
            if plan.seeds_at_best and not at_best:
                continue
            curves = [known[key] for c in constants if (key := (contender.label, c, seed)) in known]
            if is_new := len(curves) < len(constants):
                if setup is None:
                    setup = plan.problem(request, seed if plan.split_by_seed else request.seed)
                if not compiled:
                    _compile(plan, setup)
                    compiled = True
                curves = []
                for curve in _run_chain(plan, setup, contender, constants, seed, found):
                    curves.append(curve)
                    request.tell(_progress_line(curve))
            found = found._replace(curves=(*found.curves, *curves))
            if is_new:
                yield found


def _chains(plan: Plan, first_seed: bool) -> Iterator[tuple[Contender, Sequence[float]]]:
    """The runs of a seed: each C with the contenders in order, after them the warm paths."""
    present = [one for one in plan.contenders if one.random or plan.split_by_seed or first_seed]
    for c in plan.constants:
        for one in present:
            if not one.warm and c in (one.only or plan.constants):
                yield one, (c,)
    yield from ((one, plan.constants) for one in present if one.warm)


def _run_chain(
    plan: Plan,
    setup: Setup,
    contender: Contender,
    constants: Sequence[float],
    seed: int,
    found: Comparison,
) -> Iterator[Curve]:
    budget = contender.budget or plan.budget
    config = _config(plan, contender, constants[0], seed)
    if contender.warm:
        yield from _trace_path(setup, contender, config, budget, constants)
        return
    bound = found.greatest_dual(config)
    if setup.optimum is not None:
        bound = max(bound, setup.optimum(config.c))
    yield trace(setup, _tuned(setup, contender, config), config, budget, bound)


def trace(
    setup: Setup, contender: Contender, config: LearnerConfig, budget: Budget, bound: float
) -> Curve:
    """The curve of a run. A run that fails (diverges, makes no progress) keeps its points, and
    ``stopped`` says why it ended.

    Raises:
        ConfigError: a learner that does not fit the loss or the options.
    """
    setup.problem.reset()
    learner = build(contender.learner, setup.problem, config, **contender.options)
    curve = _begun(contender, config)
    spent, calls, due, reason = 0.0, 0, 1.0, ""
    try:
        begun = time.process_time()
        state = learner.initialise(setup.gold_theta)
        spent += time.process_time() - begun
        while not reason:
            begun = time.process_time()
            learner.iterate(state)
            spent += time.process_time() - begun
            calls += 1
            if calls < due and spent < budget.seconds:
                continue
            due = max(calls + 1, min(math.ceil(budget.spacing * calls), budget.passes))
            certificate = learner.certificate(state)
            with learner.model_weights(state):
                curve = _with_point(curve, setup, certificate, spent, state.scale)
            reason = _reason(curve.points, calls, max(bound, certificate.dual), budget)
        with learner.model_weights(state):
            curve = _measured(curve, setup, state.scale)
    except EgparseError as error:
        reason = f"failed: {error}"
    return _ended(curve, setup, reason)


def _trace_path(
    setup: Setup,
    contender: Contender,
    config: LearnerConfig,
    budget: Budget,
    constants: Sequence[float],
) -> Iterator[Curve]:
    """The curves of a path over C with warm starts, as each C is solved; rates are kept."""
    setup.problem.reset()
    learner: Any = build(contender.learner, setup.problem, config, **contender.options)
    state, passes = learner.initialise(setup.gold_theta), int(budget.passes)
    for c in constants:
        path = PathConfig(c_from=c, c_to=c, gap=budget.gap, iterations=passes, gap_of="primal")
        (solved,) = follow(learner, state, path)
        curve = _begun(contender, replace(config, c=c))
        curve = _with_point(curve, setup, solved, solved.cpu_seconds, solved.scale)
        reason = f"a gap of {budget.gap:g} of the primal" if solved.reached else "all passes"
        yield _ended(_measured(curve, setup, solved.scale), setup, reason)


def _begun(contender: Contender, config: LearnerConfig) -> Curve:
    settings = config.beta, config.gamma, config.c, config.seed
    return Curve(contender.label, contender.learner, dict(contender.options), *settings)


def _with_point(
    curve: Curve, setup: Setup, now: Certificate | PathPoint, seconds: float, scale: float
) -> Curve:
    """The curve with the objective and the score of the present model."""
    if not math.isfinite(now.primal) or math.isnan(now.dual):
        raise EgparseError("the objective is not finite")
    with np.errstate(over="ignore"):  # weights may be rounded, as models are stored
        score = setup.score(scale)
    point = Point(now.effective_iterations, seconds, now.primal, now.dual, score)
    details = {**curve.details, **getattr(now, "details", {})}
    return curve._replace(points=(*curve.points, point), details=details)


def _measured(curve: Curve, setup: Setup, scale: float) -> Curve:
    """The curve with what is measured of the last model alone."""
    with np.errstate(over="ignore"):
        return curve._replace(
            test=setup.test and setup.test(scale),
            outcomes=setup.outcomes and setup.outcomes(scale),
            details={**curve.details, **(setup.figures(scale) if setup.figures else {})},
        )


def _ended(curve: Curve, setup: Setup, reason: str) -> Curve:
    known = {"optimum": setup.optimum(curve.c)} if setup.optimum else {}
    return curve._replace(stopped=reason, details={**curve.details, **known})


def _config(plan: Plan, contender: Contender, c: float, seed: int) -> LearnerConfig:
    beta, gamma = contender.loss or plan.loss
    return LearnerConfig(beta=beta, gamma=gamma, c=c, seed=seed)


def _candidates(contender: Contender) -> list[Contender]:
    """The contender with each value of the option that is tuned, if one is."""
    if contender.tuned is None:
        return [contender]
    name, values = contender.tuned
    return [contender._replace(options={**contender.options, name: own}) for own in values]


def _tuned(setup: Setup, contender: Contender, config: LearnerConfig) -> Contender:
    """The candidate with the best score, or of equal ones that with the lowest primal."""

    def merit(candidate: Contender) -> tuple[float, float]:
        points = _tried(setup, candidate, config, contender.trial)
        if not points:
            return -math.inf, -math.inf
        return setup.sign * points[-1].score, -points[-1].primal

    candidates = _candidates(contender)
    return max(candidates, key=merit) if len(candidates) > 1 else contender


def _compile(plan: Plan, setup: Setup) -> None:
    """One pass of every learner, so that no curve includes the time to load or compile kernels."""
    for one in plan.contenders:
        config = _config(plan, one, (one.only or plan.constants)[0], 1)
        _tried(setup, _candidates(one)[-1], config, 0.0)


def _tried(
    setup: Setup, contender: Contender, config: LearnerConfig, passes: float
) -> tuple[Point, ...]:
    """The points of a run whose last model is not measured."""
    setup = setup._replace(test=None, outcomes=None, figures=None)
    return trace(setup, contender, config, Budget(passes), -math.inf).points


def _reason(points: Sequence[Point], calls: int, bound: float, budget: Budget) -> str:
    last = points[-1]
    if last.passes >= budget.passes:
        return f"{budget.passes:g} passes"
    if last.seconds >= budget.seconds:
        return f"{budget.seconds:g} CPU seconds"
    if math.isfinite(bound) and last.primal - bound <= budget.gap * abs(bound):
        return f"within {budget.gap:g} of the best lower bound"
    if len(points) > 1 and last.passes == points[-2].passes:
        return "converged: no more work to do"
    if calls >= _CALLS * budget.passes:
        return f"{calls} calls"
    return ""


def _progress_line(curve: Curve) -> str:
    who = f"{curve.label}, C = {curve.c:g}, seed {curve.seed}"
    if not curve.points:
        return f"{who}: {curve.stopped}"
    last = curve.points[-1]
    effort = f"{last.passes:.1f} passes, {last.seconds:.1f} s"
    return f"{who}: {effort}, score {last.score:.2f}; {curve.stopped}"
