"""The columns that templates may name of word classes.

``class`` is the class of a form in the first table, ``class6`` the first 6 bits of its path (the
whole path, if that is shorter). ``class_2`` and ``class6_2`` are those of the second table, and so
on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from egparse.classes.packed import PackedTable
from egparse.classes.table import MAX_BITS
from egparse.storage.schema import Stored, shown
from egparse.types import Ints

MAX_TABLES = 8
"""The largest number of tables of a model."""

MAX_COLUMNS = 64
"""The largest number of columns of word classes of a model."""

_NAME = re.compile(r"class([1-9][0-9]?)?(?:_([2-9]))?")
_IN_TEMPLATE = re.compile(r"(?<![a-z0-9])class([0-9]*)(?![a-z0-9_])")
_NAMED = re.compile(r"(?<![a-z0-9])class[0-9]*(?:_[0-9]+)?(?![a-z0-9_])")
_WORD_BITS = 8
_CLASS_BYTES = 4  # of memory, for each class and column


class ClassColumn(NamedTuple):
    """A column: the first ``bits`` bits (0: all) of the paths of a table, counted from 0."""

    table: int
    bits: int


def parse_column(name: str) -> ClassColumn | None:
    """The column of a name, None if it is no column of word classes."""
    match = _NAME.fullmatch(name)
    if match is None or int(match[1] or 0) > MAX_BITS:
        return None
    return ClassColumn(int(match[2] or 1) - 1, int(match[1] or 0))


def column_names(n_tables: int) -> tuple[str, ...]:
    """Every column of so many tables."""
    return tuple(
        f"class{bits or ''}" + (f"_{table}" if table > 1 else "")
        for table in range(1, n_tables + 1)
        for bits in range(MAX_BITS + 1)
    )


def is_as_fine_as_words(name: str) -> bool:
    """Whether a column is one of whole classes, or of prefixes of more than 8 bits: almost as many
    as there are words.
    """
    column = parse_column(name)
    return column is not None and not 0 < column.bits <= _WORD_BITS


def for_each_table(templates: Sequence[str], n_tables: int) -> tuple[str, ...]:
    """Templates of the first table, then the same for each further table; those of no table
    without tables.
    """
    return tuple(
        template if table == 1 else _IN_TEMPLATE.sub(rf"class\1_{table}", template)
        for table in range(1, n_tables + 1)
        for template in templates
    )


def columns_in(templates: Iterable[str]) -> list[str]:
    """The columns of word classes that templates name, also of relatives in a tree, in order of
    first appearance.
    """
    named = [name for text in templates for name in _NAMED.findall(text)]
    return [name for name in dict.fromkeys(named) if parse_column(name) is not None]


class ClassColumns:
    """The values of some columns, for every form: 0 where it has no class, else 1, 2, ... in the
    order of the prefixes.
    """

    def __init__(self, tables: Sequence[PackedTable], names: Iterable[str]) -> None:
        self.tables = tuple(tables)
        self.names = tuple(names)
        self._columns = []
        for name in self.names:
            column = parse_column(name)
            if column is None or column.table >= len(self.tables):
                raise ValueError(f"expected a column of {len(self.tables)} tables, got {name!r}")
            paths = self.tables[column.table].paths
            cut = [path[: column.bits or MAX_BITS] for path in paths]
            numbers = {prefix: number for number, prefix in enumerate(sorted(set(cut)), 1)}
            # the last one is that of the class -1: none
            values = np.array([*(numbers[prefix] for prefix in cut), 0], dtype=np.int32)
            self._columns.append((column.table, values))

    def with_names(self, names: Iterable[str]) -> ClassColumns:
        """The same, with further columns after these."""
        new = [name for name in dict.fromkeys(names) if name not in self.names]
        return ClassColumns(self.tables, (*self.names, *new)) if new else self

    def values(self, forms: Sequence[str]) -> Ints:
        """The values, shape (forms, columns)."""
        classes = {
            table: self.tables[table].find(forms) for table in {one for one, _ in self._columns}
        }
        values = np.empty((len(forms), len(self.names)), dtype=np.int32)
        for place, (table, of_class) in enumerate(self._columns):
            values[:, place] = of_class[classes[table]]
        return values

    def prefix(self, name: str, value: int) -> str:
        """The bits behind a value of a column, empty where there are none."""
        table, values = self._columns[self.names.index(name)]
        column = parse_column(name)
        found = (values[:-1] == value).nonzero()[0].tolist()
        if column is None or not found:
            return ""
        path = str(self.tables[table].paths[found[0]])
        return path[: column.bits or MAX_BITS]


def class_columns_of(stored: Stored, tables: Sequence[PackedTable]) -> ClassColumns:
    """The columns of a model file whose names have been read, over its tables.

    Raises:
        Misfit: a name that is no column of these tables.
    """
    for name in stored.value:
        column = parse_column(name)
        if column is None or column.table >= len(tables):
            raise stored.fault(f"columns of {len(tables)} tables of word classes", shown(name))
        stored.spend(_CLASS_BYTES * len(tables[column.table].paths))
    return ClassColumns(tables, stored.value)
