"""The report of an experiment: claims, tables, and the panels of a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from egparse.experiments.report.claims import Claim


class Table(NamedTuple):
    """``align`` holds ``l`` or ``r`` for each column; ``rows`` hold the text of each cell."""

    title: str
    headings: Sequence[str]
    align: str
    rows: Sequence[Sequence[str]]


class Line(NamedTuple):
    """One line of a panel. ``colour`` is an index into the palette; ``dashed`` and ``marked``
    distinguish lines of one colour.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int
    dashed: bool = False
    marked: bool = False


class Panel(NamedTuple):
    """One set of axes. ``bounds`` limit y where the first passes would hide the rest."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    bounds: tuple[float, float] | None = None


class Outcome(NamedTuple):
    """All that is reported. ``source`` names the figures and tables that are reproduced, ``data``
    describes the corpora, ``claims`` judges what the papers say, and ``notes`` say where the run
    differs or is incomplete.
    """

    title: str
    source: str
    data: Mapping[str, Any]
    claims: Sequence[Claim]
    tables: Sequence[Table]
    panels: Sequence[Panel]
    notes: Sequence[str]
