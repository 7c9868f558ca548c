"""The panels of an experiment as one figure, drawn by matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from PIL import Image

from egparse.experiments.report.outcome import Line, Panel

_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Okabe and Ito's colours, which people of any colour vision tell apart; the yellow is left out,
the grey is ours.
"""

_MARKERS = "osv^Dx+*"
_STYLES = ("-", "-.", ":")
"""Of lines whose colours come round again."""
_PNG_COLOURS = 128  # an indexed picture is a third the size of one in full colour
_COLUMNS, _MANY = 3, 24
_WIDTH, _HEIGHT = 5.2, 3.7  # inches a panel
_SPARSE = 15  # points up to which each is marked
_COUNTED = 3  # passes from which on the axis shows whole ones

Format = Literal["png", "svg"]


def draw(title: str, panels: Sequence[Panel]) -> dict[Format, bytes]:
    """The figure as PNG and as SVG; the same panels give the same bytes."""
    style: Any = {
        "svg.hashsalt": "egparse",
        "font.size": 9,
        "axes.titlesize": 10,
        "legend.fontsize": 7.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
    }
    with rc_context(style):
        columns = _columns(len(panels))
        rows = math.ceil(len(panels) / columns)
        figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows + 0.4), layout="constrained")
        figure.suptitle(title, fontsize=12)
        for place, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, place + 1)
            _draw_panel(axes, panel)
            if not panel.log_x and max((line.x[-1] for line in panel.lines), default=0) > _COUNTED:
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return {"png": _saved(figure, "png"), "svg": _saved(figure, "svg")}


def _columns(panels: int) -> int:
    """Three panels in a row, but two of four, and four of many that come in fours."""
    if panels == 4:
        return 2
    return 4 if panels >= _MANY and panels % 4 == 0 else min(_COLUMNS, panels)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    for line in panel.lines:
        _draw_line(axes, line)
    if panel.log_x:
        axes.set_xscale("log")
        _label_few_decades(axes)
    if panel.log_y:
        axes.set_yscale("log")
    if panel.bounds is not None:
        axes.set_ylim(*panel.bounds)
    if panel.lines:
        axes.legend(
            loc="best", framealpha=0.8, handlelength=2.2, ncols=2 if len(panel.lines) > 5 else 1
        )
    else:
        axes.text(0.5, 0.5, "nothing to show", ha="center", transform=axes.transAxes)


def _label_few_decades(axes: Axes) -> None:
    """Label 1, 2 and 5 times each power of ten where these labels are few, in place of all
    multiples, which overlap.
    """
    low, high = axes.get_xlim()
    if low > 0 and high < 100 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())


def _draw_line(axes: Axes, line: Line) -> None:
    few = line.marked or len(line.x) <= _SPARSE
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


def _saved(figure: Any, format: Format) -> bytes:
    stream = io.BytesIO()
    metadata = (
        {"Date": None} if format == "svg" else {}
    )  # without a date, equal figures are equal files
    figure.savefig(stream, format=format, dpi=100, metadata=metadata)
    return _indexed(stream) if format == "png" else stream.getvalue()


def _indexed(picture: io.BytesIO) -> bytes:
    """The PNG with a palette in place of full colour."""
    stream = io.BytesIO()
    with Image.open(picture) as full:
        few = full.convert("RGB").quantize(_PNG_COLOURS, dither=Image.Dither.NONE)
        few.save(stream, format="PNG", optimize=True)
    return stream.getvalue()
