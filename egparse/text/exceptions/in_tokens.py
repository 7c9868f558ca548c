"""Exceptions in sequences of tokens or of words, by their forms alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from egparse.text.exceptions.entries import Entry
from egparse.text.exceptions.patterns import EMOJI_STARTS, Pattern

_Candidate = tuple[int, int, Entry]
"""An exception: its place in the list, and which of its forms it is found by."""

_MOST_PLAIN = 1 << 16
"""Forms that are remembered as belonging to no exception; most words of a text are among these."""

_SHORT = 4
"""Characters that forms with a wildcard are looked up by, at most."""


class Found(NamedTuple):
    """An exception at a place of a sequence, and what its wildcard stands for."""

    start: int
    entry: Entry
    value: str


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
        found = sorted((one for one in self._all(forms) if fits(one[1])), key=lambda one: one[0])
        if not found:
            return []
        taken = bytearray(len(forms))
        kept = []
        for _, one in found:
            end = one.start + len(self._forms_of(one.entry))
            if 1 not in taken[one.start : end]:
                taken[one.start : end] = b"\1" * (end - one.start)
                kept.append(one)
        return sorted(kept, key=lambda one: one.start)

    def _all(self, forms: Sequence[str]) -> Iterator[tuple[tuple[bool, int, int, int], Found]]:
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
                    order = (entry.has_wildcard, -len(expected), rank, start)
                    yield order, Found(start, entry, "".join(map(str, values)))

    def _candidates(self, form: str) -> list[_Candidate]:
        """The exceptions that a form may belong to."""
        found = [*self._by_form.get(form, ())]
        for length in self._ends:
            found += self._by_end.get(form[-length:], ())
        for length in self._begins:
            found += self._by_begin.get(form[:length], ())
        return found
