"""What a reliability script found: its figures as a table and as JSON, and its failures, which
decide the exit status.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 20
"""Failures that are printed; the JSON file has all."""


def parser_for(text: str | None, *, seed: bool = True) -> argparse.ArgumentParser:
    """A parser of the options that all scripts have."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and failures too")
    parser.add_argument(
        "--at-most", type=float, default=float("inf"), metavar="MINUTES", help="stop then"
    )
    if seed:
        parser.add_argument("--seed", type=int, default=0, help="of all that is drawn")
    return parser


def finish(
    figures: Mapping[str, object],
    failures: Sequence[str],
    json_file: Path | None,
    series: Mapping[str, object] | None = None,
) -> None:
    """Print the figures and the first failures, write all of both, and ``series`` (long lists),
    and leave with status 1 if there are failures.
    """
    facts = {**figures, "failures": len(failures), **machine()}
    if json_file is not None:
        table = {"figures": facts, "failures": list(failures), **(series or {})}
        json_file.write_text(json.dumps(table, indent=1, ensure_ascii=True) + "\n")
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:{width}s}  {_shown(value)}")
    for line in failures[:SHOWN]:
        print(f"FAILURE {line}")
    if len(failures) > SHOWN:
        print(f"... and {len(failures) - SHOWN} more failures")
    sys.exit(1 if failures else 0)


def machine() -> dict[str, object]:
    """What ran, and where."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "commit": commit or "unknown",
        "python": platform.python_version(),
        "processors": os.cpu_count() or 0,
        "load average": round(os.getloadavg()[0], 1),
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of the ordered values lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _shown(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return str(value)
