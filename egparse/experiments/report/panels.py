"""The panels of a comparison: objective, gap and score of its curves over passes or seconds.

Where a comparison has several seeds, panels show the first (``Comparison.first_seed``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from egparse.experiments.report.outcome import Line, Panel
from egparse.experiments.report.record import Comparison, Curve, Point, best_bound

EFFORT = "effective iterations"
SECONDS = "CPU seconds"
_FLOOR = 1e-4  # per cent: smaller distances from the optimum are drawn at this height


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
    curves = comparison.first_seed.at(c)
    bound = best_bound(comparison.at(c)) if not comparison.split_by_seed else best_bound(curves)

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
        title, x, comparison.task.score_name, drawn, bounds=_range(drawn, comparison.task.sign)
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
