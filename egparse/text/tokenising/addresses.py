"""Addresses of web pages and of mail in a text, by their syntax.

A web address begins with a scheme and ``://`` (RFC 3986, section 3) or with ``www.``, and goes on
to the next blank, angle bracket or double quotation mark, without punctuation at its end; a closing
bracket belongs to it if it has the opening one, too (as in GitHub Flavored Markdown 0.29, section
6.9). A mail address is a local part of at most 64 characters, ``@``, and a domain with a dot (RFC
5321, sections 4.1.2 and 4.5.3.1). Treebanks of many languages have few of them, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from egparse.types import Longs

_MARKS = re.compile(r"://|\bwww\.|@", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,19}$")
_LOCAL = re.compile(r"[\w.+-]{1,64}$")
_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_REST = re.compile(r"[^\s<>\"\u00ab\u00bb\u201c\u201d]+")
_AT_END = ".,;:!?'\u2019*_~\u2026)]}"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_LONGEST_SCHEME, _LONGEST_LOCAL = 20, 64


LEAST_WHOLE = 0.9
"""Addresses are tokens of a treebank if at least this share of them is, with one token added, so
that those of a treebank without addresses are; and so are emoji.
"""


def addresses_are_tokens(text: str, token_starts: Longs, token_ends: Longs) -> bool:
    """Whether the addresses of a text are tokens of it, as a rule."""
    tokens = set(zip(token_starts.tolist(), token_ends.tolist(), strict=True))
    found = list(addresses_in(text))
    return 1 + sum(one in tokens for one in found) >= LEAST_WHOLE * (1 + len(found))


def addresses_in(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each address, in order; they do not overlap."""
    done = 0
    for mark in _MARKS.finditer(text):
        if mark.start() < done:
            continue
        found = _mail(text, mark.start()) if mark[0] == "@" else _web(text, mark.start(), mark[0])
        if found is not None and found[0] >= done:
            yield found
            done = found[1]


def _web(text: str, at: int, mark: str) -> tuple[int, int] | None:
    start = at
    if mark == "://":
        first = max(0, at - _LONGEST_SCHEME)
        scheme = _SCHEME.search(text[first:at])
        if scheme is None:
            return None
        start = first + scheme.start()
    rest = _REST.match(text, at + len(mark))
    if rest is None:
        return None
    end = rest.end()
    if text[end - 1] in _AT_END:
        end = _without_end(text, start, end)
    return (start, end) if end > rest.start() else None


def _without_end(text: str, start: int, end: int) -> int:
    """The end of an address without punctuation there, except closing brackets of its own."""
    unopened = {
        closing: text.count(closing, start, end) - text.count(opening, start, end)
        for closing, opening in _BRACKETS.items()
    }
    while text[end - 1] in _AT_END:
        last = text[end - 1]
        if last in unopened:
            if unopened[last] <= 0:
                break
            unopened[last] -= 1
        end -= 1
    return end


def _mail(text: str, at: int) -> tuple[int, int] | None:
    first = max(0, at - _LONGEST_LOCAL)
    local, domain = _LOCAL.search(text[first:at]), _DOMAIN.match(text, at + 1)
    return None if local is None or domain is None else (first + local.start(), domain.end())
