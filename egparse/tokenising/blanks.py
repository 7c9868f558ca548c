r"""Blanks after tokens in the MISC column of CoNLL-U, as UDPipe writes them: ``SpaceAfter=No`` for
none, ``SpacesAfter=...`` for others than one space, in which ``\s`` is a space, ``\t`` a tab,
``\r`` and ``\n`` line ends, ``\p`` a vertical bar and ``\\`` a backslash (Straka and
Strakova 2017, "Tokenizing, POS tagging, lemmatizing and parsing UD 2.0 with UDPipe"; UDPipe's
manual, section "Preservation of spaces"). Treebanks also have ``\uXXXX`` (EWT a no-break space),
which is read and not written.
"""

from __future__ import annotations

import re

SPACE_AFTER_NO = "SpaceAfter=No"
SPACES_AFTER = "SpacesAfter="
SPACES_BEFORE = "SpacesBefore="

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


def blanks_before(misc: str) -> str:
    """What stands before the first token of a text, by the MISC column."""
    for entry in misc.split("|"):
        if entry.startswith(SPACES_BEFORE):
            return unescaped(entry[len(SPACES_BEFORE) :])
    return ""
