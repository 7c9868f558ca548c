"""The files of an experiment: a page with tables, a figure as PNG and SVG, and all numbers."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from egparse import __version__
from egparse.experiments.report.figure import draw
from egparse.experiments.report.markdown import page
from egparse.experiments.report.outcome import Outcome
from egparse.experiments.report.request import Request
from egparse.storage.atomic import write_atomically

_PACKAGES = ("numpy", "numba", "scipy", "matplotlib")


class Written(NamedTuple):
    """The files of one experiment."""

    page: Path
    png: Path
    svg: Path
    numbers: Path


def versions() -> dict[str, str]:
    """Package -> version, for everything that the numbers depend on."""
    found = {"egparse": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def write(
    name: str, outcome: Outcome, request: Request, directory: Path, cpu_seconds: float
) -> Written:
    """Write ``NAME.md``, ``NAME.png``, ``NAME.svg`` and ``NAME.json`` into a directory, which is
    created if it is missing.

    Each file is written atomically, the page last. Raises OSError.
    """
    figure = draw(outcome.title, outcome.panels)
    facts = {
        "quick": "yes: small problems and few passes, good for nothing but to see that it works"
        if request.quick
        else "no",
        "seed": request.seed,
        "CPU time": f"{cpu_seconds:.1f} s",
        **versions(),
    }
    directory.mkdir(parents=True, exist_ok=True)
    written = Written(*(directory / f"{name}.{suffix}" for suffix in ("md", "png", "svg", "json")))
    write_atomically(written.numbers, _encoded(numbers(name, outcome, request, cpu_seconds)))
    write_atomically(written.png, figure["png"])
    write_atomically(written.svg, figure["svg"])
    write_atomically(written.page, page(name, outcome, facts).encode())
    return written


def numbers(name: str, outcome: Outcome, request: Request, cpu_seconds: float) -> dict[str, Any]:
    """The whole outcome as plain data; null stands for numbers that are not finite."""
    content = {
        "experiment": name,
        "title": outcome.title,
        "source": outcome.source,
        "quick": request.quick,
        "seed": request.seed,
        "cpu_seconds": round(cpu_seconds, 3),
        "versions": versions(),
        "data": dict(outcome.data),
        "notes": list(outcome.notes),
        "tables": [table._asdict() for table in outcome.tables],
        "curves": [curve.plain() for curve in outcome.curves],
    }
    finite: dict[str, Any] = _finite(content)
    return finite


def _encoded(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
