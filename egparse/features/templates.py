"""Attribute templates over the columns of a sentence, and the 64-bit keys of the attributes that
they yield.

A template is a conjunction of at most three cells, written ``column[offset]`` and joined by ``|``:
``form[-1]|form[0]`` is the previous and the current form. ``bias`` is the empty conjunction. At a
word where every cell has a known value the template yields one attribute. Its key packs the number
of the template and the values without loss: different attributes have different keys, and an
attribute can be read back from its key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.errors import ConfigError
from egparse.features.vocabulary import BOUNDARY, UNKNOWN
from egparse.similar import did_you_mean
from egparse.types import Ints, Longs, UInt64s

MAX_CELLS = 3
VALUE_BITS = 19
MAX_VALUE = (1 << VALUE_BITS) - 1
MAX_TEMPLATES = 126
TEMPLATE_SHIFT = MAX_CELLS * VALUE_BITS
"""The number of a template, from 1 on, stands above the values in a key."""

_CELL = re.compile(r"([a-z][a-z0-9_]*)\[([+-]?\d{1,3})\]")
_NO_COLUMN = -1


class Templates(NamedTuple):
    """Compiled templates: cell ``c`` of template ``t`` is the column ``columns[t, c]`` at
    ``offsets[t, c]``; unused cells hold -1 and 0.

    With ``pads`` a cell beyond the sentence has the value ``BOUNDARY``; without it the template
    yields no attribute there.
    """

    texts: tuple[str, ...]
    columns: Ints
    offsets: Ints
    pads: bool

    def describe(self, key: int, string_of: Callable[[str, int], str]) -> str:
        """The attribute of a key in readable form: ``string_of(column, value)`` names a value."""
        text = self.texts[(key >> (MAX_CELLS * VALUE_BITS)) - 1]
        cells = _CELL.findall(text)
        values = [(key >> (VALUE_BITS * c)) & MAX_VALUE for c in range(len(cells))]
        named = [
            f"{column}[{offset}]={string_of(column, value)}"
            for (column, offset), value in zip(cells, values, strict=True)
        ]
        return " ".join(named) or text


def compile_templates(texts: Sequence[str], columns: Sequence[str], pads: bool = True) -> Templates:
    """Check and compile templates over the named columns.

    Raises:
        ConfigError: a template cannot be read, names an unknown column, or has more than three
            cells; or there are more than ``MAX_TEMPLATES``.
    """
    if len(texts) > MAX_TEMPLATES:
        raise ConfigError(f"expected at most {MAX_TEMPLATES} templates, got {len(texts)}")
    numbers = {name: number for number, name in enumerate(columns)}
    cells = np.full((len(texts), MAX_CELLS), _NO_COLUMN, dtype=np.int32)
    offsets = np.zeros((len(texts), MAX_CELLS), dtype=np.int32)
    for t, text in enumerate(texts):
        for c, (name, offset) in enumerate(_parse(text)):
            if name not in numbers:
                raise ConfigError(
                    f"template {text!r}: expected one of the columns {', '.join(columns)}, got "
                    f"{name!r}{did_you_mean(name, columns)}"
                )
            cells[t, c] = numbers[name]
            offsets[t, c] = offset
    return Templates(tuple(texts), cells, offsets, pads)


def columns_of(texts: Sequence[str]) -> list[str]:
    """The columns that templates name, in order of first appearance."""
    return list(dict.fromkeys(name for text in texts for name, _ in _parse(text)))


def _parse(text: str) -> list[tuple[str, int]]:
    if text == "bias":
        return []
    parts = text.split("|")
    matches = [_CELL.fullmatch(part) for part in parts]
    if len(parts) > MAX_CELLS or not all(matches):
        raise ConfigError(
            f"template {text!r}: expected 'bias' or at most {MAX_CELLS} cells such as "
            "form[-1]|form[0], joined by '|', with offsets from -999 to 999"
        )
    return [(match[1], int(match[2])) for match in matches if match]


@njit
def extract_keys(
    values: Ints,
    starts: Longs,
    columns: Ints,
    offsets: Ints,
    pads: bool,
    keys: UInt64s,
) -> None:
    """Write the key of every template at every word to ``keys`` (words, templates), 0 where a
    template yields no attribute.

    ``values[word, column]`` holds the columns of consecutive sentences; sentence ``i`` has the
    words ``starts[i]`` up to ``starts[i + 1]``.
    """
    for i in range(starts.shape[0] - 1):
        first, end = starts[i], starts[i + 1]
        for word in range(first, end):
            for t in range(columns.shape[0]):
                keys[word, t] = _key_of(values, word, first, end, t, columns, offsets, pads)


@njit
def extract_keys_at(
    words: Longs,
    values: Ints,
    starts: Longs,
    columns: Ints,
    offsets: Ints,
    pads: bool,
    keys: UInt64s,
) -> None:
    """The same for some ``words``, ascending, whose keys have shape (words, templates)."""
    i = 0
    for k in range(words.shape[0]):
        while starts[i + 1] <= words[k]:
            i += 1
        for t in range(columns.shape[0]):
            keys[k, t] = _key_of(
                values, words[k], starts[i], starts[i + 1], t, columns, offsets, pads
            )


@njit(inline=True)
def _key_of(
    values: Ints,
    word: int,
    first: int,
    end: int,
    t: int,
    columns: Ints,
    offsets: Ints,
    pads: bool,
) -> np.uint64:
    """The key of template ``t`` at a word of the sentence ``first:end``."""
    key = np.uint64(t + 1) << np.uint64(MAX_CELLS * VALUE_BITS)
    for c in range(MAX_CELLS):
        column = columns[t, c]
        if column < 0:
            break
        position = word + offsets[t, c]
        inside = first <= position < end
        value = values[position, column] if inside else BOUNDARY
        if value == UNKNOWN or (not inside and not pads):
            key = np.uint64(0)
            break
        key |= np.uint64(value) << np.uint64(c * VALUE_BITS)
    return key
