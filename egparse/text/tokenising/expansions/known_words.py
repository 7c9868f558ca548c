"""How often words occur in a corpus, as a table of hashed words, which is small in a model file."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from egparse.storage.arrays import compress_array
from egparse.storage.schema import Packed, Stored
from egparse.types import UInt8s

N_FREQUENCIES = 4
"""Never, once, a few times, often."""

_OFTEN = 5
_BITS = 19  # with 25,000 words one unknown word in twenty has the cell of a known one
_CELLS = 1 << _BITS
_STORED = Packed(("uint8",), "cells", below=N_FREQUENCIES, takes=1)


class KnownWords:
    """The frequencies of words, whatever their case, in a table (cells,); words that share a cell
    have the highest frequency of them.
    """

    def __init__(self, table: UInt8s) -> None:
        self._table = table

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> KnownWords:
        """The table of lower-cased words that occur so many times."""
        table = np.zeros(_CELLS, dtype=np.uint8)
        for word, count in counts.items():
            cell = _cell_of(word)
            table[cell] = max(int(table[cell]), frequency_of(count))
        return cls(table)

    def frequency(self, word: str) -> int:
        """The frequency of a word, less than ``N_FREQUENCIES``."""
        return int(self._table[_cell_of(word.lower())])

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return compress_array(self._table)

    @classmethod
    def from_payload(cls, stored: Stored) -> KnownWords:
        """The table of a model file.

        Raises:
            Misfit: content that is no such table.
        """
        return cls(stored.read(_STORED, cells=_CELLS))


def frequency_of(count: int) -> int:
    """The frequency of a word that occurs so many times."""
    return count if count < 2 else 2 if count < _OFTEN else 3


def _cell_of(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) >> (32 - _BITS)
