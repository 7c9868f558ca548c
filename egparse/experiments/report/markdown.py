"""Tables in Markdown: of figures, whose columns line up in the source too, and of claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from egparse.experiments.report.claims import Claim
from egparse.experiments.report.outcome import Table


def table_lines(table: Table) -> Iterator[str]:
    """The lines of a table, all of the same width.

    Raises ValueError for a row of another width.
    """
    cells = [[escaped(cell) for cell in row] for row in (table.headings, *table.rows)]
    if any(len(row) != len(table.align) for row in cells):
        raise ValueError(f"expected {len(table.align)} cells a row")
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        yield _row(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, table.align, strict=True)
        )
        if number == 0:
            yield _row(
                "-" * (width - 1) + (":" if side == "r" else "-")
                for width, side in zip(widths, table.align, strict=True)
            )


def _row(cells: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(cell: str) -> str:
    """The text of a cell, in which a bar would end it."""
    return cell.replace("|", "\\|")


def claims_lines(claims: Sequence[Claim]) -> str:
    """A table in Markdown with a row for each claim. Its columns do not line up in the source:
    cells are sentences.
    """
    rows = [
        ("The paper says", "Where", "Verdict", "Found here"),
        ("---", "---", "---", "---"),
        *((own.text, own.source, own.verdict.capitalize(), own.evidence) for own in claims),
    ]
    return "\n".join(f"| {' | '.join(map(escaped, row))} |" for row in rows)
