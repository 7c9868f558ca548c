"""spaCy's tables of word classes: those of the package spacy-lookups-data, by language code.

The package registers the tables of each language as an entry point of the group ``spacy_lookups``:
a map from the names of tables to files in JSON. The table ``lexeme_cluster`` has the class of each
form as an integer, the first bit of its path being the lowest; 0 stands for none.
"""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from egparse.classes.formats import paths_of_integers
from egparse.classes.table import MAX_BITS, ClassTable, Origin
from egparse.errors import EgparseError
from egparse.io.compression import decompressed

PACKAGE = "spacy-lookups-data"
_GROUP = "spacy_lookups"
_TABLE = "lexeme_cluster"
_PIECE = 1 << 18


def read_lookups(code: str) -> ClassTable:
    """spaCy's table of word classes for a language.

    Raises:
        EgparseError: the package is not installed, or it has no such table for the language.
    """
    points = {point.name: point for point in entry_points(group=_GROUP)}
    if not points:
        raise EgparseError(
            f"{code}: expected a file, or the package {PACKAGE}, which has tables of word classes "
            f"for English, German and Spanish, installed: pip install {PACKAGE}"
        )
    files = _files(points[code]) if code in points else {}
    if _TABLE not in files:
        having = [name for name in sorted(points) if _TABLE in _files(points[name])]
        raise EgparseError(
            f"{code}: expected a file, or a language for which {PACKAGE} has word classes "
            f"({', '.join(having) or 'none'})"
        )
    return ClassTable(_paths(Path(files[_TABLE])), {}, _origin(code, points[code]))


def _files(point: EntryPoint) -> dict[str, Any]:
    found = point.load()
    return found if isinstance(found, dict) else {}


def _origin(code: str, point: EntryPoint) -> Origin:
    package, licence = PACKAGE, ""
    if point.dist is not None:
        package = f"{point.dist.name} {point.dist.version}"
        licence = str(point.dist.metadata.json.get("license", ""))
    return Origin(code, f"{package}, table {code}_{_TABLE}", licence)


def _paths(file: Path) -> dict[str, str]:
    """The paths of a table in JSON; spaCy's are compressed beside the names that it gives."""
    if not file.exists():
        file = file.with_name(file.name + ".gz")
    with open(file, "rb") as stream:
        text = b"".join(decompressed(iter(lambda: stream.read(_PIECE), b""), str(file)))
    try:
        table = json.loads(text)
    except ValueError as error:
        raise EgparseError(f"{file}: expected a table in JSON, got: {error}") from error
    if not isinstance(table, dict) or not all(
        type(value) is int and 0 <= value < 1 << MAX_BITS for value in table.values()
    ):
        raise EgparseError(f"{file}: expected integers of at most {MAX_BITS} bits by form")
    values = sorted({value for value in table.values() if value})
    paths = dict(zip(values, paths_of_integers(values, lowest_first=True), strict=True))
    return {form: paths[value] for form, value in table.items() if value}
