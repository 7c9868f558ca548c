"""The loss family between CRF and structured SVM: beta and gamma varied, trained by DCA (Martins et
al. 2010, Tab. 1).

For each loss the C with the best validation score is reported, with the expected cost on the
validation part (ibid., footnote 1).

We differ in the corpora (see ``dca_curves``; English is cut to its first 1,500 training sentences,
names to 4,000), and in the number of passes: 6 instead of 50 over names, and of 10 over trees. For
beta = inf, Chu-Liu-Edmonds finds the best tree instead of a linear program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from egparse.experiments.claims.losses import LOSSES, NAMES_SEEDS, claims, name_of
from egparse.experiments.comparisons.comparison import Contender, Plan, compare
from egparse.experiments.comparisons.dca_curves import (
    LATIN_NOTE,
    NEEDS,
    english_setup,
    latin_setup,
    names_setup,
)
from egparse.experiments.data.problems import Setup
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Line, Outcome, Panel, Table
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import NOTHING, score

__all__ = ["NAME", "NEEDS", "SOURCE", "measure", "report"]

NAME = "losses"
SOURCE = "Martins et al. 2010, Tab. 1 and footnote 1"

_QUICK_LOSSES = (LOSSES[0], LOSSES[1], LOSSES[5], LOSSES[6])
_QUICK_C = (10.0, 1.0)
_NAMES, _ENGLISH = 4000, 1500  # training sentences
_SEEDS = 3
_BELOW = 0.4  # of the range of scores
_RISKS = ("expected", "bound", "ramp")
_RISKS_NOTE = (
    "Cost, risk bound and ramp are per validation word, with the scores of the model as they are: "
    "E l, log E exp l (l is the cost of a sentence, E is taken under its Gibbs distribution), and "
    "the structured ramp loss. Label sequences that predictions rule out count too. "
    "The greater beta, the smaller the scores of the trained model and the flatter the "
    "distribution: compare at equal beta."
)


class _Grid(NamedTuple):
    """A problem, which ``setup`` builds from a seed, with the values of C and the seeds."""

    setup: Callable[[Request, int], Setup]
    constants: tuple[float, ...]
    seeds: int = 1


def measure(request: Request) -> Results:
    """A grid for names, and two for trees; then names at the best C of each loss, with seeds."""
    grids = (
        _Grid(lambda asked, _: names_setup(asked, _NAMES), (10.0, 1.0, 0.1, 0.01)),
        _Grid(lambda asked, _: english_setup(asked, _ENGLISH), (1000.0, 100.0, 10.0, 1.0)),
        _Grid(latin_setup, (1000.0, 100.0, 10.0, 1.0), _SEEDS),
    )
    found: dict[str, Comparison] = {}
    for grid in grids:
        compared = _compared(grid, request)
        found[compared.task.name] = compared
    first = next(iter(found.values()))
    found[NAMES_SEEDS] = _names_again(first, request)
    notes = (
        *dict.fromkeys(note for each in found.values() for note in each.notes),
        *(() if request.quick else (LATIN_NOTE,)),
        "C is chosen by the validation score of the last pass; the weights are averaged (Alg. 1). "
        "Paired tests are of all losses at each C, and at their best C, on the test parts.",
        "Cut to fit the time: names to 4,000 training sentences, English to 1,500; six passes; "
        "three seeds for Latin, and for names at the best C of each loss.",
        _RISKS_NOTE,
    )
    return Results(found, notes=notes, quick=request.quick)


def report(results: Results) -> Outcome:
    """Claims, the table of the paper, and its figures."""
    grids = [own for name, own in results.comparisons.items() if name != NAMES_SEEDS]
    return Outcome(
        "Losses between CRF and SVM",
        SOURCE,
        {
            f"{own.task.name}: {key}": value
            for own in grids
            for key, value in own.task.facts.items()
        },
        claims(results),
        [_table(own.task.name, own) for own in grids]
        + [_table(NAMES_SEEDS, results.comparisons[NAMES_SEEDS])],
        [*map(_by_passes, grids), *map(_by_c, grids)],
        results.notes,
    )


def _contenders(request: Request) -> tuple[Contender, ...]:
    losses = _QUICK_LOSSES if request.quick else LOSSES
    return tuple(Contender(name_of(loss), "dca", loss=loss) for loss in losses)


def _compared(grid: _Grid, request: Request) -> Comparison:
    seeds = request.seeds_of(grid.seeds)
    setup = (
        grid.setup(request, request.seed)
        if grid.seeds == 1
        else (lambda seed: grid.setup(request, seed))
    )
    constants = request.values_of_c(grid.constants, _QUICK_C)
    return compare(
        Plan(
            NAME,
            setup,
            _contenders(request),
            constants,
            Budget(request.budget(6, 4)),
            risks=True,
            seeds=seeds,
        ),
        request,
    )


def _names_again(found: Comparison, request: Request) -> Comparison:
    """Each loss at its best C, with several seeds."""
    best = {label: found.best_c(label) for label in found.labels}
    own = tuple(each._replace(only=(best[each.label],)) for each in _contenders(request))
    constants = sorted(set(best.values()), reverse=True)
    budget = Budget(request.budget(6, 4))
    seeds = request.seeds_of(_SEEDS, 2)
    setup = names_setup(request, _NAMES)
    return compare(Plan(NAME, setup, own, constants, budget, risks=True, seeds=seeds), request)


def _table(title: str, found: Comparison) -> Table:
    task = found.task
    several = len({curve.seed for curve in found.curves}) > 1
    headings = (
        *("loss", "best C", task.score_name),
        *(("sd",) if several else ()),
        *("test", "p against CRF", "cost", "risk bound", "ramp"),
    )
    rows = []
    for label in found.labels:
        c = found.best_c(label)
        runs = [run for run in found.runs(label, c) if run.points]
        if not runs:
            rows.append((label, *[NOTHING] * (len(headings) - 1)))
            continue
        crf = found.labels[0]
        paired = found.paired(label, c, crf, found.best_c(crf))
        costs = [
            f"{sum(run.details[name] for run in runs) / len(runs):.4f}"
            if all(name in run.details for run in runs)
            else NOTHING
            for name in _RISKS
        ]
        rows.append(
            (
                label,
                f"{c:g}",
                score(found.score(label, c)),
                *((score(found.spread(label, c)),) if several else ()),
                score(found.test(label, c)),
                NOTHING if paired is None else f"{paired.p:.2g}",
                *costs,
            )
        )
    return Table(title, headings, "l" + "r" * (len(headings) - 1), rows)


def _symbols(label: str) -> str:
    """A short name, for legends."""
    return label.replace("beta", "β").replace("gamma", "γ")  # noqa: RUF001


def _first(found: Comparison, label: str) -> Curve | None:
    """The run of the first seed at the best C."""
    return next((own for own in found.runs(label, found.best_c(label)) if own.points), None)


def _by_passes(found: Comparison) -> Panel:
    drawn = []
    for place, label in enumerate(found.labels):
        curve = _first(found, label)
        if curve is not None:
            x, y = zip(
                *((point.effective_iterations, point.score) for point in curve.points), strict=True
            )
            drawn.append(Line(f"{_symbols(label)}, C = {curve.c:g}", x, y, place))
    title = f"{found.task.name}: each loss at its best C"
    return Panel(title, "effective iterations", found.task.score_name, drawn, bounds=_bounds(drawn))


def _by_c(found: Comparison) -> Panel:
    drawn = []
    for place, label in enumerate(found.labels):
        ended = sorted((c, found.score(label, c)) for c in found.constants if found.runs(label, c))
        if ended:
            x, y = zip(*ended, strict=True)
            drawn.append(Line(_symbols(label), x, y, place, marked=True))
    title = f"{found.task.name}: after the last pass"
    return Panel(title, "C", found.task.score_name, drawn, log_x=True, bounds=_bounds(drawn))


def _bounds(drawn: Sequence[Line]) -> tuple[float, float] | None:
    """Room for the legend of seven losses below all lines."""
    values = [value for line in drawn for value in line.y]
    if not values:
        return None
    span = max(values) - min(values) + 0.1
    return min(values) - _BELOW * span, max(values) + 0.05 * span
