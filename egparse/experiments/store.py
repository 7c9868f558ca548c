"""What an experiment measured, as plain data in JSON: written after each run, and read back to
continue an experiment that was interrupted, or to report it again without running anything.
"""

from __future__ import annotations

import base64
import json
import math
import platform
import re
import subprocess
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from egparse import __version__
from egparse.errors import EgparseError
from egparse.experiments.record import Comparison, Curve, Point
from egparse.types import Longs

_EVERY, _STEP = 25, 1.04
"""So many first points of a curve are kept, then those whose passes are so many times the last."""
_DIGITS = {"passes": 6, "seconds": 4, "primal": 11, "dual": 11, "score": 6}
_SCALARS = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""JSON has no infinity: a number that is not finite becomes its name."""


class Results(NamedTuple):
    """All that an experiment measured. ``comparisons`` and ``numbers`` (what its probes found:
    mappings, lists and numbers) are by name. ``made`` says how: the options of the request, the
    versions of the program and its packages, the processor; ``seconds`` are CPU seconds.
    """

    made: Mapping[str, Any]
    comparisons: Mapping[str, Comparison]
    numbers: Mapping[str, Any]
    seconds: float = 0.0
    finished: bool = False


def versions() -> dict[str, str]:
    """Package -> version, for everything that the numbers depend on; in a checkout with the commit
    of this program.
    """
    found = {"egparse": f"{__version__}{_commit()}", "python": platform.python_version()}
    for package in ("numpy", "numba", "scipy"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _commit() -> str:
    root = Path(__file__).resolve().parents[2]
    asked = ("git", "-C", str(root), "rev-parse", "--short", "HEAD")
    with suppress(OSError, subprocess.SubprocessError):
        if (root / ".git").exists():
            done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)
            return f" (commit {done.stdout.strip()})"
    return ""


def machine() -> str:
    """The model of the processor, as the system names it."""
    with suppress(OSError):
        named = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if named:
            return named[1].strip()
    return platform.processor() or platform.machine()


def encoded(name: str, results: Results) -> bytes:
    """The JSON of a run. Curves are thinned (every pass at first, later one in some more work), and
    numbers are rounded to the digits that mean something.
    """
    content = {
        "experiment": name,
        "finished": results.finished,
        "made": results.made,
        "seconds": round(results.seconds, 1),
        "numbers": results.numbers,
        "comparisons": {
            key: {**own._asdict(), "curves": [_written(curve) for curve in own.curves]}
            for key, own in results.comparisons.items()
        },
    }

    def finite(value: Any) -> Any:
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value

    text = json.dumps(_each(finite, content), ensure_ascii=False, indent=1, allow_nan=False)
    in_lines = _SCALARS.sub(lambda found: "[" + re.sub(r"\s*\n\s*", " ", found[1]) + "]", text)
    return f"{in_lines}\n".encode()


def read_results(path: Path, name: str) -> Results:
    """What ``encoded`` wrote.

    Raises:
        EgparseError: no such file, or one of another content.
    """
    try:
        content = _each(
            lambda value: _NOT_FINITE.get(value, value) if isinstance(value, str) else value,
            json.loads(path.read_text(encoding="utf-8")),
        )
        if content["experiment"] != name:
            raise KeyError(f"the experiment {content['experiment']!r}")
        comparisons = {
            key: Comparison(**{**own, "curves": tuple(map(_read, own["curves"]))})
            for key, own in content["comparisons"].items()
        }
        fields = {field: content[field] for field in Results._fields}
        return Results(**{**fields, "comparisons": comparisons})
    except OSError as error:
        raise EgparseError(f"{path}: expected the numbers of a run, got none") from error
    except (ValueError, KeyError, TypeError) as error:
        raise EgparseError(
            f"{path}: expected the numbers of a run of {name}, got something else ({error})"
        ) from error


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """Nested mappings and lists with each of their values changed."""
    if isinstance(value, Mapping):
        return {str(key): _each(change, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_each(change, item) for item in value]
    return change(value)


def _written(curve: Curve) -> dict[str, Any]:
    """A curve whose points are columns, thinned, and whose outcomes are packed."""
    points = {
        field: [float(f"{getattr(point, field):.{digits}g}") for point in _thinned(curve.points)]
        for field, digits in _DIGITS.items()
    }
    outcomes = None
    if curve.outcomes is not None:
        small = np.ascontiguousarray(curve.outcomes.T, dtype="<u2")  # columns repeat themselves
        outcomes = base64.b85encode(zlib.compress(small.tobytes(), 9)).decode("ascii")
    return {**curve._asdict(), "points": points, "outcomes": outcomes}


def _read(written: Mapping[str, Any]) -> Curve:
    columns = (written["points"][field] for field in Point._fields)
    points = tuple(Point(*row) for row in zip(*columns, strict=True))
    outcomes: Longs | None = None
    if written["outcomes"] is not None:
        packed = zlib.decompress(base64.b85decode(written["outcomes"]))
        small = np.frombuffer(packed, dtype="<u2").reshape(3, -1)
        outcomes = np.ascontiguousarray(small.T, dtype=np.int64)
    return Curve(**{**written, "points": points, "outcomes": outcomes})


def _thinned(points: Sequence[Point]) -> list[Point]:
    kept = list(points[:_EVERY])
    for point in points[_EVERY:]:
        if point is points[-1] or point.passes >= _STEP * kept[-1].passes:
            kept.append(point)
    return kept
