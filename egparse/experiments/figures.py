"""The panels of a section as one figure, drawn by matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from egparse.experiments.quantities import Found
from egparse.experiments.record import Comparison, Curve
from egparse.experiments.sections import Panel

_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Okabe and Ito's colours, which people of any colour vision tell apart; the yellow is left out,
the grey is ours.
"""

_MARKERS = "osv^Dx+*"
_STYLES = ("-", "-.", ":")
"""Of lines whose colours come round again."""
_PNG_COLOURS = 128  # an indexed picture is a third the size of one in full colour
_COLUMNS = 2
_FLOOR = 1e-4  # per cent: smaller distances from the optimum are drawn at this height
_WIDTH, _HEIGHT = 5.2, 3.7  # inches a panel
_FEW_LINES = 6
_SPARSE = 15  # points up to which each is marked
_COUNTED = 3  # passes from which on the axis shows whole ones
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "legend.fontsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
_X_LABELS = {"passes": "effective iterations", "seconds": "CPU seconds"}
_Y_LABELS = {
    "primal": "primal, per example",
    "objective": "primal and dual, per example",
    "excess": "above the best bound (%)",
    "gap": "duality gap (%)",
}


class _Line(NamedTuple):
    """``place`` is that of its runs in the panel."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    place: int
    is_dual: bool


def draw(panels: Sequence[Panel], found: Found) -> bytes:
    """The figure as PNG; the same panels give the same bytes."""
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    drawn, indexed = io.BytesIO(), io.BytesIO()
    with rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
        for place, panel in enumerate(panels, 1):
            _draw_panel(figure.add_subplot(rows, columns, place), panel, found)
        figure.savefig(drawn, format="png", dpi=100)
    with Image.open(drawn) as full:
        few = full.convert("RGB").quantize(_PNG_COLOURS, dither=Image.Dither.NONE)
        few.save(indexed, format="PNG", optimize=True)
    return indexed.getvalue()


def _draw_panel(axes: Axes, panel: Panel, found: Found) -> None:
    first = panel.runs[0].comparison_in(found)
    axes.set_title(panel.title)
    axes.set_xlabel(_X_LABELS[panel.x])
    axes.set_ylabel(_Y_LABELS.get(panel.y, first.score_name if first else "score"))
    lines = list(_lines(panel, found))
    for line in lines:
        round_, colour = divmod(line.place, len(_PALETTE))
        axes.plot(
            line.x,
            line.y,
            label=line.label,
            color=_PALETTE[colour],
            linestyle="--" if line.is_dual else _STYLES[round_ % len(_STYLES)],
            linewidth=1.4,
            marker=_MARKERS[colour] if len(line.x) <= _SPARSE else None,
            markersize=3.5,
        )
    if max(line.x[-1] for line in lines) > _COUNTED:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=(1, 2, 5, 10)))
    if panel.y in ("excess", "gap"):
        axes.set_yscale("log")
    else:
        axes.set_ylim(*_range(lines, panel.y))
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    if panel.x_range is not None:
        axes.set_xlim(*panel.x_range)
    # below the axes where there are many: a legend over curves hides them
    below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17), "ncols": 2}
    where = below if len(lines) > _FEW_LINES else {"loc": "best"}
    axes.legend(framealpha=0.8, handlelength=2.2, **where)


def _lines(panel: Panel, found: Found) -> Iterator[_Line]:
    """The lines of a panel; the first seed of each contender."""
    shown = [runs._replace(c=runs.c_in(found)) for runs in panel.runs]
    several_c = len({runs.c for runs in shown}) > 1
    several_labels = len({runs.label for runs in shown}) > 1
    for place, runs in enumerate(shown):
        comparison, curves = runs.comparison_in(found), runs.of(found)
        if comparison is None or not curves:
            continue
        parts = [runs.label] * (several_labels or not several_c) + [f"C = {runs.c:g}"] * several_c
        kinds: tuple[str, ...] = (panel.y,)
        if panel.y == "objective":
            kinds = ("primal",) if runs.label in panel.primal_alone else ("primal", "dual")
        for kind in kinds:
            efforts = [getattr(point, panel.x) for point in curves[0].points]
            heights = _heights(kind, comparison, curves[0])
            pairs = [(x, y) for x, y in zip(efforts, heights, strict=True) if math.isfinite(y)]
            if pairs:
                is_dual = kind == "dual"
                label = ", ".join([*parts, *["dual"] * is_dual])
                xs, ys = zip(*pairs, strict=True)
                yield _Line(label, xs, ys, place, is_dual)


def _heights(kind: str, comparison: Comparison, curve: Curve) -> list[float]:
    """What is drawn of each point."""
    if kind == "excess":
        return [max(_FLOOR, excess) for excess in comparison.excesses(curve)]
    if kind == "gap":
        bound = abs(comparison.bound(curve))
        return [max(_FLOOR, 100 * point.gap / bound) for point in curve.points]
    n = 1 if kind == "score" else comparison.n
    return [float(getattr(point, kind)) / n for point in curve.points]


def _range(lines: Sequence[_Line], y: str) -> tuple[float, float]:
    """From the best end to a little beyond the worst: first passes, which are far off, are cut."""
    ends = [line.y[-1] for line in lines]
    low, high = min(0.0, *ends), 2.0 * max(ends)
    if y == "score":
        every = sorted(value for line in lines for value in line.y)
        low, high = min(every[len(every) // 5], *ends), max(every[-1 - len(every) // 5], *ends)
        rising = lines[0].y[-1] >= lines[0].y[0]
        low, high = (low, every[-1]) if rising else (every[0], high)
    margin = 0.06 * (high - low) + 1e-9
    return low - margin, high + margin
