"""What an experiment measured, as plain data: written as JSON, and read back to report it again
without running anything.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from egparse.errors import EgparseError
from egparse.experiments.report.record import Comparison, Curve, Paired, Point, Task

_EVERY = 25
"""So many first passes of a curve are kept, then those that are a little further on."""
_STEP = 1.04
_DIGITS = {"primal": 11, "dual": 11, "cpu_seconds": 4, "score": 6, "effective_iterations": 6}
_SCALARS = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Results(NamedTuple):
    """All that an experiment measured. ``comparisons`` are curves by the name of their problem;
    ``numbers`` are other figures: mappings, lists, strings and numbers. ``notes`` say where the run
    differs from the paper or is incomplete.
    """

    comparisons: Mapping[str, Comparison]
    numbers: Mapping[str, Any] = MappingProxyType({})
    notes: Sequence[str] = ()
    quick: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """The data of all problems in numbers; with several problems under their names."""
        single = len(self.comparisons) == 1
        return {
            (key if single else f"{name}: {key}"): value
            for name, found in self.comparisons.items()
            for key, value in found.task.facts.items()
        }


class Facts(NamedTuple):
    """How a run was made: its seed, its CPU seconds, the state of the program, the machine."""

    seed: int
    cpu_seconds: float
    versions: Mapping[str, str]
    machine: str


def encoded(name: str, results: Results, facts: Facts) -> bytes:
    """The JSON of a run. Curves are thinned (every pass at first, later one in some more work), and
    numbers are rounded to the digits that mean something.
    """
    content = {
        "experiment": name,
        "quick": results.quick,
        **facts._asdict(),
        "notes": list(results.notes),
        "numbers": results.numbers,
        "comparisons": {key: _plain(value) for key, value in results.comparisons.items()},
    }
    text = json.dumps(_writable(content), ensure_ascii=False, indent=1, allow_nan=False)
    return (_SCALARS.sub(_in_one_line, text) + "\n").encode()


def read_results(path: Path, name: str) -> tuple[Results, Facts]:
    """What ``encoded`` wrote.

    Raises:
        EgparseError: no such file, or one of another content.
    """
    try:
        content = _readable(json.loads(path.read_text(encoding="utf-8")))
        if content["experiment"] != name:
            raise KeyError(f"the experiment {content['experiment']!r}")
        results = Results(
            {key: _comparison(value) for key, value in content["comparisons"].items()},
            content["numbers"],
            tuple(content["notes"]),
            content["quick"],
        )
        return results, Facts(*(content[field] for field in Facts._fields))
    except OSError as error:
        raise EgparseError(f"{path}: expected the numbers of a run, got none") from error
    except (ValueError, KeyError, TypeError) as error:
        raise EgparseError(
            f"{path}: expected the numbers of a run of {name}, got something else ({error})"
        ) from error


def _plain(found: Comparison) -> dict[str, Any]:
    return {
        "task": found.task._asdict(),
        "split_by_seed": found.split_by_seed,
        "notes": list(found.notes),
        "tests": [list(test) for test in found.tests],
        "curves": [
            {**curve._asdict(), "points": _columns(_thinned(curve.points))}
            for curve in found.curves
        ],
    }


def _comparison(content: Mapping[str, Any]) -> Comparison:
    curves = tuple(
        Curve(**{**curve, "points": _points(curve["points"])}) for curve in content["curves"]
    )
    tests = tuple(Paired(*row) for row in content["tests"])
    notes = tuple(content["notes"])
    return Comparison(Task(**content["task"]), curves, notes, tests, content["split_by_seed"])


def _thinned(points: Sequence[Point]) -> list[Point]:
    kept = list(points[:_EVERY])
    for place, point in enumerate(points[_EVERY:], _EVERY + 1):
        is_last = place == len(points)
        if is_last or point.effective_iterations >= _STEP * kept[-1].effective_iterations:
            kept.append(point)
    return kept


def _columns(points: Sequence[Point]) -> dict[str, list[float]]:
    rows = list(zip(*points, strict=True)) or [()] * len(Point._fields)
    return {
        field: [_rounded(value, _DIGITS.get(field)) for value in column]
        for field, column in zip(Point._fields, rows, strict=True)
    }


def _points(columns: Mapping[str, Sequence[Any]]) -> tuple[Point, ...]:
    return tuple(Point(*row) for row in zip(*(columns[f] for f in Point._fields), strict=True))


def _rounded(value: float, digits: int | None) -> float:
    return value if digits is None else float(f"{value:.{digits}g}")


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
