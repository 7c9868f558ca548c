"""Exceptions in a text: where they stand, and where their tokens do.

A kernel looks at each character once and gives the few places where an exception may begin, by a
table of the beginnings of all; only there regular expressions are tried, whose matches are bounded.
So the time is linear in the text, and hardly depends on the number of exceptions.

An exception neither begins nor ends inside a run of letters and digits, except in scripts that are
written without blanks, nor inside a grapheme cluster or an address, nor directly after ``@`` or
``#``. Where exceptions overlap, one without a wildcard goes before one with, then the longer before
the shorter, then the earlier in the list. A blank of an exception stands for white space without a
blank line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from egparse.compilation import njit
from egparse.text.characters import DIGIT, EXTENDS, JOINS, as_codes, character_tables
from egparse.text.exceptions.entries import EMOJI, EMOJI_STARTS, LETTERS, NUMBER, Entry, Pattern
from egparse.types import Longs, Mask, UInt8s, UInt32s

_BLANK = r"(?:[^\S\n]{1,9}\n?|\n)[^\S\n]{0,9}"
_NO_WORDS = (
    (0x0E00, 0x10A0),
    (0x1780, 0x1800),
    (0x20D0, 0x2100),
    (0x2E80, 0xA000),
    (0xF900, 0xFB00),
    (0xFE00, 0xFE10),
    (0x20000, 0x40000),
)
"""Scripts written without blanks between words: Thai, Lao and Tibetan, Burmese, Khmer, Chinese and
Japanese; and the combining marks of symbols.
"""

_ALONE, _LONGER, _INSIDE = 1, 2, 4
"""What a table says of a character: an exception may begin with it alone; with it and more; also
inside of a word.
"""

_MOST = 5
"""Characters that a beginning is looked up by, at most."""

_SIZE = 1 << 16
_ADDRESS, _MAIL = 300, 64
_LONGEST_RUN = 50


class Match(NamedTuple):
    """A place of an exception in a text, and the places of its tokens but for a last number."""

    start: int
    end: int
    tokens: tuple[tuple[int, int], ...]


class Found(NamedTuple):
    """An exception at a place of a sequence, and what its wildcard stands for."""

    start: int
    end: int
    entry: Entry
    value: str


_Placed = TypeVar("_Placed", Match, Found)
_Ranked = tuple[tuple[bool, int, int, int], _Placed]


def _ranked(one: _Placed, entry: Entry, rank: int) -> _Ranked[_Placed]:
    """One that goes before others that overlap it: without a wildcard, longer, earlier in the
    list.
    """
    return (entry.has_wildcard, one.start - one.end, rank, one.start), one


def _apart(found: list[_Ranked[_Placed]], size: int) -> list[_Placed]:
    """Those in a text or sequence of some size, in order, without those that overlap one that goes
    before them.
    """
    taken = bytearray(size)
    kept = []
    for _, one in sorted(found, key=lambda pair: pair[0]):
        if 1 not in taken[one.start : one.end]:
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


class _Search:
    """What finds an exception at a place where its literal ``beginning`` stands; for one that
    begins with a wildcard of letters it is what follows these.
    """

    def __init__(self, entry: Entry, rank: int) -> None:
        self.entry, self.rank = entry, rank
        first = entry.tokens[0].form
        self.after_letters = first.wildcard == LETTERS and not first.before

    @property
    def beginnings(self) -> Iterator[str]:
        """Texts of 1 to 5 characters, one of which the exception begins with."""
        first = self.entry.tokens[0].form
        if first.wildcard == EMOJI and not first.before:
            yield from EMOJI_STARTS
            return
        text = ""
        for k, token in enumerate(self.entry.tokens):
            form, begins = token.form, self.after_letters and not k
            text += form.after if begins else form.before
            if token.spaced or (form.wildcard and not begins):
                break
        yield text[:_MOST]

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        parts = []
        for token in self.entry.tokens:
            is_number = token.form.wildcard == NUMBER
            parts.append("(?=[0-9])" if is_number else f"({token.form.regex})")
            parts.append(_BLANK * token.spaced)
        return re.compile("".join(parts))

    def match(self, text: str, at: int) -> Match | None:
        """The exception in a text at a place that begins as it does."""
        if self.after_letters:
            least = max(0, at - _LONGEST_RUN)
            start = at
            while start > least and text[start - 1].isalpha():
                start -= 1
            joined = start > 0 and text[start - 1] == "-"  # apresenta-se-lhe is no *-lhe
            found = self._regex.match(text, start) if start < at and not joined else None
        else:
            found = self._regex.match(text, at)
        if found is None:
            return None
        spans = tuple(found.span(k) for k in range(1, self._regex.groups + 1))
        return Match(found.start(), spans[-1][1], spans)


class TextSearch:
    """Finds some exceptions in texts; the earlier ones go before the later."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._by_beginning: defaultdict[str, list[_Search]] = defaultdict(list)
        self._first = np.zeros(_SIZE, dtype=np.uint8)
        self._longer = np.zeros(_SIZE, dtype=np.bool_)
        for rank, entry in enumerate(entries):
            for cased in entry.casings():
                search = _Search(cased, rank)
                for beginning in search.beginnings:
                    self._by_beginning[beginning].append(search)
                    self._mark(beginning, inside=search.after_letters)

    def _mark(self, beginning: str, *, inside: bool) -> None:
        codes = [ord(character) for character in beginning]
        mark = _ALONE if len(codes) == 1 else _LONGER
        self._first[codes[0] % _SIZE] |= mark | (_INSIDE if inside else 0)
        if len(codes) > 1:
            value = codes[0]
            for code in codes[1:]:
                value = value * 31 + code
            self._longer[value % _SIZE] = True

    def matches(self, text: str) -> list[Match]:
        """The exceptions in a text, in order; they do not overlap."""
        codes = as_codes(text)
        kinds, _, traits, _ = character_tables(codes)
        word = kinds <= DIGIT
        for first, end in _NO_WORDS:
            word[first:end] = False
        places = np.empty(len(codes), dtype=np.int64)
        count = _candidates(codes, word, self._first, self._longer, places)
        found: list[_Ranked[Match]] = []
        for at in places[:count].tolist():
            for length in range(_MOST, 0, -1):
                for search in self._by_beginning.get(text[at : at + length], ()):
                    match = search.match(text, at)
                    if match is not None and _stands_alone(match, text, codes, word, traits):
                        found.append(_ranked(match, search.entry, search.rank))
        return _apart(found, len(text)) if found else []


def _stands_alone(match: Match, text: str, codes: UInt32s, word: Mask, traits: UInt8s) -> bool:
    """Whether a match begins and ends where exceptions may."""
    start, end = match.start, match.end
    if start and (
        (word[codes[start - 1]] and word[codes[start]])
        or traits[codes[start - 1]] & JOINS
        or (text[start - 1] in "@#_" and word[codes[start]])
    ):
        return False
    if end < len(text) and (
        (word[codes[end - 1]] and (word[codes[end]] or text[end] == "_"))
        or traits[codes[end]] & EXTENDS
    ):
        return False
    return not _is_in_address(match, text)


def _is_in_address(match: Match, text: str) -> bool:
    """Whether what is joined to a match by no blanks looks like an address (see
    ``egparse.text.pieces``).
    """
    before = text[max(0, match.start - _ADDRESS) : match.start]
    before = "" if not before or before[-1].isspace() else before.rsplit(None, 1)[-1]
    if "://" in before or "@" in before or "www." in before.lower():
        return True
    after = text[match.end : match.end + _MAIL]
    return bool(after) and not after[0].isspace() and "@" in after.split(None, 1)[0]


@njit
def _candidates(codes: UInt32s, word: Mask, first: UInt8s, longer: Mask, places: Longs) -> int:
    """Write the places where an exception may begin; returns how many."""
    count, size = 0, codes.shape[0]
    before = False
    for c in range(size):
        code = np.int64(codes[c])
        mark = first[code % _SIZE]
        inside = before and word[code]
        before = word[code]
        if mark == 0 or (inside and mark & _INSIDE == 0):
            continue
        possible = mark & _ALONE != 0
        for k in range(c + 1, min(c + _MOST, size)):
            if possible:
                break
            code = code * 31 + np.int64(codes[k])
            possible = longer[code % _SIZE]
        if possible:
            places[count] = c
            count += 1
    return count


_Candidate = tuple[int, int, Entry]
"""An exception: its place in the list, and which of its forms it is found by."""

_MOST_PLAIN = 1 << 16
"""Forms that are remembered as belonging to no exception; most words of a text are among these."""

_SHORT = 4
"""Characters that forms with a wildcard are looked up by, at most."""


class SequenceSearch:
    """Finds some exceptions in sequences of forms; ``forms_of`` gives those of an exception. Of
    overlapping ones one without a wildcard goes before one with, then the one of more forms, then
    the earlier in the list.
    """

    def __init__(
        self, entries: Sequence[Entry], forms_of: Callable[[Entry], Sequence[Pattern]]
    ) -> None:
        self._forms_of = forms_of
        self._by_form: defaultdict[str, list[_Candidate]] = defaultdict(list)
        self._by_begin: defaultdict[str, list[_Candidate]] = defaultdict(list)
        self._by_end: defaultdict[str, list[_Candidate]] = defaultdict(list)
        for rank, entry in enumerate(entries):
            for cased in entry.casings():
                self._add(rank, cased)
        self._known = frozenset(self._by_form)
        self._exact = not (self._by_end or self._by_begin)
        self._plain: set[str] = set()
        self._ends = sorted({len(end) for end in self._by_end})
        self._begins = sorted({len(begin) for begin in self._by_begin})

    def _add(self, rank: int, entry: Entry) -> None:
        """Note how an exception is found: by its longest form without a wildcard, else by how its
        only form ends or begins.
        """
        forms = self._forms_of(entry)
        literal = [k for k, form in enumerate(forms) if not form.wildcard]
        if literal:
            at = max(literal, key=lambda k: len(forms[k].before))
            self._by_form[forms[at].before].append((rank, at, entry))
        elif forms[0].after:
            self._by_end[forms[0].after[-_SHORT:]].append((rank, 0, entry))
        elif forms[0].before:
            self._by_begin[forms[0].before[:_SHORT]].append((rank, 0, entry))
        else:
            for beginning in EMOJI_STARTS:
                self._by_begin[beginning].append((rank, 0, entry))

    def find(
        self, forms: Sequence[str], fits: Callable[[Found], bool] = lambda found: True
    ) -> list[Found]:
        """The exceptions in a sequence that fit, in order; they do not overlap."""
        if self._plain.issuperset(forms) or (self._exact and self._known.isdisjoint(forms)):
            return []
        found = [pair for pair in self._all(forms) if fits(pair[1])]
        return _apart(found, len(forms)) if found else []

    def _all(self, forms: Sequence[str]) -> Iterator[_Ranked[Found]]:
        for place, form in enumerate(forms):
            if form in self._plain:
                continue
            candidates = self._candidates(form)
            if not candidates:
                if len(self._plain) == _MOST_PLAIN:
                    self._plain.clear()
                self._plain.add(form)
            for rank, at, entry in candidates:
                expected = self._forms_of(entry)
                start = place - at
                there = forms[start : start + len(expected)] if start >= 0 else ()
                values = [
                    pattern.value_in(one) for pattern, one in zip(expected, there, strict=False)
                ]
                if len(values) == len(expected) and None not in values:
                    value = "".join(map(str, values))
                    yield _ranked(Found(start, start + len(expected), entry, value), entry, rank)

    def _candidates(self, form: str) -> list[_Candidate]:
        """The exceptions that a form may belong to."""
        found = [*self._by_form.get(form, ())]
        for length in self._ends:
            found += self._by_end.get(form[-length:], ())
        for length in self._begins:
            found += self._by_begin.get(form[:length], ())
        return found
