"""Tables of word classes, as they are read, as a model holds them, and as columns of templates.

A path is a text of bits such as ``0110``, from the root of a binary tree; forms whose paths begin
with the same bits are similar (Brown et al. 1992, "Class-based n-gram models of natural language",
section 3). A class is the set of forms with one path.

A model holds fingerprints of forms instead of the forms, 40 bits of a cryptographic hash. Sorted, n
of them hold about 40 - log2(n) + 1.4 bits of information each, 24 for 200,000 forms: they are
stored as the number of fingerprints for each value of the upper 16 bits, which is compressed, and
the lower 24 bits, which cannot be. A form that is not in the table is taken for one that is with a
probability of n / 2^40, 2e-7.

Of the columns that templates may name ``class`` is the class of a form in the first table,
``class6`` the first 6 bits of its path (the whole path, if that is shorter). ``class_2`` and
``class6_2`` are those of the second table, and so on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from egparse.classes.limits import MAX_CLASSES
from egparse.errors import one_line
from egparse.storage.arrays import compress_array
from egparse.storage.schema import Array, Packed, Record, Stored, Strings, shown, text
from egparse.types import Ints, UInt16s, UInt64s

MAX_BITS = 32
"""The longest path."""


def normal(form: str) -> str:
    """The form in lower case, with every digit as 0."""
    lower = form.lower()
    if lower.isalpha():  # most forms: tables have hundreds of thousands
        return lower
    return "".join(["0" if character.isdigit() else character for character in lower])


@dataclass(frozen=True)
class Origin:
    """Where a table comes from: its name, the source that it was learned from or taken from, and
    its licence; a text is empty where that is not known.
    """

    name: str = ""
    source: str = ""
    licence: str = ""


@dataclass(frozen=True)
class ClassTable:
    """The paths of forms; ``counts`` says how often the forms occurred where they were learned, if
    that is known.
    """

    paths: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)
    origin: Origin = Origin()

    def path(self, form: str) -> str | None:
        """The path of a form: of the form as it is, else in lower case, else with its digits as 0
        too; None if the table has none of them.
        """
        for key in (form, form.lower(), normal(form)):
            path = self.paths.get(key)
            if path is not None:
                return path
        return None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(set(self.paths.values()))

    def frequent(self, min_count: int) -> ClassTable:
        """The table without forms that were counted, but less often than ``min_count``."""
        if min_count <= 1 or not self.counts:
            return self
        counts = {form: count for form, count in self.counts.items() if count >= min_count}
        paths = {form: path for form, path in self.paths.items() if form in counts}
        return ClassTable(paths, counts, self.origin)

    def generalised(self) -> ClassTable:
        """The table with what ``path`` falls back to: forms in lower case, and with digits as 0,
        that it lacks, with the most frequent path of the forms that are written so.

        Without counts all forms are equally frequent; of equally frequent paths it is the first.
        """
        frequencies: dict[str, dict[str, int]] = {}
        for form, path in self.paths.items():
            lower = form.lower()
            plain = normal(lower)
            for key in (lower, plain) if plain != lower else (lower,):
                if key not in self.paths:
                    of_key = frequencies.setdefault(key, {})
                    of_key[path] = of_key.get(path, 0) + self.counts.get(form, 1)
        new = {key: max(of_key, key=of_key.__getitem__) for key, of_key in frequencies.items()}
        return ClassTable({**self.paths, **new}, self.counts, self.origin)

    def without_repetitions(self) -> ClassTable:
        """The table without forms that would have the same path if they were left out: ``path`` of
        every form is the same.
        """
        paths = dict(self.paths)
        # a form is looked up in lower case only after itself, and with digits as 0 only after both;
        # so what a form falls back to may be left out in its turn, if it has the same path
        for form, path in self.paths.items():
            lower = form.lower()
            for key in (lower, normal(lower)):
                if key != form and key in self.paths:
                    if self.paths[key] == path:
                        del paths[form]
                    break
        return ClassTable(paths, self.counts, self.origin)


_BYTES = 5
_LOW_BITS = 24
_BUCKETS = 1 << (8 * _BYTES - _LOW_BITS)
_LONGEST = 1000
_LINE = text(
    rf"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{{0,{_LONGEST}}}",
    f"one line of at most {_LONGEST:,} characters",
)

STORED_TABLE = Record(
    {
        "name": _LINE,
        "source": _LINE,
        "licence": _LINE,
        "paths": Strings(size="classes", least=1, most=MAX_CLASSES, longest=MAX_BITS),
        "buckets": Packed(("uint16",), "buckets", sums_to="entries"),
        "low": Array("uint8", ("entries", 3)),
        "classes": Packed(("uint16",), "entries", below="classes", takes=12),
    }
)
"""A table in a model file: its origin, the paths of its classes, and ``entries`` fingerprints with
the numbers of their classes. ``buckets[k]`` fingerprints have the upper 16 bits k.
"""


def fingerprints_of(forms: Iterable[str]) -> UInt64s:
    """The fingerprints of forms, 40 bits each."""
    # lone surrogates are not characters, but the input may have them
    digests = b"".join(
        blake2b(form.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest() + b"\0\0\0"
        for form in forms
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


@dataclass(frozen=True)
class PackedTable:
    """The class of the form with fingerprint ``fingerprints[k]`` is ``classes[k]``, a number in
    ``paths``; fingerprints ascend.
    """

    origin: Origin
    paths: tuple[str, ...]
    fingerprints: UInt64s
    classes: UInt16s

    @classmethod
    def of(cls, table: ClassTable) -> PackedTable:
        """The packed form of a table; classes are numbered by size, the largest first, so that they
        compress well.
        """
        kept = table.without_repetitions().paths
        sizes = Counter(kept.values())
        paths = sorted(sizes, key=lambda path: (-sizes[path], path))
        numbers = {path: number for number, path in enumerate(paths)}
        classes = np.array([numbers[path] for path in kept.values()], dtype=np.uint16)
        # of two forms with one fingerprint the one with the smaller number of a class stays
        order = np.argsort(classes, kind="stable")
        fingerprints, first = np.unique(fingerprints_of(kept)[order], return_index=True)
        origin = Origin(*(one_line(text)[:_LONGEST] for text in astuple(table.origin)))
        return cls(origin, tuple(paths), fingerprints, classes[order][first])

    def __len__(self) -> int:
        return len(self.fingerprints)

    def as_record(self) -> dict[str, Any]:
        """Plain values for the record of a model: the origin, and the numbers of forms and classes
        that are kept.
        """
        return {**asdict(self.origin), "forms": len(self), "classes": len(self.paths)}

    def find(self, forms: Sequence[str]) -> Ints:
        """The class of each form, by the rule of ``ClassTable.path``, (forms,); -1 for none."""
        found = self._exactly(forms)
        keys = list(forms)
        for changed in (str.lower, normal):
            missing = []
            for k in (found < 0).nonzero()[0].tolist():
                key = changed(forms[k])
                if key != keys[k]:
                    keys[k] = key
                    missing.append(k)
            if missing:
                found[missing] = self._exactly([keys[k] for k in missing])
        return found

    def _exactly(self, forms: Sequence[str]) -> Ints:
        wanted = fingerprints_of(forms)
        places = np.searchsorted(self.fingerprints, wanted)
        places[places == len(self.fingerprints)] = 0
        found = self.classes[places].astype(np.int32)
        found[self.fingerprints[places] != wanted] = -1
        return found

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        low = self.fingerprints & np.uint64((1 << _LOW_BITS) - 1)
        counts = np.bincount((self.fingerprints >> np.uint64(_LOW_BITS)).astype(np.int64))
        buckets = np.zeros(_BUCKETS, dtype=np.uint16)
        buckets[: len(counts)] = counts
        return {
            "name": self.origin.name,
            "source": self.origin.source,
            "licence": self.origin.licence,
            "paths": list(self.paths),
            "buckets": compress_array(buckets),
            "low": low.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].copy(),
            "classes": compress_array(self.classes),
        }

    @classmethod
    def from_payload(cls, stored: Stored) -> PackedTable:
        """The table of a model file.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_TABLE, buckets=_BUCKETS)
        paths = read["paths"]
        stored.require(
            all(paths) and not set("".join(paths)) - set("01"), "paths", "texts of the bits 0 and 1"
        )
        low = np.zeros((len(read["low"]), 4), dtype=np.uint8)
        low[:, :3] = read["low"]
        high = np.repeat(np.arange(_BUCKETS, dtype=np.uint64), read["buckets"])
        fingerprints = (high << np.uint64(_LOW_BITS)) | low.view("<u4")[:, 0].astype(np.uint64)
        stored.require(len(fingerprints) > 0, "buckets", "at least one fingerprint", "none")
        stored.require(
            bool((fingerprints[1:] > fingerprints[:-1]).all()), "low", "ascending fingerprints"
        )
        origin = Origin(read["name"], read["source"], read["licence"])
        return cls(origin, tuple(paths), fingerprints, read["classes"])


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
