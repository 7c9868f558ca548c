"""An outcome as a page in Markdown: claims, figure, tables, notes, and how the run was made."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from egparse.experiments.report.markdown import claims_lines, table_lines
from egparse.experiments.report.outcome import Outcome

_WIDTH = 100


def page(name: str, outcome: Outcome, facts: Mapping[str, Any]) -> str:
    """The page; ``facts`` describe the run itself (versions, seed, time)."""
    parts = [
        f"# {outcome.title}",
        _filled(f"Reproduces: {outcome.source}."),
        _listed(outcome.data),
        f"![{outcome.title}]({name}.png)",
    ]
    if outcome.claims:
        parts += ["## Claims", claims_lines(outcome.claims)]
    for table in outcome.tables:
        parts += [f"## {table.title}", "\n".join(table_lines(table))]
    if outcome.notes:
        parts += ["## Notes", "\n".join(_item(note) for note in outcome.notes)]
    parts += ["## Run", _listed(facts)]
    return "\n\n".join(parts) + "\n"


def _listed(facts: Mapping[str, Any]) -> str:
    return "\n".join(
        _item(f"{name}: {value:,}")
        if isinstance(value, int) and not isinstance(value, bool) and name != "seed"
        else _item(f"{name}: {value}")
        for name, value in facts.items()
    )


def _item(text: str) -> str:
    return _filled(f"- {text}", "  ")


def _filled(text: str, indent: str = "") -> str:
    """Lines that an editor shows whole."""
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
