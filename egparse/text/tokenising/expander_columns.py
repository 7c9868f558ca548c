"""The observables of an expander: those of a splitter, and both ends of each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.features.templates import MAX_VALUE
from egparse.features.vocabulary import FIRST_VALUE
from egparse.text.splitting.characters import character_tables
from egparse.text.splitting.columns import COLUMNS as SPLITTER_COLUMNS
from egparse.text.splitting.columns import Paragraph, paragraph_columns
from egparse.types import Ints, Longs

_LONGEST = 4
_AFFIXES = tuple(
    f"{end}{length}" for end in ("prefix", "suffix") for length in range(1, _LONGEST + 1)
)

COLUMNS = (*SPLITTER_COLUMNS, *_AFFIXES, "length")
"""Beside the columns of a splitter, of which ``inside`` and ``casing`` say nothing here: the first
and the last one to four characters, in lower case with digits as 0 (unknown in shorter tokens), and
how many characters there are, up to fifteen.
"""

_MOST = 15
_SEED, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
_BUCKETS = np.uint64(MAX_VALUE - FIRST_VALUE)


def expander_columns(windows: Sequence[Paragraph], spacing: bool) -> tuple[Ints, Longs]:
    """Values of shape (tokens, columns), and where windows start, (windows + 1,); without
    ``spacing`` blanks are unknown.
    """
    values, starts = paragraph_columns(windows, spacing=spacing)
    forms = [form for window in windows for form in window.forms]
    lengths = np.array(list(map(len, forms)), dtype=np.int64)
    ends = np.cumsum(lengths)
    codes = np.frombuffer("".join(forms).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    small = character_tables(codes).small[codes].astype(np.uint64)
    affixes = np.zeros((len(forms), len(_AFFIXES)), dtype=np.int32)
    for first_column, first, step in ((0, ends - lengths, 1), (_LONGEST, ends - 1, -1)):
        code = np.full(len(forms), _SEED)
        for k in range(_LONGEST):
            has = lengths > k
            code[has] = (code[has] ^ small[first[has] + step * k]) * _PRIME
            bucket = (code[has] ^ (code[has] >> np.uint64(32))) % _BUCKETS
            affixes[has, first_column + k] = bucket.astype(np.int32) + FIRST_VALUE
    length = np.minimum(lengths, _MOST).astype(np.int32)[:, None] + FIRST_VALUE
    return np.hstack([values, affixes, length]), starts
