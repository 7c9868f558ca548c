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
from egparse.types import Longs

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
        few passes and one seed.
        """
        passes, seconds = request.iterations or math.inf, request.seconds or math.inf
        plan, cut = self, bool(request.quick or request.iterations or request.seconds)
        if request.quick:
            passes, seconds = min(passes, _QUICK_PASSES), min(seconds, _QUICK_SECONDS)
            ends = tuple(dict.fromkeys((self.constants[0], self.constants[-1])))
            plan = self._replace(constants=ends, seeds=1)
        # a plan takes what is asked for, its contenders with budgets of their own no more than that
        budget = self.budget._replace(
            passes=min(request.iterations or self.budget.passes, passes),
            seconds=min(request.seconds or self.budget.seconds, seconds),
        )
        contenders = [
            one._replace(
                budget=one.budget
                and one.budget._replace(
                    passes=min(one.budget.passes, passes), seconds=min(one.budget.seconds, seconds)
                ),
                trial=min(one.trial, passes, 1.0 if cut else math.inf),
            )
            for one in plan.contenders
        ]
        return plan._replace(
            contenders=contenders,
            constants=request.constants or plan.constants,
            seeds=request.seeds or plan.seeds,
            budget=budget,
        )


class Experiment(NamedTuple):
    """Comparisons and probes by name; a probe measures something else, as plain numbers. ``needs``
    are the files of the data directory that a full run reads.
    """

    plans: Mapping[str, Plan]
    probes: Mapping[str, Callable[[Request], Mapping[str, Any]]] = MappingProxyType({})
    needs: Sequence[str] = ()


def compare(
    plan: Plan, request: Request, done: Comparison | None, keep: Callable[[Comparison], None]
) -> Comparison:
    """Run every contender at every C with every seed. ``done`` has curves of the same plan that
    need not be run again; ``keep`` is called with what there is after each curve.
    """
    plan = plan.under(request)
    seeds = tuple(range(request.seed, request.seed + plan.seeds))
    setups: dict[int, Setup] = {}

    def setup_of(seed: int) -> Setup:
        place = seed if plan.split_by_seed else seeds[0]
        if place not in setups:
            setups.clear()  # one problem in memory at a time
            setups[place] = plan.problem(request, place)
        return setups[place]

    known = {(one.label, one.c, one.seed): one for one in (done.curves if done else ())}
    found = done._replace(curves=()) if done else _described(setup_of(seeds[0]), plan)
    compiled = False
    for seed in seeds:
        for chain in _chains(plan, seed == seeds[0]):
            contender, c = chain[0]
            if plan.seeds_at_best and seed != seeds[0] and c != found.best_c(contender.label):
                continue
            if all((one.label, c, seed) in known for one, c in chain):
                curves = [known[one.label, c, seed] for one, c in chain]
            else:
                setup = setup_of(seed)
                if not compiled:
                    _compile(plan, setup)
                    compiled = True
                curves = []
                for curve in _run_chain(plan, setup, chain, seed, found):
                    curves.append(curve)
                    request.tell(_progress_line(curve))
            found = found._replace(curves=(*found.curves, *curves))
            keep(found)
    return found


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
    record = _Recorder(setup, contender, config)
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
                record.add(certificate, spent, state.scale)
            reason = _reason(record.points, calls, max(bound, certificate.dual), budget)
        with learner.model_weights(state):
            record.end(state.scale)
    except EgparseError as error:
        reason = f"failed: {error}"
    return record.curve(reason)


class _Recorder:
    """The points of a run, and what is measured of its last model."""

    def __init__(self, setup: Setup, contender: Contender, config: LearnerConfig) -> None:
        self.points: list[Point] = []
        self._setup, self._contender, self._config = setup, contender, config
        self._test: float | None = None
        self._details: dict[str, float] = {}
        self._outcomes: Longs | None = None

    def add(self, certificate: Certificate | PathPoint, seconds: float, scale: float) -> None:
        """A point, with the score of the present model."""
        if not math.isfinite(certificate.primal) or math.isnan(certificate.dual):
            raise EgparseError("the objective is not finite")
        with np.errstate(over="ignore"):  # weights may be rounded, as models are stored
            score = self._setup.score(scale)
        passes, primal, dual = (
            certificate.effective_iterations,
            certificate.primal,
            certificate.dual,
        )
        self.points.append(Point(passes, seconds, primal, dual, score))
        self._details |= dict(getattr(certificate, "details", {}))

    def end(self, scale: float) -> None:
        """What is measured of the last model alone."""
        setup = self._setup
        with np.errstate(over="ignore"):
            self._test = None if setup.test is None else setup.test(scale)
            self._outcomes = None if setup.outcomes is None else setup.outcomes(scale)
            if setup.figures is not None:
                self._details |= setup.figures(scale)

    def curve(self, stopped: str) -> Curve:
        """All that was recorded."""
        contender, config, setup = self._contender, self._config, self._setup
        known = {} if setup.optimum is None else {"optimum": setup.optimum(config.c)}
        return Curve(
            contender.label,
            contender.learner,
            dict(contender.options),
            config.beta,
            config.gamma,
            config.c,
            config.seed,
            tuple(self.points),
            stopped,
            self._test,
            {**self._details, **known},
            self._outcomes,
        )


def _chains(plan: Plan, first_seed: bool) -> Iterator[list[tuple[Contender, float]]]:
    """The runs of a seed: for each C the contenders in order, after them the warm paths."""
    present = [one for one in plan.contenders if one.random or plan.split_by_seed or first_seed]
    for c in plan.constants:
        for contender in present:
            if not contender.warm and (not contender.only or c in contender.only):
                yield [(contender, c)]
    for contender in present:
        if contender.warm:
            yield [(contender, c) for c in plan.constants]


def _run_chain(
    plan: Plan, setup: Setup, chain: Sequence[tuple[Contender, float]], seed: int, found: Comparison
) -> Iterator[Curve]:
    contender, c = chain[0]
    budget = contender.budget or plan.budget
    config = _config(plan, contender, c, seed)
    if contender.warm:
        yield from _trace_path(setup, contender, config, budget, [c for _, c in chain])
        return
    bound = found.greatest_dual(config.loss, c, seed)
    if setup.optimum is not None:
        bound = max(bound, setup.optimum(c))
    yield trace(setup, _tuned(setup, contender, config), config, budget, bound)


def _trace_path(
    setup: Setup,
    contender: Contender,
    config: LearnerConfig,
    budget: Budget,
    constants: Sequence[float],
) -> Iterator[Curve]:
    """The curves of a path over C with warm starts, as each C is solved."""
    setup.problem.reset()
    learner: Any = build(contender.learner, setup.problem, config, **contender.options)
    path = PathConfig(
        c_from=constants[0],
        c_to=constants[-1],
        decay=constants[1] / constants[0] if len(constants) > 1 else 0.7,
        gap=budget.gap,
        iterations=int(budget.passes),
        rates="kept",
        gap_of="primal",
    )
    if len(path.constants) < len(constants) or not np.allclose(path.constants, constants):
        raise EgparseError(f"expected a path of C that falls by one factor, got {list(constants)}")
    for solved in follow(learner, learner.initialise(setup.gold_theta), path):
        record = _Recorder(setup, contender, replace(config, c=solved.c))
        record.add(solved, solved.cpu_seconds, solved.scale)
        record.end(solved.scale)
        reason = f"a gap of {budget.gap:g} of the primal" if solved.reached else "all passes"
        yield record.curve(reason)


def _config(plan: Plan, contender: Contender, c: float, seed: int) -> LearnerConfig:
    beta, gamma = contender.loss or plan.loss
    return LearnerConfig(beta=beta, gamma=gamma, c=c, seed=seed)


def _tuned(setup: Setup, contender: Contender, config: LearnerConfig) -> Contender:
    """The contender with the best value of the option that is tuned, after one pass each."""
    if contender.tuned is None:
        return contender
    name, values = contender.tuned
    untested = setup._replace(test=None, outcomes=None, figures=None)
    best, merit = contender, (-math.inf, -math.inf)
    for value in values:
        trial = contender._replace(options={**contender.options, name: value})
        points = trace(untested, trial, config, Budget(contender.trial), -math.inf).points
        if points and (own := (setup.sign * points[-1].score, -points[-1].primal)) > merit:
            best, merit = trial, own
    return best


def _compile(plan: Plan, setup: Setup) -> None:
    """One pass of every learner, so that no curve includes the time to load or compile kernels."""
    untested = setup._replace(test=None, outcomes=None, figures=None)
    for one in plan.contenders:
        config = _config(plan, one, (one.only or plan.constants)[0], 1)
        tuned = {one.tuned[0]: one.tuned[1][-1]} if one.tuned else {}
        trial = one._replace(options={**one.options, **tuned})
        trace(untested, trial, config, Budget(0.0), -math.inf)


def _described(setup: Setup, plan: Plan) -> Comparison:
    return Comparison(setup.n, setup.score_name, setup.sign, setup.facts, (), plan.split_by_seed)


def _reason(points: list[Point], calls: int, bound: float, budget: Budget) -> str:
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
    score = "" if math.isnan(last.score) else f"score {last.score:.2f}; "
    return f"{who}: {last.passes:.1f} passes, {last.seconds:.1f} s, {score}{curve.stopped}"
