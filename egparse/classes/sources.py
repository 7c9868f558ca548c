"""The tables of word classes that settings name: files, codes of languages, spaCy pipelines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from egparse.classes.formats import read_table
from egparse.classes.lookups import read_lookups
from egparse.classes.packed import PackedTable
from egparse.classes.table import VECTOR_CLASSES, ClassTable, Origin
from egparse.classes.vectors import classes_of_vectors, pipeline_vectors
from egparse.errors import EgparseError

_CODE = re.compile("[a-z]{2,3}")
_PIPELINE = re.compile("[a-z]{2,3}_[a-z0-9_]+")


def read_tables(
    names: Sequence[str],
    licences: Sequence[str] = (),
    sources: Sequence[str] = (),
    min_count: int = 1,
    n_classes: int = VECTOR_CLASSES,
) -> list[PackedTable]:
    """The tables of these names, as a model holds them, with the licence and the source of each, if
    they are given; see ``find_table``.

    Raises:
        EgparseError: see ``find_table``; also a table without a word that is frequent enough.
    """
    packed = []
    for k, name in enumerate(names):
        table = find_table(name, n_classes)
        origin = table.origin
        if licences and licences[k]:
            origin = replace(origin, licence=licences[k])
        if sources and sources[k]:
            origin = replace(origin, source=sources[k])
        table = replace(table, origin=origin).frequent(min_count)
        if not table.paths:
            raise EgparseError(f"{name}: expected words of at least {min_count} occurrences")
        packed.append(PackedTable.of(table.generalised()))
    return packed


def find_table(name: str, n_classes: int = VECTOR_CLASSES) -> ClassTable:
    """The table that is meant by a name: that of a file; that of spaCy for the code of a language;
    or classes made of the vectors of a spaCy pipeline, in a folder or installed. Of vectors at most
    ``n_classes`` classes are made.

    Raises:
        EgparseError: there is none, or it cannot be read.
    """
    path = Path(name).expanduser()
    if path.is_dir() or (not path.exists() and _is_installed(name)):
        words, vectors = pipeline_vectors(str(path) if path.is_dir() else name)
        return classes_of_vectors(
            words, vectors, n_classes, Origin(path.name, f"vectors of {path.name}")
        )
    if not path.exists() and _CODE.fullmatch(name):
        return read_lookups(name)
    try:
        return read_table(path, n_classes)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise EgparseError(f"{name}: expected a table of word classes: {reason}") from error


def _is_installed(name: str) -> bool:
    """Whether a package of this name is installed, as spaCy's pipelines are."""
    if not _PIPELINE.fullmatch(name):
        return False
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
