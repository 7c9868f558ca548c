"""Words that training has seen, in a table of hashed words that is small in a model file."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from egparse.types import UInt8s

TABLE_BITS = 19
"""The table has 2^19 cells: with 25,000 words one unknown word in twenty seems to be known."""

N_FREQUENCIES = 4
"""Never, once, a few times, often."""

_OFTEN = 5


class KnownWords:
    """How often words occur, (2^TABLE_BITS,): the highest frequency of the words of a cell."""

    def __init__(self, table: UInt8s) -> None:
        self.table = table

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> KnownWords:
        """The table of lower-cased words that occurred so many times."""
        table = np.zeros(1 << TABLE_BITS, dtype=np.uint8)
        for word, count in counts.items():
            cell = _cell(word)
            table[cell] = max(table[cell], frequency_of(count))
        return cls(table)

    def frequency(self, word: str) -> int:
        """How often a word occurs, less than ``N_FREQUENCIES``."""
        return int(self.table[_cell(word.lower())])


def frequency_of(count: int) -> int:
    """The frequency of a word that occurs so many times."""
    return 0 if count <= 0 else 1 if count == 1 else 2 if count < _OFTEN else 3


def _cell(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) >> (32 - TABLE_BITS)
