"""The table of word classes that a model holds: fingerprints of forms instead of the forms, with
their classes.

A fingerprint is 40 bits of a cryptographic hash. Sorted, n of them hold about 40 - log2(n) + 1.4
bits of information each, 24 for 200,000 forms: they are stored as the number of fingerprints for
each value of the upper 16 bits, which is compressed, and the lower 24 bits, which cannot be. A form
that is not in the table is taken for one that is with a probability of n / 2^40, 2e-7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from egparse.classes.table import MAX_BITS, MAX_CLASSES, ClassTable, Origin, normal
from egparse.errors import one_line
from egparse.storage.arrays import compress_array
from egparse.storage.schema import Array, Packed, Record, Stored, Strings, text
from egparse.types import Ints, UInt16s, UInt64s

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
