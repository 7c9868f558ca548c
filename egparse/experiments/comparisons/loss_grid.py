"""The loss family between CRF and structured SVM: beta and gamma varied, trained by DCA (Martins et
al. 2010, Tab. 1).

For each loss the C with the best validation score is reported, with the expected cost on the
validation part (ibid., footnote 1).

We differ in the corpora (see ``dca_curves``; English is cut to its first 4,000 training sentences),
and in the values of C: three around the best of theirs instead of four. For beta = inf,
Chu-Liu-Edmonds finds the best tree instead of a linear program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from egparse.experiments.comparisons.comparison import DCA, Plan, compare
from egparse.experiments.comparisons.dca_curves import (
    LATIN_NOTE,
    NEEDS,
    Task,
    english_setup,
    latin_setup,
    names_setup,
)
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Line, Outcome, Panel, Table
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import NOTHING

__all__ = ["LOSSES", "NAME", "NEEDS", "SOURCE", "measure", "report"]

NAME = "losses"
SOURCE = "Martins et al. 2010, Tab. 1"

LOSSES = ((1.0, 0.0), (1.0, 1.0), (1.0, 3.0), (1.0, 5.0), (3.0, 1.0), (5.0, 1.0), (math.inf, 1.0))
"""The columns of the table: beta and gamma; first the CRF, last the structured SVM."""

_QUICK_LOSSES = ((1.0, 0.0), (1.0, 1.0), (5.0, 1.0), (math.inf, 1.0))
_QUICK_C = (10.0, 1.0)
_ENGLISH = 4000  # training sentences
_BELOW = 0.4  # of the range of scores
_RISKS_NOTE = (
    "Cost, risk bound and ramp are per validation word, with the scores of the model as they are: "
    "E l, log E exp l (l is the cost of a sentence, E is taken under its Gibbs distribution), and "
    "the structured ramp loss. Label sequences that predictions rule out count too. "
    "The greater beta, the smaller the scores of the trained model and the flatter the "
    "distribution: compare at equal beta."
)


def measure(request: Request) -> Results:
    """A grid for names, and two for trees."""
    tasks = (
        Task(names_setup, (10.0, 1.0, 0.1), 50, _QUICK_C, 4),
        Task(lambda asked: english_setup(asked, _ENGLISH), (100.0, 10.0, 1.0), 10, _QUICK_C, 4),
        Task(latin_setup, (100.0, 10.0, 1.0), 10, _QUICK_C, 4),
    )
    grids = {name: found for task in tasks for name, found in _grid(task, request).items()}
    notes = (
        *dict.fromkeys(note for found in grids.values() for note in found.notes),
        *(() if request.quick else (LATIN_NOTE,)),
        "C is chosen by the validation score of the last pass; the weights are averaged (Alg. 1).",
        _RISKS_NOTE,
    )
    return Results(grids, notes=notes, quick=request.quick)


def report(results: Results) -> Outcome:
    """The table of the paper, and its figures."""
    names = tuple(dict.fromkeys(found.task.name for found in results.comparisons.values()))
    grids = [
        [found for found in results.comparisons.values() if found.task.name == name]
        for name in names
    ]
    facts = {
        f"{grid[0].task.name}: {key}": value
        for grid in grids
        for key, value in grid[0].task.facts.items()
    }
    return Outcome(
        "Losses between CRF and SVM",
        SOURCE,
        facts,
        (),
        [_table(grid) for grid in grids],
        [*map(_by_passes, grids), *map(_by_c, grids)],
        results.notes,
    )


Grid = Sequence[Comparison]
"""The comparisons on one problem, one for each loss (beta, gamma)."""


def _grid(task: Task, request: Request) -> dict[str, Comparison]:
    setup = task.setup(request)
    constants = request.values_of_c(task.constants, task.quick_constants)
    budget = Budget(request.budget(task.passes, task.quick_passes))
    losses = _QUICK_LOSSES if request.quick else LOSSES
    return {
        f"{setup.name}, {_name(loss)}": compare(
            Plan(NAME, setup, (DCA,), constants, budget, loss, risks=True), request
        )
        for loss in losses
    }


def _loss(found: Comparison) -> tuple[float, float]:
    return found.curves[0].beta, found.curves[0].gamma


def _name(loss: tuple[float, float]) -> str:
    known = {(1.0, 0.0): " (CRF)", (math.inf, 1.0): " (SVM)"}
    beta = "inf" if math.isinf(loss[0]) else f"{loss[0]:g}"
    return f"beta {beta}, gamma {loss[1]:g}{known.get(loss, '')}"


def _symbols(loss: tuple[float, float]) -> str:
    """A short name, for legends."""
    return _name(loss).replace("beta", "β").replace("gamma", "γ")  # noqa: RUF001


def _best(found: Comparison) -> Curve | None:
    c = found.best_c(DCA.label)
    return next((curve for curve in found.curves if curve.c == c and curve.points), None)


def _table(grid: Grid) -> Table:
    headings = ("loss", "best C", grid[0].task.score_name, "test", "cost", "risk bound", "ramp")
    rows = []
    for found in grid:
        loss, curve = _loss(found), _best(found)
        if curve is None:
            rows.append((_name(loss), *[NOTHING] * 6))
            continue
        test = NOTHING if curve.test is None else f"{curve.test:.2f}"
        costs = [
            f"{curve.details[name]:.4f}" if name in curve.details else NOTHING
            for name in ("expected", "bound", "ramp")
        ]
        rows.append((_name(loss), f"{curve.c:g}", f"{curve.points[-1].score:.2f}", test, *costs))
    return Table(grid[0].task.name, headings, "lrrrrrr", rows)


def _by_passes(grid: Grid) -> Panel:
    drawn = []
    for place, found in enumerate(grid):
        loss, curve = _loss(found), _best(found)
        if curve is not None:
            x, y = zip(
                *((point.effective_iterations, point.score) for point in curve.points), strict=True
            )
            drawn.append(Line(f"{_symbols(loss)}, C = {curve.c:g}", x, y, place))
    title = f"{grid[0].task.name}: each loss at its best C"
    return Panel(
        title, "effective iterations", grid[0].task.score_name, drawn, bounds=_bounds(drawn)
    )


def _by_c(grid: Grid) -> Panel:
    drawn = []
    for place, found in enumerate(grid):
        loss = _loss(found)
        ended = sorted((curve.c, curve.points[-1].score) for curve in found.curves if curve.points)
        if ended:
            x, y = zip(*ended, strict=True)
            drawn.append(Line(_symbols(loss), x, y, place, marked=True))
    title = f"{grid[0].task.name}: after the last pass"
    return Panel(title, "C", grid[0].task.score_name, drawn, log_x=True, bounds=_bounds(drawn))


def _bounds(drawn: Sequence[Line]) -> tuple[float, float] | None:
    """Room for the legend of seven losses below all lines."""
    values = [value for line in drawn for value in line.y]
    if not values:
        return None
    span = max(values) - min(values) + 0.1
    return min(values) - _BELOW * span, max(values) + 0.05 * span
