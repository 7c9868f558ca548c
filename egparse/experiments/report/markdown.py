"""An outcome as a Markdown page: tables whose columns line up in the source too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from egparse.experiments.report.outcome import Outcome, Table


def page(name: str, outcome: Outcome, facts: Mapping[str, Any]) -> str:
    """The page; ``facts`` describe the run itself (versions, seed, time)."""
    parts = [
        f"# {outcome.title}",
        f"Reproduces: {outcome.source}.",
        _listed(outcome.data),
        f"![{outcome.title}]({name}.png)",
    ]
    for table in [*_claims(outcome), *outcome.tables]:
        parts += [f"## {table.title}", "\n".join(table_lines(table))]
    if outcome.notes:
        parts += ["## Notes", "\n".join(f"- {note}" for note in outcome.notes)]
    parts += ["## Run", _listed(facts)]
    return "\n\n".join(parts) + "\n"


def _claims(outcome: Outcome) -> list[Table]:
    from egparse.experiments.report.claims import claims_table

    return [claims_table(outcome.claims)] if outcome.claims else []


def table_lines(table: Table) -> Iterator[str]:
    """The lines of a table, all of the same width.

    Raises ValueError for a row of another width.
    """
    cells = [[_escaped(cell) for cell in row] for row in (table.headings, *table.rows)]
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


def _listed(facts: Mapping[str, Any]) -> str:
    return "\n".join(
        f"- {name}: {value:,}"
        if isinstance(value, int) and not isinstance(value, bool) and name != "seed"
        else f"- {name}: {value}"
        for name, value in facts.items()
    )


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
