"""Several learners on one problem, for a sequence of regularisation constants: curves, a table, and
panels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from egparse.experiments.data.problems import Setup
from egparse.experiments.data.risks import Risks
from egparse.experiments.report.curves import Budget, Run, trace
from egparse.experiments.report.outcome import Line, Panel, Table
from egparse.experiments.report.record import Curve, Point, best_bound
from egparse.experiments.report.request import Request
from egparse.learners.learner import LearnerConfig

RATES_NOTE = (
    "SGD's first learning rate (in brackets) is the one with the best validation score "
    "after one pass; those passes do not count."
)

NOTHING = "-"
EFFORT = "effective iterations"
SECONDS = "CPU seconds"
_FLOOR = 1e-4  # per cent: smaller distances from the optimum are drawn at this height
_ETA0 = (1.0, 0.1, 0.01, 0.001, 0.0001)


class Contender(NamedTuple):
    """A learner in a comparison. ``tuned`` is an option and its candidate values, of which the one
    with the best score after one pass is taken.

    ``only`` restricts it to some values of C (empty: all).
    """

    label: str
    learner: str
    options: Mapping[str, Any] = MappingProxyType({})
    tuned: tuple[str, Sequence[Any]] | None = None
    only: Sequence[float] = ()


EG = Contender("EG", "eg-online", {"published": True})
"""Randomised, every example once a pass: the algorithm of Collins et al. 2008, Fig. 2."""

SGD = Contender("SGD", "sgd", tuned=("eta0", _ETA0))
"""The first learning rate chosen as in Collins et al. 2008, section 7.1.3."""

LBFGS = Contender("L-BFGS", "lbfgs")
CG = Contender("CG", "cg")
DCA = Contender("DCA", "dca")


class Plan(NamedTuple):
    """A comparison to be made. With ``risks``, those of the last model of each run are measured
    too, where the problem can measure them.
    """

    experiment: str
    setup: Setup
    contenders: Sequence[Contender]
    constants: Sequence[float]
    budget: Budget
    loss: tuple[float, float] = (1.0, 0.0)
    risks: bool = False


class Comparison(NamedTuple):
    """The curves, in order of C and contender, and notes on them. ``risks[k]`` are those at the end
    of curve k, if they were asked for.
    """

    setup: Setup
    curves: tuple[Curve, ...]
    notes: tuple[str, ...]
    risks: tuple[Risks | None, ...] = ()

    def at(self, c: float) -> tuple[Curve, ...]:
        """The curves of one C."""
        return tuple(curve for curve in self.curves if curve.c == c)

    def of(self, label: str) -> tuple[Curve, ...]:
        """The curves of one contender."""
        return tuple(curve for curve in self.curves if curve.label == label)

    @property
    def constants(self) -> tuple[float, ...]:
        """The values of C, in order."""
        return tuple(dict.fromkeys(curve.c for curve in self.curves))

    @property
    def labels(self) -> tuple[str, ...]:
        """The contenders, in order."""
        return tuple(dict.fromkeys(curve.label for curve in self.curves))

    def best_c(self, label: str) -> float:
        """The C at which a contender ends with the best score; nan where it has no curve."""
        sign = self.setup.sign
        ended = [
            (sign * curve.points[-1].score, curve.c) for curve in self.of(label) if curve.points
        ]
        return max(ended, default=(0.0, math.nan))[1]


def compare(plan: Plan, request: Request) -> Comparison:
    """Run every contender at every C."""
    _compile(plan, request)
    curves, risks, notes = [], [], []
    for c in plan.constants:
        for contender in plan.contenders:
            if contender.only and c not in contender.only:
                continue
            curve, last_risks = _traced(plan, _run(plan, contender, c, request))
            curves.append(curve)
            risks.append(last_risks)
            request.tell(_progress_line(curve))
            if curve.stopped.startswith("failed"):
                notes.append(
                    f"{curve.label} at C = {c:g}: {curve.stopped} after {len(curve.points)} passes."
                )
    return Comparison(plan.setup, tuple(curves), tuple(notes), tuple(risks))


def _traced(plan: Plan, run: Run) -> tuple[Curve, Risks | None]:
    """The curve, and the risks of its last model. They are measured along with the test score, the
    only time at which the problem holds that model.
    """
    score, risks = plan.setup.test, plan.setup.risks
    if not plan.risks or risks is None:
        return trace(plan.setup, run, plan.budget), None
    found: list[Risks] = []

    def last(scale: float) -> float:
        found.append(risks(scale))
        return math.nan if score is None else score(scale)

    curve = trace(plan.setup._replace(test=last), run, plan.budget)
    return curve if score else curve._replace(test=None), found[0] if found else None


def _compile(plan: Plan, request: Request) -> None:
    """One pass of every learner, so that no curve includes the time to load or compile kernels."""
    for contender in plan.contenders:
        run = _untuned(plan, contender, plan.constants[0], request)
        if contender.tuned is not None:
            name, values = contender.tuned
            run = _with(run, name, values[-1])
        trace(_untested(plan.setup), run, Budget(0.0))


def _run(plan: Plan, contender: Contender, c: float, request: Request) -> Run:
    run = _untuned(plan, contender, c, request)
    if contender.tuned is None:
        return run
    name, values = contender.tuned
    setup = _untested(plan.setup)
    trials = {value: trace(setup, _with(run, name, value), Budget(0.0)) for value in values}
    ended = {value: trial.points[-1] for value, trial in trials.items() if trial.points}

    def merit(value: Any) -> tuple[float, float]:
        return plan.setup.sign * ended[value].score, -ended[value].primal

    return _with(run, name, max(ended, key=merit) if ended else values[-1])


def _untested(setup: Setup) -> Setup:
    """The same without the test part, which only models that are reported may see."""
    return setup._replace(test=None)


def _untuned(plan: Plan, contender: Contender, c: float, request: Request) -> Run:
    beta, gamma = plan.loss
    config = LearnerConfig(beta=beta, gamma=gamma, c=c, seed=request.seed)
    return Run(plan.experiment, contender.label, contender.learner, dict(contender.options), config)


def _with(run: Run, name: str, value: Any) -> Run:
    return run._replace(options={**run.options, name: value})


def _progress_line(curve: Curve) -> str:
    if not curve.points:
        return f"{curve.task}, {curve.label}, C = {curve.c:g}: {curve.stopped}"
    last = curve.points[-1]
    return (
        f"{curve.task}, {curve.label}, C = {curve.c:g}: {last.effective_iterations:.1f} effective "
        "iterations, "
        f"{last.cpu_seconds:.1f} s, score {last.score:.2f}; {curve.stopped}"
    )


def summary_table(title: str, comparison: Comparison) -> Table:
    """The end of each run, and the passes (effective iterations) after which the primal was within
    1 % and 0.1 % of the best lower bound.
    """
    score, has_test = comparison.setup.score_name, comparison.setup.test is not None
    headings = (
        "C",
        "learner",
        "primal",
        "dual",
        "gap %",
        "to 1 %",
        "to 0.1 %",
        "passes",
        "CPU s",
        "last",
        "best",
    )
    rows = []
    for curve in comparison.curves:
        if not curve.points:
            rows.append(
                (f"{curve.c:g}", _with_options(curve), *[NOTHING] * 9, *[NOTHING] * has_test)
            )
            continue
        last, bound = curve.points[-1], best_bound(comparison.at(curve.c))
        best = max(curve.points, key=lambda point: comparison.setup.sign * point.score)
        rows.append(
            (
                f"{curve.c:g}",
                _with_options(curve),
                number(last.primal),
                number(last.dual),
                number(100 * last.gap / abs(last.dual)),
                number(_effort(curve, bound, 0.01)),
                number(_effort(curve, bound, 0.001)),
                f"{last.effective_iterations:.1f}",
                f"{last.cpu_seconds:.2f}",
                f"{last.score:.2f}",
                f"{best.score:.2f}",
                *([NOTHING if curve.test is None else f"{curve.test:.2f}"] if has_test else []),
            )
        )
    return Table(
        f"{title}: {score}, last and best",
        (*headings, *(["test"] if has_test else [])),
        "rl" + "r" * (9 + has_test),
        rows,
    )


def _with_options(curve: Curve) -> str:
    """The label of the contender, with the tuned learning rate."""
    return f"{curve.label} ({curve.options['eta0']:g})" if "eta0" in curve.options else curve.label


def _effort(curve: Curve, bound: float, tolerance: float) -> float:
    """The effective iterations after which the primal is first within the tolerance of the bound;
    inf if it never is.
    """
    wanted = bound + tolerance * abs(bound)
    return next(
        (point.effective_iterations for point in curve.points if point.primal <= wanted), math.inf
    )


def number(value: float) -> str:
    """Four significant digits, or all digits before the point; ``NOTHING`` if not finite."""
    if not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = 3 - math.floor(math.log10(size)) if size > 0 else 0
    return f"{value:.{min(6, max(0, decimals))}f}"


def lines(
    curves: Iterable[Curve],
    y: Callable[[Point], float],
    *,
    x: str = EFFORT,
    name: Callable[[Curve], str] = lambda curve: curve.label,
    colours: Sequence[Any] = (),
    dashed: bool = False,
) -> list[Line]:
    """One line for each curve. Its colour is the index of its label or C in ``colours``, by default
    the index of the curve.
    """
    found = []
    for place, curve in enumerate(curves):
        points = [point for point in curve.points if math.isfinite(y(point))]
        effort = [
            point.cpu_seconds if x == SECONDS else point.effective_iterations for point in points
        ]
        colour = _colour(curve, place, colours)
        found.append(Line(name(curve), effort, [y(point) for point in points], colour, dashed))
    return [line for line in found if line.x]


def _colour(curve: Curve, place: int, colours: Sequence[Any]) -> int:
    """The index of the curve's label or C in ``colours``, or else ``place``."""
    return next((colours.index(key) for key in (curve.label, curve.c) if key in colours), place)


def by_c(curve: Curve) -> str:
    """The name of a line in a panel of several C."""
    return f"C = {curve.c:g}"


def excess_panel(comparison: Comparison, c: float, *, x: str = EFFORT) -> Panel:
    """The excess of each primal over the best lower bound, in per cent of that bound."""
    curves = comparison.at(c)
    bound = best_bound(curves)

    def excess(point: Point) -> float:
        return max(_FLOOR, 100 * (point.primal - bound) / abs(bound)) if bound else math.nan

    return Panel(
        f"Primal, C = {c:g}",
        x,
        "above the best bound (%)",
        lines(curves, excess, x=x, colours=comparison.labels),
        log_y=True,
    )


def gap_panel(
    title: str,
    curves: Sequence[Curve],
    name: Callable[[Curve], str],
    *,
    x: str = EFFORT,
    colours: Sequence[Any] = (),
) -> Panel:
    """The duality gap in per cent of the best lower bound."""
    bounds = {
        c: best_bound(tuple(curve for curve in curves if curve.c == c))
        for c in {curve.c for curve in curves}
    }

    def gap(curve: Curve) -> list[Line]:
        bound = abs(bounds[curve.c])
        return lines([curve], lambda point: max(_FLOOR, 100 * point.gap / bound), x=x, name=name)

    drawn = [
        line._replace(colour=_colour(curve, place, colours))
        for place, curve in enumerate(curves)
        for line in gap(curve)
    ]
    return Panel(title, x, "duality gap (%)", drawn, log_y=True)


def objective_panel(
    title: str,
    curves: Sequence[Curve],
    n: int,
    name: Callable[[Curve], str],
    *,
    x: str = EFFORT,
    unit: str = "nats",
    colours: Sequence[Any] = (),
) -> Panel:
    """Primal (full lines) and dual (dashed) per example, on a common scale."""
    drawn: list[Line] = []
    for place, curve in enumerate(curves):
        primal = lines(
            [curve],
            lambda point: point.primal / n,
            x=x,
            name=lambda curve: f"{name(curve)}, primal",
        )
        dual = lines(
            [curve],
            lambda point: point.dual / n,
            x=x,
            name=lambda curve: f"{name(curve)}, dual",
            dashed=True,
        )
        drawn += [line._replace(colour=_colour(curve, place, colours)) for line in (*primal, *dual)]
    ends = [value for line in drawn for value in line.y[-1:]]
    top = 2.0 * max(ends, default=1.0)
    bottom = min(0.0, min(ends, default=0.0))
    return Panel(title, x, f"objective ({unit} per example)", drawn, bounds=(bottom, top))


def score_panel(
    title: str,
    comparison: Comparison,
    curves: Sequence[Curve],
    name: Callable[[Curve], str] = lambda curve: curve.label,
    *,
    x: str = EFFORT,
    colours: Sequence[Any] = (),
) -> Panel:
    """The validation score, on a y axis limited to the range in which runs end."""
    drawn = lines(curves, lambda point: point.score, x=x, name=name, colours=colours)
    return Panel(
        title, x, comparison.setup.score_name, drawn, bounds=_range(drawn, comparison.setup.sign)
    )


def _range(drawn: Sequence[Line], sign: int) -> tuple[float, float] | None:
    """From the best score to a little beyond the worst at which a run ends; first passes, which are
    far off, are cut.
    """
    if not drawn:
        return None
    merits = sorted(sign * value for line in drawn for value in line.y)
    worst = min(sign * line.y[-1] for line in drawn)
    low = min(worst, merits[len(merits) // 5])
    margin = 0.08 * (merits[-1] - low) + 0.1
    ends = sign * (low - margin), sign * (merits[-1] + margin)
    return min(ends), max(ends)
