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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from egparse import __version__
from egparse.errors import EgparseError
from egparse.experiments.record import Comparison, Curve, Point
from egparse.types import Longs

_EVERY = 25
"""So many first passes of a curve are kept, then those that are a little further on."""
_STEP = 1.04
_DIGITS = {"primal": 11, "dual": 11, "seconds": 4, "score": 6, "passes": 6}
_SCALARS = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_PACKAGES = ("numpy", "numba", "scipy")
_PROCESSORS = Path("/proc/cpuinfo")
_ROOT = Path(__file__).resolve().parents[2]


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

    @property
    def quick(self) -> bool:
        """Whether the problems were small, and the numbers mean nothing."""
        return bool(self.made["quick"])


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


def _commit() -> str:
    if not (_ROOT / ".git").exists():
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        asked = ("git", "-C", str(_ROOT), "rev-parse", "--short", "HEAD")
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)
        return f" (commit {done.stdout.strip()})"
    return ""


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
        "comparisons": {key: _plain(value) for key, value in results.comparisons.items()},
    }
    text = json.dumps(_writable(content), ensure_ascii=False, indent=1, allow_nan=False)
    return (_SCALARS.sub(_in_one_line, text) + "\n").encode()


def read_results(path: Path, name: str) -> Results:
    """What ``encoded`` wrote.

    Raises:
        EgparseError: no such file, or one of another content.
    """
    try:
        content = _readable(json.loads(path.read_text(encoding="utf-8")))
        if content["experiment"] != name:
            raise KeyError(f"the experiment {content['experiment']!r}")
        comparisons = {key: _comparison(value) for key, value in content["comparisons"].items()}
        return Results(
            content["made"],
            comparisons,
            content["numbers"],
            content["seconds"],
            content["finished"],
        )
    except OSError as error:
        raise EgparseError(f"{path}: expected the numbers of a run, got none") from error
    except (ValueError, KeyError, TypeError) as error:
        raise EgparseError(
            f"{path}: expected the numbers of a run of {name}, got something else ({error})"
        ) from error


def _plain(found: Comparison) -> dict[str, Any]:
    curves = [
        {
            **curve._asdict(),
            "points": _columns(_thinned(curve.points)),
            "outcomes": _packed(curve.outcomes),
        }
        for curve in found.curves
    ]
    return {**found._asdict(), "curves": curves}


def _comparison(content: Mapping[str, Any]) -> Comparison:
    curves = tuple(
        Curve(
            **{
                **curve,
                "points": _points(curve["points"]),
                "outcomes": _unpacked(curve["outcomes"]),
            }
        )
        for curve in content["curves"]
    )
    return Comparison(**{**content, "curves": curves})


def _packed(outcomes: Longs | None) -> str | None:
    if outcomes is None:
        return None
    small = np.ascontiguousarray(outcomes.T, dtype="<u2")  # columns, which repeat themselves
    return base64.b85encode(zlib.compress(small.tobytes(), 9)).decode("ascii")


def _unpacked(text: str | None) -> Longs | None:
    if text is None:
        return None
    small = np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype="<u2")
    return np.ascontiguousarray(small.reshape(3, -1).T, dtype=np.int64)


def _thinned(points: Sequence[Point]) -> list[Point]:
    kept = list(points[:_EVERY])
    for place, point in enumerate(points[_EVERY:], _EVERY + 1):
        is_last = place == len(points)
        if is_last or point.passes >= _STEP * kept[-1].passes:
            kept.append(point)
    return kept


def _columns(points: Sequence[Point]) -> dict[str, list[float]]:
    rows = list(zip(*points, strict=True)) or [()] * len(Point._fields)
    return {
        field: [float(f"{value:.{_DIGITS[field]}g}") for value in column]
        for field, column in zip(Point._fields, rows, strict=True)
    }


def _points(columns: Mapping[str, Sequence[Any]]) -> tuple[Point, ...]:
    return tuple(Point(*row) for row in zip(*(columns[f] for f in Point._fields), strict=True))


def _writable(value: Any) -> Any:
    """JSON has no infinity: a number that is not finite becomes its name."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    return value


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return _NOT_FINITE.get(value, value)
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    return value


def _in_one_line(found: re.Match[str]) -> str:
    return "[" + re.sub(r"\s*\n\s*", " ", found[1]) + "]"
