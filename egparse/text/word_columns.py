"""The columns of words as they stand in text, for splitter and expander: a row for each word of a
paragraph, a column for each name that templates use.

Strings are hashed into the range of a template cell, so there is no vocabulary to store, and words
of any script have values. Forms are one array of characters, of which each distinct one is
classified once, in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.classes.tables import ClassColumns
from egparse.compilation import njit
from egparse.features.hashing import mix_character
from egparse.features.templates import MAX_VALUE
from egparse.features.vocabulary import FIRST_VALUE
from egparse.text.characters import (
    BLANK,
    CLOSING,
    DIGIT,
    FINAL,
    OPENING,
    QUOTE,
    SMALL,
    UPPER,
    as_codes,
    character_tables,
)
from egparse.types import Ints, Longs, Mask, UInt8s, UInt32s

SPLITTER_COLUMNS = ("lower", "shape", "suffix", "kind", "spaced", "inside", "casing")
"""Of each word: ``lower`` the form in lower case with digits as 0, ``shape`` letters as X and x and
digits as 0, ``suffix`` its last three characters, ``kind`` how a word is cased or what kind of
punctuation it is, ``spaced`` whether a blank follows (unknown: 0), ``inside`` whether brackets and
quotes that the paragraph has opened before are still open, ``casing`` how training has seen it
inside of sentences (unknown: 0).
"""

_AFFIX = 4
_AFFIXES = tuple(f"{end}{size}" for end in ("prefix", "suffix") for size in range(1, _AFFIX + 1))

EXPANDER_COLUMNS = (*SPLITTER_COLUMNS, *_AFFIXES, "length")
"""Beside the columns of a splitter, of which ``inside`` and ``casing`` say nothing here: the first
and the last one to four characters, in lower case with digits as 0 (unknown in shorter tokens), and
how many characters there are, up to fifteen.
"""

N_CASINGS = 7
"""How a word is cased inside of sentences: one that is small there, as a rule, but capitalised
where it stands, is likely to start a sentence (the statistic of truecasing: Lita et al. 2003,
"tRuEcasIng", section 2.1). Not seen there; small, seldom and often seen; rather small; rather
capitalised; capitalised, seldom and often seen.
"""

_FEW = 5
_RARELY, _RATHER = 0.05, 0.5

_LOWER, _SHAPE, _SUFFIX, _KIND, _SPACED, _INSIDE, _CASING = range(len(SPLITTER_COLUMNS))

# kinds of words: how they are cased, once without and once with final punctuation at the end
# (abbreviations); then punctuation
_WORDS = 6
_LOWER_WORD, _TITLE, _CAPITALS, _INITIAL, _UNCASED, _NUMBER = range(_WORDS)
_FIRST_PUNCTUATION = 2 * _WORDS

_LONG = 15

_HASH_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)  # of FNV-1a
_BUCKETS = np.uint64(MAX_VALUE - FIRST_VALUE)


class Paragraph(NamedTuple):
    """The words of a paragraph, as they stand in text, and whether a blank (or its end) follows
    each of them.
    """

    forms: Sequence[str]
    spaced: Sequence[bool]


def splitter_columns(classes: ClassColumns | None) -> tuple[str, ...]:
    """The columns of a splitter, those of word classes last."""
    return SPLITTER_COLUMNS if classes is None else (*SPLITTER_COLUMNS, *classes.names)


def paragraph_columns(
    paragraphs: Sequence[Paragraph],
    *,
    spacing: bool = True,
    classes: ClassColumns | None = None,
    casings: UInt8s | None = None,
) -> tuple[Ints, Longs]:
    """Values of shape (words, columns), see ``splitter_columns``, and where paragraphs start,
    (paragraphs + 1,); without ``spacing`` blanks are unknown, and cells that name them yield no
    attribute. ``casings`` is the table of ``learn_casings``.

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
    codes = as_codes("".join(forms))
    kinds, small, *_ = character_tables(codes)
    values = np.zeros((len(forms), len(SPLITTER_COLUMNS)), dtype=np.int32)
    observe_forms(codes, ends, kinds, small, values)
    if spacing:
        values[:, _SPACED] = spaced.astype(np.int32) + FIRST_VALUE
    _mark_inside(starts, values)
    if casings is not None:
        values[:, _CASING] = casings[values[:, _LOWER]].astype(np.int32) + FIRST_VALUE
    if classes is None:
        return values, starts
    numbers: dict[str, int] = {}
    rows = np.array([numbers.setdefault(form, len(numbers)) for form in forms], dtype=np.int64)
    of_classes = classes.values(list(numbers))
    of_classes[of_classes > 0] += FIRST_VALUE - 1
    return np.hstack([values, of_classes[rows]]), starts


def learn_casings(values: Ints, starts: Mask, fold_of: Longs) -> UInt8s:
    """Fill the column ``casing`` of a corpus whose sentences begin at the words ``starts``, and
    return the casing of any word by its column ``lower``, (MAX_VALUE + 1,).

    Each word of the corpus has the casing by the other folds. Without its own occurrence alone a
    word would be seen inside of sentences once less where it stands inside than where it starts
    one, which new text does not tell.
    """
    lower, kinds = values[:, _LOWER], values[:, _KIND] - FIRST_VALUE
    kinds = np.where(kinds < _FIRST_PUNCTUATION, kinds % _WORDS, -1)
    small = (kinds == _LOWER_WORD) & ~starts
    capital = np.isin(kinds, (_TITLE, _CAPITALS, _INITIAL)) & ~starts
    for fold in range(int(fold_of.max(initial=-1)) + 1):
        here = fold_of == fold
        of_others = casing_table(lower[~here], small[~here], capital[~here])
        values[here, _CASING] = of_others[lower[here]].astype(np.int32) + FIRST_VALUE
    return casing_table(lower, small, capital)


def casing_table(lower: Ints, small: Mask, capital: Mask) -> UInt8s:
    """The casing of any word by its column ``lower``, from words that are small or capitalised
    inside of sentences.
    """
    of_small = np.bincount(lower[small], minlength=MAX_VALUE + 1)
    of_capital = np.bincount(lower[capital], minlength=MAX_VALUE + 1)
    seen = of_small + of_capital
    share = of_capital / np.maximum(seen, 1)
    often = seen >= _FEW
    found = np.where(share < _RARELY, 1 + often, np.where(share < _RATHER, 3, 4))
    found = np.where(share > 1 - _RARELY, 5 + often, found)
    return np.where(seen > 0, found, 0).astype(np.uint8)


def expander_columns(windows: Sequence[Paragraph], spacing: bool) -> tuple[Ints, Longs]:
    """Values of shape (tokens, columns), and where windows start, (windows + 1,); without
    ``spacing`` blanks are unknown.
    """
    values, starts = paragraph_columns(windows, spacing=spacing)
    forms = [form for window in windows for form in window.forms]
    lengths = np.array(list(map(len, forms)), dtype=np.int64)
    ends = np.cumsum(lengths)
    codes = as_codes("".join(forms))
    small = character_tables(codes).small[codes].astype(np.uint64)
    affixes = np.zeros((len(forms), len(_AFFIXES)), dtype=np.int32)
    for first_column, first, step in ((0, ends - lengths, 1), (_AFFIX, ends - 1, -1)):
        code = np.full(len(forms), _HASH_SEED)
        for k in range(_AFFIX):
            has = lengths > k
            code[has] = (code[has] ^ small[first[has] + step * k]) * _PRIME
            hashed = (code[has] ^ (code[has] >> np.uint64(32))) % _BUCKETS
            affixes[has, first_column + k] = hashed.astype(np.int32) + FIRST_VALUE
    length = np.minimum(lengths, _LONG).astype(np.int32)[:, None] + FIRST_VALUE
    return np.hstack([values, affixes, length]), starts


@njit(inline=True)
def bucket(value: np.uint64) -> np.int32:
    """A hashed value as a template cell holds it."""
    return np.int32((value ^ (value >> np.uint64(32))) % _BUCKETS) + FIRST_VALUE


@njit
def observe_forms(codes: UInt32s, ends: Longs, kinds: UInt8s, small: UInt32s, values: Ints) -> None:
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
