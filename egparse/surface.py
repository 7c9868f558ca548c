r"""Tokens as they stand in their text, and what the MISC column of CoNLL-U says of that.

``TokenRange=start:end`` is where a token stands. Blanks after tokens are as UDPipe writes them:
``SpaceAfter=No`` for none, ``SpacesAfter=...`` for others than one space, in which ``\s`` is a
space, ``\t`` a tab, ``\r`` and ``\n`` line ends, ``\p`` a vertical bar and ``\\`` a backslash
(Straka and Strakova 2017, "Tokenizing, POS tagging, lemmatizing and parsing UD 2.0 with UDPipe";
UDPipe's manual, section "Preservation of spaces"). Treebanks also have ``\uXXXX`` (EWT a no-break
space), which is read and not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

SPACE_AFTER_NO = "SpaceAfter=No"
SPACES_AFTER = "SpacesAfter="
SPACES_BEFORE = "SpacesBefore="

TOKEN_RANGE = "TokenRange="
_RANGE = re.compile(rf"(?:^|\|){TOKEN_RANGE}(\d+):(\d+)(?:\||$)")

_ESCAPES = {" ": "\\s", "\t": "\\t", "\r": "\\r", "\n": "\\n", "|": "\\p", "\\": "\\\\"}
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\(?:[strnp\\]|u([0-9a-fA-F]{4}))")
_TO_ESCAPE = str.maketrans(_ESCAPES)


def escaped(blanks: str) -> str:
    """Blanks as MISC has them."""
    return blanks.translate(_TO_ESCAPE)


def unescaped(value: str) -> str:
    """The blanks that a value of MISC stands for."""
    if "\\" not in value:
        return value
    return _ESCAPED.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _CHARACTERS[match[0]], value
    )


def blanks_after(misc: str) -> str:
    """What follows a token in its text, by the MISC column: one space, unless it says otherwise."""
    if misc == "_":
        return " "
    for entry in misc.split("|"):
        if entry == SPACE_AFTER_NO:
            return ""
        if entry.startswith(SPACES_AFTER):
            return unescaped(entry[len(SPACES_AFTER) :])
    return " "


def range_of(misc: str) -> tuple[int, int] | None:
    """Where a token starts and ends in its text, in characters from 0, by the MISC column."""
    found = _RANGE.search(misc)
    return None if found is None else (int(found[1]), int(found[2]))


def is_text_of(text: str, forms: Iterable[str]) -> bool:
    """Whether a text consists of some tokens, with any blanks between and within them."""
    return "".join(text.split()) == "".join("".join(forms).split())


def places_in(text: str, forms: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where the tokens that a text consists of start and end in it, in characters from 0."""
    end = 0
    for form in forms:
        while text[end : end + 1].isspace():
            end += 1
        start = end
        for letter in "".join(form.split()):
            end = text.index(letter, end) + 1
        yield start, end
