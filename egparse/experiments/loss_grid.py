"""The loss family between CRF and structured SVM: beta and gamma varied, trained by DCA (Martins et al. 2010, Tab. 1).

For each loss the C with the best validation score is reported. We differ in the corpora (see ``dca_curves``), and in that all losses with
beta = inf are trained by the same inference as the others' maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from egparse.experiments.comparison import DCA, NOTHING, Comparison, Plan, compare
from egparse.experiments.curves import Budget
from egparse.experiments.dca_curves import names_setup, trees_setup
from egparse.experiments.outcome import Line, Outcome, Panel, Table
from egparse.experiments.problems import Setup
from egparse.experiments.record import Curve
from egparse.experiments.request import Request

NAME = "losses"
SOURCE = "Martins et al. 2010, Tab. 1"

LOSSES = ((1.0, 0.0), (1.0, 1.0), (1.0, 3.0), (1.0, 5.0), (3.0, 1.0), (5.0, 1.0), (math.inf, 1.0))
"""The columns of the table: beta and gamma; first the CRF, last the structured SVM."""

_QUICK_LOSSES = ((1.0, 0.0), (1.0, 1.0), (5.0, 1.0), (math.inf, 1.0))
_NAMES_C = (10.0, 1.0, 0.1)
_TREES_C = (1000.0, 100.0, 10.0)
_QUICK_C = (10.0, 1.0)


def run(request: Request) -> Outcome:
    """A grid for names, and one for trees."""
    losses = _QUICK_LOSSES if request.quick else LOSSES
    tables, panels, curves, notes, data = [], [], [], [], {}
    for title, setup, constants, passes in (
        ("Entities", names_setup(request), _NAMES_C, 20),
        ("Trees", trees_setup(request), _TREES_C, 10),
    ):
        budget = Budget(request.budget(passes, 4))
        grid = [
            compare(
                Plan(NAME, setup, (DCA,), request.values_of_c(constants, _QUICK_C), budget, loss), request
            )
            for loss in losses
        ]
        tables.append(_table(title, setup, losses, grid))
        panels += [_by_passes(title, setup, losses, grid), _by_c(title, setup, losses, grid)]
        curves += [curve for found in grid for curve in found.curves]
        notes += [note for found in grid for note in found.notes]
        data.update({f"{setup.name}: {key}": value for key, value in setup.facts.items()})
    return Outcome(
        "Losses between CRF and SVM", SOURCE, data, curves, tables, panels,
        (*dict.fromkeys(notes), "C is chosen by the validation score of the last pass; the weights are averaged (Alg. 1)."),
    )  # fmt: skip


def _name(loss: tuple[float, float]) -> str:
    known = {(1.0, 0.0): " (CRF)", (math.inf, 1.0): " (SVM)"}
    beta = "inf" if math.isinf(loss[0]) else f"{loss[0]:g}"
    return f"beta {beta}, gamma {loss[1]:g}{known.get(loss, '')}"


def _best(found: Comparison) -> Curve | None:
    c = found.best_c(DCA.label)
    return next((curve for curve in found.curves if curve.c == c), None)


def _table(
    title: str, setup: Setup, losses: Sequence[tuple[float, float]], grid: Sequence[Comparison]
) -> Table:
    headings = ("loss", "best C", setup.score_name, "test")
    rows = []
    for loss, found in zip(losses, grid, strict=True):
        best = _best(found)
        if best is None:
            rows.append((_name(loss), *[NOTHING] * 3))
            continue
        test = NOTHING if best.test is None else f"{best.test:.2f}"
        rows.append((_name(loss), f"{best.c:g}", f"{best.points[-1].score:.2f}", test))
    return Table(title, headings, "lrrr", rows)


def _by_passes(
    title: str, setup: Setup, losses: Sequence[tuple[float, float]], grid: Sequence[Comparison]
) -> Panel:
    drawn = []
    for place, (loss, found) in enumerate(zip(losses, grid, strict=True)):
        best = _best(found)
        if best is not None:
            x, y = zip(*((point.effective_iterations, point.score) for point in best.points), strict=True)
            drawn.append(Line(f"{_name(loss)}, C = {best.c:g}", x, y, place))
    return Panel(f"{title}: each loss at its best C", "effective iterations", setup.score_name, drawn)


def _by_c(
    title: str, setup: Setup, losses: Sequence[tuple[float, float]], grid: Sequence[Comparison]
) -> Panel:
    drawn = []
    for place, (loss, found) in enumerate(zip(losses, grid, strict=True)):
        ended = sorted((curve.c, curve.points[-1].score) for curve in found.curves if curve.points)
        if ended:
            x, y = zip(*ended, strict=True)
            drawn.append(Line(_name(loss), x, y, place, marked=True))
    return Panel(f"{title}: after the last pass", "C", setup.score_name, drawn, log_x=True)
