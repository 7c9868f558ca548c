"""The files of an experiment: a page with claims and tables, and a figure as PNG and SVG, beside
the numbers of which they are made.
"""

from __future__ import annotations

import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from egparse import __version__
from egparse.experiments.report.figure import draw
from egparse.experiments.report.outcome import Outcome
from egparse.experiments.report.page import page
from egparse.experiments.report.results import Facts
from egparse.storage.files import write_atomically

_PACKAGES = ("numpy", "numba", "scipy", "matplotlib")
_PROCESSORS = Path("/proc/cpuinfo")
_ROOT = Path(__file__).resolve().parents[3]


class Written(NamedTuple):
    """The files of one experiment."""

    page: Path
    png: Path
    svg: Path
    numbers: Path


def versions() -> dict[str, str]:
    """Package -> version, for everything that the numbers depend on; in a checkout with the commit
    of this program.
    """
    found = {"egparse": f"{__version__}{_commit()}", "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def machine() -> str:
    """The model of the processor, as the system names it."""
    with suppress(OSError):
        for line in _PROCESSORS.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def write(name: str, outcome: Outcome, facts: Facts, directory: Path, *, quick: bool) -> Written:
    """Write ``NAME.md``, ``NAME.png`` and ``NAME.svg`` beside ``NAME.json``.

    Each file is written atomically, the page last. Raises OSError.
    """
    figure = draw(outcome.title, outcome.panels)
    listed = {
        "quick": "yes: small problems and few passes, good for nothing but to see that it works"
        if quick
        else "no",
        "seed": facts.seed,
        "CPU time": f"{facts.cpu_seconds:.1f} s",
        "machine": facts.machine,
        **facts.versions,
    }
    written = Written(*(directory / f"{name}.{suffix}" for suffix in ("md", "png", "svg", "json")))
    write_atomically(written.png, figure["png"])
    write_atomically(written.svg, figure["svg"])
    write_atomically(written.page, page(name, outcome, listed).encode())
    return written


def _commit() -> str:
    if not (_ROOT / ".git").exists():
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        asked = ("git", "-C", str(_ROOT), "rev-parse", "--short", "HEAD")
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)
        return f" (commit {done.stdout.strip()})"
    return ""
