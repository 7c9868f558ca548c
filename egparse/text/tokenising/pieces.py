"""Pieces of a text: what is left after cutting it wherever a token may end.

Training says between which kinds of characters tokens end: never, always, or now and then, in which
case a tokeniser decides. The same is learned for single blanks, because some tokens have blanks
inside (10 000). Wider blanks and line ends always end a token. Characters of one grapheme cluster
are never cut apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.text.splitting.characters import (
    EMOJI,
    EXTENDS,
    JOINS,
    N_KINDS,
    NARROW,
    REGIONAL,
    WHITE,
    character_tables,
)
from egparse.text.tokenising.addresses import LEAST_WHOLE, addresses_in
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


EVERYWHERE = Links(
    np.full((N_KINDS, N_KINDS), OPEN, dtype=np.uint8),
    np.full((N_KINDS, N_KINDS), OPEN, dtype=np.uint8),
)
"""Links of a corpus of which nothing is known yet."""


class Pieces(NamedTuple):
    """The ``m`` pieces of a text.

    Piece ``k`` has the characters ``codes[bounds[k]:bounds[k + 1]]``, and stands in the text from
    ``begins[k]`` to ``ends[k]``; ``codes`` are all characters that are no blanks. ``gaps[k]`` is
    what stands before it, ``links[k]`` whether a token ends there: OPEN or ALWAYS.
    """

    codes: UInt32s
    bounds: Longs
    begins: Longs
    ends: Longs
    gaps: UInt8s
    links: UInt8s

    def __len__(self) -> int:
        return len(self.links)


def as_codes(text: str) -> UInt32s:
    """The code points of a text, also those of lone surrogates, which are no characters."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def pieces_of(codes: UInt32s, links: Links) -> Pieces:
    """The pieces of a text that is given by its code points."""
    kinds, _, traits = character_tables(codes)
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
    return Pieces(compact[:size], bounds[: m + 1], begins[:m], ends[:m], gaps[:m], found[:m])


def pieces_of_text(text: str, links: Links, whole_addresses: bool) -> tuple[UInt32s, Pieces]:
    """The code points and the pieces of a text. A run of more than ``MOST_ALIKE`` equal characters
    is in one, and with ``whole_addresses`` each address is one.
    """
    codes = as_codes(text)
    pieces = pieces_of(codes, links)
    whole = [run for run in _runs_alike(codes) if not text[run[0]].isspace()]
    if whole_addresses:
        whole += addresses_in(text)
    return codes, _joined(pieces, whole) if whole else pieces


def _runs_alike(codes: UInt32s) -> list[tuple[int, int]]:
    """The start and end of each run of more than ``MOST_ALIKE`` equal characters."""
    ends = np.append(np.flatnonzero(codes[1:] != codes[:-1]) + 1, len(codes))
    starts = np.append(0, ends[:-1])
    long = ends - starts > MOST_ALIKE
    return list(zip(starts[long].tolist(), ends[long].tolist(), strict=True))


def _joined(pieces: Pieces, ranges: Sequence[tuple[int, int]]) -> Pieces:
    """The pieces, with those joined that start inside of one of some ranges of characters."""
    bounds = np.array(ranges, dtype=np.int64)
    first = np.searchsorted(pieces.begins, bounds[:, 0], side="right")
    last = np.searchsorted(pieces.begins, bounds[:, 1], side="left")
    change = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.add.at(change, first, 1)
    np.add.at(change, last, -1)
    kept = np.flatnonzero(np.cumsum(change)[:-1] == 0)
    lasts = np.append(kept[1:], len(pieces)) - 1
    return Pieces(
        pieces.codes,
        np.append(pieces.bounds[kept], pieces.bounds[-1]),
        pieces.begins[kept],
        pieces.ends[lasts],
        pieces.gaps[kept],
        pieces.links[kept],
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


def paragraphs_of(pieces: Pieces) -> Longs:
    """The pieces that paragraphs start with, and one more entry, the number of pieces."""
    return np.append(np.flatnonzero(pieces.gaps == PARAGRAPH), len(pieces)).astype(np.int64)


def learned_links(codes: UInt32s, token_starts: Longs, least: float) -> Links:
    """The links of a text whose tokens start at given characters.

    Of n places between two kinds of characters, tokens start at b. The decision is open if both
    (b + 1/2) / (n + 1) and (n - b + 1/2) / (n + 1) are at least ``least``: also for kinds that were
    seldom or never seen together. What holds at all places of a text is not open for any: where no
    token starts without a blank before it, none ever does, and where a token ends at each blank,
    all blanks end tokens.
    """
    pieces = pieces_of(codes, EVERYWHERE)
    starts = np.zeros(len(codes) + 1, dtype=np.bool_)
    starts[token_starts] = True
    kinds = character_tables(codes).kinds
    first = kinds[pieces.codes[pieces.bounds[:-1]]] if len(pieces) else np.zeros(0, dtype=np.uint8)
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
    return Links(close, blank)


def emoji_are_tokens(codes: UInt32s, token_starts: Longs, token_ends: Longs) -> bool:
    """Whether each emoji of a text is a token, as a rule; also of a text without any."""
    pieces = pieces_of(codes, EVERYWHERE)
    is_emoji = character_tables(codes).traits[pieces.codes[pieces.bounds[:-1]]] & EMOJI > 0
    tokens = token_starts * (len(codes) + 1) + token_ends
    whole = np.isin(pieces.begins[is_emoji] * (len(codes) + 1) + pieces.ends[is_emoji], tokens)
    return bool(1 + whole.sum() >= LEAST_WHOLE * (1 + len(whole)))
