"""A maximum-entropy classifier of words: iterative scaling, coordinate descent, Newton methods and
L-BFGS over time (Huang et al. 2009).

All learners of a problem get the same CPU seconds, but for those that are let run on: L-BFGS, which
gives the optimum, and coordinate descent and GIS, up to where L-BFGS passes them.
What the paper says of bounds, costs and rates is measured besides (``maxent_probes``). IIS, which
the paper does not run, the exact sub-problems of its section 3.2 and its authors' later methods run
too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from egparse.errors import EgparseError
from egparse.evaluation.significance import paired_differences
from egparse.experiments.claims import maxent, maxent_races
from egparse.experiments.comparisons import maxent_probes
from egparse.experiments.data.samples import files_of
from egparse.experiments.data.words import (
    BROWN,
    CHUNKS,
    Classified,
    WordTask,
    chunking,
    classify,
    f1,
    tagging,
)
from egparse.experiments.maxent.problem import build_maxent
from egparse.experiments.maxent.registry import train_maxent
from egparse.experiments.maxent.run import MaxentStop, Record
from egparse.experiments.report.outcome import Line, Outcome, Panel, Table
from egparse.experiments.report.panels import SECONDS, lines
from egparse.experiments.report.record import Comparison, Curve, Paired, Point, Task
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import NOTHING, number
from egparse.types import Floats, Longs

NAME = "maxent"
NEEDS = (BROWN, *files_of(CHUNKS))
SOURCE = "Huang et al. 2009, Fig. 2, Table 1, Theorem 1 and section 3"

LEARNERS = {
    "CD": "cd",
    "SCGIS": "scgis",
    "GIS": "gis",
    "L-BFGS": "lbfgs",
    "IIS": "iis",
    "CD, exact": "cd-exact",
    "TRON": "tron",
    "dual CD": "dual-cd",
}
"""Label -> name of the learner, in the order of the paper's legend; the last four are ours."""

_PAPER = ("CD", "SCGIS", "GIS", "L-BFGS")
_C = 0.1  # 1 / sigma^2 of the paper
_EIGHTH = 125_000  # words of training and test together
_PASSES, _QUICK_PASSES = 100_000, 60
_SPACING = 0.06  # points of a curve are as far apart in seconds, relatively
_SEVERAL = 3  # seeds and splits
_WITHIN = (1.0, 0.1, 0.01)


class Race(NamedTuple):
    """Learners on one task at several C. ``seconds`` are CPU seconds for each learner, times its
    factor in ``longer``; scores are compared at ``seconds``. With several ``seeds``, each has its
    split if ``splits``, and else the learners that draw at random run with each of them.
    """

    title: str
    task: str
    labels: Sequence[str]
    constants: Sequence[float]
    seconds: float
    longer: Mapping[str, float]
    seeds: Sequence[int]
    splits: bool = False


def races(request: Request) -> list[Race]:
    """All comparisons: whole Brown, an eighth of it with several splits, and chunks."""
    main, others = request.constants[:1] or (_C,), request.constants[1:]
    if not request.constants and not request.quick:
        others = (10 * _C, _C / 10)
    first, several = request.seeds_of(1), request.seeds_of(_SEVERAL)
    chunks, everyone = maxent_races.CHUNKS, tuple(LEARNERS)

    def seconds(full: float) -> float:
        return request.seconds_of(full, 0.4)

    def longer(factors: Mapping[str, float]) -> Mapping[str, float]:
        return {} if request.quick or request.seconds else factors

    # up to where L-BFGS passes the others, and to where it is near the optimum
    whole = longer({"CD": 5.0, "GIS": 2.2, "L-BFGS": 7.0})
    some = longer({"CD": 8.0, "GIS": 2.0, "L-BFGS": 8.5})
    rest = longer({"L-BFGS": 4.0})
    tags = (*_PAPER, "TRON", "dual CD")
    return [
        Race(maxent_races.TAGS, maxent_races.TAGS, tags, main, seconds(60.0), whole, first),
        Race(
            maxent_races.EIGHTH, maxent_races.EIGHTH, _PAPER, main, seconds(5.0), {}, several, True
        ),
        Race(chunks, chunks, everyone, main, seconds(12.0), some, several),
        Race(maxent_races.VARIANCES, chunks, everyone, others, seconds(8.0), rest, first),
    ]


def measure(request: Request) -> Results:
    """Tags of all words, of an eighth of them, then chunks; then what else the paper says."""
    _compile()
    found: dict[str, Comparison] = {}
    optima: dict[str, float] = {}
    numbers: dict[str, Any] = {}
    for race in races(request):
        if not race.constants:
            continue
        found[race.title], last = _run(race, request)
        optima.update(_optima(race, found[race.title]))
        if race.title == maxent_races.CHUNKS:
            numbers = maxent_probes.measure(last, request)
    notes = (
        *(
            f"{title}, {curve.label}: {curve.stopped}."
            for title, comparison in found.items()
            for curve in comparison.curves
            if curve.stopped.startswith("failed")
        ),
        "CPU seconds are those of training on one thread, without measuring objective and score, "
        "after all kernels have been compiled. Differences between learners are those of these "
        "implementations; all are compiled, and use the same sparse features.",
        "L(w\\*) is the lowest objective of any run; L-BFGS, CD and GIS run longer than the "
        "others. It is above the optimum by an unknown part, so that differences below 0.01 are not "
        "to be relied on.",
        "On the whole of Brown there is one split and one variance; IIS and exact coordinate "
        "descent run on chunks only.",
        "Scores are of the test parts, as in the paper; nothing was chosen by them. They are "
        "compared by paired tests after equal seconds.",
    )
    return Results(found, {"optimum": optima, **numbers}, notes, request.quick)


def _run(race: Race, request: Request) -> tuple[Comparison, Classified]:
    classified = classify(_task(race, request, race.seeds[0]))
    curves: list[Curve] = []
    counts: dict[tuple[float, str], list[Longs]] = {}
    for seed in race.seeds:
        if race.splits and seed != race.seeds[0]:
            classified = classify(_task(race, request, seed))
        for c, label in itertools.product(race.constants, race.labels):
            if seed != race.seeds[0] and not race.splits and LEARNERS[label] != "dual-cd":
                continue
            curve, outcome = _trace(classified, race, label, c, request, seed)
            curves.append(curve)
            counts.setdefault((c, label), []).append(outcome)
            request.tell(_progress_line(race, curve))
    task = classified.task
    described = Task(
        race.task, classified.problem.context_count, task.score_name, 1, classified.facts, False
    )
    tests = tuple(_tests(race, counts))
    return Comparison(described, tuple(curves), (), tests, race.splits), classified


def _task(race: Race, request: Request, seed: int) -> WordTask:
    if race.task == maxent_races.CHUNKS:
        return chunking(request)
    return tagging(request, seed, _EIGHTH if race.splits else 0)


def _trace(
    classified: Classified, race: Race, label: str, c: float, request: Request, seed: int
) -> tuple[Curve, Longs]:
    """The curve of a learner from w = 0, and what its weights predict after the seconds that all
    have.
    """
    points: list[Point] = []
    kept = [np.empty((0, 3), dtype=np.int64)]

    def observe(record: Record, w: Floats) -> None:
        outcomes = classified.outcomes(w)
        if record.seconds <= race.seconds or len(points) < 2:
            kept[0] = outcomes
        score = f1(outcomes)
        effort = float(record.passes)
        points.append(
            Point(record.passes, effort, record.seconds, record.objective, record.dual, score)
        )

    learner = LEARNERS[label]
    stop = MaxentStop(
        passes=request.budget(_PASSES, _QUICK_PASSES),
        tolerance=0.0,
        seconds=race.seconds * race.longer.get(label, 1.0),
        spacing=_SPACING,
        observe=observe,
    )
    options = {"seed": seed} if learner == "dual-cd" else {}
    try:
        train_maxent(learner, classified.problem, stop, sigma2=1 / c, **options)
        stopped = "passes or CPU seconds are spent"
    except EgparseError as error:
        stopped = f"failed: {error}"
    own = {"sigma2": 1 / c, **options}
    curve = Curve(NAME, race.task, label, learner, own, 1.0, 0.0, c, seed, tuple(points), stopped)
    return curve, kept[0]


def _progress_line(race: Race, curve: Curve) -> str:
    last = curve.points[-1]
    return (
        f"{race.title}: {curve.label}, C = {curve.c:g}, seed {curve.seed}: {last.iteration} "
        f"passes, {last.cpu_seconds:.1f} CPU seconds, objective {last.primal:.1f}, score "
        f"{last.score:.2f}; {curve.stopped}"
    )


def _tests(race: Race, counts: Mapping[tuple[float, str], Sequence[Longs]]) -> list[Paired]:
    """Paired tests of all learners at each C, on the sentences of all splits; of several seeds on
    one split the first.
    """
    tests = []
    for c in race.constants:
        for first, second in itertools.combinations(race.labels, 2):
            own, other = (
                np.concatenate(counts[c, label][: None if race.splits else 1])
                for label in (first, second)
            )
            paired = paired_differences({"score": own}, {"score": other})["score"]
            p = math.nan if paired.p_value is None else paired.p_value
            tests.append(Paired(first, c, second, c, round(paired.difference, 4), p))
    return tests


def _optima(race: Race, comparison: Comparison) -> dict[str, float]:
    """L(w*) by the title of the task and variance; of a task with several splits none."""
    if race.splits:
        return {}
    return {
        maxent_races.title_of(race.task, c): min(
            point.primal for curve in comparison.at(c) for point in curve.points
        )
        for c in comparison.constants
    }


def _compile() -> None:
    """Two passes of every learner on a tiny problem, so that no curve includes the time to load or
    compile kernels.
    """
    problem = build_maxent(csr_matrix(np.eye(3) + 1.0), [0, 1, 0])
    for learner in LEARNERS.values():
        train_maxent(learner, problem, MaxentStop(passes=2))


def report(results: Results) -> Outcome:
    """Claims; table and figure of each task and variance."""
    found = maxent_races.runs(results)
    return Outcome(
        "Maximum entropy",
        SOURCE,
        results.facts,
        maxent.claims(results),
        [
            *(table_of(own) for own in found),
            *(
                splits_table(own)
                for own in results.comparisons.values()
                if own.split_by_seed and own.curves
            ),
            optima_table(found),
            *maxent_probes.tables(results.numbers),
        ],
        [panel for own in found for panel in panels_of(own)],
        results.notes,
    )


def table_of(found: maxent_races.Found) -> Table:
    """CPU seconds and passes to within 100 %, 10 % and 1 % of the optimum, and the end of each
    run.
    """
    near = [f"{100 * limit:g} %" for limit in _WITHIN]
    headings = (
        "learner",
        *(f"s to {limit}" for limit in near),
        *(f"passes to {limit}" for limit in near),
        *("passes", "s", "difference", "last", "best"),
    )
    rows = []
    for curve in found.curves:
        last = curve.points[-1]
        reached = [found.first(curve, limit) for limit in _WITHIN]
        rows.append(
            (
                curve.label,
                *(NOTHING if point is None else f"{point.cpu_seconds:.3g}" for point in reached),
                *(NOTHING if point is None else str(point.iteration) for point in reached),
                str(last.iteration),
                f"{last.cpu_seconds:.3g}",
                number(found.difference(last)),
                f"{last.score:.2f}",
                f"{max(point.score for point in curve.points):.2f}",
            )
        )
    title = f"{found.title}: {found.score_name}, last and best"
    return Table(title, headings, "l" + "r" * 11, rows)


def optima_table(found: Sequence[maxent_races.Found]) -> Table:
    """The lowest objective, the greatest dual value of dual coordinate descent, which is a lower
    bound of the optimum, and how far the first may be above the optimum.
    """
    rows = []
    for own in found:
        dual = max(point.dual for curve in own.curves for point in curve.points)
        gap = 100 * (own.optimum - dual) / dual
        rows.append((own.title, f"{own.optimum:,.2f}", number(dual), number(gap)))
    headings = ("task", "lowest objective", "lower bound", "above it by at most, %")
    return Table("The optimum, in nats", headings, "lrrr", rows)


def splits_table(found: Comparison) -> Table:
    """The last score on each split, their mean and standard deviation."""
    c = found.constants[0]
    seeds = sorted({curve.seed for curve in found.curves})
    rows = []
    for label in found.labels:
        scores = {curve.seed: f"{curve.points[-1].score:.2f}" for curve in found.runs(label, c)}
        passes = [curve.points[-1].iteration for curve in found.runs(label, c)]
        rows.append(
            (
                label,
                *(scores.get(seed, NOTHING) for seed in seeds),
                number(found.score(label, c)),
                number(found.spread(label, c)),
                number(sum(passes) / len(passes)),
            )
        )
    headings = ("learner", *(f"split {seed}" for seed in seeds), "mean", "sd", "passes")
    seconds = max(curve.points[-1].cpu_seconds for curve in found.curves)
    title = f"{found.task.name}: {found.task.score_name} after {seconds:.0f} s"
    return Table(title, headings, "l" + "r" * (len(seeds) + 3), rows)


def panels_of(found: maxent_races.Found) -> list[Panel]:
    """Relative difference over time (Fig. 2, a-b), score over time (c-d), and relative difference
    over passes. Time is on a logarithmic scale.
    """
    timed = [
        curve._replace(points=tuple(point for point in curve.points if point.cpu_seconds > 0))
        for curve in found.curves
    ]
    seconds, apart = "CPU seconds", "relative difference to the optimum"
    scores = lines(timed, lambda point: point.score, x=SECONDS)
    distances = lines(timed, found.difference, x=SECONDS)
    bounds = _end_range(scores)
    return [
        Panel(found.title, seconds, apart, distances, log_x=True, log_y=True),
        Panel(found.title, seconds, found.score_name, scores, log_x=True, bounds=bounds),
        Panel(found.title, "passes", apart, lines(timed, found.difference), log_y=True),
    ]


def _end_range(drawn: Sequence[Line]) -> tuple[float, float] | None:
    """From a little below the worst score at which a curve ends to the best of all; first passes,
    which are far off, are cut.
    """
    if not drawn:
        return None
    top, worst = max(max(line.y) for line in drawn), min(line.y[-1] for line in drawn)
    margin = 0.5 * (top - worst) + 0.5
    return worst - margin, top + 0.2 * margin
