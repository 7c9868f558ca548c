"""The observables of an expander: those of a splitter, and the ends of each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.features.templates import MAX_VALUE
from egparse.features.vocabulary import FIRST_VALUE
from egparse.splitting import columns as splitter
from egparse.splitting.characters import character_tables
from egparse.splitting.columns import Paragraph, paragraph_columns
from egparse.types import Ints, Longs

_LONGEST = 4
_AFFIXES = tuple(f"{end}{length}" for end in ("prefix", "suffix") for length in range(1, _LONGEST + 1))

COLUMNS = (*splitter.COLUMNS, *_AFFIXES, "length")

_PRIME = np.uint64(0x100000001B3)
_SEED = np.uint64(0xCBF29CE484222325)
_LONG = 15


def expander_columns(windows: Sequence[Paragraph], spacing: bool) -> tuple[Ints, Longs]:
    values, starts = paragraph_columns(windows, spacing=spacing)
    forms = [form for window in windows for form in window.forms]
    lengths = np.array(list(map(len, forms)), dtype=np.int64)
    ends = np.cumsum(lengths)
    codes = np.frombuffer("".join(forms).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    small = character_tables(codes).small[codes].astype(np.uint64)
    more = np.zeros((len(forms), len(_AFFIXES) + 1), dtype=np.int32)
    for from_end in (False, True):
        code = np.full(len(forms), _SEED)
        for k in range(_LONGEST):
            has = lengths > k
            places = (ends - 1 - k if from_end else ends - lengths + k)[has]
            code[has] = (code[has] ^ small[places]) * _PRIME
            folded = (code[has] ^ (code[has] >> np.uint64(32))) % np.uint64(MAX_VALUE - FIRST_VALUE)
            more[has, k + _LONGEST * from_end] = folded.astype(np.int32) + FIRST_VALUE
    more[:, -1] = np.minimum(lengths, _LONG) + FIRST_VALUE
    return np.hstack([values, more]), starts
