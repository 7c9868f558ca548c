"""The language of feature templates, and the exact keys of the attributes that they yield.

A template is a conjunction of cells ``column[offset]``, each the value of a column so many words
after the word at hand; ``column`` alone is ``column[0]``. Features of arcs, pairs of arcs and
labels of arcs are of several words, so that a cell begins with the letter of its word: ``d.`` the
dependent, ``h.`` its head, ``s.`` the next dependent inward, ``g.`` the head of the head. Cells are
separated by ``|``, blanks or ``+``, which mean the same; ``bias`` is the empty conjunction::

    form[-1]|form[0]        h.form h.xpos + d.xpos[-1] d.xpos        s.xpos d.xpos

Templates of sequences (tags, labels of arcs, sentences, tokens) have at most three cells. At an
item where every cell has a known value the template yields one attribute. Its 64-bit key packs the
number of the template and the values without loss: different attributes have different keys, and
an attribute can be read back from its key. Templates of arcs and pairs are hashed (``arcs``,
``pairs``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from egparse.classes.tables import is_as_fine_as_words
from egparse.compilation import njit
from egparse.errors import ConfigError, did_you_mean
from egparse.features.vocabulary import BOUNDARY, UNKNOWN
from egparse.types import Ints, Longs, UInt64s

MAX_CELLS = 3
VALUE_BITS = 19
MAX_VALUE = (1 << VALUE_BITS) - 1
MAX_TEMPLATES = 126
TEMPLATE_SHIFT = MAX_CELLS * VALUE_BITS
"""The number of a template, from 1 on, stands above the values in a key."""

MAX_HASHED_CELLS = 5
"""A hashed template has at most so many cells at each word."""

WORD_COLUMNS = ("form", "stem")
"""Columns of arcs that hold words; see ``holds_words``."""

_BETWEEN_CELLS = re.compile(r"[|\s]+|\+(?!\d+\])")
_CELL = re.compile(r"(?:([a-z])\.)?([a-z0-9_]+)(?:\[([+-]?\d{1,3})\])?")
_RELATIVES = {"": "", "d": "", "h": "head_", "g": "grand_"}
"""Letter of a word -> how its columns begin where those of a tree are columns of the dependent."""

_LETTERS = ("d", "h", "s", "g")
_NO_COLUMN = -1


class Cell(NamedTuple):
    """A cell of a template; ``word`` is a letter, or empty for the item itself. A ``text`` that is
    no cell has no column.
    """

    text: str
    word: str
    column: str
    offset: int

    @property
    def of_item(self) -> str:
        """The column of the item that holds the values of the cell's word."""
        return _RELATIVES.get(self.word, f"{self.word}.") + self.column


def read_template(text: str) -> list[Cell]:
    """The cells of a template."""
    words = [] if text == "bias" else [word for word in _BETWEEN_CELLS.split(text) if word]
    matches = [(word, _CELL.fullmatch(word)) for word in words]
    return [
        Cell(word, match[1] or "", match[2], int(match[3] or 0)) if match else Cell(word, "", "", 0)
        for word, match in matches
    ]


def wordless_first(
    templates: Sequence[list[list[tuple[int, int]]]], numbers: Mapping[str, int]
) -> tuple[list[list[list[tuple[int, int]]]], int]:
    """Templates in order, those that name words (``holds_words``) last, and how many do not."""
    sparse = {number for name, number in numbers.items() if holds_words(name)}
    ordered: tuple[list[Any], list[Any]] = ([], [])
    for template in templates:
        ordered[any(column in sparse for cells in template for column, _ in cells)].append(template)
    return [*ordered[0], *ordered[1]], len(ordered[0])


def holds_words(column: str) -> bool:
    """Whether a column holds words, or classes as fine as words: templates that name it are not
    combined with the length of the arc.
    """
    return column in WORD_COLUMNS or is_as_fine_as_words(column)


def read_ends(
    text: str, letters: Sequence[str], numbers: Mapping[str, int]
) -> list[list[tuple[int, int]]]:
    """The (column number, offset) of the cells at each of the words ``letters`` of an arc, or with
    three words of a pair of arcs.

    Raises:
        ConfigError: a cell that cannot be read, of another word or an unknown column, or too many.
    """
    kind = "arc" if len(letters) == 2 else "pair"
    cells: list[list[tuple[int, int]]] = [[] for _ in letters]
    for cell in read_template(text):
        if cell.word not in letters or cell.column not in numbers:
            at = "" if kind == "arc" else f" at {', '.join(letters)}"
            raise ConfigError(
                f"{kind} template {text!r}: expected cells such as {letters[0]}.form or "
                f"{letters[-1]}.xpos[-1]{at} over the columns {', '.join(numbers)}, with offsets "
                f"from -999 to 999, got {cell.text!r}"
                + (did_you_mean(cell.column, numbers) if cell.word in _LETTERS else "")
            )
        cells[letters.index(cell.word)].append((numbers[cell.column], cell.offset))
    most = max(map(len, cells))
    if most > MAX_HASHED_CELLS:
        raise ConfigError(
            f"{kind} template {text!r}: expected at most {MAX_HASHED_CELLS} cells a word, got "
            f"{most}"
        )
    return cells


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
        text = self.texts[(key >> TEMPLATE_SHIFT) - 1]
        named = [
            f"{cell.of_item}[{cell.offset}]="
            + string_of(cell.of_item, (key >> (VALUE_BITS * c)) & MAX_VALUE)
            for c, cell in enumerate(_cells_of(text))
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
        for c, cell in enumerate(_cells_of(text)):
            if cell.of_item not in numbers:
                name = cell.of_item if cell.word in _RELATIVES else cell.text
                raise ConfigError(
                    f"template {text!r}: expected one of the columns {', '.join(columns)}, got "
                    f"{name!r}{did_you_mean(name, columns)}"
                )
            cells[t, c] = numbers[cell.of_item]
            offsets[t, c] = cell.offset
    return Templates(tuple(texts), cells, offsets, pads)


def columns_of(texts: Sequence[str]) -> list[str]:
    """The columns that templates name, in order of first appearance."""
    return list(dict.fromkeys(cell.of_item for text in texts for cell in _cells_of(text)))


def _cells_of(text: str) -> list[Cell]:
    """The cells of a template of items of a sequence."""
    cells = read_template(text)
    fits = len(cells) <= MAX_CELLS and all(cell.column for cell in cells)
    if not fits or not (cells or text == "bias"):
        raise ConfigError(
            f"template {text!r}: expected 'bias' or at most {MAX_CELLS} cells such as "
            "form[-1]|form[0], joined by '|', with offsets from -999 to 999"
        )
    return cells


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
    key = np.uint64(t + 1) << np.uint64(TEMPLATE_SHIFT)
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
