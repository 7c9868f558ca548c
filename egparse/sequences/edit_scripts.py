"""Edit scripts: how a lemma is made of a form, without naming the form.

A script lower-cases the form, replaces its first and last characters, and sets the case of the
result. What stays is the longest common substring of form and lemma, so that inflected forms of
many lemmas share a script. As text, a letter for the case comes first, then the edit::

    l          lower case, nothing else            The -> the
    l-3+y      the last three characters are y     Cities -> city
    l^2+|      the first two characters are gone   gesagt -> sagt
    t          a capital and small letters         PARIS -> Paris
    u          capitals                            nato -> NATO
    k-1        the case of the form is kept        iPhones -> iPhone
    l=be       the whole lemma                     was -> be

Prefix and suffix edits and the casing apart from them are those of UDPipe 2 (Straka 2018, "UDPipe
2.0 prototype at CoNLL 2018 UD shared task"); Chrupała (2008, "Towards a machine-learning
architecture for lexical functional grammar parsing"), from whom spaCy has edit trees, divides
prefix and suffix further. Here an edit counts the characters that it removes instead of naming
them, and casing has four values: any other one is reached by an edit that keeps the case of the
form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

_PARSED = 1 << 14
"""Scripts that are kept as they were read."""

_TEXT = re.compile(
    r"([ltuk])(?:=(.*)|(?:\^([0-9]{1,6})\+((?:[^\\|]|\\[\\|])*)\|)?(?:-([0-9]{1,6}))?(?:\+(.+))?)",
    re.DOTALL,
)


def _title(text: str) -> str:
    return text[:1].upper() + text[1:]


_CASINGS: dict[str, Callable[[str], str]] = {"l": str, "t": _title, "u": str.upper}
"""The letter of a casing -> what it makes of text in lower case, the plainest first."""

_KEPT = "k"


class Script(NamedTuple):
    """``cased`` of ``prefix``, the form without its first ``before`` and last ``after`` characters,
    and ``suffix``; of ``prefix`` alone if ``before`` is negative.
    """

    lowered: bool
    cased: Callable[[str], str]
    before: int
    prefix: str
    after: int
    suffix: str


def script_of(form: str, lemma: str) -> str:
    """The script that makes the lemma of the form: ``apply(script_of(form, lemma), form) == lemma``
    for all strings.
    """
    small = lemma.lower()
    for letter, cased in _CASINGS.items():
        if cased(small) == lemma:
            return letter + _edit(form.lower(), small)
    return _KEPT + _edit(form, lemma)


def apply(script: str, form: str) -> str | None:
    """What a script makes of a form; None if the form is too short for it: a character must remain.

    Raises:
        ValueError: not the text of a script.
    """
    return applied(parsed(script), form, form.lower())


def applied(script: Script, form: str, lower: str) -> str | None:
    """What ``apply`` returns, of a script that was read, for a form that was lower-cased."""
    lowered, cased, before, prefix, after, suffix = script
    if before < 0:
        return cased(prefix)
    text = lower if lowered else form
    end = len(text) - after
    if before >= end:
        return None
    return cased(prefix + text[before:end] + suffix)


def is_script(text: str) -> bool:
    """Whether a text is that of a script."""
    return _TEXT.fullmatch(text) is not None


def _edit(form: str, lemma: str) -> str:
    """The text of the edit that makes the lemma of the form."""
    start, length = longest_common_substring(form, lemma)
    if not length:
        return "=" + lemma
    place = lemma.index(form[start : start + length])
    prefix, suffix = lemma[:place], lemma[place + length :]
    removed = len(form) - start - length
    text = f"^{start}+{_escaped(prefix)}|" if start or prefix else ""
    text += f"-{removed}" if removed else ""
    return text + ("+" + suffix if suffix else "")


def longest_common_substring(first: str, second: str) -> tuple[int, int]:
    """Where the longest common substring starts in ``first``, and its length; of several the
    leftmost.
    """
    if first == second:
        return 0, len(first)
    best, length = 0, 0
    for start in range(len(first)):
        # a longer one than before, if it starts here
        while start + length < len(first) and first[start : start + length + 1] in second:
            best, length = start, length + 1
    return best, length


@lru_cache(maxsize=_PARSED)
def parsed(text: str) -> Script:
    """A script by its text."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"expected an edit script such as l-3+y, got {text!r}")
    letter, whole, before, prefix, after, suffix = match.groups()
    cased = _CASINGS.get(letter, str)
    if whole is not None:
        return Script(False, cased, -1, whole, 0, "")
    removed = int(before or 0), int(after or 0)
    return Script(
        letter != _KEPT, cased, removed[0], _plain(prefix or ""), removed[1], suffix or ""
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
