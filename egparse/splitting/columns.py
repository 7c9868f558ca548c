"""The observables of a sentence splitter: a row for each word of a paragraph, a column for each
name that templates use.

Strings are hashed into the range of a template cell, so there is no vocabulary to store, and words
of any script have values. Forms are one array of characters, of which each distinct one is
classified once, in Python.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from egparse.classes.columns import ClassColumns
from egparse.compilation import njit
from egparse.features.hashing import mix_character
from egparse.features.templates import MAX_VALUE
from egparse.features.vocabulary import FIRST_VALUE
from egparse.types import Ints, Longs, UInt8s, UInt32s

COLUMNS = ("lower", "shape", "suffix", "kind", "spaced", "inside")
"""Of each word: ``lower`` the form in lower case with digits as 0, ``shape`` letters as X and x and
digits as 0, ``suffix`` its last three characters, ``kind`` how a word is cased or what kind of
punctuation it is, ``spaced`` whether a blank follows (unknown: 0), ``inside`` whether brackets and
quotes that the paragraph has opened before are still open.
"""

_LOWER, _SHAPE, _SUFFIX, _KIND, _SPACED, _INSIDE = range(len(COLUMNS))

# kinds of characters
_UPPER, _SMALL, _LETTER, _DIGIT = 0, 1, 2, 3
_FINAL, _COMMA, _COLON, _DASH, _OPENING, _CLOSING, _QUOTE, _SYMBOL, _BLANK, _OTHER = range(4, 14)
_FINALS = frozenset(
    ".!?\u2026\u203c\u2047\u2048\u2049\u3002\uff01\uff1f\uff0e\uff61\u061f\u06d4\u0964\u0965\u055c\u055e\u0589\u1362"
)
_COMMAS = frozenset(",;\u060c\u061b\uff0c\uff1b\u3001")
_QUOTES = frozenset("\"'`\u00b4")
_CATEGORIES = {
    "Lu": _UPPER,
    "Lt": _UPPER,
    "Ll": _SMALL,
    "Nd": _DIGIT,
    "Pd": _DASH,
    "Ps": _OPENING,
    "Pi": _OPENING,
    "Pe": _CLOSING,
    "Pf": _CLOSING,
}
_GROUPS = {"L": _LETTER, "M": _LETTER, "N": _DIGIT, "S": _SYMBOL, "Z": _BLANK, "C": _BLANK}

# kinds of words: how they are cased, once without and once with final punctuation at the end
# (abbreviations); then punctuation
_WORDS = 6
_LOWER_WORD, _TITLE, _CAPITALS, _INITIAL, _UNCASED, _NUMBER = range(_WORDS)
_FIRST_PUNCTUATION = 2 * _WORDS

_HASH_SEED = np.uint64(0xCBF29CE484222325)
_BUCKETS = np.uint64(MAX_VALUE - FIRST_VALUE)


class Paragraph(NamedTuple):
    """The words of a paragraph, as they stand in text, and whether a blank (or its end) follows
    each of them.
    """

    forms: Sequence[str]
    spaced: Sequence[bool]


def column_names(classes: ClassColumns | None) -> tuple[str, ...]:
    """The columns, those of word classes last."""
    return COLUMNS if classes is None else (*COLUMNS, *classes.names)


def paragraph_columns(
    paragraphs: Sequence[Paragraph],
    *,
    spacing: bool = True,
    classes: ClassColumns | None = None,
) -> tuple[Ints, Longs]:
    """Values of shape (words, columns), see ``column_names``, and where paragraphs start,
    (paragraphs + 1,); without ``spacing`` blanks are unknown, and cells that name them yield no
    attribute.

    Raises:
        ValueError: not one value of ``spaced`` for each word.
    """
    starts = np.zeros(len(paragraphs) + 1, dtype=np.int64)
    np.cumsum([len(paragraph.forms) for paragraph in paragraphs], out=starts[1:])
    spaced = np.array(
        [value for paragraph in paragraphs for value in paragraph.spaced], dtype=np.bool_
    )
    if len(spaced) != starts[-1] or any(len(one.forms) != len(one.spaced) for one in paragraphs):
        raise ValueError(
            f"expected {starts[-1]} values of spaced, one for each word, got {len(spaced)}"
        )
    forms = [form for paragraph in paragraphs for form in paragraph.forms]
    ends = np.zeros(len(forms) + 1, dtype=np.int64)
    np.cumsum(list(map(len, forms)), out=ends[1:])
    # Lone surrogates are not characters, but the input may have them.
    codes = np.frombuffer("".join(forms).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds, small = _character_tables(codes)
    values = np.zeros((len(forms), len(COLUMNS)), dtype=np.int32)
    _observe(codes, ends, kinds, small, values)
    if spacing:
        values[:, _SPACED] = spaced.astype(np.int32) + FIRST_VALUE
    _mark_inside(starts, values)
    if classes is not None:
        values = np.hstack([values, _class_values(forms, classes)])
    return values, starts


def _class_values(forms: Sequence[str], classes: ClassColumns) -> Ints:
    """The values of word classes, shape (words, columns)."""
    numbers: dict[str, int] = {}
    rows = np.array([numbers.setdefault(form, len(numbers)) for form in forms], dtype=np.int64)
    values = classes.values(list(numbers))
    values[values > 0] += FIRST_VALUE - 1
    return values[rows]


def _character_tables(
    codes: UInt32s,
) -> tuple[UInt8s, UInt32s]:
    """The kind and the lower case of each character that occurs, by its code."""
    size = int(codes.max(initial=0)) + 1
    if size <= _ASCII:
        return _ascii_tables()
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    kinds = np.zeros(size, dtype=np.uint8)
    small = np.zeros(size, dtype=np.uint32)
    for code in np.flatnonzero(occurs).tolist():
        kinds[code], small[code] = _character(code)
    return kinds, small


_ASCII = 128


@cache
def _ascii_tables() -> tuple[UInt8s, UInt32s]:
    """The tables of all characters of ASCII, which most texts consist of."""
    kinds, small = zip(*map(_character, range(_ASCII)), strict=True)
    return np.array(kinds, dtype=np.uint8), np.array(small, dtype=np.uint32)


@lru_cache(maxsize=1 << 14)
def _character(code: int) -> tuple[int, int]:
    """Kind and lower case of a character (of several the first one); all digits are 0."""
    character = chr(code)
    for kind, members in (
        (_FINAL, _FINALS),
        (_COMMA, _COMMAS),
        (_COLON, ":\uff1a"),
        (_QUOTE, _QUOTES),
    ):
        if character in members:
            return kind, code
    category = unicodedata.category(character)
    kind = _CATEGORIES.get(category, _GROUPS.get(category[0], _OTHER))
    return kind, ord("0") if category == "Nd" else ord(character.lower()[0])


@njit(inline=True)
def _bucket(value: np.uint64) -> np.int32:
    return np.int32((value ^ (value >> np.uint64(32))) % _BUCKETS) + FIRST_VALUE


@njit
def _observe(
    codes: UInt32s,
    ends: Longs,
    kinds: UInt8s,
    small: UInt32s,
    values: Ints,
) -> None:
    """Fill the columns that depend on each word alone; word ``k`` has the characters
    ``codes[ends[k]:ends[k + 1]]``.
    """
    for k in range(values.shape[0]):
        first, end = ends[k], ends[k + 1]
        lower, shape, suffix = _HASH_SEED, _HASH_SEED, _HASH_SEED
        last, run, upper, letters = np.uint64(0), 0, 0, 0
        for c in range(first, end):
            code, kind = np.uint64(small[codes[c]]), kinds[codes[c]]
            lower = mix_character(lower, code)
            if c >= end - 3:
                suffix = mix_character(suffix, code)
            seen = np.uint64(kind) if kind <= _DIGIT else code
            run = run + 1 if seen == last and c > first else 1
            if run <= 2:
                shape = mix_character(shape, seen)
            last = seen
            upper += kind == _UPPER
            letters += kind <= _SMALL
        values[k, _LOWER] = _bucket(lower)
        values[k, _SHAPE] = _bucket(shape)
        values[k, _SUFFIX] = _bucket(suffix)
        word_kind = _FIRST_PUNCTUATION + 2 * _BLANK
        if end > first:
            kind, final = kinds[codes[first]], kinds[codes[end - 1]] == _FINAL
            if kind > _DIGIT:
                word_kind = _FIRST_PUNCTUATION + 2 * kind + (end - first > 1)
            else:
                word_kind = _UNCASED
                if kind == _DIGIT:
                    word_kind = _NUMBER
                elif kind == _SMALL:
                    word_kind = _LOWER_WORD
                elif kind == _UPPER:
                    word_kind = (
                        _INITIAL if letters == 1 else _CAPITALS if upper == letters else _TITLE
                    )
                word_kind += _WORDS * final
        values[k, _KIND] = word_kind + FIRST_VALUE


@njit
def _mark_inside(starts: Longs, values: Ints) -> None:
    """Fill whether a word stands inside of brackets (1), straight quotes (2) or both (3)."""
    punctuation = FIRST_VALUE + _FIRST_PUNCTUATION
    for i in range(starts.shape[0] - 1):
        depth, quoted = 0, 0
        for k in range(starts[i], starts[i + 1]):
            values[k, _INSIDE] = min(depth, 1) + 2 * quoted + FIRST_VALUE
            kind = (values[k, _KIND] - punctuation) // 2
            if kind == _OPENING:
                depth += 1
            elif kind == _CLOSING:
                depth = max(0, depth - 1)
            elif kind == _QUOTE:
                quoted = 1 - quoted
