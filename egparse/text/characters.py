"""Kinds of characters, which splitter and tokeniser tell apart: each distinct character of a text
is classified once, in Python, by its general category in Unicode.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from egparse.types import UInt8s, UInt32s

UPPER, SMALL, LETTER, DIGIT = 0, 1, 2, 3
FINAL, COMMA, COLON, DASH, OPENING, CLOSING, QUOTE, SYMBOL, BLANK, OTHER = range(4, 14)
N_KINDS = 14

WHITE, NARROW, EXTENDS, JOINS, REGIONAL, EMOJI = 1, 2, 4, 8, 16, 32
"""Traits: white space; white space that is no control character and no line end; a character that
belongs to the one before it; one that the next belongs to; a half of a flag; a pictograph. The
third to fifth are a part of the rules for grapheme clusters (Unicode Standard Annex 29, rules GB9,
GB9a, GB11 and GB12).
"""

_MEMBERS = {
    FINAL: frozenset(
        ".!?\u2026\u203c\u2047\u2048\u2049\u3002\uff01\uff1f\uff0e\uff61\u061f\u06d4\u0964\u0965\u055c\u055e\u0589\u1362"
    ),
    COMMA: frozenset(",;\u060c\u061b\uff0c\uff1b\u3001"),
    COLON: frozenset(":\uff1a"),
    QUOTE: frozenset("\"'`\u00b4"),
}
_CATEGORIES = {
    **dict.fromkeys(("Lu", "Lt"), UPPER),
    "Ll": SMALL,
    "Nd": DIGIT,
    "Pd": DASH,
    **dict.fromkeys(("Ps", "Pi"), OPENING),
    **dict.fromkeys(("Pe", "Pf"), CLOSING),
}
_GROUPS = {"L": LETTER, "M": LETTER, "N": DIGIT, "S": SYMBOL, "Z": BLANK, "C": BLANK}

_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER = 0x200D, 0x200C
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_REGIONAL = range(0x1F1E6, 0x1F200)
_PICTOGRAPHS = (range(0x2600, 0x27C0), range(0x1F000, 0x1FB00))  # blocks of symbols that have them


class CharacterTables(NamedTuple):
    """By the code of a character: its kind, its lower case (of several characters the first one;
    all digits are 0), its traits, a sum of those above, and a number for its script.
    """

    kinds: UInt8s
    small: UInt32s
    traits: UInt8s
    scripts: UInt32s


def as_codes(text: str) -> UInt32s:
    """The code points of a text, also those of lone surrogates, which are no characters."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def character_tables(codes: UInt32s) -> CharacterTables:
    """The tables of all characters that occur."""
    size = int(codes.max(initial=0)) + 1
    if size <= _ASCII:
        return _ascii_tables()
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    return _tables(size, np.flatnonzero(occurs).tolist())


_ASCII = 128


@cache
def _ascii_tables() -> CharacterTables:  # of most texts
    return _tables(_ASCII, range(_ASCII))


def _tables(size: int, codes: Iterable[int]) -> CharacterTables:
    kinds, traits = np.zeros((2, size), dtype=np.uint8)
    small, scripts = np.zeros((2, size), dtype=np.uint32)
    for code in codes:
        kinds[code], small[code], traits[code], scripts[code] = _character(code)
    return CharacterTables(kinds, small, traits, scripts)


@lru_cache(maxsize=1 << 14)
def _character(code: int) -> tuple[int, int, int, int]:
    """Kind, lower case, traits and script of a character."""
    character = chr(code)
    category = unicodedata.category(character)
    traits, script = _traits(code, category), _script(character, category)
    for kind, members in _MEMBERS.items():
        if character in members:
            return kind, code, traits, script
    kind = _CATEGORIES.get(category, _GROUPS.get(category[0], OTHER))
    small = ord("0") if category == "Nd" else ord(character.lower()[0])
    return kind, small, traits, script


def _script(character: str, category: str) -> int:
    """A number for the script of a letter or mark, which its name begins with (Unicode has scripts
    of their own for most letters, but Python does not know them), and for the category of others.
    """
    name = unicodedata.name(character, "") if category[0] in "LM" else ""
    return crc32((re.split("[ -]", name)[0] or category).encode("ascii"))


def _traits(code: int, category: str) -> int:
    if chr(code).isspace():
        return WHITE | (NARROW if category == "Zs" else 0)
    extends = category[0] == "M" or code in _SKIN_TONES or code in _TAGS
    joins = code == _ZERO_WIDTH_JOINER
    if extends or joins or code == _ZERO_WIDTH_NON_JOINER:
        return EXTENDS | (JOINS if joins else 0)
    if code in _REGIONAL:
        return REGIONAL | EMOJI
    return EMOJI if category == "So" and any(code in block for block in _PICTOGRAPHS) else 0
