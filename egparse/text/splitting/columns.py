"""The observables of a sentence splitter: a row for each word of a paragraph, a column for each
name that templates use.

Strings are hashed into the range of a template cell, so there is no vocabulary to store, and words
of any script have values. Forms are one array of characters, of which each distinct one is
classified once, in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.classes.columns import ClassColumns
from egparse.compilation import njit
from egparse.features.hashing import mix_character
from egparse.features.templates import MAX_VALUE
from egparse.features.vocabulary import FIRST_VALUE
from egparse.text.splitting.casing import CasingCounts, casings_of
from egparse.text.splitting.characters import (
    BLANK,
    CLOSING,
    DIGIT,
    FINAL,
    OPENING,
    QUOTE,
    SMALL,
    UPPER,
    character_tables,
)
from egparse.types import Ints, Longs, Mask, UInt8s, UInt32s

COLUMNS = ("lower", "shape", "suffix", "kind", "spaced", "inside", "casing")
"""Of each word: ``lower`` the form in lower case with digits as 0, ``shape`` letters as X and x and
digits as 0, ``suffix`` its last three characters, ``kind`` how a word is cased or what kind of
punctuation it is, ``spaced`` whether a blank follows (unknown: 0), ``inside`` whether brackets and
quotes that the paragraph has opened before are still open, ``casing`` how training has seen it
inside of sentences (``egparse.text.splitting.casing``; unknown: 0).
"""

_LOWER, _SHAPE, _SUFFIX, _KIND, _SPACED, _INSIDE, _CASING = range(len(COLUMNS))

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
    casings: UInt8s | None = None,
) -> tuple[Ints, Longs]:
    """Values of shape (words, columns), see ``column_names``, and where paragraphs start,
    (paragraphs + 1,); without ``spacing`` blanks are unknown, and cells that name them yield no
    attribute. ``casings`` is the table of ``CasingCounts``.

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
    kinds, small, _ = character_tables(codes)
    values = np.zeros((len(forms), len(COLUMNS)), dtype=np.int32)
    observe_forms(codes, ends, kinds, small, values)
    if spacing:
        values[:, _SPACED] = spaced.astype(np.int32) + FIRST_VALUE
    _mark_inside(starts, values)
    if casings is not None:
        values[:, _CASING] = casings_of(values[:, _LOWER], casings)
    if classes is not None:
        values = np.hstack([values, _class_values(forms, classes)])
    return values, starts


def casing_counts(values: Ints, starts: Mask) -> CasingCounts:
    """How the words of a corpus are cased; ``starts`` says where sentences start, (words,)."""
    kinds = values[:, _KIND] - FIRST_VALUE
    kinds = np.where(kinds < _FIRST_PUNCTUATION, kinds % _WORDS, -1)
    capital = (kinds == _TITLE) | (kinds == _CAPITALS) | (kinds == _INITIAL)
    return CasingCounts(values[:, _LOWER], kinds == _LOWER_WORD, capital, starts)


def set_casings(values: Ints, casings: Ints) -> None:
    """Fill the column ``casing``."""
    values[:, _CASING] = casings


def _class_values(forms: Sequence[str], classes: ClassColumns) -> Ints:
    """The values of word classes, shape (words, columns)."""
    numbers: dict[str, int] = {}
    rows = np.array([numbers.setdefault(form, len(numbers)) for form in forms], dtype=np.int64)
    values = classes.values(list(numbers))
    values[values > 0] += FIRST_VALUE - 1
    return values[rows]


@njit(inline=True)
def bucket(value: np.uint64) -> np.int32:
    """A hashed value as a template cell holds it."""
    return np.int32((value ^ (value >> np.uint64(32))) % _BUCKETS) + FIRST_VALUE


@njit
def observe_forms(
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
            seen = np.uint64(kind) if kind <= DIGIT else code
            run = run + 1 if seen == last and c > first else 1
            if run <= 2:
                shape = mix_character(shape, seen)
            last = seen
            upper += kind == UPPER
            letters += kind <= SMALL
        values[k, _LOWER] = bucket(lower)
        values[k, _SHAPE] = bucket(shape)
        values[k, _SUFFIX] = bucket(suffix)
        word_kind = _FIRST_PUNCTUATION + 2 * BLANK
        if end > first:
            kind, final = kinds[codes[first]], kinds[codes[end - 1]] == FINAL
            if kind > DIGIT:
                word_kind = _FIRST_PUNCTUATION + 2 * kind + (end - first > 1)
            else:
                word_kind = _UNCASED
                if kind == DIGIT:
                    word_kind = _NUMBER
                elif kind == SMALL:
                    word_kind = _LOWER_WORD
                elif kind == UPPER:
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
            if kind == OPENING:
                depth += 1
            elif kind == CLOSING:
                depth = max(0, depth - 1)
            elif kind == QUOTE:
                quoted = 1 - quoted
