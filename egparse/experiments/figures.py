"""The panels of a section as one figure, drawn by matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from PIL import Image

from egparse.experiments.quantities import Found, Runs
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


class _Line(NamedTuple):
    """``colour`` is an index into the palette."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int
    dashed: bool = False


def draw(panels: Sequence[Panel], found: Found) -> bytes:
    """The figure as PNG; the same panels give the same bytes."""
    style: Any = {
        "font.size": 10,
        "axes.titlesize": 11,
        "legend.fontsize": 8.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
    }
    with rc_context(style):
        columns = min(_COLUMNS, len(panels))
        rows = math.ceil(len(panels) / columns)
        figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
        for place, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, place + 1)
            _draw_panel(axes, panel, found)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=100)
    return _indexed(stream)


_X_LABELS = {"passes": "effective iterations", "seconds": "CPU seconds"}
_Y_LABELS = {
    "primal": "primal, per example",
    "objective": "primal and dual, per example",
    "excess": "above the best bound (%)",
    "gap": "duality gap (%)",
}


def _lines(panel: Panel, found: Found) -> Iterator[_Line]:
    """The lines of a panel; the first seed of each contender."""
    several_c = len({runs.c_in(found) for runs in panel.runs}) > 1
    several_labels = len({runs.label for runs in panel.runs}) > 1
    for colour, runs in enumerate(panel.runs):
        comparison, curves = runs.comparison_in(found), runs.of(found)
        if comparison is None or not curves:
            continue
        name = _name(runs._replace(c=runs.c_in(found)), several_labels, several_c)
        kinds: tuple[str, ...] = (panel.y,)
        if panel.y == "objective":
            kinds = ("primal",) if runs.label in panel.primal_alone else ("primal", "dual")
        for kind in kinds:
            efforts = [getattr(point, panel.x) for point in curves[0].points]
            heights = _heights(kind, comparison, curves[0])
            pairs = [(x, y) for x, y in zip(efforts, heights, strict=True) if math.isfinite(y)]
            if pairs:
                label = f"{name}, dual" if kind == "dual" else name
                xs, ys = zip(*pairs, strict=True)
                yield _Line(label, xs, ys, colour, dashed=kind == "dual")


def _name(runs: Runs, several_labels: bool, several_c: bool) -> str:
    parts = [runs.label] if several_labels or not several_c else []
    return ", ".join([*parts, *([f"C = {runs.c:g}"] if several_c else [])])


def _heights(kind: str, comparison: Comparison, curve: Curve) -> list[float]:
    """What is drawn of each point."""
    if kind == "excess":
        return [max(_FLOOR, excess) for excess in comparison.excesses(curve)]
    if kind == "gap":
        bound = abs(comparison.bound(curve))
        return [max(_FLOOR, 100 * point.gap / bound) for point in curve.points]
    n = 1 if kind == "score" else comparison.n
    return [float(getattr(point, kind)) / n for point in curve.points]


def _range(lines: Sequence[_Line], y: str) -> tuple[float, float] | None:
    """From the best end to a little beyond the worst: first passes, which are far off, are cut."""
    ends = [line.y[-1] for line in lines]
    if not ends or y in ("excess", "gap"):
        return None
    if y == "score":
        every = sorted(value for line in lines for value in line.y)
        low, high = every[len(every) // 5], every[-1 - len(every) // 5]
        low, high = min(low, *ends), max(high, *ends)
        rising = lines[0].y[-1] >= lines[0].y[0]
        low, high = (low, max(every)) if rising else (min(every), high)
    else:
        low, high = min(0.0, *ends), 2.0 * max(ends)
    margin = 0.06 * (high - low) + 1e-9
    return low - margin, high + margin


def _draw_panel(axes: Axes, panel: Panel, found: Found) -> None:
    lines = list(_lines(panel, found))
    comparison = panel.runs[0].comparison_in(found)
    score = comparison.score_name if comparison is not None else "score"
    axes.set_title(panel.title)
    axes.set_xlabel(_X_LABELS[panel.x])
    axes.set_ylabel(_Y_LABELS.get(panel.y, score))
    for line in lines:
        _draw_line(axes, line)
    if panel.log_x:
        axes.set_xscale("log")
        _label_few_decades(axes)
    if panel.y in ("excess", "gap"):
        axes.set_yscale("log")
    limits = panel.y_range or _range(lines, panel.y)
    if limits is not None:
        axes.set_ylim(*limits)
    if panel.x_range is not None:
        axes.set_xlim(*panel.x_range)
    if not lines:
        axes.text(0.5, 0.5, "not run", ha="center", transform=axes.transAxes)
        return
    if not panel.log_x and max(line.x[-1] for line in lines) > _COUNTED:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    # beside the axes where there are many: a legend over curves hides them
    beside = (
        {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(lines) > 6 else {"loc": "best"}
    )
    axes.legend(framealpha=0.8, handlelength=2.2, **beside)


def _label_few_decades(axes: Axes) -> None:
    """Label 1, 2 and 5 times each power of ten where these labels are few, in place of all
    multiples, which overlap.
    """
    low, high = axes.get_xlim()
    if low > 0 and high < 100 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_line(axes: Axes, line: _Line) -> None:
    few = len(line.x) <= _SPARSE
    axes.plot(
        line.x,
        line.y,
        label=line.label,
        color=_PALETTE[line.colour % len(_PALETTE)],
        linestyle="--" if line.dashed else _STYLES[line.colour // len(_PALETTE) % len(_STYLES)],
        linewidth=1.4,
        marker=_MARKERS[line.colour % len(_MARKERS)] if few else None,
        markersize=3.5,
    )


def _indexed(picture: io.BytesIO) -> bytes:
    """The PNG with a palette in place of full colour."""
    stream = io.BytesIO()
    with Image.open(picture) as full:
        few = full.convert("RGB").quantize(_PNG_COLOURS, dither=Image.Dither.NONE)
        few.save(stream, format="PNG", optimize=True)
    return stream.getvalue()
