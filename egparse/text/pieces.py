"""Pieces of a text: what is left after cutting it wherever a token may end.

Training says between which kinds of characters tokens end: never, always, or now and then, in which
case a tokeniser decides. The same is learned for single blanks, because some tokens have blanks
inside (10 000). Wider blanks and line ends always end a token. Grapheme clusters are never cut
apart, nor are addresses of web pages and of mail where they are tokens of the treebank.

A web address begins with a scheme and ``://`` (RFC 3986, section 3) or with ``www.``, and goes on
to the next blank, angle bracket or double quotation mark, without punctuation at its end; a closing
bracket belongs to it if it has the opening one, too (as in GitHub Flavored Markdown 0.29, section
6.9). A mail address is a local part of at most 64 characters, ``@``, and a domain with a dot (RFC
5321, sections 4.1.2 and 4.5.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.text.characters import (
    EMOJI,
    EXTENDS,
    JOINS,
    N_KINDS,
    NARROW,
    REGIONAL,
    WHITE,
    CharacterTables,
    as_codes,
    character_tables,
)
from egparse.types import Longs, UInt8s, UInt32s

NEVER, OPEN, ALWAYS = 0, 1, 2
"""Whether a token ends between two characters: OPEN if the tokeniser has to decide."""

CLOSE, BLANK, WIDE, PARAGRAPH = 0, 1, 2, 3
"""What stands before a piece: nothing, one blank that is no line end, other blanks, a blank line or
the beginning of the text.
"""

MOST_ALIKE = 32
"""Longer runs of one character are in one token: no treebank has any that are several, and a word
for each character of a line of brackets would cost thirty times the work of words.
"""

_LEAST_WHOLE = 0.9
"""Addresses are tokens of a treebank if at least this share of them is, with one token added, so
that they are in a treebank without any; and so are emoji.
"""

_LINE_END = 10


class Links(NamedTuple):
    """Whether tokens end between two kinds of characters, ``close[left, right]`` where they touch
    and ``blank[left, right]`` where a single blank stands between them; shapes (N_KINDS, N_KINDS).
    With ``emoji`` a token ends before and after each emoji.
    """

    close: UInt8s
    blank: UInt8s
    emoji: bool = False

    def settled(self) -> Links:
        """The same links, but tokens end at blanks alone where there was a decision."""
        close, blank = self.close.copy(), self.blank.copy()
        close[close == OPEN], blank[blank == OPEN] = NEVER, ALWAYS
        return Links(close, blank, self.emoji)

    @property
    def decide(self) -> bool:
        """Whether any decision is open."""
        return bool((self.close == OPEN).any() or (self.blank == OPEN).any())


_ALL_OPEN = np.full((N_KINDS, N_KINDS), OPEN, dtype=np.uint8)
EVERYWHERE = Links(_ALL_OPEN, _ALL_OPEN)
"""Links of a corpus of which nothing is known yet."""


class Pieces(NamedTuple):
    """The ``m`` pieces of a text.

    Piece ``k`` has the characters ``codes[bounds[k]:bounds[k + 1]]``, and stands in the text from
    ``begins[k]`` to ``ends[k]``; ``codes`` are all characters that are no blanks. ``gaps[k]`` is
    what stands before it, ``links[k]`` whether a token ends there: OPEN or ALWAYS. ``tables`` have
    the kinds of the characters.
    """

    codes: UInt32s
    bounds: Longs
    begins: Longs
    ends: Longs
    gaps: UInt8s
    links: UInt8s
    tables: CharacterTables

    def __len__(self) -> int:
        return len(self.links)

    @property
    def first_codes(self) -> UInt32s:
        """The first character of each piece."""
        return self.codes[self.bounds[:-1]]

    @property
    def paragraphs(self) -> Longs:
        """The pieces that paragraphs start with, and one more entry, the number of pieces."""
        return np.append(np.flatnonzero(self.gaps == PARAGRAPH), len(self)).astype(np.int64)

    def joined(self, ranges: Sequence[tuple[int, int]]) -> Pieces:
        """The pieces, with those joined that start inside of one of some ranges of characters."""
        bounds = np.array(ranges, dtype=np.int64)
        change = np.zeros(len(self) + 1, dtype=np.int64)
        np.add.at(change, np.searchsorted(self.begins, bounds[:, 0], side="right"), 1)
        np.add.at(change, np.searchsorted(self.begins, bounds[:, 1], side="left"), -1)
        kept = np.flatnonzero(np.cumsum(change)[:-1] == 0)
        return Pieces(
            self.codes,
            np.append(self.bounds[kept], self.bounds[-1]),
            self.begins[kept],
            self.ends[np.append(kept[1:], len(self)) - 1],
            self.gaps[kept],
            self.links[kept],
            self.tables,
        )


def pieces_of_text(text: str, links: Links, whole_addresses: bool) -> Pieces:
    """The pieces of a text. A run of more than ``MOST_ALIKE`` equal characters is in one, and with
    ``whole_addresses`` each address is one.
    """
    codes = as_codes(text)
    pieces = pieces_of(codes, links)
    ends = np.append(np.flatnonzero(codes[1:] != codes[:-1]) + 1, len(codes))
    starts = np.append(0, ends[:-1])
    long = ends - starts > MOST_ALIKE
    runs = zip(starts[long].tolist(), ends[long].tolist(), strict=True)
    whole = [run for run in runs if not text[run[0]].isspace()]
    if whole_addresses:
        whole += addresses_in(text)
    return pieces.joined(whole) if whole else pieces


def pieces_of(codes: UInt32s, links: Links) -> Pieces:
    """The pieces of a text that is given by its code points."""
    tables = character_tables(codes)
    kinds, _, traits, _ = tables
    if not links.emoji:
        traits = traits & ~np.uint8(EMOJI)
    n = len(codes)
    compact = np.empty(n, dtype=np.uint32)
    bounds = np.empty(n + 1, dtype=np.int64)
    begins, ends = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    gaps, found = np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.uint8)
    m, size = _cut(
        codes, kinds, traits, links.close, links.blank, compact, bounds, begins, ends, gaps, found
    )
    return Pieces(
        compact[:size], bounds[: m + 1], begins[:m], ends[:m], gaps[:m], found[:m], tables
    )


@njit
def _cut(
    codes: UInt32s,
    kinds: UInt8s,
    traits: UInt8s,
    close: UInt8s,
    blank: UInt8s,
    compact: UInt32s,
    bounds: Longs,
    begins: Longs,
    ends: Longs,
    gaps: UInt8s,
    links: UInt8s,
) -> tuple[int, int]:
    """Write the pieces; returns their number and that of the characters that are no blanks."""
    m, size = 0, 0
    white, narrow, lines, flags = 0, False, 0, 0
    kind, joins, emoji = 0, False, False  # of the character before
    for c in range(codes.shape[0]):
        code = codes[c]
        trait = traits[code]
        if trait & WHITE:
            white += 1
            narrow = trait & NARROW != 0
            lines += code == _LINE_END
            continue
        gap, link, attached = CLOSE, ALWAYS, False
        if size == 0 or lines > 1:
            gap = PARAGRAPH
        elif white == 1 and narrow:
            gap, link = BLANK, blank[kind, kinds[code]]
        elif white > 0:
            gap = WIDE
        else:
            attached = joins or trait & EXTENDS != 0 or (flags == 1 and trait & REGIONAL != 0)
            apart = emoji or trait & EMOJI != 0
            link = NEVER if attached else ALWAYS if apart else close[kind, kinds[code]]
        flags = 1 if trait & REGIONAL and not attached else 0  # two letters are a flag
        if link != NEVER:
            bounds[m], begins[m], gaps[m], links[m] = size, c, gap, link
            m += 1
        if not attached:  # a cluster is of the kind of its first character
            kind, emoji = kinds[code], trait & EMOJI != 0
        joins = trait & JOINS != 0
        compact[size] = code
        size += 1
        ends[m - 1] = c + 1
        white, lines = 0, 0
    bounds[m] = size
    return m, size


def chains_of(rows: Longs) -> Longs:
    """Where chains of neighbouring decisions start among those before the pieces ``rows``, and one
    more entry, their number.
    """
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    return np.append(starts, len(rows)).astype(np.int64)


def learned_links(text: str, token_starts: Longs, token_ends: Longs, least: float) -> Links:
    """The links of a text with given tokens.

    Of n places between two kinds of characters, tokens start at b. The decision is open if both
    (b + 1/2) / (n + 1) and (n - b + 1/2) / (n + 1) are at least ``least``: also for kinds that were
    seldom or never seen together. What holds at all places of a text is not open for any: where no
    token starts without a blank before it, none ever does, and where a token ends at each blank,
    all blanks end tokens.
    """
    pieces = pieces_of(as_codes(text), EVERYWHERE)
    starts = np.zeros(len(text) + 1, dtype=np.bool_)
    starts[token_starts] = True
    first = pieces.tables.kinds[pieces.first_codes]
    tables = []
    for gap, usual in ((CLOSE, NEVER), (BLANK, ALWAYS)):
        at = np.flatnonzero(pieces.gaps == gap)
        pairs = first[at - 1].astype(np.int64) * N_KINDS + first[at]
        n = np.bincount(pairs, minlength=N_KINDS**2)
        b = np.bincount(pairs[starts[pieces.begins[at]]], minlength=N_KINDS**2)
        is_usual = not (b if usual == NEVER else n - b).any()
        table = np.full(N_KINDS**2, usual if is_usual else OPEN, dtype=np.uint8)
        table[(b + 0.5) / (n + 1) < least] = NEVER
        table[(n - b + 0.5) / (n + 1) < least] = ALWAYS
        tables.append(table.reshape(N_KINDS, N_KINDS))
    close, blank = tables
    if (close == NEVER).all():  # tokens stand between blanks, emoji in them
        return Links(close, blank)
    is_emoji = pieces.tables.traits[pieces.first_codes] & EMOJI > 0
    emoji = pieces.begins[is_emoji] * (len(text) + 1) + pieces.ends[is_emoji]
    whole = np.isin(emoji, token_starts * (len(text) + 1) + token_ends)
    return Links(close, blank, _are_tokens(int(whole.sum()), len(whole)))


def addresses_are_tokens(text: str, token_starts: Longs, token_ends: Longs) -> bool:
    """Whether the addresses of a text are tokens of it, as a rule."""
    tokens = set(zip(token_starts.tolist(), token_ends.tolist(), strict=True))
    found = list(addresses_in(text))
    return _are_tokens(sum(one in tokens for one in found), len(found))


def _are_tokens(whole: int, found: int) -> bool:
    return 1 + whole >= _LEAST_WHOLE * (1 + found)


_MARKS = re.compile(r"://|\bwww\.|@", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,19}$")
_LOCAL = re.compile(r"[\w.+-]{1,64}$")
_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_REST = re.compile(r"[^\s<>\"\u00ab\u00bb\u201c\u201d]+")
_AT_END = ".,;:!?'\u2019*_~\u2026)]}"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_LONGEST_SCHEME, _LONGEST_LOCAL = 20, 64


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
