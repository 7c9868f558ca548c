"""Tables and numbers as text: aligned columns that look the same on a terminal and in a pipe."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any

NOTHING = "-"
"""A cell for which there is no value."""

GAP = "  "
"""What stands between columns."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """Rows in aligned columns under headings; ``align`` has ``l`` or ``r`` for each column.

    Raises:
        ValueError: a row with another number of cells.
    """
    lines = [tuple(headings), *map(tuple, rows)]
    if any(len(line) != len(align) for line in lines):
        raise ValueError(f"expected {len(align)} cells a row")
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths, align) for line in lines)


def wrapped_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]
) -> str:
    """Rows in columns of these widths under headings, all to the left; longer cells are wrapped.

    Raises:
        ValueError: a row with another number of cells.
    """
    lines = []
    for row in (headings, *rows):
        cells = [
            [piece for line in cell.split("\n") for piece in _wrapped(line, width)]
            for cell, width in zip(row, widths, strict=True)
        ]
        lines += [
            _line(pieces, widths, "l" * len(widths)) for pieces in zip_longest(*cells, fillvalue="")
        ]
    return "\n".join(lines)


def record(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    named = list(pairs)
    width = max((len(name) for name, _ in named), default=0)
    return "\n".join(f"{name:<{width}}{GAP}{value}".rstrip() for name, value in named)


def section(title: str, body: str) -> str:
    """A table under its title."""
    return f"\n{title}\n{body}"


def count(number: int) -> str:
    """A whole number with separators of thousands."""
    return f"{number:,}"


def things(number: int, name: str) -> str:
    """A number of things: ``1 sentence``, ``2,000 sentences``."""
    plural = name + ("es" if name.endswith("s") else "s")
    return f"{number:,} {name if number == 1 else plural}"


def amount(sentences: int, words: int) -> str:
    """The size of a corpus or an output."""
    return f"{things(sentences, 'sentence')}, {things(words, 'word')}"


def per_cent(value: float | None) -> str:
    """A rate in per cent, with two decimals."""
    return NOTHING if value is None else f"{value:.2f}"


def nats(*values: float) -> tuple[str, ...]:
    """Objective values for comparison, with decimals that give the greatest five digits."""
    greatest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    decimals = min(4, max(0, 4 - int(math.log10(greatest)))) if greatest >= 1 else 4
    return tuple(f"{value:,.{decimals}f}" if math.isfinite(value) else NOTHING for value in values)


def gap(relative: float) -> str:
    """A relative duality gap, as a fraction of the dual value, in per cent."""
    value = 100 * relative
    if not math.isfinite(value):
        return NOTHING
    return (
        f"{value:.3f}"
        if abs(value) < 10
        else f"{value:.1f}"
        if abs(value) < 1000
        else f"{value:,.0f}"
    )


def seconds(value: float) -> str:
    """A duration: tenths below a minute, minutes and seconds above."""
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def size(bytes_: int) -> str:
    """A size in bytes."""
    value = float(bytes_)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def as_json(value: Any) -> str:
    """Plain data as indented JSON, with null for infinities and nan."""
    return json.dumps(finite(value), ensure_ascii=False, indent=2)


def finite(value: Any) -> Any:
    """Plain data with None for infinities and nan, for which JSON has no numbers."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    placed = (
        cell.rjust(width) if side == "r" else cell.ljust(width)
        for cell, width, side in zip(cells, widths, align, strict=True)
    )
    return GAP.join(placed).rstrip()
