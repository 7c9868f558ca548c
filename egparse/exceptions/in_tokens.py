"""Exceptions in sequences of tokens or of words, by their forms alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from egparse.exceptions.entries import Entry
from egparse.exceptions.patterns import Pattern


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
        self._by_form: defaultdict[str, list[tuple[int, int, Entry]]] = defaultdict(list)
        self._alone: list[tuple[int, int, Entry]] = []
        regexes = []
        for rank, entry in enumerate(entries):
            for cased in entry.casings():
                forms = forms_of(cased)
                literal = [k for k, form in enumerate(forms) if not form.wildcard]
                if literal:
                    at = max(literal, key=lambda k: len(forms[k].before))
                    self._by_form[forms[at].before].append((rank, at, cased))
                else:
                    self._alone.append((rank, 0, cased))
                    regexes.append(forms[0].regex)
        self._known = frozenset(self._by_form)
        self._any_alone = re.compile("|".join(dict.fromkeys(regexes)))

    def find(
        self, forms: Sequence[str], fits: Callable[[Found], bool] = lambda found: True
    ) -> list[Found]:
        """The exceptions in a sequence that fit, in order; they do not overlap."""
        if self._known.isdisjoint(forms) and not self._alone:
            return []
        found = sorted((one for one in self._all(forms) if fits(one[1])), key=lambda one: one[0])
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
            entries = self._by_form.get(form, ())
            if self._alone and self._any_alone.fullmatch(form):
                entries = [*entries, *self._alone]
            for rank, at, entry in entries:
                expected = self._forms_of(entry)
                start = place - at
                there = forms[start : start + len(expected)] if start >= 0 else ()
                values = [
                    pattern.value_in(one) for pattern, one in zip(expected, there, strict=False)
                ]
                if len(values) == len(expected) and None not in values:
                    order = (entry.has_wildcard, -len(expected), rank, start)
                    yield order, Found(start, entry, "".join(map(str, values)))
