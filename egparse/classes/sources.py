"""The tables of word classes that settings name: files, or codes of languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from egparse.classes.formats import read_table
from egparse.classes.packed import PackedTable
from egparse.classes.table import ClassTable
from egparse.errors import EgparseError


def read_tables(
    names: Sequence[str],
    licences: Sequence[str] = (),
    sources: Sequence[str] = (),
    min_count: int = 1,
) -> list[PackedTable]:
    """The tables of these names, as a model holds them, with the licence and the source of each, if
    they are given; see ``find_table``.

    Raises:
        EgparseError: see ``find_table``; also a table without a word that is frequent enough.
    """
    packed = []
    for k, name in enumerate(names):
        table = find_table(name)
        origin = table.origin
        if licences and licences[k]:
            origin = replace(origin, licence=licences[k])
        if sources and sources[k]:
            origin = replace(origin, source=sources[k])
        table = replace(table, origin=origin).frequent(min_count)
        if not table.paths:
            raise EgparseError(f"{name}: expected words of at least {min_count} occurrences")
        packed.append(PackedTable.of(table))
    return packed


def find_table(name: str) -> ClassTable:
    """The table of a file.

    Raises:
        EgparseError: a file that is not there or cannot be read.
    """
    path = Path(name).expanduser()
    try:
        return read_table(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise EgparseError(f"{name}: expected a table of word classes: {reason}") from error
